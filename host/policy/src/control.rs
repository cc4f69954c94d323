//! Attributes that a component may write.

use crate::error::Problem;
use crate::fields::Item;
use crate::selector::problem_of_attribute;
use crate::{Origin, key};

/// The most entries of one plugin, and the most values of one entry.
const MAX_ENTRIES: usize = 64;
/// The longest value, in bytes.
const MAX_VALUE: usize = 256;

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
    pub(crate) fn read_list(item: &Item<'_>, plugin: &str) -> Vec<Self> {
        let place = format!("control of {plugin}");
        let list = item.list(MAX_ENTRIES).into_iter();
        list.filter_map(|entry| Self::read(&entry, &place)).collect()
    }

    fn read(entry: &Item<'_>, place: &str) -> Option<Self> {
        let fields = entry.open(place, &key::CONTROL)?;
        let attribute = fields.need("attribute").and_then(|item| item.parse(attribute));
        let values = fields.need("values").map(|item| item.each(MAX_ENTRIES, value));
        fields.need("moment")?;
        let moments = fields.words("moment");
        Some(Self {
            attribute: attribute?,
            values: values?,
            prepare: moments.contains(&"prepare"),
            release: moments.contains(&"release"),
            origin: entry.origin(),
        })
    }
}

fn attribute(text: &str) -> Result<String, Problem> {
    match problem_of_attribute(text) {
        Some(problem) => Err(Problem::which(text, problem)),
        None => Ok(text.to_owned()),
    }
}

fn value(text: &str) -> Result<String, Problem> {
    if text.len() > MAX_VALUE || text.contains(char::is_control) {
        let problem = format!("must be values of at most {MAX_VALUE} bytes without control characters");
        return Err(Problem(problem));
    }
    Ok(text.to_owned())
}
