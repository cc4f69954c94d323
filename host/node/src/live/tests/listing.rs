//! What goes, is hidden or too long where a directory is listed or an attribute is read.

use super::*;

#[test]
fn attributes_that_only_root_may_read_are_denied() {
    let outer = world();
    let directory = device_directory(&outer);
    for (name, mode) in [("secret", 0o400), ("reset", 0o200), ("group", 0o440), ("open", 0o444)] {
        fs::write(directory.join(name), "x").unwrap();
        fs::set_permissions(directory.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    for node in both(&outer) {
        let device = device(&node);
        for name in ["secret", "reset", "group"] {
            let read = node.attribute(&device, name, 10);
            assert!(matches!(read, Err(ReadError::Denied(_))), "{name}: {read:?}");
            assert!(matches!(node.attribute_at(&device, name, 0, 1), Err(ReadError::Denied(_))), "{name}");
        }
        assert_eq!(node.attribute(&device, "open", 10).unwrap(), b"x");
        if is_root() {
            assert_eq!(root_attribute(&node, &device, "secret", 10).unwrap(), b"x");
        }
    }
}

#[test]
fn what_is_longer_than_wanted_is_refused_and_never_read_whole() {
    let outer = world();
    let directory = device_directory(&outer);
    let bytes: Vec<u8> = (0..200_000_u32).map(|n| u8::try_from(n % 251).unwrap()).collect();
    fs::write(directory.join("large"), &bytes).unwrap();
    // A terabyte that takes no room.
    fs::File::create(directory.join("huge")).unwrap().set_len(1 << 40).unwrap();
    for node in both(&outer) {
        let device = device(&node);
        assert_eq!(node.attribute(&device, "large", 200_000).unwrap(), bytes);
        assert_eq!(node.attribute(&device, "large", 199_999), Err(ReadError::TooLarge { most: 199_999 }));
        assert_eq!(node.attribute_at(&device, "large", 70_000, 70_000).unwrap(), bytes[70_000..140_000]);
        assert_eq!(node.attribute_at(&device, "large", 199_998, 70_000).unwrap(), bytes[199_998..]);
        assert_eq!(node.attribute(&device, "vendor", 7).unwrap(), b"0x10de\n");
        assert_eq!(node.attribute(&device, "vendor", 6), Err(ReadError::TooLarge { most: 6 }));
        assert_eq!(node.attribute_at(&device, "vendor", 0, 0).unwrap(), b"");
        assert!(matches!(node.attribute(&device, "huge", usize::MAX), Err(ReadError::TooLarge { .. })));
        assert_eq!(node.attribute_at(&device, "huge", 1 << 39, usize::MAX).unwrap().len(), 16 << 20);
    }
}

#[test]
fn names_that_are_not_text_or_hidden_are_not_listed() {
    let outer = world();
    let directory = device_directory(&outer);
    fs::write(directory.join(std::ffi::OsStr::from_bytes(b"\xff\xfe")), "x").unwrap();
    symlink(std::ffi::OsStr::from_bytes(b"../\xff"), directory.join("odd-link")).unwrap();
    fs::write(directory.join(".hidden"), "x").unwrap();
    for node in both(&outer) {
        let device = device(&node);
        let names = node.entries(&device, "").unwrap();
        assert!(names.contains(&"vendor".to_owned()) && names.is_sorted(), "{names:?}");
        assert!(!names.iter().any(|name| name.starts_with('.') || name.contains('\u{fffd}')), "{names:?}");
        assert!(matches!(node.link(&device, "odd-link"), Err(ReadError::Invalid(_))));
        assert_eq!(node.entries(&device, "power").unwrap(), ["control"]);
    }
}

#[test]
fn a_device_that_goes_between_listing_and_reading_is_gone() {
    for without_openat2 in [false, true] {
        let outer = world();
        let [with, without] = both(&outer);
        let node = if without_openat2 { without } else { with };
        let device = device(&node);
        assert!(node.exists(&device));
        fs::remove_dir_all(device_directory(&outer)).unwrap();
        assert!(!node.exists(&device));
        assert_eq!(node.attribute(&device, "vendor", 10), Err(ReadError::Gone));
        assert_eq!(node.attribute_at(&device, "vendor", 0, 10), Err(ReadError::Gone));
        assert_eq!(node.entries(&device, ""), Err(ReadError::Gone));
        assert_eq!(node.link(&device, "driver"), Err(ReadError::Gone));
        assert_eq!(node.related(&device, "peer"), Err(ReadError::Gone));
        assert_eq!(node.subsystem(&device), Err(ReadError::Gone));
        assert_eq!(node.own_node(&device), Err(ReadError::Gone));
        assert_eq!(node.child_devices(&device), Err(ReadError::Gone));
        assert_eq!(node.driver(&device), None);
    }
}

#[test]
fn a_device_that_became_a_link_is_not_read_through() {
    let outer = world();
    for node in both(&outer) {
        let device = device(&node);
        let directory = device_directory(&outer);
        let aside = directory.with_file_name("aside");
        fs::rename(&directory, &aside).unwrap();
        symlink("aside", &directory).unwrap();
        assert!(matches!(node.attribute(&device, "vendor", 10), Err(ReadError::Invalid(_))));
        fs::remove_file(&directory).unwrap();
        fs::rename(&aside, &directory).unwrap();
    }
}
