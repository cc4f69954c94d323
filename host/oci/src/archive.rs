//! A component that came as an image: `FROM scratch` and one `COPY`.

use crate::manifest::{ARCHIVE, NotUsable, Packed};
use devgate_types::ByteSize;
use std::borrow::Cow;
use std::io::Read;

/// The component in a layer's bytes, which have been checked against their digest. Fails when an archive has anything but one regular file,
/// or more than `most` bytes in it.
pub(crate) fn component(layer: &[u8], packed: Packed, most: ByteSize) -> Result<Cow<'_, [u8]>, NotUsable> {
    match packed {
        Packed::Plain => Ok(Cow::Borrowed(layer)),
        Packed::Tar => only_file(layer, most).map(Cow::Owned),
        Packed::TarGzip => {
            // However far it expands: nothing behind what is allowed is unpacked.
            let bound = most.0.saturating_add(ARCHIVE);
            only_file(flate2::read::GzDecoder::new(layer).take(bound), most).map(Cow::Owned)
        }
    }
}

fn only_file(archive: impl Read, most: ByteSize) -> Result<Vec<u8>, NotUsable> {
    let broken = |_: std::io::Error| {
        NotUsable(
            "has a layer that is no whole archive, or a larger one than a component may be (limits.component-size)"
                .to_owned(),
        )
    };
    let several = || {
        NotUsable(
            "is an image with something else in it than one file; push the component with `devgatectl push`".to_owned(),
        )
    };
    let mut archive = tar::Archive::new(archive);
    let mut found = None;
    for entry in archive.entries().map_err(broken)? {
        let entry = entry.map_err(broken)?;
        let kind = entry.header().entry_type();
        if kind.is_dir() {
            continue;
        }
        if !kind.is_file() || found.is_some() {
            return Err(several());
        }
        let mut bytes = Vec::new();
        let declared = entry.size();
        entry.take(most.0.saturating_add(1)).read_to_end(&mut bytes).map_err(broken)?;
        let read = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if read > most.0 {
            return Err(NotUsable(format!("has a file of more than {most} (limits.component-size)")));
        }
        if read != declared {
            return Err(broken(std::io::ErrorKind::UnexpectedEof.into()));
        }
        found = Some(bytes);
    }
    found.ok_or_else(several)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const LIMIT: ByteSize = ByteSize(1_000);

    fn archive(build: impl FnOnce(&mut tar::Builder<Vec<u8>>)) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        build(&mut builder);
        builder.into_inner().unwrap()
    }

    fn add(builder: &mut tar::Builder<Vec<u8>>, name: &str, kind: tar::EntryType, bytes: &[u8]) {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_entry_type(kind);
        header.set_mode(0o644);
        if kind.is_symlink() {
            header.set_link_name("/etc/passwd").unwrap();
        }
        builder.append_data(&mut header, name, bytes).unwrap();
    }

    fn zipped(bytes: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    }

    #[test]
    fn the_one_file_of_an_image_is_the_component() {
        let image = archive(|tar| {
            add(tar, "opt/", tar::EntryType::Directory, b"");
            add(tar, "opt/plugin.wasm", tar::EntryType::Regular, b"component");
        });
        assert_eq!(&*component(&image, Packed::Tar, LIMIT).unwrap(), b"component");
        assert_eq!(&*component(&zipped(&image), Packed::TarGzip, LIMIT).unwrap(), b"component");
        assert_eq!(&*component(b"component", Packed::Plain, LIMIT).unwrap(), b"component");
    }

    #[test]
    fn anything_else_in_an_image_is_refused_and_a_bomb_is_not_unpacked() {
        let two = archive(|tar| {
            add(tar, "a", tar::EntryType::Regular, b"a");
            add(tar, "b", tar::EntryType::Regular, b"b");
        });
        let link = archive(|tar| add(tar, "a", tar::EntryType::Symlink, b""));
        let empty = archive(|_| {});
        for image in [two, link, empty] {
            let error = component(&image, Packed::Tar, LIMIT).unwrap_err().to_string();
            assert!(error.starts_with("is an image with something else in it"), "{error}");
        }
        let large = archive(|tar| add(tar, "a", tar::EntryType::Regular, &[0; 1_001]));
        let error = component(&large, Packed::Tar, LIMIT).unwrap_err();
        insta::assert_snapshot!(error, @"has a file of more than 1000B (limits.component-size)");
        let bomb = archive(|tar| add(tar, "a", tar::EntryType::Regular, &vec![0; 64 << 20]));
        assert!(component(&zipped(&bomb), Packed::TarGzip, LIMIT).is_err());
        // Nor one that is the name of a file, which is small itself.
        let name = archive(|tar| {
            add(tar, "a", tar::EntryType::GNULongName, &vec![b'a'; 64 << 20]);
            add(tar, "a", tar::EntryType::Regular, b"component");
        });
        assert!(component(&zipped(&name), Packed::TarGzip, LIMIT).is_err());
        for garbage in [&b"garbage"[..], &large[..700]] {
            assert!(component(garbage, Packed::Tar, LIMIT).is_err());
            assert!(component(garbage, Packed::TarGzip, LIMIT).is_err());
        }
    }

    proptest::proptest! {
        #[test]
        fn no_archive_makes_it_panic_or_gives_more_than_is_allowed(
            changes in proptest::collection::vec((0_usize..4_096, proptest::num::u8::ANY), 0..40),
            kind in proptest::sample::select(b"0SLKxg7512".to_vec()),
        ) {
            let mut image = archive(|tar| {
                add(tar, "d/", tar::EntryType::Directory, b"");
                add(tar, "d/a", tar::EntryType::new(kind), b"30 path=x\n19 size=99999999999\n");
                add(tar, "d/b", tar::EntryType::Regular, &[7; 900]);
            });
            for (at, byte) in changes {
                if let Some(old) = image.get_mut(at) {
                    *old = byte;
                }
            }
            // So that it is looked at behind its header.
            for header in image.chunks_mut(512).take(8) {
                if header.len() == 512 && &header[257..262] == b"ustar" {
                    header[148..156].fill(b' ');
                    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
                    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
                }
            }
            for (layer, packed) in [(zipped(&image), Packed::TarGzip), (image, Packed::Tar)] {
                if let Ok(bytes) = component(&layer, packed, LIMIT) {
                    proptest::prop_assert!(bytes.len() <= 1_000);
                }
            }
        }
    }
}
