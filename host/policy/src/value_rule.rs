//! What a value in an allocation's answer may be: a rule over the records that were allocated.

use crate::error::Problem;
use devgate_types::{ResourceName, escape};
use std::fmt;
use std::sync::Arc;

/// One allocated unit, as the component described it when it was enumerated.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// The unit's id, without a replica's suffix.
    pub id: &'a str,
    /// Its properties, by name and value.
    pub properties: &'a [(String, String)],
}

/// What a value may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueRule {
    /// Whatever the component says.
    Any,
    /// One of these.
    OneOf(Arc<[String]>),
    /// What a template makes of the allocated records. The host sets it, whether or not the component says it.
    Template(Template),
}

/// Text with placeholders. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    text: Arc<str>,
    parts: Arc<[Part]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    Ids,
    Property(String),
    /// The resource's name, which is known once the template is bound to one.
    Resource,
}

/// What a value should have been; its text stands behind "the policy expects".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Expected(String);

impl ValueRule {
    /// Holds a value against the rule. `allocated` has each unit once; its order does not matter.
    ///
    /// What a component chose itself, an id or a property, never stands for a word that means more than one device:
    /// `all` and `none` pass only where the policy writes them out.
    pub fn check(&self, value: &str, allocated: &[Record<'_>]) -> Result<(), Expected> {
        match self {
            Self::Any if value.contains('\0') => Err(Expected("text without NUL".to_owned())),
            Self::Any => Ok(()),
            Self::OneOf(values) if values.iter().any(|one| one == value) => Ok(()),
            Self::OneOf(_) => Err(Expected(self.to_string())),
            Self::Template(template) => {
                let expected = template.expand(allocated)?;
                if expected == value {
                    return Ok(());
                }
                let (expected, template) = (escape(&expected, 256), escape(&template.text, 80));
                Err(Expected(format!("\"{expected}\" (from \"{template}\")")))
            }
        }
    }

    /// The template, where the rule is one: its expansion is set in every allocation.
    #[must_use]
    pub fn template(&self) -> Option<&Template> {
        match self {
            Self::Template(template) => Some(template),
            Self::Any | Self::OneOf(_) => None,
        }
    }

    /// Whether a component has a say in the value.
    pub(crate) fn is_free(&self) -> bool {
        match self {
            Self::Any => true,
            Self::OneOf(_) => false,
            Self::Template(template) => !template.is_fixed(),
        }
    }

    /// The same rule where units of `resource` are allocated.
    pub(crate) fn bind(&self, resource: &ResourceName) -> Self {
        match self {
            Self::Template(template) => Self::Template(template.bind(resource)),
            other => other.clone(),
        }
    }
}

impl fmt::Display for ValueRule {
    /// As the policy writes it, escaped and cut: `any`, `"{ids}"`, `"a" or "b"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::OneOf(values) => {
                let values: Vec<String> = values.iter().map(|one| format!("\"{}\"", escape(one, 80))).collect();
                f.write_str(&escape(&values.join(" or "), 256))
            }
            Self::Template(template) => write!(f, "\"{}\"", escape(&template.text, 80)),
        }
    }
}

impl Template {
    /// Reads `{ids}`, `{property.NAME}` and `{resource}`; `{{` and `}}` stand for braces.
    pub(crate) fn parse(text: &str) -> Result<Self, Problem> {
        let named = |name: &str| match name {
            "ids" => Some(Part::Ids),
            "resource" => Some(Part::Resource),
            name => property_name(name).map(Part::Property),
        };
        let parts = parts(text, Part::Literal, named).ok_or_else(|| {
            let shown = escape(text, 80);
            Problem(format!(
                "must be a template with {{ids}}, {{property.NAME}} and {{resource}}, and {{{{ or }}}} for a brace, not \"{shown}\""
            ))
        })?;
        Ok(Self { text: text.into(), parts: parts.into() })
    }

    fn bind(&self, resource: &ResourceName) -> Self {
        if !self.parts.contains(&Part::Resource) {
            return self.clone();
        }
        let bound = |part: &Part| match part {
            Part::Resource => Part::Literal(resource.to_string()),
            other => other.clone(),
        };
        Self { text: Arc::clone(&self.text), parts: self.parts.iter().map(bound).collect() }
    }

