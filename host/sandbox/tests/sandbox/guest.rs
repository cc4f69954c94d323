//! Components made from core modules written as text: small, exact, and in need of no toolchain.

use std::path::Path;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// A core module with every export that the contract wants. What a test is about replaces a part of it.
#[derive(Clone)]
pub(crate) struct Guest {
    /// `(import …)` and `(type …)` fields.
    pub(crate) imports: String,
    /// Body of `enumerate`, which leaves an `i32` on the stack. Memory at 16 is zero: an empty list of pools.
    pub(crate) enumerate: String,
    /// Body of `health`; parameters 2 and 3 are the list of units.
    pub(crate) health: String,
    /// Body of `allocate`. Memory at 16 is zero: no edits.
    pub(crate) allocate: String,
    /// Body of `cabi_realloc`.
    pub(crate) realloc: String,
    /// The memory's limits.
    pub(crate) memory: String,
    /// Further fields: data, functions, globals, a start function.
    pub(crate) more: String,
    /// Which exports it has, as items of a WIT world.
    pub(crate) world: String,
}

impl Default for Guest {
    fn default() -> Self {
        Self {
            imports: String::new(),
            enumerate: "(i32.const 16)".into(),
            health:
                "(i32.store (i32.const 20) (i32.const 4096)) (i32.store (i32.const 24) (local.get 3)) (i32.const 16)"
                    .into(),
            allocate: "(i32.const 16)".into(),
            realloc: BUMP.into(),
            memory: "2".into(),
            more: String::new(),
            world: String::new(),
        }
    }
}

/// Allocates upwards from 64 KiB, growing the memory, and never frees.
const BUMP: &str = "
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
    (global.set $free (i32.add (local.get $at) (local.get 3)))
    (block $fits
        (loop $more
            (br_if $fits (i32.le_u (global.get $free) (i32.mul (memory.size) (i32.const 65536))))
            (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))
        )
        (unreachable)
    )
    (local.get $at)";

impl Guest {
    /// A guest whose `enumerate` is `body`.
    pub(crate) fn enumerating(body: &str) -> Self {
        Self { enumerate: body.into(), ..Self::default() }
    }

    /// The same with imports.
    pub(crate) fn importing(mut self, imports: &str) -> Self {
        self.imports += imports;
        self
    }

    /// The same with further fields.
    pub(crate) fn with(mut self, more: &str) -> Self {
        self.more += more;
        self
    }

    /// The core module.
    pub(crate) fn module(&self) -> Vec<u8> {
        let Self { imports, enumerate, health, allocate, realloc, memory, more, .. } = self;
        wat::parse_str(format!(
            r#"(module
                {imports}
                (memory (export "memory") {memory})
                (global $free (mut i32) (i32.const 65536))
                (func $realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) {realloc})
                (func $enumerate (export "devgate:plugin/plugin@0.1.0#enumerate") (result i32) {enumerate})
                (func (export "devgate:plugin/plugin@0.1.0#health") (param i32 i32 i32 i32) (result i32) {health})
                (func (export "devgate:plugin/plugin@0.1.0#allocate") (param i32 i32 i32 i32) (result i32) {allocate})
                {more}
            )"#
        ))
        .unwrap()
    }

    /// The component.
    pub(crate) fn component(&self) -> Vec<u8> {
        let world = format!(
            "package test:guest;
            world guest {{
                include devgate:plugin/component@0.1.0;
                include devgate:plugin/capabilities@0.1.0;
                {}
            }}",
            self.world
        );
        encode(self.module(), &contract(), &world)
    }
}

/// The contract's own WIT.
pub(crate) fn contract() -> Vec<(String, String)> {
    texts("wit")
}

/// What came after it.
pub(crate) fn later() -> Vec<(String, String)> {
    texts("wit/0.1.1")
}

fn texts(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "wit"))
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(path).unwrap()))
        .collect();
    files.sort();
    files
}

/// The contract with one text replaced, as a newer or a divergent vendor would have it.
pub(crate) fn other_contract(from: &str, to: &str) -> Vec<(String, String)> {
    let mut files = contract();
    let changed =
        files.iter_mut().filter(|(_, text)| text.contains(from)).map(|(_, text)| *text = text.replace(from, to));
    assert!(changed.count() > 0, "{from}");
    files
}

/// A component from a core module, for a world in a package of its own beside the contract as given.
pub(crate) fn encode(module: Vec<u8>, contract: &[(String, String)], world: &str) -> Vec<u8> {
    encode_of(module, &[contract], world)
}

/// The same of packages that stand on each other.
pub(crate) fn encode_of(mut module: Vec<u8>, packages: &[&[(String, String)]], world: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    for texts in packages {
        let mut package = wit_parser::SourceMap::default();
        for (name, text) in *texts {
            package.push_str(name, text);
        }
        let package = package.parse().unwrap_or_else(|(_, error)| panic!("{error}"));
        resolve.push_group(package).unwrap();
    }
    let own = resolve.push_str("guest.wit", world).unwrap();
    let world = resolve.select_world(&[own], None).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default().validate(true).module(&module).unwrap().encode().unwrap()
}

/// A component written as text.
pub(crate) fn text(component: &str) -> Vec<u8> {
    wat::parse_str(component).unwrap()
}

/// Spins for ever.
pub(crate) const SPIN: &str = "(loop $again (br $again)) (unreachable)";

/// A component with another one inside it, as a section of its own at the end.
pub(crate) fn with_inner(component: &[u8], inner: &str) -> Vec<u8> {
    let inner = text(&format!("(component {inner})"));
    let mut bytes = component.to_vec();
    // The body of a component is a list of sections: those of another can follow.
    bytes.extend_from_slice(inner.get(8..).unwrap_or_default());
    bytes
}
