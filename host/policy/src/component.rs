//! Where a plugin's component comes from.

use crate::error::Report;
use crate::fields::{Fields, Item};
use crate::key;
use devgate_model::escape;

/// Where a plugin's component comes from: `component:` of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComponentSource {
    /// A file.
    File {
        /// Relative to the directory of components; without `..`.
        path: String,
        /// The SHA-256 digest that the file must have.
        sha256: Option<[u8; 32]>,
    },
}

impl ComponentSource {
    pub(crate) fn read(item: &Item<'_>, plugin: &str, report: &mut Report) -> Option<Self> {
        let place = format!("component of {plugin}");
        let fields = Fields::open(item.node, &place, &key::COMPONENT, report)?;
        let path = fields.need("file", report).and_then(|item| file(&item, report));
        let mut sha256 = None;
        if let Some(item) = fields.get("sha256") {
            let text = item.text(report)?;
            sha256 = digest(text);
            if sha256.is_none() {
                let shown = escape(text, 72);
                item.error(
                    report,
                    format!("must be 64 hexadecimal digits, as sha256sum prints them, not \"{shown}\""),
                );
            }
        }
        Some(Self::File {
            path: path?.to_owned(),
            sha256,
        })
    }
}

fn file<'a>(item: &Item<'a>, report: &mut Report) -> Option<&'a str> {
    let text = item.text(report)?;
    let plain = !text.split('/').any(|component| matches!(component, "" | "." | ".."));
    if plain && !text.contains(char::is_control) {
        return Some(text);
    }
    let shown = escape(text, 80);
    item.error(
        report,
        format!("must be a path in the directory of components, not absolute and without \"..\", not \"{shown}\""),
    );
    None
}

fn digest(text: &str) -> Option<[u8; 32]> {
    let mut out = [0; 32];
    if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    for (n, byte) in out.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * n..2 * n + 2)?, 16).ok()?;
    }
    Some(out)
}