    /// Whether it has no placeholder but the resource's name, which no component chooses: the same for every unit.
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        let fixed = |part: &Part| matches!(part, Part::Literal(_) | Part::Resource);
        self.parts.iter().all(fixed)
    }

    /// Whether the resource's name is a part of it.
    pub(crate) fn names_resource(&self) -> bool {
        self.parts.contains(&Part::Resource)
    }

    /// What is written between the placeholders.
    pub(crate) fn literals(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Literal(text) => Some(text.as_str()),
            Part::Ids | Part::Property(_) | Part::Resource => None,
        })
    }

    /// The template as the policy writes it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What the template makes of the allocated records. Their order does not matter. The error says which value was expected: where a
    /// record lacks a property, or has an id or property that would not stand for one device (`all`, `none`, nothing at all, or with a
    /// `,`).
    pub fn expand(&self, allocated: &[Record<'_>]) -> Result<String, Expected> {
        let mut records: Vec<&Record<'_>> = allocated.iter().collect();
        records.sort_by_key(|record| record.id);
        let mut out = String::new();
        for part in self.parts.iter() {
            match part {
                Part::Literal(text) => out.push_str(text),
                Part::Ids => join(&mut out, records.iter().map(|record| plain("the id", record.id, record.id)))?,
                Part::Property(name) => join(&mut out, records.iter().map(|record| property(record, name)))?,
                // Who asks for a resource's rules gets them bound.
                Part::Resource => return Err(Expected("a resource's name".to_owned())),
            }
        }
        Ok(out)
    }
}

/// Takes a text with placeholders apart; `{{` and `}}` stand for braces. Nothing where a brace has no other, or what stands between
/// two is no name.
pub(crate) fn parts<T>(text: &str, literal: fn(String) -> T, named: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let (mut parts, mut before, mut rest) = (Vec::new(), String::new(), text);
    while let Some(at) = rest.find(['{', '}']) {
        let (plain, from) = rest.split_at(at);
        before.push_str(plain);
        let doubled = ["{{", "}}"].into_iter().find_map(|brace| from.strip_prefix(brace));
        if let Some(after) = doubled {
            before.push_str(from.get(..1).unwrap_or_default());
            rest = after;
            continue;
        }
        let (name, after) = from.strip_prefix('{')?.split_once('}')?;
        if !before.is_empty() {
            parts.push(literal(std::mem::take(&mut before)));
        }
        parts.push(named(name)?);
        rest = after;
    }
    before.push_str(rest);
    if !before.is_empty() {
        parts.push(literal(before));
    }
    Some(parts)
}

/// The property that a placeholder names.
pub(crate) fn property_name(placeholder: &str) -> Option<String> {
    let ok = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
    let name = placeholder.strip_prefix("property.")?;
    ((1..=128).contains(&name.len()) && name.bytes().all(ok)).then(|| name.to_owned())
}

fn join<'a>(out: &mut String, values: impl Iterator<Item = Result<&'a str, Expected>>) -> Result<(), Expected> {
    for (n, value) in values.enumerate() {
        if n != 0 {
            out.push(',');
        }
        out.push_str(value?);
    }
    Ok(())
}

fn property<'a>(record: &Record<'a>, name: &str) -> Result<&'a str, Expected> {
    match record.properties.iter().find(|(key, _)| key == name) {
        Some((_, value)) => plain(&format!("property \"{name}\""), value, record.id),
        None => {
            let id = escape(record.id, 80);
            Err(Expected(format!("a value from property \"{name}\", which \"{id}\" does not have")))
        }
    }
}

