//! Which boot of the computer this is.

use crate::node::Node;

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// Hexadecimal digits and dashes, as the kernel writes it.
const LENGTH: usize = 36;

impl Node {
    /// The kernel's id of this boot (`/proc/sys/kernel/random/boot_id`): 36 hexadecimal digits and dashes, another one after
    /// each boot. Nothing where it cannot be read or is no such id.
    #[must_use]
    pub fn boot_id(&self) -> Option<String> {
        let text = String::from_utf8(self.file(BOOT_ID, LENGTH + 1).ok()?).ok()?;
        let id = text.strip_suffix('\n').unwrap_or(&text);
        let plain = id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        (id.len() == LENGTH && plain).then(|| id.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_boot_id_is_what_the_kernel_writes_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let node = Node::open(root.path()).unwrap();
        assert_eq!(node.boot_id(), None);
        let file = root.path().join(BOOT_ID.trim_start_matches('/'));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let of = |text: &str| {
            std::fs::write(&file, text).unwrap();
            node.boot_id()
        };
        let id = "3a862986-6127-4a76-bcba-d4cf2e55b45f";
        assert_eq!(of(&format!("{id}\n")).as_deref(), Some(id));
        assert_eq!(of(id).as_deref(), Some(id));
        for bad in ["", "\n", "3a862986", &format!("{id}0"), &id.replace('3', "/")] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }

    #[test]
    fn this_computer_has_one() {
        let node = Node::open(Path::new("/")).unwrap();
        let id = std::fs::read_to_string(BOOT_ID).unwrap();
        assert_eq!(node.boot_id().as_deref(), Some(id.trim_end()));
    }
}
