//! Files of the Container Device Interface, written by any program of the machine.

use super::dir;
use crate::hold;
use devgate_fake_node::RecordedNode;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Measured.
const COST: hold::Cost = hold::Cost { per_byte: 1 << 12, besides: 4 << 20 };

/// A file is refused with what is wrong, or is one whose devices are listed and that is the same when it is written again.
pub fn cdi(input: &[u8]) {
    let dir = dir();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let node = RecordedNode::parse("none", "").unwrap();
    for name in ["a.json", "a.yaml"] {
        let file = dir.path().join(name);
        fs::write(&file, input).unwrap();
        COST.holds(input.len(), || {
            let checked = devgate_cdi::check::check(&[dir.path().to_owned()], node.node()).unwrap();
            checked.findings.iter().for_each(|finding| hold::message(&finding.what));
            let is_wrong = checked.findings.iter().any(|finding| finding.is_error);
            let Ok(text) = devgate_cdi::fuzz::rewrite(&file) else {
                assert!(is_wrong && checked.devices.is_empty(), "{:?}", checked.devices);
                return;
            };
            assert!(!is_wrong && !checked.devices.is_empty(), "{:?}", checked.findings);
            for form in ["b.json", "b.yaml"] {
                let again = dir.path().join(form);
                fs::write(&again, &text).unwrap();
                assert_eq!(devgate_cdi::fuzz::rewrite(&again).as_ref(), Ok(&text), "as {form}");
                fs::remove_file(&again).unwrap();
            }
        });
        fs::remove_file(&file).unwrap();
    }
}
