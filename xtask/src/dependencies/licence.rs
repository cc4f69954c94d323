//! Licence expressions, as packages state them (SPDX 2.3, annex D, and the older `A/B` for `A OR B`).

/// Whether the expression can be satisfied with licences from the list alone. `X WITH Y` must be on it as such.
/// What cannot be parsed is not allowed.
pub(super) fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    either(&mut rest, allowed) == Some(true) && rest.is_empty()
}

/// `a OR b`; binds least.
fn either(rest: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let mut satisfied = both(rest, allowed)?;
    while take(rest, "OR") {
        satisfied |= both(rest, allowed)?;
    }
    Some(satisfied)
}

/// `a AND b`.
fn both(rest: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let mut satisfied = one(rest, allowed)?;
    while take(rest, "AND") {
        satisfied &= one(rest, allowed)?;
    }
    Some(satisfied)
}

/// A licence, one with an exception, or parentheses.
fn one(rest: &mut &[&str], allowed: &[String]) -> Option<bool> {
    if take(rest, "(") {
        let inner = either(rest, allowed)?;
        return take(rest, ")").then_some(inner);
    }
    let (name, after) = rest.split_first()?;
    if ["OR", "AND", "WITH", ")"].contains(name) {
        return None;
    }
    *rest = after;
    if !take(rest, "WITH") {
        return Some(allowed.iter().any(|licence| licence == name));
    }
    let (exception, after) = rest.split_first()?;
    *rest = after;
    Some(allowed.contains(&format!("{name} WITH {exception}")))
}

fn take(rest: &mut &[&str], word: &str) -> bool {
    match rest.split_first() {
        Some((first, after)) if *first == word => {
            *rest = after;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_allowed;

    #[test]
    fn expressions_mean_what_they_say() {
        let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"].map(str::to_owned);
        for good in [
            "MIT",
            "MIT OR GPL-3.0",
            "GPL-3.0 OR MIT",
            "MIT/Apache-2.0",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "GPL-3.0 OR MIT AND Apache-2.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0",
            "((MIT))",
        ] {
            assert!(is_allowed(good, &allowed), "{good}");
        }
        for bad in [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "MIT WITH LLVM-exception",
            "(MIT OR GPL-3.0) AND GPL-2.0",
            "(MIT",
            "MIT)",
            "MIT OR",
            "OR MIT",
            "MIT MIT",
            "AND",
        ] {
            assert!(!is_allowed(bad, &allowed), "{bad}");
        }
    }
}
