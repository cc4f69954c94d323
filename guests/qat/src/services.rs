//! What a device is set up for: the kernel's words in `qat/cfg_services`, and the resource that comes of them.

/// The domain of the resources.
pub(crate) const DOMAIN: &str = "qat.intel.com";
/// What functions are offered as that do not say what they are set up for.
pub(crate) const GENERIC: &str = "generic";
/// The services that the kernel knows (`Documentation/ABI/testing/sysfs-driver-qat`), in the order in which names have
/// them: that of the kernel's words says nothing, and two devices that do the same are one resource.
const ORDER: [&str; 5] = ["sym", "asym", "dc", "decomp", "dcc"];
/// The most bytes of a word that makes a part of a name, and words.
const MOST: (usize, usize) = (16, 5);

/// The name after the `/` for `sym;asym` and the like; nothing where the text is none.
pub(crate) fn name(text: &str) -> Option<String> {
    let mut words: Vec<&str> = text.split(';').map(str::trim).collect();
    let is_word = |word: &&str| {
        (1..=MOST.0).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    if words.len() > MOST.1 || !words.iter().all(is_word) {
        return None;
    }
    let rank = |word: &&str| ORDER.iter().position(|known| known == word).unwrap_or(ORDER.len());
    words.sort_by_key(|word| (rank(word), word.to_owned()));
    words.dedup();
    // What everybody calls both kinds of cryptography together.
    Some(if words == ["sym", "asym"] { "cy".to_owned() } else { words.join("-") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_a_name_in_whatever_order_the_kernel_says_them() {
        for (text, expected) in [
            ("sym;asym", "cy"),
            ("asym;sym", "cy"),
            ("dc", "dc"),
            ("dcc", "dcc"),
            ("asym;dc", "asym-dc"),
            ("dc;asym", "asym-dc"),
            ("dc;sym", "sym-dc"),
            ("decomp;asym;sym", "sym-asym-decomp"),
            ("novel;dc", "dc-novel"),
        ] {
            assert_eq!(name(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_list_of_services_makes_no_name() {
        for text in ["", ";", "sym;", "Sym", "sym/asym", "..", "a;b;c;d;e;f", "averyveryverylongword"] {
            assert_eq!(name(text), None, "{text}");
        }
    }
}
