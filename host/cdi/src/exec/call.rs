//! The caller's side: environment and configuration in, one line of JSON and an exit status out.

use super::{Answer, Failure, Fault, Request, VERSIONS};
use devgate_types::escape;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value, json};
use std::fmt;

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

/// Why the host did not answer.
#[derive(Debug)]
pub struct NoAnswer(pub String);

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
        ask: impl FnOnce(&Request) -> Result<Answer, NoAnswer>,
        leave: impl FnOnce(&Request) -> std::io::Result<()>,
    ) -> Ended {
        let command = (self.env)("CDI_COMMAND").unwrap_or_default().to_uppercase();
        if command == "VERSION" {
            return Ended::of(NEWEST, &json!({"supportedVersions": VERSIONS}), true);
        }
        let config = (self.stdin)()
            .map_err(|error| error.to_string())
            .and_then(|bytes| Config::parse(&bytes));
        let asked = (self.env)("CDI_VERSION");
        let supported = |version: &str| VERSIONS.into_iter().find(|known| *known == version);
        let of_config = config
            .as_ref()
            .ok()
            .and_then(|config| supported(config.text("cdiVersion")?));
        let version = asked.as_deref().and_then(supported).or(of_config).unwrap_or(NEWEST);
        let is_del = command == "DEL";
        let mut notes = Vec::new();
        let checked = self.check(&command, asked.as_deref(), config, &mut notes);
        let answer = match checked {
            Ok(request) => match ask(&request) {
                Ok(Answer::Failed(failure)) => Err(failure),
                Ok(answer) => Ended::success(version, answer, &request).ok_or_else(|| {
                    Fault::Failed.because("the answer is to another question; is the host of another version?")
                }),
                Err(NoAnswer(why)) if is_del => {
                    let left = leave(&request).map_or_else(
                        |why| format!("and no note could be left for it: {why}"),
                        |()| "it takes the devices back when it starts".to_owned(),
                    );
                    Err(Fault::NoHost.because(format!("{why}; {left}")))
                }
                Err(NoAnswer(why)) => Err(Fault::NoHost.because(why)),
            },
            Err(failure) => Err(failure),
        };
        let mut ended = match answer {
            Ok(ended) => ended,
            Err(failure) => {
                notes.push(failure.to_string());
                Ended::of(version, &failure.object(), is_del)
            }
        };
        ended.notes = notes;
        ended
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
        let unsupported = |version: &str| format!("Unsupported version: {}", escape(version, 80));
        match version {
            Some(version) if !VERSIONS.contains(&version) => return Err(Fault::Version.because(unsupported(version))),
            None if command == "ADD" => return Err(Fault::Version.because("CDI_VERSION is not set")),
            _ => {}
        }
        let kind = config.map_err(|why| Fault::Config.because(why))?.check(self.program)?;
        match command {
            "INFO" => Ok(Request::Info { kind }),
            "ADD" => Ok(Request::Add {
                amount: self.amount(&kind)?,
                id: self.id()?,
                numa: self.numa(notes),
                kind,
            }),
            "" => Err(Fault::Command.because("CDI_COMMAND is not set")),
            other => Err(Fault::Command.because(format!("Unsupported command: {}", escape(other, 80)))),
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
        Err(Fault::Malformed.because(format!(
            "CDI_REQUEST_ID \"{}\" must be a letter or digit, then at most {} letters, digits or \"-\"",
            escape(&id, 80),
            MOST_ID - 1
        )))
    }

    /// The amount of the only spec that there is: the type itself. Specs are looked at before amounts.
    fn amount(&self, kind: &str) -> Result<u32, Failure> {
        let bad = |why: String| Fault::Malformed.because(format!("CDI_REQUEST {why}"));
        let request = (self.env)("CDI_REQUEST").ok_or_else(|| bad("is not set".to_owned()))?;
        let parts: Vec<_> = request
            .split(',')
            .map(|part| part.split_once(':').unwrap_or((part, "")))
            .collect();
        if let Some((spec, _)) = parts.iter().find(|(spec, _)| *spec != kind) {
            return Err(Fault::Spec.because(format!("Unsupported resource-spec: {}", escape(spec, 80))));
        }
        match parts.as_slice() {
            [(_, amount)] if amount.bytes().all(|b| b.is_ascii_digit()) => {
                let why = || {
                    bad(format!(
                        "asks for \"{}\" devices, which is no such number",
                        escape(amount, 80)
                    ))
                };
                amount.parse().map_err(|_| why())
            }
            [(_, amount)] => Err(bad(format!(
                "asks for \"{}\" devices, which is no integer",
                escape(amount, 80)
            ))),
            _ => Err(bad(format!("asks for {kind} more than once"))),
        }
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
        match self.details.as_str() {
            "" => json!({"error": number, "message": message, "code": number, "msg": message}),
            details => {
                json!({"error": number, "message": message, "code": number, "msg": message, "details": details})
            }
        }
    }
}

