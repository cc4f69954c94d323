//! Whatever a path says, nothing outside the device is read.

use super::*;

/// Paths that are likely to hit something, and any text.
fn paths() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("..".to_owned()),
        Just(".".to_owned()),
        Just(String::new()),
        Just("power".to_owned()),
        Just("control".to_owned()),
        Just("vendor".to_owned()),
        Just("canary".to_owned()),
        Just("to-root".to_owned()),
        Just("to-outer".to_owned()),
        Just("to-canary".to_owned()),
        Just("to-proc".to_owned()),
        Just("to-dir".to_owned()),
        Just("peer".to_owned()),
        Just("0000:00:01.0".to_owned()),
        "\\PC{0,8}",
    ];
    prop_oneof![proptest::collection::vec(part, 0..8).prop_map(|parts| parts.join("/")), any::<String>()]
}

#[test]
fn whatever_the_path_nothing_outside_the_device_is_read() {
    let outer = world();
    let nodes = both(&outer);
    let inside: [&[u8]; 3] = [b"DRIVER=x\n", b"0x10de\n", b"auto\n"];
    proptest!(ProptestConfig::with_cases(4000), |(path in paths())| {
        let mut answers = Vec::new();
        for node in &nodes {
            let device = device(node);
            let read = node.attribute(&device, &path, 4096);
            if let Ok(bytes) = &read {
                prop_assert!(inside.contains(&bytes.as_slice()), "{path:?} gave {bytes:?}");
            }
            let entries = node.entries(&device, &path);
            if let Ok(names) = &entries {
                prop_assert!(!names.contains(&"canary".to_owned()), "{path:?} listed {names:?}");
            }
            answers.push((read, entries, node.link(&device, &path), node.attribute_at(&device, &path, 1, 9)));
        }
        // With openat2 and without, the answer is the same to the letter.
        prop_assert_eq!(&answers[0], &answers[1], "{:?}", path);
    });
}
