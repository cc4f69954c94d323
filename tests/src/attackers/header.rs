//! What an attacker says of itself, in the first lines of its file.

use anyhow::{Context, bail};

/// The lines of one file that begin with `;; word: `.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Header {
    /// What it tries, in words.
    pub tries: String,
    /// The mechanism that stops it, by its name in `tests/attackers/format.txt`.
    pub stopped_by: String,
    /// What the policy says of it besides its file and its resource: keys of a plugin.
    pub policy: Vec<String>,
    /// What is asked of it.
    pub asks: Vec<Ask>,
    /// What an admin reads in log or status, or in what a pod is told.
    pub reads: Vec<String>,
    /// What would be seen if it won.
    pub wins: Vec<Win>,
    /// How that is shown.
    pub off: Off,
}

/// One thing that is asked of an attacker, beside what the host asks of each component by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// A pod that is given these units, so many times; the unit that has the attacker's name where there are none.
    Allocate {
        /// Their ids.
        ids: Vec<String>,
        /// How often.
        times: usize,
    },
    /// Which of these units a pod shall get.
    Prefer {
        /// How many.
        size: i32,
        /// Their ids.
        ids: Vec<String>,
    },
    /// Its file becomes the next one that its text has.
    Change,
}

/// What would be seen of a win.
#[derive(Debug, Clone, PartialEq)]
pub enum Win {
    /// This is read in log or status, or in what a pod is told.
    Says(String),
    /// The component says that it came this far.
    Reaches(u64),
    /// A pod waits so many seconds.
    Takes(f64),
    /// A process of components has so much memory, in MiB.
    Has(u64),
    /// The kubelet is offered a device with this id, as one of the attacker's own resource or of the good plugin's.
    Offers(String),
    /// The kubelet knows a resource of this name.
    Registers(String),
    /// A pod is given this: `env A=b`, `annotation a=b`, `cdi a=b`, `node /dev/…`, `mount /…`, `answer` for any answer.
    Gives(String),
    /// So many bytes of the log are its own.
    Logs(usize),
    /// There is such a file.
    Writes(String),
}

/// How it is shown that the mechanism is what stops the attacker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Off {
    /// With these keys in the policy it wins.
    Policy(Vec<String>),
    /// Where its answers are not checked, and all that it asks for is given, it wins.
    Unchecked,
    /// As with another attacker that the same mechanism stops.
    As(String),
    /// By a test of this name.
    Test(String),
    /// It cannot be shown, for this reason.
    Never(String),
}

impl Default for Off {
    fn default() -> Self {
        Self::Never(String::new())
    }
}

impl Header {
    /// Reads it.
    ///
    /// # Errors
    /// Which line is wrong, or missing.
    pub(super) fn read(text: &str) -> anyhow::Result<Self> {
        let lines = text.lines().take_while(|line| line.starts_with(";;"));
        let mut all = Vec::new();
        for line in lines {
            let line = line.trim_start_matches(';').trim();
            let (word, value) = line.split_once(':').with_context(|| format!("\"{line}\" has no colon"))?;
            all.push((word.trim(), value.trim()));
        }
        let known = ["tries", "stopped by", "policy", "asks", "reads", "wins", "off"];
        if let Some((word, _)) = all.iter().find(|(word, _)| !known.contains(word)) {
            bail!("\"{word}\" is none of {known:?}");
        }
        let several = |wanted: &str| {
            let of = all.iter().filter(|(word, _)| *word == wanted);
            of.map(|(_, value)| (*value).to_owned()).collect::<Vec<_>>()
        };
        let one = |wanted: &str| match several(wanted).as_slice() {
            [value] if !value.is_empty() => Ok(value.clone()),
            lines => bail!("{} lines begin with \"{wanted}: \", not one", lines.len()),
        };
        let asks = several("asks").into_iter().filter(|ask| ask != "nothing");
        let header = Self {
            tries: one("tries")?,
            stopped_by: one("stopped by")?,
            policy: several("policy"),
            asks: asks.map(|ask| Ask::read(&ask)).collect::<anyhow::Result<_>>()?,
            reads: several("reads"),
            wins: several("wins").iter().map(|win| Win::read(win)).collect::<anyhow::Result<_>>()?,
            off: Off::read(several("off"))?,
        };
        anyhow::ensure!(!header.reads.is_empty(), "no line begins with \"reads: \"");
        anyhow::ensure!(!header.wins.is_empty(), "no line begins with \"wins: \"");
        Ok(header)
    }
}