/// One value that a component chose, if it stands for one device: several joined by `,` must not look like others, nor one
/// like another to a reader that trims it (container runtimes trim " all") or to people (characters that cannot be seen).
fn plain<'a>(what: &str, value: &'a str, id: &str) -> Result<&'a str, Expected> {
    let trimmed = value.trim();
    let word = trimmed.eq_ignore_ascii_case("all") || trimmed.eq_ignore_ascii_case("none");
    let hidden = trimmed != value || escape(value, value.len()) != value;
    if word || hidden || value.is_empty() || value.contains(',') {
        let (value, id) = (escape(value, 80), escape(id, 80));
        return Err(Expected(format!("a value for one device, but {what} of \"{id}\" is \"{value}\"")));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn template(text: &str) -> ValueRule {
        let resource = ResourceName::try_new("v.com/gpu").unwrap();
        ValueRule::Template(Template::parse(text).unwrap()).bind(&resource)
    }

    fn properties(value: &str) -> Vec<(String, String)> {
        vec![("uuid".to_owned(), value.to_owned())]
    }

    #[test]
    fn a_value_that_only_looks_like_one_device_is_none() {
        let check = |value: &str| {
            let properties = properties(value);
            let record = Record { id: "a", properties: &properties };
            template("{property.uuid}").check(value, &[record])
        };
        for good in ["GPU-1", "ACME A100", "gpu 0 (ä)", "{ids}"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in
            ["", "all", "NONE", " all", "all ", " ", "a ", "a,b", "a\nb", "a\u{1b}[2J", "a\u{202e}b", "a\u{200b}b"]
        {
            assert!(check(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_template_is_met_by_its_expansion_alone() {
        let (one, two) = (properties("U1"), properties("U2"));
        let records = [Record { id: "b", properties: &two }, Record { id: "a", properties: &one }];
        template("{ids}").check("a,b", &records).unwrap();
        template("{property.uuid}").check("U1,U2", &records).unwrap();
        template("x={{{ids}}}@{resource}").check("x={a,b}@v.com/gpu", &records).unwrap();
        template("fixed").check("fixed", &records).unwrap();
        template("{ids}").check("", &[]).unwrap();
        for wrong in ["b,a", "a", "a,b,c", "all", "", "a,b "] {
            assert!(template("{ids}").check(wrong, &records).is_err(), "{wrong}");
        }
        insta::assert_snapshot!(template("{ids}").check("all", &records).unwrap_err(), @r#""a,b" (from "{ids}")"#);
        insta::assert_snapshot!(template("{property.bus}").check("", &records).unwrap_err(), @r#"a value from property "bus", which "a" does not have"#);
    }

    #[test]
    fn a_component_cannot_name_more_than_was_allocated() {
        for value in ["all", "ALL", "None", "U1,U2", "", "U1\n"] {
            let chosen = properties(value);
            let records = [Record { id: "a", properties: &chosen }];
            assert!(template("{property.uuid}").check(value, &records).is_err(), "{value:?}");
        }
        let records = [Record { id: "all", properties: &[] }];
        insta::assert_snapshot!(template("{ids}").check("all", &records).unwrap_err(), @r#"a value for one device, but the id of "all" is "all""#);
        template("all").check("all", &records).unwrap();
    }

    #[test]
    fn literals_and_any() {
        let list = ValueRule::OneOf(["all".to_owned(), "none".to_owned()].into());
        list.check("all", &[]).unwrap();
        insta::assert_snapshot!(list.check("some", &[]).unwrap_err(), @r#""all" or "none""#);
        ValueRule::Any.check("whatever", &[]).unwrap();
        assert!(ValueRule::Any.check("what\0ever", &[]).is_err());
    }

    #[test]
    fn templates_with_mistakes_are_refused() {
        for bad in ["{", "}", "{id}", "{ids", "ids}", "{property.}", "{property.a b}", "{{ids}", "{}", "{ids}}"] {
            assert!(Template::parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_template_panics(text in "\\PC{0,40}", id in "\\PC{0,10}", value in "\\PC{0,10}") {
            if let Ok(template) = Template::parse(&text) {
                let chosen = properties(&value);
                let _ = ValueRule::Template(template).check(&value, &[Record { id: &id, properties: &chosen }]);
            }
        }

        #[test]
        fn a_list_of_ids_names_exactly_the_allocated(ids in proptest::collection::btree_set("[a-z0-9]{1,6}", 1..6)) {
            prop_assume!(!ids.contains("all") && !ids.contains("none"));
            let records: Vec<Record<'_>> = ids.iter().rev().map(|id| Record { id, properties: &[] }).collect();
            let value = ids.iter().cloned().collect::<Vec<_>>().join(",");
            let rule = template("{ids}");
            prop_assert!(rule.check(&value, &records).is_ok());
            prop_assert!(rule.check(&value, &records[1..]).is_err());
        }
    }
}
