//! What a component asks its host, and the answers that are faked.

use devgate_types::component::{Answered, Denied};
use devgate_types::{Failure, FailureKind, escape};
use std::fmt;

/// The largest text attribute and the largest text file, as the contract says.
const ATTRIBUTE_BYTES: usize = 4_096;
const FILE_BYTES: usize = 64 << 10;

/// The kind of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Attribute,
    Entries,
    Link,
    Nodes,
    Children,
    Parent,
    Driver,
    Numa,
    Devices,
    Device,
    HostPath,
    File,
    FileEntries,
    Log,
    State,
    Write,
    /// What the host knows of a handle, and cannot fail to say.
    Word,
}

/// What a question is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Query {
    pub(super) kind: Kind,
    /// The place of the device that it is about in the device tree; empty where it is about none.
    pub(super) location: String,
    /// The path, name or subsystem.
    pub(super) path: String,
}

impl Query {
    /// The kernel's name of the device.
    pub(super) fn device(&self) -> &str {
        self.location.rsplit('/').next().unwrap_or_default()
    }

    /// The device, by its location, or the path that it is about.
    pub(super) fn place(&self) -> &str {
        if self.location.is_empty() { &self.path } else { &self.location }
    }

    /// The same for all queries that differ in numbers only: what is tried with one of them need not be tried with another.
    pub(super) fn shape(&self) -> (Kind, String, String) {
        (self.kind, shape(self.device()), shape(&self.path))
    }
}

/// A name with its numbers taken out; in an address, hexadecimal ones.
fn shape(name: &str) -> String {
    let mut shape = String::with_capacity(name.len());
    for part in name.split_inclusive('/') {
        let hexadecimal = part.contains(':');
        for c in part.chars() {
            let number = c.is_ascii_digit() || (hexadecimal && c.is_ascii_hexdigit());
            match (number, shape.ends_with('#')) {
                (true, true) => {}
                (true, false) => shape.push('#'),
                (false, _) => shape.push(c),
            }
        }
    }
    shape
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            Kind::Attribute => "attribute ",
            Kind::Link => "link ",
            Kind::Children => "children of subsystem ",
            Kind::Devices => "devices of ",
            Kind::Device => "device ",
            Kind::HostPath => "host path ",
            Kind::File => "file ",
            Kind::Entries | Kind::FileEntries => "directory ",
            Kind::State => "state: ",
            Kind::Write => "writing ",
            Kind::Nodes | Kind::Parent | Kind::Driver | Kind::Numa | Kind::Log | Kind::Word => "",
        };
        write!(f, "{what}{}", escape(&self.path, 120))?;
        if !self.location.is_empty() {
            write!(f, " of {}", escape(self.device(), 80))?;
        }
        Ok(())
    }
}

/// What is answered in the host's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fake {
    /// The content of an attribute or file, or where a link leads.
    Bytes(Vec<u8>),
    /// The names in a directory.
    Names(Vec<String>),
    /// An empty list, or none.
    Nothing,
    Failure(Failure),
}

impl Fake {
    pub(super) fn failure(kind: FailureKind, code: &str, message: &str) -> Self {
        Self::Failure(Failure::new(kind, message).with_code(code))
    }

    /// What only root may read.
    pub(super) fn denied() -> Self {
        Self::failure(FailureKind::Denied, "", "only root may read it")
    }

    /// As the host makes text of a file.
    pub(super) fn text(self, query: &Query) -> Answered<String> {
        let bytes = self.bytes()?;
        let most = if query.kind == Kind::File { FILE_BYTES } else { ATTRIBUTE_BYTES };
        if bytes.len() > most {
            let message = format!("{query}: is larger than {most} bytes");
            return Err(Failure::new(FailureKind::Limit, message).into());
        }
        let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
        let Some(mut text) = text else {
            let message = format!("{query} is not text");
            return Err(Failure::new(FailureKind::Other, message).with_code("not-text").into());
        };
        text.truncate(text.trim_end().len());
        Ok(text)
    }

    /// A part of a file.
    pub(super) fn range(self, offset: u64, length: u32) -> Answered<Vec<u8>> {
        let bytes = self.bytes()?;
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let to = from.saturating_add(length).min(bytes.len());
        Ok(bytes.get(from..to).unwrap_or_default().to_vec())
    }

    fn bytes(self) -> Answered<Vec<u8>> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Failure(failure) => Err(Denied::Failure(failure)),
            Self::Names(_) | Self::Nothing => Ok(Vec::new()),
        }
    }
}

impl fmt::Display for Fake {
    /// Completes "was".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                write!(f, "\"{}\"", escape(&text, 60))?;
                if bytes.len() > 60 {
                    write!(f, " ({} bytes)", bytes.len())?;
                }
                Ok(())
            }
            Self::Names(names) => {
                let shown: Vec<_> = names.iter().take(3).map(|name| escape(name, 20)).collect();
                write!(f, "{} names ({})", names.len(), shown.join(", "))
            }
            Self::Nothing => f.write_str("nothing"),
            Self::Failure(failure) => write!(f, "refused with {:?}: {failure}", failure.kind),
        }
    }
}

#[cfg(test)]
mod tests;
