//! What a component asks the host about, and what it may be given instead of the truth.

use devgate_types::component::{Answered, Denied};
use devgate_types::{Failure, FailureKind, escape};
use std::fmt;

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
pub(super) struct Thing {
    pub(super) kind: Kind,
    /// The place of the device that it is about in the device tree; empty where it is about none.
    pub(super) location: String,
    /// The path, name or subsystem.
    pub(super) path: String,
}

impl Thing {
    /// The kernel's name of the device.
    pub(super) fn device(&self) -> &str {
        self.location.rsplit('/').next().unwrap_or_default()
    }

    /// The same for all things that differ in numbers only: what is tried with one of them need not be tried with another.
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

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = escape(&self.path, 120);
        let what = match self.kind {
            Kind::Attribute => format!("attribute {path}"),
            Kind::Entries => format!("the directory \"{path}\""),
            Kind::Link => format!("link {path}"),
            Kind::Nodes => "the nodes".to_owned(),
            Kind::Children => format!("the children of subsystem {path}"),
            Kind::Parent => "the parent".to_owned(),
            Kind::Driver => "the driver".to_owned(),
            Kind::Numa => "the NUMA node".to_owned(),
            Kind::Devices => format!("the devices of {path}"),
            Kind::Device => format!("device {path}"),
            Kind::HostPath => format!("host path {path}"),
            Kind::File => format!("file {path}"),
            Kind::FileEntries => format!("directory {path}"),
            Kind::Log => "the kernel's log".to_owned(),
            Kind::State => format!("state ({path})"),
            Kind::Write => format!("writing {path}"),
            Kind::Word => path,
        };
        f.write_str(&what)?;
        if !self.location.is_empty() {
            write!(f, " of {}", escape(self.device(), 80))?;
        }
        Ok(())
    }
}

/// What is answered in the host's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Given {
    /// The content of an attribute or file, or where a link leads.
    Bytes(Vec<u8>),
    /// The names in a directory.
    Names(Vec<String>),
    /// An empty list, or none.
    Nothing,
    Failure(Failure),
}

impl Given {
    pub(super) fn failure(kind: FailureKind, code: &str, message: &str) -> Self {
        Self::Failure(Failure::new(kind, message).with_code(code))
    }

    /// As the host makes text of a file.
    pub(super) fn text(self, thing: &Thing, most: usize) -> Answered<String> {
        let bytes = self.bytes()?;
        if bytes.len() > most {
            let message = format!("{thing}: is larger than {most} bytes");
            return Err(Failure::new(FailureKind::Limit, message).into());
        }
        let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
        let Some(mut text) = text else {
            let message = format!("{thing} is not text");
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

impl fmt::Display for Given {
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
mod tests {
    use super::*;

    #[test]
    fn things_that_differ_in_numbers_have_one_shape() {
        let thing = |location: &str, path: &str| Thing {
            kind: Kind::Attribute,
            location: location.into(),
            path: path.into(),
        };
        let one = thing("pci0000:15/0000:1b:00.0", "hwmon/hwmon3/temp1_input");
        let other = thing("pci0000:9d/0000:af:00.0", "hwmon/hwmon12/temp2_input");
        assert_eq!(one.shape(), other.shape());
        assert_ne!(
            one.shape(),
            thing("pci0000:15/card0", "hwmon/hwmon3/temp1_input").shape()
        );
        assert_ne!(one.shape(), thing("pci0000:15/0000:1b:00.0", "device").shape());
    }

    #[test]
    fn what_is_given_is_cut_and_refused_as_the_host_does() {
        let thing = Thing {
            kind: Kind::Attribute,
            location: String::new(),
            path: "x".into(),
        };
        let text = |bytes: &[u8]| Given::Bytes(bytes.to_vec()).text(&thing, 4);
        assert_eq!(text(b"ab \n"), Ok("ab".to_owned()));
        assert!(matches!(text(b"abcde"), Err(Denied::Failure(f)) if f.kind == FailureKind::Limit));
        assert!(matches!(text(b"a\0"), Err(Denied::Failure(f)) if f.code == "not-text"));
        assert!(matches!(text(b"\xff"), Err(Denied::Failure(f)) if f.code == "not-text"));
        assert_eq!(Given::Bytes(b"abcde".to_vec()).range(1, 2), Ok(b"bc".to_vec()));
        assert_eq!(Given::Bytes(b"abcde".to_vec()).range(9, 2), Ok(Vec::new()));
    }
}
