//! A component out of an attacker's text and the functions that attackers share.

use super::assembler::assemble;
use super::expand::{Texts, literal, repeated};
use super::form::{Form, forms, names};
use super::read::{Attacker, folder};
use anyhow::Context;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// Where texts are: behind what the shared functions lay answers out in.
const TEXTS: usize = 2 << 20;
/// What the host passes in is put behind them.
const ROOM: usize = 1 << 20;

/// Calls of the contract, with the parameters of each and the interface that it is of.
const CALLS: [(&str, &str, &str); 6] = [
    ("enumerate", "", "plugin"),
    ("health", UNITS, "plugin"),
    ("allocate", UNITS, "plugin"),
    (
        "choose",
        "(param $resource i32) (param $resource_length i32) (param $units i32) (param $count i32) (param $must i32) (param $must_count i32) (param $size i32)",
        "preference",
    ),
    ("prepare", UNITS, "lifecycle"),
    ("release", UNITS, "lifecycle"),
];
const UNITS: &str = "(param $resource i32) (param $resource_length i32) (param $units i32) (param $count i32)";
const LOCALS: &str = "(local $i i32) (local $j i32) (local $n i32) (local $h i32) (local $at i32) (local $long i64)";

impl Attacker {
    /// The component of its text, or the one that it becomes.
    ///
    /// # Errors
    /// What is wrong with its text.
    pub fn component(&self, part: usize) -> anyhow::Result<Vec<u8>> {
        self.built(part).with_context(|| format!("tests/attackers/{}/{}.wat", self.class, self.name))
    }

    /// The machine code that stands where its own would be, if it has some.
    ///
    /// # Errors
    /// What of it is no instruction.
    pub fn native(&self) -> anyhow::Result<Option<Vec<u8>>> {
        let own = forms(&self.parts.concat())?;
        let native = own.iter().find(|form| form.head() == "native");
        native.map(|form| assemble(form.body())).transpose()
    }

    fn built(&self, part: usize) -> anyhow::Result<Vec<u8>> {
        let text = self.parts.get(part).context("its text has no such part")?;
        let own = forms(&repeated(text)?)?;
        let of = |head: &str| own.iter().filter(|form| form.head() == head).cloned().collect::<Vec<_>>();
        let mut bytes = if let [raw] = &of("raw")[..] {
            strings(raw)?.concat()
        } else if let [component] = &of("component")[..] {
            wat::parse_str(&component.0)?
        } else {
            self.encoded(&own)?
        };
        for form in &own {
            match form.head() {
                // The body of a component is a list of sections: those of another can follow.
                "inner" => {
                    let inner = wat::parse_str(format!("(component {})", form.body()))?;
                    bytes.extend_from_slice(inner.get(8..).unwrap_or_default());
                }
                "section" => bytes.extend(section(&strings(form)?)),
                "cut" => bytes.truncate(form.body().trim().parse()?),
                _ => {}
            }
        }
        Ok(bytes)
    }

    /// As a vendor's tools encode a core module.
    fn encoded(&self, own: &[Form]) -> anyhow::Result<Vec<u8>> {
        let apart = ["native", "inner", "section", "cut"];
        let own: Vec<Form> = own.iter().filter(|form| !apart.contains(&form.head())).cloned().collect();
        let calls = |form: &Form| CALLS.iter().find(|(call, ..)| *call == form.head());
        let (mut fields, mut exports) = (Vec::new(), String::new());
        for form in &own {
            fields.push(match calls(form) {
                Some((call, params, _)) => {
                    Form(format!("(func ${call} {params} (result i32) {LOCALS} {})", form.body()))
                }
                None => form.clone(),
            });
        }
        let mut interfaces = BTreeSet::new();
        let mut wanted = vec!["$memory".to_owned(), "$realloc".to_owned()];
        for (call, _, interface) in CALLS {
            let defined = fields.iter().any(|form| form.defines() == Some(&format!("${call}")));
            if !defined && interface != "plugin" && !interfaces.contains(interface) && !is_pair(&fields, interface) {
                continue;
            }
            interfaces.insert(interface);
            wanted.push(format!("${call}"));
            exports += &format!("(export \"devgate:plugin/{interface}@0.1.0#{call}\" (func ${call}))\n");
        }
        let shared = fs::read_to_string(folder().join("prelude.wat"))?;
        let shared = self.words(&repeated(&shared)?);
        add_shared(&mut fields, &forms(&shared)?, wanted);
        fields.sort_by_key(|form| form.head() != "import");
        let text = fields.iter().map(|form| form.0.as_str()).collect::<Vec<_>>().join("\n");
        let mut texts = Texts::at(TEXTS);
        // Each attacker's file is another one than all others'.
        texts.place(&format!("@s(\"{}\")", self.name))?;
        let text = texts.place(&text)?;
        let free = texts.end();
        let pages = (free + ROOM).div_ceil(1 << 16).to_string();
        let text = super::expand::words(&text, &[("pages", &pages), ("free", &free.to_string())]);
        let data = if text.contains("(memory $memory (export \"memory\") 0") { String::new() } else { texts.data() };
        let module = wat::parse_str(format!("(module ${} {text} {data} {exports})", "attacker"))?;
        encode(module, &interfaces, &text)
    }
}

