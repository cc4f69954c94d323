//! Attributes that a component may write.

use crate::error::Report;
use crate::fields::{Fields, Item};
use crate::selector::problem_of_attribute;
use crate::{Origin, key};
use devgate_types::escape;

/// The most entries of one plugin, and the most values of one entry.
const MOST: usize = 64;
/// The longest value, in bytes.
const MOST_VALUE: usize = 256;

/// One entry of `control:`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Control {
    /// The attribute's path relative to a device.
    pub attribute: String,
    /// What may be written, letter by letter.
    pub values: Vec<String>,
    /// Whether it may be written when units are prepared for a container.
    pub prepare: bool,
    /// Whether it may be written when units are released.
    pub release: bool,
    /// Where it is written.
    pub origin: Origin,
}

impl Control {
    pub(crate) fn read_list(item: &Item<'_>, plugin: &str, report: &mut Report) -> Vec<Self> {
        let list = item.list(report);
        if list.len() > MOST {
            item.error(report, format!("must have at most {MOST} entries"));
        }
        let place = format!("control of {plugin}");
        let read = |entry: &Item<'_>| Self::read(entry, &place, report);
        list.iter().take(MOST).filter_map(read).collect()
    }

    fn read(entry: &Item<'_>, place: &str, report: &mut Report) -> Option<Self> {
        let fields = Fields::open(entry.node, place, &key::CONTROL, report)?;
        let attribute = fields
            .need("attribute", report)
            .and_then(|item| attribute(&item, report));
        let values = fields.need("values", report).map(|item| values(&item, report));
        fields.need("moment", report)?;
        let moments = fields.words("moment", report);
        Some(Self {
            attribute: attribute?.to_owned(),
            values: values?,
            prepare: moments.contains(&"prepare"),
            release: moments.contains(&"release"),
            origin: Origin::new(report, entry.node.at),
        })
    }
}

fn attribute<'a>(item: &Item<'a>, report: &mut Report) -> Option<&'a str> {
    let text = item.text(report)?;
    match problem_of_attribute(text) {
        Some(problem) => {
            item.error(report, format!("has \"{}\", which {problem}", escape(text, 80)));
            None
        }
        None => Some(text),
    }
}

fn values(item: &Item<'_>, report: &mut Report) -> Vec<String> {
    let texts = item.texts(report);
    if texts.len() > MOST {
        item.error(report, format!("must have at most {MOST} entries"));
    }
    let mut out = Vec::new();
    for (item, text) in texts.into_iter().take(MOST) {
        if text.len() > MOST_VALUE || text.contains(char::is_control) {
            item.error(
                report,
                format!("must be values of at most {MOST_VALUE} bytes without control characters"),
            );
        } else {
            out.push(text.to_owned());
        }
    }
    out
}
