//! A component's file, written by a vendor, up to where it is compiled.

use crate::hold;
use devgate_types::component::Profile;
use devgate_types::load::{Contents, Refusal, check_file, check_imports, profile};
use devgate_types::{Grant, Limits};

/// Measured: a validator keeps every type that there is, and one byte can name one. It also makes room for as many as a section says
/// that it has, at most a million, in each of the components in each other; the process that reads has an end to its memory.
const COST: hold::Cost = hold::Cost { per_byte: 1 << 13, besides: 256 << 20 };

/// A file is refused with what is wrong, or is a component within the limits.
pub fn component(input: &[u8]) {
    let limits = Limits::default();
    let sha256 = [7; 32];
    COST.holds(input.len(), || {
        if let Err(refusal) = check_file(input, sha256, &limits, None) {
            return refused(&refusal);
        }
        let scan = match devgate_sandbox::scan(input, &limits) {
            Ok(scan) => scan,
            Err(refusal) => return refused(&refusal),
        };
        assert_eq!(scan.counts.check(&limits), Ok(()), "what was read is within the limits");
        assert!(scan.types_alone.iter().chain(&scan.optional).all(|name| scan.imports.contains(name)));
        for grant in [Grant::Granted, Grant::NotGranted { key: "wasi" }] {
            let contents = Contents::new(scan.clone(), &|_| grant);
            let names = contents.imports.iter().map(|import| import.name.as_str());
            names.for_each(hold::message);
            contents.exports.iter().for_each(|name| hold::message(name.as_str()));
            if let Err(refusal) = check_imports(&scan, &|_| grant) {
                refused(&refusal);
            }
        }
        match profile(&scan) {
            Ok(Profile { wasi, .. }) => assert!(!wasi || scan.imports.iter().any(|name| name.starts_with("wasi:"))),
            Err(refusal) => refused(&refusal),
        }
    });
}

/// All imports that are refused are listed, each in a line.
fn refused(refusal: &Refusal) {
    hold::lines(&refusal.to_string(), 43, 64 << 10);
}
