//! The caller's side: environment and configuration in, one line of JSON and an exit status out.

use super::{Answer, Failure, Fault, Request, VERSIONS, is_id};
use devgate_types::escape;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::fmt::Display;
use std::io;

/// The most bytes of a configuration.
pub const MAX_CONFIG: usize = 64 << 10;
const NEWEST: &str = "0.0.2";
/// The most characters of a type.
const MAX_TYPE: usize = 16;

/// A call: what the program is called by, its environment, and what it reads.
pub struct Call<'a> {
    /// The name that it was called by, without directories.
    pub program: &'a str,
    /// A variable of the environment.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// Standard input to its end, at most a byte more than [`MAX_CONFIG`]. `VERSION` does not read it.
    pub stdin: &'a dyn Fn() -> io::Result<Vec<u8>>,
    /// Tells people of something, on standard error.
    pub tell: &'a dyn Fn(&str),
}

impl Call<'_> {
    /// Answers the call: what is printed, without the end of the line, if anything, and whether the exit status is 0. `ask` asks the
    /// host; `leave` leaves it a note of this name that an id is over, where it does not answer.
    pub fn answer<E: Display>(
        &self,
        ask: impl FnOnce(&Request) -> Result<Answer, E>,
        leave: impl FnOnce(&str) -> io::Result<()>,
    ) -> (Option<String>, bool) {
        let command = (self.env)("CDI_COMMAND").unwrap_or_default().to_uppercase();
        if command == "VERSION" {
            return (line(NEWEST, json!({"supportedVersions": VERSIONS})), true);
        }
        let config = Config::read((self.stdin)());
        let asked = (self.env)("CDI_VERSION");
        let of_config = config.as_ref().ok().map(|config| &config.cdi_version);
        let mut versions = asked.iter().chain(of_config).map(String::as_str);
        let version = versions.find(|version| VERSIONS.contains(version)).map(str::to_owned);
        let answered = self.check(&command, asked.as_deref(), config).and_then(|request| {
            let answer = ask(&request);
            answer.unwrap_or_else(|why| Err(unanswered(&request, &format!("{why:#}"), leave)))
        });
        let is_success = answered.is_ok() || command == "DEL";
        let object = answered.unwrap_or_else(|failure| {
            (self.tell)(&failure.to_string());
            failure.object()
        });
        (line(version.as_deref().unwrap_or(NEWEST), object), is_success)
    }

    /// Version, configuration, command, and what the command needs, in this order. DEL takes what it can get: it must not fail.
    fn check(&self, command: &str, version: Option<&str>, config: Result<Config, Failure>) -> Result<Request, Failure> {
        let kind = config.and_then(|config| config.kind(self.program));
        if command == "DEL" {
            let kind = kind.inspect_err(|why| (self.tell)(&why.to_string())).ok();
            return Ok(Request::Del { kind, id: self.id()? });
        }
        match version {
            Some(version) if !VERSIONS.contains(&version) => {
                return Err(Fault::VERSION.because(unsupported("version", version)));
            }
            None if command == "ADD" => return Err(Fault::VERSION.because("CDI_VERSION is not set")),
            _ => {}
        }
        let kind = kind?;
        match command {
            "INFO" => Ok(Request::Info { kind }),
            "ADD" => Ok(Request::Add { amount: self.amount(&kind)?, id: self.id()?, numa: self.numa(), kind }),
            "" => Err(Fault::COMMAND.because("CDI_COMMAND is not set")),
            other => Err(Fault::COMMAND.because(unsupported("command", other))),
        }
    }

    fn id(&self) -> Result<String, Failure> {
        const RULE: &str = "must be a letter or digit, then at most 63 letters, digits or \"-\"";
        let id = (self.env)("CDI_REQUEST_ID").unwrap_or_default();
        let bad = || Fault::MALFORMED.because(format!("CDI_REQUEST_ID \"{}\" {RULE}", escape(&id, 80)));
        if is_id(&id) { Ok(id) } else { Err(bad()) }
    }

    /// The amount of the only spec that there is: the type itself. Specs are looked at before amounts.
    fn amount(&self, kind: &str) -> Result<u32, Failure> {
        let bad = |why: String| Fault::MALFORMED.because(format!("CDI_REQUEST {why}"));
        let request = (self.env)("CDI_REQUEST").ok_or_else(|| bad("is not set".to_owned()))?;
        let parts = request.split(',').map(|part| part.split_once(':').unwrap_or((part, "")));
        let parts: Vec<_> = parts.collect();
        if let Some((spec, _)) = parts.iter().find(|(spec, _)| *spec != kind) {
            return Err(Fault::SPEC.because(unsupported("resource-spec", spec)));
        }
        let [(_, amount)] = parts.as_slice() else {
            return Err(bad(format!("asks for {kind} more than once")));
        };
        let amount = amount.parse().ok().filter(|_| !amount.starts_with('+'));
        let request = escape(&request, 80);
        amount.ok_or_else(|| bad(format!("\"{request}\" has no such integer as there can be devices")))
    }

    fn numa(&self) -> Option<Vec<u32>> {
        const NAME: &str = "CDI_REQUEST_NUMA_LOCALITY";
        let text = (self.env)(NAME)?;
        let nodes: Result<_, _> = text.split(',').map(|node| node.trim().parse()).collect();
        let odd = format!("{NAME} \"{}\" is no list of numbers, and is ignored", escape(&text, 80));
        Some(nodes.inspect_err(|_| (self.tell)(&odd)).unwrap_or_default())
    }
}

