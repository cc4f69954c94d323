//! Machine code of amd64, as little as attackers need: what stands where a component's own code would be.

use anyhow::{Context, bail};

/// The bytes of these instructions, separated by `,` or line ends: `mov eax 57`, `syscall`, `ud2`, `int80`, `loop`, or bytes as `hex 0f 05`.
///
/// # Errors
/// Which is none.
pub(super) fn assemble(text: &str) -> anyhow::Result<Vec<u8>> {
    let mut code = Vec::new();
    for line in text.split([',', '\n']).map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            ["syscall"] => code.extend([0x0f, 0x05]),
            ["ud2"] => code.extend([0x0f, 0x0b]),
            ["int80"] => code.extend([0xcd, 0x80]),
            ["loop"] => code.extend([0xeb, 0xfe]),
            ["mov", register, value] => mov(register, value, &mut code)?,
            ["hex", ref bytes @ ..] => {
                for byte in bytes {
                    code.push(u8::from_str_radix(byte, 16).with_context(|| line.to_owned())?);
                }
            }
            _ => bail!("\"{line}\" is no instruction that attackers have"),
        }
    }
    Ok(code)
}

/// 64 bits where the register is named so.
fn mov(register: &str, value: &str, code: &mut Vec<u8>) -> anyhow::Result<()> {
    const REGISTERS: [&str; 16] =
        ["ax", "cx", "dx", "bx", "sp", "bp", "si", "di", "8", "9", "10", "11", "12", "13", "14", "15"];
    let (wide, name) = match (register.strip_prefix('r'), register.strip_prefix('e')) {
        (Some(name), _) if name.ends_with('d') => (false, name.trim_end_matches('d')),
        (Some(name), _) => (true, name),
        (_, Some(name)) => (false, name),
        _ => bail!("{register} is no register"),
    };
    let number = REGISTERS.iter().position(|known| *known == name);
    let number = u8::try_from(number.with_context(|| format!("{register} is no register"))?)?;
    let value = match value.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16)?,
        None => value.parse::<i128>().map(|n| n & i128::from(u64::MAX))?.try_into()?,
    };
    let prefix = if wide { 0x48 } else { 0 } | if number > 7 { 0x41 } else { 0 };
    if prefix != 0 {
        code.push(prefix);
    }
    code.push(0xb8 | (number & 7));
    let bytes = value.to_le_bytes();
    let width = if wide { 8 } else { 4 };
    code.extend(bytes.iter().take(width));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_what_a_processor_reads() {
        let code = assemble("mov eax 9, mov esi 0x100000, mov r10d 34, mov r8 -1\nsyscall, ud2, hex eb fe").unwrap();
        let mut expected = vec![0xb8, 9, 0, 0, 0, 0xbe, 0, 0, 0x10, 0, 0x41, 0xba, 34, 0, 0, 0, 0x49, 0xb8];
        expected.extend([0xff; 8]);
        expected.extend([0x0f, 0x05, 0x0f, 0x0b, 0xeb, 0xfe]);
        assert_eq!(code, expected);
        // `rdi` ends as a register of 32 bits does, and `edi` is one.
        assert_eq!(assemble("mov rdi 1").unwrap().len(), 10);
        assert_eq!(assemble("mov edi 1").unwrap(), [0xbf, 1, 0, 0, 0]);
        assert!(assemble("jmp far").is_err() && assemble("mov eyx 1").is_err());
    }
}