fn words(text: &str) -> Vec<String> {
    let words = text.split([',', ' ']).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

impl Ask {
    fn read(text: &str) -> anyhow::Result<Self> {
        let (ask, times) = match text.rsplit_once(", ") {
            Some((ask, times)) if times.ends_with(" times") => (ask, times.trim_end_matches(" times").parse()?),
            _ => (text, 1),
        };
        let (verb, of) = ask.split_once(' ').unwrap_or((ask, ""));
        Ok(match (verb, of) {
            ("Allocate", "") => Self::Allocate { ids: vec![], times },
            ("Allocate", of) => {
                Self::Allocate { ids: words(of.strip_prefix("of ").context("Allocate of IDS")?), times }
            }
            ("prefer", of) => {
                let (size, ids) = of.split_once(" of ").context("prefer N of IDS")?;
                Self::Prefer { size: size.parse()?, ids: words(ids) }
            }
            ("change", "") => Self::Change,
            _ => bail!("asks \"{text}\": nothing, Allocate of IDS, N times; prefer N of IDS; change"),
        })
    }
}

impl Win {
    fn read(text: &str) -> anyhow::Result<Self> {
        let (verb, what) = text.split_once(' ').unwrap_or((text, ""));
        // What acts on a terminal is written as in WebAssembly's text.
        let (what, _) = super::expand::literal(&(what.to_owned() + "\""))
            .map(|(bytes, rest)| (String::from_utf8_lossy(&bytes).into_owned(), rest.len()))?;
        let number = || what.split(' ').next().unwrap_or_default().replace('_', "");
        Ok(match verb {
            "says" => Self::Says(what.to_owned()),
            "reaches" => Self::Reaches(number().parse()?),
            "takes" => Self::Takes(number().parse()?),
            "has" => Self::Has(number().parse()?),
            "offers" => Self::Offers(what.to_owned()),
            "registers" => Self::Registers(what.to_owned()),
            "gives" => Self::Gives(what.to_owned()),
            "logs" => Self::Logs(number().parse()?),
            "writes" => Self::Writes(what.to_owned()),
            _ => bail!(
                "wins \"{text}\": says TEXT, reaches N, takes N s, has N MiB, offers ID, registers NAME, gives WHAT, logs N bytes, writes FILE"
            ),
        })
    }
}

impl Off {
    fn read(lines: Vec<String>) -> anyhow::Result<Self> {
        let first = lines.first().context("no line begins with \"off: \"")?;
        if let Some(why) = first.strip_prefix("none, because ") {
            return Ok(Self::Never(why.to_owned()));
        }
        if first == "unchecked" {
            return Ok(Self::Unchecked);
        }
        if let Some(name) = first.strip_prefix("as ") {
            return Ok(Self::As(name.to_owned()));
        }
        if let Some(name) = first.strip_prefix("test ") {
            return Ok(Self::Test(name.to_owned()));
        }
        anyhow::ensure!(
            first.contains(':'),
            "off \"{first}\": a key of the policy, unchecked, as ATTACKER, test NAME, or none, because …"
        );
        Ok(Self::Policy(lines))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = ";; tries: to loop\n;; stopped by: limits.cpu\n;; asks: Allocate of a, b, 3 times\n;; asks: change\n\
        ;; reads: exceeded: its 100ms\n;; wins: takes 1 s\n;; wins: says a b\n;; off: limits: {cpu: 1s}\n(enumerate)";

    #[test]
    fn a_header_is_read_and_what_is_wrong_in_it_said() {
        let header = Header::read(TEXT).unwrap();
        let ids = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(header.asks, [Ask::Allocate { ids, times: 3 }, Ask::Change]);
        assert_eq!(header.wins, [Win::Takes(1.0), Win::Says("a b".into())]);
        assert_eq!(header.reads, ["exceeded: its 100ms"]);
        assert_eq!(header.off, Off::Policy(vec!["limits: {cpu: 1s}".into()]));
        for (line, wrong) in [
            (";; tries: to loop\n", ""),
            (";; asks: change\n", ";; asks: exchange\n"),
            (";; wins: takes 1 s\n", ";; wins: much\n"),
            (";; off: limits: {cpu: 1s}\n", ";; off: never\n"),
            (";; reads", ";; red"),
        ] {
            assert!(Header::read(&TEXT.replace(line, wrong)).is_err(), "{line}");
        }
    }
}
