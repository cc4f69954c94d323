//! The caller's side: environment and configuration in, one line of JSON and an exit status out.

use super::{Answer, Failure, Fault, Request, VERSIONS};
use devgate_types::escape;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The most bytes of a configuration.
pub const MOST_CONFIG: usize = 64 << 10;
const NEWEST: &str = "0.0.2";
/// The most characters of a type, and of an id.
const MOST_TYPE: usize = 16;
const MOST_ID: usize = 64;

/// How a call ends.
#[derive(Debug, PartialEq, Eq)]
pub struct Ended {
    /// What is printed, without the end of the line; nothing where there is nothing to say.
    pub line: Option<String>,
    /// Whether the exit status is 0.
    pub is_success: bool,
    /// For people, on standard error.
    pub notes: Vec<String>,
}

/// A call: what the program is called by, its environment, and what it reads.
pub struct Call<'a> {
    /// The name that it was called by, without directories.
    pub program: &'a str,
    /// A variable of the environment.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// Standard input to its end, at most a byte more than [`MOST_CONFIG`]. `VERSION` does not read it.
    pub stdin: &'a dyn Fn() -> std::io::Result<Vec<u8>>,
}

impl Call<'_> {
    /// Answers the call. `ask` asks the host; `leave` leaves it a note that an id is over, where it does not answer.
    pub fn answer(
        &self,
        ask: impl FnOnce(&Request) -> Result<Answer, String>,
        leave: impl FnOnce(&Request) -> std::io::Result<()>,
    ) -> Ended {
        let command = (self.env)("CDI_COMMAND").unwrap_or_default().to_uppercase();
        if command == "VERSION" {
            return Ended {
                line: Some(line(NEWEST, &json!({"supportedVersions": VERSIONS}))),
                is_success: true,
                notes: Vec::new(),
            };
        }
        let stdin = (self.stdin)().map_err(|error| error.to_string());
        let config = stdin.and_then(|bytes| Config::parse(&bytes));
        let asked = (self.env)("CDI_VERSION");
        let of_config = config.as_ref().ok().and_then(|config| config.cdi_version.clone());
        let mut versions = [asked.clone(), of_config].into_iter().flatten();
        let version = versions.find(|version| VERSIONS.contains(&version.as_str()));
        let mut notes = Vec::new();
        let request = self.check(&command, asked.as_deref(), config, &mut notes);
        let answered = request.and_then(|request| said(&request, ask(&request), leave));
        let is_success = answered.is_ok() || command == "DEL";
        let object = answered.unwrap_or_else(|failure| {
            notes.push(failure.to_string());
            Some(failure.object())
        });
        Ended {
            line: object.map(|object| line(version.as_deref().unwrap_or(NEWEST), &object)),
            is_success,
            notes,
        }
    }

    /// Version, configuration, command, and what the command needs, in this order. DEL takes what it can get: it must not fail.
    fn check(
        &self,
        command: &str,
        version: Option<&str>,
        config: Result<Config, String>,
        notes: &mut Vec<String>,
    ) -> Result<Request, Failure> {
        if command == "DEL" {
            let kind = config.and_then(|config| config.check(self.program).map_err(|failure| failure.to_string()));
            let kind = kind.inspect_err(|why| notes.push(why.clone())).ok();
            return Ok(Request::Del { kind, id: self.id()? });
        }
        match version {
            Some(version) if !VERSIONS.contains(&version) => {
                return Err(Fault::VERSION.because(unsupported("version", version)));
            }
            None if command == "ADD" => return Err(Fault::VERSION.because("CDI_VERSION is not set")),
            _ => {}
        }
        let kind = config.map_err(|why| Fault::CONFIG.because(why))?.check(self.program)?;
        match command {
            "INFO" => Ok(Request::Info { kind }),
            "ADD" => Ok(Request::Add {
                amount: self.amount(&kind)?,
                id: self.id()?,
                numa: self.numa(notes),
                kind,
            }),
            "" => Err(Fault::COMMAND.because("CDI_COMMAND is not set")),
            other => Err(Fault::COMMAND.because(unsupported("command", other))),
        }
    }

    fn id(&self) -> Result<String, Failure> {
        let id = (self.env)("CDI_REQUEST_ID").unwrap_or_default();
        let is_good = id.len() <= MOST_ID
            && id.starts_with(|first: char| first.is_ascii_alphanumeric())
            && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        if is_good {
            return Ok(id);
        }
        Err(Fault::MALFORMED.because(format!(
            "CDI_REQUEST_ID \"{}\" must be a letter or digit, then at most {} letters, digits or \"-\"",
            escape(&id, 80),
            MOST_ID - 1
        )))
    }

    /// The amount of the only spec that there is: the type itself. Specs are looked at before amounts.
    fn amount(&self, kind: &str) -> Result<u32, Failure> {
        let bad = |why: String| Fault::MALFORMED.because(format!("CDI_REQUEST {why}"));
        let request = (self.env)("CDI_REQUEST").ok_or_else(|| bad("is not set".to_owned()))?;
        let parts = request
            .split(',')
            .map(|part| part.split_once(':').unwrap_or((part, "")));
        let parts: Vec<_> = parts.collect();
        if let Some((spec, _)) = parts.iter().find(|(spec, _)| *spec != kind) {
            return Err(Fault::SPEC.because(unsupported("resource-spec", spec)));
        }
        let [(_, amount)] = parts.as_slice() else {
            return Err(bad(format!("asks for {kind} more than once")));
        };
        let is_integer = !amount.is_empty() && amount.bytes().all(|b| b.is_ascii_digit());
        let amount = amount.parse().ok().filter(|_| is_integer);
        amount.ok_or_else(|| {
            bad(format!(
                "\"{}\" has no such integer as there can be devices",
                escape(&request, 80)
            ))
        })
    }

    fn numa(&self, notes: &mut Vec<String>) -> Option<Vec<u32>> {
        let text = (self.env)("CDI_REQUEST_NUMA_LOCALITY")?;
        let nodes: Result<Vec<u32>, _> = text.split(',').map(|node| node.trim().parse()).collect();
        Some(nodes.unwrap_or_else(|_| {
            let shown = escape(&text, 80);
            notes.push(format!(
                "CDI_REQUEST_NUMA_LOCALITY \"{shown}\" is no list of numbers, and is ignored"
            ));
            Vec::new()
        }))
    }
}

