//! What the guide says of a condition, and all that a host shows of it.

use super::*;

/// What the guide says of a condition.
pub(super) struct Line {
    says: String,
    readyz: u16,
    healthz: u16,
    exit: i32,
    own: Vec<String>,
}

pub(super) fn table() -> anyhow::Result<BTreeMap<String, Line>> {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/operate.md");
    let guide = std::fs::read_to_string(guide)?;
    let (_, section) = guide.split_once("\n## When all is well\n").context("the section")?;
    let section = section.split("\n## ").next().unwrap_or_default();
    let mut all = BTreeMap::new();
    for line in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let says = Line {
            says: cells[2].to_owned(),
            readyz: cells[3].parse()?,
            healthz: if cells[0] == "`hangs`" { 503 } else { 200 },
            exit: NOT_WELL,
            own: cells[4].split('`').skip(1).step_by(2).map(str::to_owned).collect(),
        };
        all.insert(cells[0].trim_matches('`').to_owned(), says);
    }
    Ok(all)
}

/// All faces of a host at about one moment.
pub(super) struct Faces {
    pub(super) text: Said,
    pub(super) json: Said,
    /// What the page asks for.
    pub(super) page: String,
    pub(super) readyz: String,
    pub(super) healthz: String,
    pub(super) metrics: String,
}

impl Faces {
    pub(super) async fn of(host: &Host, port: u16) -> anyhow::Result<Self> {
        let socket = host.dir().join("status.sock");
        let status = |more: &[&str]| look(["status", "--status-socket", socket.to_str().unwrap()].iter().chain(more));
        let get = |path: &str| {
            let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
            async move { ask_port(port, &request).await }
        };
        Ok(Self {
            text: status(&[])?,
            page: get("/status").await?,
            readyz: get("/readyz").await?,
            healthz: get("/healthz").await?,
            metrics: get("/metrics").await?,
            json: status(&["--output", "json"])?,
        })
    }

    /// The conditions that hold by the JSON, each once; nothing where the faces were of two moments.
    pub(super) fn conditions(&self) -> anyhow::Result<Option<Vec<String>>> {
        if self.json.out.is_empty() {
            return Ok(None);
        }
        let json: Value = serde_json::from_str(&self.json.out)?;
        let page: Value = serde_json::from_str(self.page.split("\r\n\r\n").nth(1).context("a body")?)?;
        let names = |report: &Value| {
            let all = report["conditions"].as_array().into_iter().flatten();
            let mut names: Vec<_> = all.filter_map(|found| found["condition"].as_str().map(str::to_owned)).collect();
            names.dedup();
            names
        };
        let same = names(&json) == names(&page) && json["summary"] == page["summary"];
        let last = summary(&self.text.out);
        Ok((same && json["summary"] == last).then(|| names(&json)))
    }

    /// Holds each face against the lines of what holds.
    pub(super) fn agree(&self, conditions: &[String], table: &BTreeMap<String, Line>) -> anyhow::Result<()> {
        let lines: Vec<_> = conditions.iter().map(|name| &table[name]).collect();
        let status = |answer: &str| answer.split(' ').nth(1).and_then(|code| code.parse::<u16>().ok());
        let most = |of: fn(&Line) -> u16| lines.iter().map(|line| of(line)).max();
        ensure!(status(&self.readyz) == most(|line| line.readyz), "{}", self.readyz);
        ensure!(status(&self.healthz) == most(|line| line.healthz), "{}", self.healthz);
        for said in [&self.text, &self.json] {
            ensure!(said.code == lines.iter().map(|line| line.exit).max(), "{said:?}: {conditions:?}");
        }
        let last = summary(&self.text.out);
        let value = |name: &str| {
            let series = format!("devgate_condition{{condition=\"{name}\"}} ");
            self.metrics.lines().find_map(|line| line.strip_prefix(&series))
        };
        for (name, line) in table {
            let holds = conditions.contains(name);
            ensure!(value(name).context("a series")?.starts_with('0') != holds, "{name}");
            ensure!(!holds || last.contains(&line.says), "{name}: {last}");
            for own in line.own.iter().filter(|_| holds) {
                ensure!(self.metrics.contains(&format!("\n# TYPE {own} ")), "{name}: {own}");
            }
        }
        Ok(())
    }
}

/// The last line of a status but for the next command.
fn summary(status: &str) -> &str {
    status.lines().rfind(|line| !line.starts_with("next: ")).unwrap_or_default()
}