impl Ended {
    fn of(version: &str, object: &Value, is_success: bool) -> Self {
        let mut all = Map::from_iter([("cdiVersion".to_owned(), version.into())]);
        all.extend(object.as_object().cloned().unwrap_or_default());
        Self {
            line: Some(Value::Object(all).to_string()),
            is_success,
            notes: Vec::new(),
        }
    }

    fn success(version: &str, answer: Answer, request: &Request) -> Option<Self> {
        match (answer, request) {
            (Answer::Amount(amount), Request::Info { kind }) => {
                Some(Self::of(version, &json!({kind.as_str(): amount}), true))
            }
            (Answer::Added { devices, numa }, Request::Add { numa: asked, .. }) => {
                let object = match asked {
                    Some(_) => json!({"devices": devices, "numa_locality": numa}),
                    None => json!({"devices": devices}),
                };
                Some(Self::of(version, &object, true))
            }
            (Answer::Deleted, Request::Del { .. }) => Some(Self {
                line: None,
                is_success: true,
                notes: Vec::new(),
            }),
            _ => None,
        }
    }
}

/// A configuration: an object whose keys are there once.
struct Config(Map<String, Value>);

impl Config {
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() > MOST_CONFIG {
            return Err(format!("it has more than {MOST_CONFIG} bytes"));
        }
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.as_str()
    }

    /// The type that it is for. What is not known is left alone.
    fn check(&self, program: &str) -> Result<String, Failure> {
        let need = |key: &str| {
            let missing = || Fault::Config.because(format!("\"{key}\" is not there, or is no text"));
            self.text(key).ok_or_else(missing)
        };
        let version = need("cdiVersion")?;
        if !VERSIONS.contains(&version) {
            return Err(Fault::ConfigVersion.because(format!("Unsupported version: {}", escape(version, 80))));
        }
        let (kind, plugin, _name) = (need("type")?, need("plugin")?, need("name")?);
        let is_type = kind.len() <= MOST_TYPE
            && kind.starts_with(|first: char| first.is_ascii_alphabetic())
            && kind.bytes().all(|b| b.is_ascii_alphanumeric());
        if !is_type {
            return Err(Fault::Config.because(format!(
                "\"type\" is \"{}\", which is no resource-type",
                escape(kind, 80)
            )));
        }
        if plugin != program {
            let (plugin, program) = (escape(plugin, 80), escape(program, 80));
            return Err(Fault::Config.because(format!("it is for the program \"{plugin}\", and this is \"{program}\"")));
        }
        Ok(kind.to_owned())
    }
}

impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Once;
        impl<'de> Visitor<'de> for Once {
            type Value = Config;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Config, A::Error> {
                let mut all = Map::new();
                while let Some((key, value)) = entries.next_entry::<String, Value>()? {
                    if all.insert(key.clone(), value).is_some() {
                        return Err(de::Error::custom(format!("\"{}\" is there twice", escape(&key, 80))));
                    }
                }
                Ok(Config(all))
            }
        }
        deserializer.deserialize_map(Once)
    }
}

#[cfg(test)]
mod tests;