impl Failure {
    /// By the names of the rules, and by those of the examples.
    fn object(&self) -> Value {
        let (number, message) = (self.number, self.message.as_str());
        let mut object = json!({"error": number, "message": message, "code": number, "msg": message});
        if let Some(all) = object.as_object_mut().filter(|_| !self.details.is_empty()) {
            all.insert("details".to_owned(), self.details.as_str().into());
        }
        object
    }
}

/// What is printed of the host's answer, or why it did not answer.
fn said(
    request: &Request,
    answer: Result<Answer, String>,
    leave: impl FnOnce(&Request) -> std::io::Result<()>,
) -> Result<Option<Value>, Failure> {
    match (answer, request) {
        (Ok(Answer::Amount(amount)), Request::Info { kind }) => Ok(Some(json!({kind.as_str(): amount}))),
        (Ok(Answer::Added { devices, numa }), Request::Add { numa: Some(_), .. }) => {
            Ok(Some(json!({"devices": devices, "numa_locality": numa})))
        }
        (Ok(Answer::Added { devices, .. }), Request::Add { .. }) => Ok(Some(json!({"devices": devices}))),
        (Ok(Answer::Deleted), Request::Del { .. }) => Ok(None),
        (Ok(Answer::Failed(failure)), _) => Err(failure),
        (Ok(_), _) => Err(Fault::FAILED.because("the answer is to another question; is the host of another version?")),
        (Err(why), Request::Del { .. }) => {
            let left = match leave(request) {
                Ok(()) => "it takes the devices back when it starts".to_owned(),
                Err(why) => format!("and no note could be left for it: {why}"),
            };
            Err(Fault::NO_HOST.because(format!("{why}; {left}")))
        }
        (Err(why), _) => Err(Fault::NO_HOST.because(why)),
    }
}

fn line(version: &str, object: &Value) -> String {
    let mut all = Map::from_iter([("cdiVersion".to_owned(), version.into())]);
    all.extend(object.as_object().cloned().unwrap_or_default());
    Value::Object(all).to_string()
}

/// A configuration: what is known of it is there once, and the rest of it is left alone.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    cdi_version: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    plugin: Option<String>,
    name: Option<String>,
}

impl Config {
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() > MOST_CONFIG {
            return Err(format!("it has more than {MOST_CONFIG} bytes"));
        }
        if !bytes.trim_ascii_start().starts_with(b"{") {
            return Err("it is no JSON object".to_owned());
        }
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }

    /// The type that it is for.
    fn check(self, program: &str) -> Result<String, Failure> {
        let bad = |why: String| Fault::CONFIG.because(why);
        let need = |key: &str, value: Option<String>| value.ok_or_else(|| bad(format!("\"{key}\" is not there")));
        let version = need("cdiVersion", self.cdi_version)?;
        if !VERSIONS.contains(&version.as_str()) {
            return Err(Fault::CONFIG_VERSION.because(unsupported("version", &version)));
        }
        let (kind, plugin) = (need("type", self.kind)?, need("plugin", self.plugin)?);
        need("name", self.name)?;
        let is_type = kind.len() <= MOST_TYPE
            && kind.starts_with(|first: char| first.is_ascii_alphabetic())
            && kind.bytes().all(|b| b.is_ascii_alphanumeric());
        if !is_type {
            return Err(bad(format!(
                "\"type\" is \"{}\", which is no resource-type",
                escape(&kind, 80)
            )));
        }
        if plugin != program {
            let (plugin, program) = (escape(&plugin, 80), escape(program, 80));
            return Err(bad(format!(
                "it is for the program \"{plugin}\", and this is \"{program}\""
            )));
        }
        Ok(kind)
    }
}

fn unsupported(what: &str, text: &str) -> String {
    format!("Unsupported {what}: {}", escape(text, 80))
}

#[cfg(test)]
mod tests;
