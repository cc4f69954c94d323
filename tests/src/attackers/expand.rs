//! The few words beside WebAssembly's own that make an attacker short: `@name`, `@for` and `@s`.

use anyhow::Context;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Puts the value for each `@word`.
pub(super) fn words(text: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(text.to_owned(), |text, (word, value)| text.replace(&format!("@{word}"), value))
}

/// Writes `@for(i 0 100){ … @i … }` out, the outer one first.
///
/// # Errors
/// Where it is not written so.
pub(super) fn repeated(text: &str) -> anyhow::Result<String> {
    let Some((before, rest)) = text.split_once("@for(") else {
        return Ok(text.to_owned());
    };
    let (head, rest) = rest.split_once("){").context("@for(NAME FROM TO){ … }")?;
    let [name, from, to] = head.split_whitespace().collect::<Vec<_>>()[..] else {
        anyhow::bail!("@for({head}): a name, the first number, the number after the last")
    };
    let end = closed(rest).with_context(|| format!("@for({head}) is not closed"))?;
    let (body, after) = rest.split_at(end);
    let mut out = before.to_owned();
    let body = repeated(body)?;
    for n in from.parse::<u64>()?..to.parse::<u64>()? {
        out += &body.replace(&format!("@{name}"), &n.to_string());
    }
    out += &repeated(after.get(1..).unwrap_or_default())?;
    Ok(out)
}

/// Where the brace is closed that was open before this text.
fn closed(text: &str) -> Option<usize> {
    let (mut depth, mut in_string) = (0_usize, false);
    let mut rest = text.char_indices();
    while let Some((at, c)) = rest.next() {
        match c {
            '\\' if in_string => drop(rest.next()),
            '"' => in_string = !in_string,
            '{' if !in_string => depth += 1,
            '}' if !in_string && depth == 0 => return Some(at),
            '}' if !in_string => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Texts in a component's memory.
#[derive(Debug)]
pub(super) struct Texts {
    base: usize,
    bytes: Vec<u8>,
    known: BTreeMap<Vec<u8>, usize>,
}

impl Texts {
    /// From this address on.
    pub(super) fn at(base: usize) -> Self {
        Self { base, bytes: Vec::new(), known: BTreeMap::new() }
    }

    fn put(&mut self, text: Vec<u8>) -> usize {
        let at = self.base + self.bytes.len();
        if let Some(known) = self.known.get(&text) {
            return *known;
        }
        self.bytes.extend(&text);
        // What needs an address that suits every type gets one.
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        self.known.insert(text, at);
        at
    }

    /// Puts address and length for each `@s("text")`, or `@s("text" TIMES)`, as two constants.
    ///
    /// # Errors
    /// Where it is not written so.
    pub(super) fn place(&mut self, text: &str) -> anyhow::Result<String> {
        let (mut out, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once("@s(\"") {
            let (bytes, after) = literal(after)?;
            let (times, after) = after.split_once(')').context("@s(\"…\" is not closed")?;
            let times = match times.trim() {
                "" => 1,
                times => times.parse()?,
            };
            let bytes = bytes.repeat(times);
            let (length, at) = (bytes.len(), self.put(bytes));
            let _ = write!(out, "{before}(i32.const {at}) (i32.const {length})");
            rest = after;
        }
        Ok(out + rest)
    }

    /// The address behind them.
    pub(super) fn end(&self) -> usize {
        self.base + self.bytes.len()
    }

    /// The segment of data that holds them.
    pub(super) fn data(&self) -> String {
        let mut text = format!("(data (i32.const {}) \"", self.base);
        for byte in &self.bytes {
            let _ = write!(text, "\\{byte:02x}");
        }
        text + "\")"
    }
}

/// A string as WebAssembly's text writes it, from behind its first quote: its bytes, and what comes after it.
///
/// # Errors
/// Where it is none.
pub(super) fn literal(text: &str) -> anyhow::Result<(Vec<u8>, &str)> {
    let (mut bytes, mut rest) = (Vec::new(), text);
    loop {
        let mut chars = rest.chars();
        let c = chars.next().context("a string is not closed")?;
        rest = chars.as_str();
        match c {
            '"' => return Ok((bytes, rest)),
            '\\' => rest = escape(rest, &mut bytes)?,
            c => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
}

fn escape<'a>(text: &'a str, into: &mut Vec<u8>) -> anyhow::Result<&'a str> {
    let mut chars = text.chars();
    let simple = match chars.next() {
        Some('t') => b'\t',
        Some('n') => b'\n',
        Some('r') => b'\r',
        Some(c @ ('"' | '\'' | '\\')) => u8::try_from(c)?,
        Some('u') => {
            let inner = text.strip_prefix("u{").context("\\u{…}")?;
            let (digits, rest) = inner.split_once('}').context("\\u{…}")?;
            let c = char::from_u32(u32::from_str_radix(digits, 16)?).context("a character")?;
            into.extend(c.encode_utf8(&mut [0; 4]).bytes());
            return Ok(rest);
        }
        _ => {
            let digits = text.get(..2).context("\\ and two digits")?;
            into.push(u8::from_str_radix(digits, 16)?);
            return Ok(text.get(2..).unwrap_or_default());
        }
    };
    into.push(simple);
    Ok(chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_repeated_is_written_out_with_its_number() {
        assert_eq!(repeated("a @for(i 0 3){(b @i)} c").unwrap(), "a (b 0)(b 1)(b 2) c");
        let nested = "@for(i 0 2){@for(j 1 3){@i.@j \"}\" }}";
        assert_eq!(repeated(nested).unwrap().replace(" \"}\"", ""), "0.1 0.2 1.1 1.2 ");
        assert!(repeated("@for(i 0 1){").is_err() && repeated("@for(i 0){}").is_err());
    }

    #[test]
    fn texts_are_placed_once_and_with_their_escapes() {
        let mut texts = Texts::at(64);
        let text = texts.place(r#"@s("a\n\u{e9}\ff\"") @s("b" 3) @s("b" 3)"#).unwrap();
        let one = "(i32.const 64) (i32.const 6)";
        let other = "(i32.const 72) (i32.const 3)";
        assert_eq!(text, format!("{one} {other} {other}"));
        assert_eq!(texts.data(), r#"(data (i32.const 64) "\61\0a\c3\a9\ff\22\00\00\62\62\62\00\00\00\00\00")"#);
    }
}
