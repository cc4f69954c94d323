//! Components written as text: small, exact, and as hostile as it gets.

use std::fmt::Write as _;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// Encodes a core module in text as a component for devgate's smallest world.
fn component(core: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let wit = concat!(env!("CARGO_MANIFEST_DIR"), "/../wit");
    let (package, _) = resolve.push_dir(wit).expect("the contract parses");
    let world = resolve.select_world(&[package], Some("component")).expect("the world is there");
    let mut module = wat::parse_str(core).expect("the module parses");
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("metadata");
    let mut encoder = ComponentEncoder::default().validate(true).module(&module).expect("a module of the contract");
    encoder.encode().expect("a component")
}

/// A component that offers nothing, with other text for the three calls' bodies; each must leave an `i32`.
pub(crate) fn plugin(enumerate: &str, health: &str, allocate: &str) -> Vec<u8> {
    Memory::default().plugin(enumerate, health, allocate)
}

/// Leaves `ok([])`: the result's area is zeroed memory.
pub(crate) const NOTHING: &str = "(i32.const 1024)";
/// Never leaves.
pub(crate) const SPIN: &str = "(loop $again (br $again)) (unreachable)";
/// For `health`: as many verdicts as there are units, all of them `healthy`. From zeroed memory behind the data.
pub(crate) const HEALTHY: &str =
    "(i32.store (i32.const 1028) (global.get $zeros)) (i32.store (i32.const 1032) (local.get 3)) (i32.const 1024)";

/// Where answers are laid out.
const BASE: usize = 0x1_0000;
/// Room behind the data for what is passed in, and for verdicts.
const ROOM: usize = 2 << 20;

/// A component's memory with answers laid out in it, as the canonical ABI has them.
#[derive(Default)]
pub(crate) struct Memory(Vec<u8>);

/// A unit without hardware.
#[derive(Clone, Default)]
pub(crate) struct Unit {
    pub(crate) id: String,
    pub(crate) properties: Vec<(String, String)>,
}

impl Unit {
    pub(crate) fn new(id: &str) -> Self {
        Self { id: id.to_owned(), properties: Vec::new() }
    }
}

/// What an allocation adds.
#[derive(Clone, Default)]
pub(crate) struct Edits {
    pub(crate) env: Vec<(String, String)>,
    pub(crate) annotations: Vec<(String, String)>,
    pub(crate) cdi: Vec<String>,
}

impl Memory {
    /// Puts `bytes` at an address that suits every type.
    fn put(&mut self, bytes: &[u8]) -> u32 {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        let at = BASE + self.0.len();
        self.0.extend(bytes);
        u32::try_from(at).expect("an address")
    }

    /// Text, as its address and length.
    pub(crate) fn text(&mut self, text: &str) -> [u32; 2] {
        [self.put(text.as_bytes()), u32::try_from(text.len()).expect("a length")]
    }

    fn list<const N: usize>(&mut self, items: &[[u32; N]]) -> [u32; 2] {
        let bytes: Vec<u8> = items.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
        [self.put(&bytes), u32::try_from(items.len()).expect("a length")]
    }

    fn properties(&mut self, properties: &[(String, String)]) -> [u32; 2] {
        let items: Vec<_> = properties.iter().map(|(name, value)| join(self.text(name), self.text(value))).collect();
        self.list::<4>(&items)
    }

    /// Lays out `ok(pools)`; the body that leaves it.
    pub(crate) fn pools(&mut self, pools: &[(String, Vec<Unit>)]) -> String {
        let mut items = Vec::new();
        for (resource, units) in pools {
            let units: Vec<[u32; 8]> = units
                .iter()
                .map(|unit| {
                    let ([id, id_len], [own, own_len]) = (self.text(&unit.id), self.properties(&unit.properties));
                    [id, id_len, 0, 0, 0, 0, own, own_len]
                })
                .collect();
            let ([name, name_len], [units, units_len]) = (self.text(resource), self.list(&units));
            items.push([name, name_len, units, units_len, 0, 0, 0, 0]);
        }
        let [at, len] = self.list(&items);
        self.leave(&[0, at, len])
    }

    /// Lays out `ok` with a pool without units that names a device as one that cannot be described.
    pub(crate) fn unread(&mut self, resource: &str, device: &str) -> String {
        let ([name, name_len], [own, own_len]) =
            (self.text(resource), self.properties(&[("devgate.unread".to_owned(), device.to_owned())]));
        let [at, len] = self.list(&[[name, name_len, 0, 0, 0, 0, own, own_len]]);
        self.leave(&[0, at, len])
    }

    /// Lays out `ok(edits)`.
    pub(crate) fn edits(&mut self, edits: &Edits) -> String {
        let cdi: Vec<_> = edits.cdi.iter().map(|name| self.text(name)).collect();
        let ([env, env_len], [annotations, annotations_len], [cdi, cdi_len]) =
            (self.properties(&edits.env), self.properties(&edits.annotations), self.list(&cdi));
        self.leave(&[0, env, env_len, 0, 0, annotations, annotations_len, cdi, cdi_len, 0, 0])
    }

    /// Lays out `err(other)` with this message.
    pub(crate) fn failure(&mut self, message: &str) -> String {
        const OTHER: u32 = 8;
        let [at, len] = self.text(message);
        self.leave(&[1, OTHER, 0, 0, at, len])
    }

    /// Lays out `ok` with these verdicts: healthy, or unhealthy for this reason.
    pub(crate) fn verdicts(&mut self, verdicts: &[Option<&str>]) -> String {
        let verdict = |verdict: &Option<&str>| match verdict {
            None => [0, 0, 0],
            Some(reason) => {
                let [text, len] = self.text(reason);
                [1, text, len]
            }
        };
        let items: Vec<_> = verdicts.iter().map(verdict).collect();
        let [at, len] = self.list(&items);
        self.leave(&[0, at, len])
    }

    fn leave(&mut self, words: &[u32]) -> String {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        format!("(i32.const {})", self.put(&bytes))
    }

    /// The component with this memory and these bodies. `$log` takes a level, and a text's address and length.
    pub(crate) fn plugin(&self, enumerate: &str, health: &str, allocate: &str) -> Vec<u8> {
        let end = BASE + self.0.len().next_multiple_of(8);
        let pages = (end + 2 * ROOM).div_ceil(1 << 16);
        let free = end + ROOM;
        let data = self.0.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "\\{byte:02x}");
            text
        });
        component(&format!(
            r#"(module
            (import "devgate:plugin/log@0.1.0" "write" (func $log (param i32 i32 i32)))
            (memory (export "memory") {pages})
            (data (i32.const {BASE}) "{data}")
            (global $zeros i32 (i32.const {end}))
            (global $next (mut i32) (i32.const {free}))
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                (local $at i32)
                (local.set $at (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
                (global.set $next (i32.add (local.get $at) (local.get 3)))
                (local.get $at))
            (func (export "devgate:plugin/plugin@0.1.0#enumerate") (result i32) {enumerate})
            (func (export "devgate:plugin/plugin@0.1.0#health") (param i32 i32 i32 i32) (result i32) {health})
            (func (export "devgate:plugin/plugin@0.1.0#allocate") (param i32 i32 i32 i32) (result i32) {allocate})
        )"#
        ))
    }
}

fn join([a, b]: [u32; 2], [c, d]: [u32; 2]) -> [u32; 4] {
    [a, b, c, d]
}
