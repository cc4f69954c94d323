//! Core modules in a file, each with its functions and what describes them.

use anyhow::anyhow;
use devgate_types::escape;
use std::collections::HashMap;
use std::ops::Range;
use wasmparser::{DataKind, Name, Operator, Parser, Payload, TypeRef};

/// One core module: the file itself, or one within a component.
#[derive(Default)]
pub(super) struct Module<'a> {
    /// The contents of its code section, and where in the file they are.
    pub(super) code: &'a [u8],
    at: Range<usize>,
    /// How many functions are imported: those with code are counted after them.
    imported: u32,
    /// Where in the code each function is, in their order.
    bodies: Vec<Range<usize>>,
    /// Its custom sections by name.
    sections: HashMap<&'a str, &'a [u8]>,
    /// What its memory begins with: where, and what.
    data: Vec<(usize, &'a [u8])>,
}

/// The most memory that is looked at.
const LARGEST_MEMORY: usize = 64 << 20;

impl<'a> Module<'a> {
    /// All modules of a file.
    ///
    /// # Errors
    /// Where it is no WebAssembly, or damaged.
    pub(super) fn all(bytes: &'a [u8]) -> anyhow::Result<Vec<Self>> {
        anyhow::ensure!(bytes.starts_with(b"\0asm"), "is not WebAssembly");
        let (mut done, mut open) = (Vec::new(), Vec::<Self>::new());
        for payload in Parser::new(0).parse_all(bytes) {
            match payload.map_err(|error| anyhow!("is damaged: {}", escape(&error.to_string(), 200)))? {
                // Of a component too, whose own sections are looked at and left.
                Payload::Version { .. } => open.push(Self::default()),
                Payload::End(_) => done.extend(open.pop()),
                payload => {
                    if let Some(module) = open.last_mut() {
                        module.take(&payload, bytes)?;
                    }
                }
            }
        }
        done.retain(|module| !module.bodies.is_empty());
        Ok(done)
    }

    fn take(&mut self, payload: &Payload<'a>, bytes: &'a [u8]) -> anyhow::Result<()> {
        match payload {
            Payload::ImportSection(imports) => {
                for import in imports.clone().into_imports() {
                    let is_function = matches!(import?.ty, TypeRef::Func(_) | TypeRef::FuncExact(_));
                    self.imported = self.imported.saturating_add(u32::from(is_function));
                }
            }
            Payload::CodeSectionStart { range, .. } => {
                self.at = range.clone();
                self.code = bytes.get(range.clone()).unwrap_or_default();
            }
            Payload::CodeSectionEntry(body) => {
                let (range, start) = (body.range(), self.at.start);
                self.bodies.push(range.start.saturating_sub(start)..range.end.saturating_sub(start));
            }
            Payload::DataSection(all) => {
                for data in all.clone() {
                    let data = data?;
                    if let DataKind::Active { memory_index: 0, offset_expr } = data.kind
                        && let Operator::I32Const { value } = offset_expr.get_operators_reader().read()?
                        && let Ok(at) = usize::try_from(value)
                    {
                        self.data.push((at, data.data));
                    }
                }
            }
            Payload::CustomSection(section) => drop(self.sections.insert(section.name(), section.data())),
            _ => {}
        }
        Ok(())
    }

    /// Whether an offset in the file is in its code.
    pub(super) fn has(&self, offset: u64) -> bool {
        usize::try_from(offset).is_ok_and(|offset| self.at.contains(&offset))
    }

    /// The same offset from the code's beginning, as debug information counts.
    pub(super) fn offset_in_code(&self, offset: u64) -> u64 {
        offset.saturating_sub(u64::try_from(self.at.start).unwrap_or(u64::MAX))
    }

    /// The number of the function that has this offset in the code.
    pub(super) fn function(&self, within: u64) -> Option<u32> {
        let within = usize::try_from(within).ok()?;
        let n = self.bodies.iter().position(|body| body.contains(&within))?;
        u32::try_from(n).ok()?.checked_add(self.imported)
    }

    /// What a function is called, where its names are here: as its language has it where that is Rust.
    pub(super) fn name(&self, function: u32) -> Option<String> {
        let names = wasmparser::BinaryReader::new(self.sections.get("name")?, 0);
        for names in wasmparser::NameSectionReader::new(names) {
            let Ok(Name::Function(all)) = names else { continue };
            let named = all.into_iter().flatten().find(|naming| naming.index == function);
            if let Some(naming) = named {
                return Some(shown(naming.name));
            }
        }
        None
    }

    /// Which of its own functions one is.
    pub(super) fn own_number(&self, function: u32) -> Option<u32> {
        function.checked_sub(self.imported)
    }

    /// A function's code, and where in all code it begins.
    pub(super) fn body(&self, function: u32) -> Option<(&'a [u8], u64)> {
        let body = self.bodies.get(usize::try_from(self.own_number(function)?).ok()?)?;
        Some((self.code.get(body.clone())?, u64::try_from(body.start).ok()?))
    }

    /// What its memory begins with. Nothing where that is too large, or none.
    pub(super) fn memory(&self) -> Option<Vec<u8>> {
        let ends = self.data.iter().map(|(at, data)| at.saturating_add(data.len()));
        let size = ends.max().filter(|size| *size <= LARGEST_MEMORY)?;
        let mut memory = vec![0; size];
        for (at, data) in &self.data {
            memory.get_mut(*at..at.saturating_add(data.len()))?.copy_from_slice(data);
        }
        Some(memory)
    }

    /// A custom section, empty where there is none.
    pub(super) fn section(&self, name: &str) -> &'a [u8] {
        self.sections.get(name).copied().unwrap_or_default()
    }
}

/// The longest name that is shown, in bytes.
const LONGEST: usize = 512;

/// A function's name for people. What it stands for has no bound, so no more of it is made than is shown.
pub(super) fn shown(name: &str) -> String {
    struct Brief(String);
    impl std::fmt::Write for Brief {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0 += text;
            if self.0.len() > LONGEST { Err(std::fmt::Error) } else { Ok(()) }
        }
    }
    let mut brief = Brief(String::new());
    // That it was cut is all that can go wrong.
    let _ = std::fmt::Write::write_fmt(&mut brief, format_args!("{:#}", rustc_demangle::demangle(name)));
    escape(&brief.0, LONGEST)
}