/// Whether one of an interface's calls is there, so that its others are wanted too.
fn is_pair(fields: &[Form], interface: &str) -> bool {
    let mut calls = CALLS.iter().filter(|(_, _, of)| *of == interface);
    calls.any(|(call, ..)| fields.iter().any(|form| form.defines() == Some(&format!("${call}"))))
}

/// Adds what the fields name and do not have, and what that names.
fn add_shared(fields: &mut Vec<Form>, shared: &[Form], mut wanted: Vec<String>) {
    let defined = |fields: &[Form], name: &str| fields.iter().any(|form| form.defines() == Some(name));
    wanted.extend(fields.iter().flat_map(|form| names(&form.0)).map(str::to_owned));
    while let Some(name) = wanted.pop() {
        if defined(fields, &name) {
            continue;
        }
        if let Some(form) = shared.iter().find(|form| form.defines() == Some(&name)) {
            fields.push(form.clone());
            wanted.extend(names(&form.0).map(str::to_owned));
        }
    }
}

/// The strings of a form, one after the other, each as often as the number behind it says.
fn strings(form: &Form) -> anyhow::Result<Vec<Vec<u8>>> {
    let (mut bytes, mut rest) = (Vec::new(), form.body());
    while let Some((before, after)) = rest.split_once('"') {
        repeat_last(&mut bytes, before)?;
        let (text, after) = literal(after)?;
        bytes.push(text);
        rest = after;
    }
    repeat_last(&mut bytes, rest)?;
    Ok(bytes)
}

fn repeat_last(texts: &mut [Vec<u8>], times: &str) -> anyhow::Result<()> {
    if let (Some(last), times @ [_, ..]) = (texts.last_mut(), times.trim().as_bytes()) {
        *last = last.repeat(std::str::from_utf8(times)?.parse()?);
    }
    Ok(())
}

/// A custom section: its name, and what is in it.
fn section(strings: &[Vec<u8>]) -> Vec<u8> {
    let (name, contents) = strings.split_first().map_or((&[][..], &[][..]), |(name, rest)| (name.as_slice(), rest));
    let inner = [leb(name.len()), name.to_vec(), contents.concat()].concat();
    [vec![0], leb(inner.len()), inner].concat()
}

fn leb(mut n: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = u8::try_from(n & 0x7f).unwrap_or_default();
        n >>= 7;
        bytes.push(if n > 0 { byte | 0x80 } else { byte });
        if n == 0 {
            return bytes;
        }
    }
}

fn encode(mut module: Vec<u8>, interfaces: &BTreeSet<&str>, text: &str) -> anyhow::Result<Vec<u8>> {
    let mut resolve = Resolve::default();
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit");
    resolve.push_dir(wit)?;
    let mut world = String::from("package test:attacker;\n");
    let mut imports = String::new();
    if text.contains("\"wasi:") {
        let wasi = fs::read_to_string(folder().join("wasi.wit"))?;
        let used = wasi.lines().filter_map(|line| line.strip_prefix("// imports "));
        imports = used.map(|name| format!("import {name};\n")).collect();
        world += &wasi;
    }
    world +=
        "world attacker {\n include devgate:plugin/component@0.1.0;\n include devgate:plugin/capabilities@0.1.0;\n";
    for interface in interfaces.iter().filter(|interface| **interface != "plugin") {
        world += &format!("export devgate:plugin/{interface}@0.1.0;\n");
    }
    world += &format!("{imports}}}\n");
    let own = resolve.push_str("attacker.wit", &world)?;
    let world = resolve.select_world(&[own], Some("attacker"))?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    ComponentEncoder::default().validate(true).module(&module)?.encode()
}