impl Failure {
    /// By the names of the rules, and by those of the examples.
    fn object(&self) -> Value {
        let (number, message) = (self.number, &self.message);
        let mut object = json!({"error": number, "message": message, "code": number, "msg": message});
        if let Some(all) = object.as_object_mut().filter(|_| !self.details.is_empty()) {
            all.insert("details".to_owned(), json!(self.details));
        }
        object
    }
}

/// The host did not answer. It is left a note of what is over.
fn unanswered(request: &Request, why: &str, leave: impl FnOnce(&str) -> io::Result<()>) -> Failure {
    let left = match request {
        Request::Del { kind, id } => match leave(&format!("{}={id}", kind.as_deref().unwrap_or_default())) {
            Ok(()) => "; it takes the devices back when it starts".to_owned(),
            Err(error) => format!("; and no note could be left for it: {error}"),
        },
        _ => String::new(),
    };
    Fault::NO_HOST.because(format!("{why}{left}"))
}

fn line(version: &str, object: Value) -> Option<String> {
    let Value::Object(mut all) = object else { return None };
    all.insert("cdiVersion".to_owned(), json!(version));
    Some(Value::Object(all).to_string())
}

/// A configuration: what is known of it is there once, and the rest of it is left alone.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Config {
    cdi_version: String,
    r#type: String,
    plugin: String,
    name: String,
    /// Opaque; and, as all of these, there once.
    #[serde(rename = "args")]
    _args: IgnoredAny,
}

impl Config {
    fn read(stdin: io::Result<Vec<u8>>) -> Result<Self, Failure> {
        let bad = |why: String| Fault::CONFIG.because(why);
        let bytes = stdin.map_err(|error| bad(error.to_string()))?;
        if bytes.len() > MAX_CONFIG {
            return Err(bad(format!("it has more than {MAX_CONFIG} bytes")));
        }
        if !bytes.trim_ascii_start().starts_with(b"{") {
            return Err(bad("it is no JSON object".to_owned()));
        }
        serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))
    }

    /// The type that it is for.
    fn kind(self, program: &str) -> Result<String, Failure> {
        let bad = |why: String| Err(Fault::CONFIG.because(why));
        let (version, kind, plugin) = (self.cdi_version, self.r#type, self.plugin);
        if !VERSIONS.contains(&version.as_str()) {
            return Err(Fault::CONFIG_VERSION.because(unsupported("version", &version)));
        }
        if self.name.is_empty() {
            return bad("it has no \"name\"".to_owned());
        }
        let starts = kind.starts_with(|first: char| first.is_ascii_alphabetic());
        if !starts || kind.len() > MAX_TYPE || kind.bytes().any(|b| !b.is_ascii_alphanumeric()) {
            return bad(format!("\"type\" is \"{}\", which is no resource-type", escape(&kind, 80)));
        }
        if plugin != program {
            let (plugin, program) = (escape(&plugin, 80), escape(program, 80));
            return bad(format!("it is for the program \"{plugin}\", and this is \"{program}\""));
        }
        Ok(kind)
    }
}

fn unsupported(what: &str, text: &str) -> String {
    format!("Unsupported {what}: {}", escape(text, 80))
}

#[cfg(test)]
mod tests;
