//! Custom sections of a component's outermost level.

use anyhow::Result;

/// The component with a section behind all others.
pub(super) fn with(mut component: Vec<u8>, name: &str, contents: &[u8]) -> Result<Vec<u8>> {
    let mut size = u32::try_from(1 + name.len() + contents.len())?;
    component.push(0);
    while size > 0x7f {
        component.push(u8::try_from(size & 0x7f)? | 0x80);
        size >>= 7;
    }
    component.push(u8::try_from(size)?);
    component.push(u8::try_from(name.len())?);
    component.extend_from_slice(name.as_bytes());
    component.extend_from_slice(contents);
    Ok(component)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_section_of_its_own_behind_all_others() {
        let made = with(b"\0asm\x0d\0\x01\0".to_vec(), "devgate:config-schema", &[b'x'; 200]).unwrap();
        let (head, section) = made.split_at(8);
        assert_eq!(head, b"\0asm\x0d\0\x01\0");
        // 222 bytes: one for the name's length, 21 for the name, 200.
        assert_eq!(section.get(..4), Some(&[0, 0xde, 1, 21][..]));
        assert_eq!(section.len(), 3 + 222);
    }
}
