//! What other commands take of what a component is and says of itself.

use super::{Import, Report};
use devgate_types::load::Interface;

/// What a component says of itself, for `devgatectl push`.
pub(crate) struct Words {
    pub(crate) imports: Vec<String>,
    pub(crate) exports: Vec<String>,
    pub(crate) author: Option<String>,
    /// Names of OCI's annotations, without their common beginning.
    pub(crate) annotations: [(&'static str, Option<String>); 7],
}

impl Report {
    /// The file's name, escaped.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// The contract that it was built against.
    pub(crate) fn contract(&self) -> Option<&str> {
        self.contract.as_deref()
    }

    /// Its bytes.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Whether this host can run it, once the policy grants what it imports.
    pub(crate) fn runs(&self) -> bool {
        self.runs
    }

    /// What it says of itself.
    pub(crate) fn words(&self) -> Words {
        let said = &self.metadata;
        Words {
            imports: self.imports.iter().map(|import| import.name.clone()).collect(),
            exports: self.exports.clone(),
            author: said.authors.clone(),
            annotations: [
                ("title", said.name.clone()),
                ("version", said.version.clone()),
                ("licenses", said.licences.clone()),
                ("source", said.source.clone()),
                ("revision", said.revision.clone()),
                ("url", said.homepage.clone()),
                ("description", said.description.clone()),
            ],
        }
    }

    /// The interfaces of the contract that it imports and a policy grants, by their bare names.
    pub(crate) fn granted(&self) -> Vec<String> {
        self.bare(|import| import.key.is_some()).map(|(name, _)| name.to_owned()).collect()
    }

    /// Those of them that it can do without, each with the policy's key for it.
    pub(crate) fn optional(&self) -> Vec<(&str, &'static str)> {
        self.bare(|import| import.need == "optional").collect()
    }

    fn bare(&self, is_meant: fn(&Import) -> bool) -> impl Iterator<Item = (&str, &'static str)> {
        self.imports.iter().filter(move |import| is_meant(import)).filter_map(|import| {
            let interface = Interface::parse(&import.name).filter(|interface| interface.package == "devgate:plugin")?;
            Some((interface.name, import.key?))
        })
    }

    /// Why not.
    pub(crate) fn problems(&self) -> &[String] {
        &self.problems
    }
}
