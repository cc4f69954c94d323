//! Files and lines of code in Go. Its linker writes no debug information for WebAssembly, but in the module's data is the table that
//! Go's runtime prints its own traces by (`runtime/symtab.go`), of Go 1.20 and later.

use super::module::Module;
use super::source::{LONGEST_PATH, Line};
use devgate_types::escape;
use wasmparser::{BinaryReader, FunctionBody, Operator};

/// How the table begins: a number for its form, and the sizes of an instruction and a pointer.
const MAGIC: [u8; 8] = [0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8];
/// The number that Go gives the first function; to its compiler a place is that of a function and which of its calls is under way.
const FIRST: u32 = 0x1000;

/// The table, in the memory that a module begins with.
pub(super) struct Table {
    memory: Vec<u8>,
    start: usize,
    functions: usize,
}

impl Table {
    /// Nothing where there is none.
    pub(super) fn of(module: &Module<'_>) -> Option<Self> {
        let memory = module.memory()?;
        let start = memory.windows(MAGIC.len()).position(|window| window == MAGIC)?;
        let mut table = Self { memory, start, functions: 0 };
        table.functions = table.header(0)?;
        (table.functions < table.memory.len()).then_some(table)
    }

    /// Where a function is, at an offset in the code of its module.
    pub(super) fn line(&self, module: &Module<'_>, function: u32, within: u64) -> Option<Line> {
        let number = FIRST.checked_add(module.own_number(function)?)?;
        // Where it will go on; what is under way is before that. What calls nothing is at its beginning.
        let place = returns_to(module.body(function)?, within, number).map_or(0, |place| place.saturating_sub(1));
        let functions = self.part(7)?;
        let is_it = |n: &usize| self.number(functions, n * 8) == Some(number);
        let entry = (0..self.functions).find(is_it)?.checked_mul(8)?.checked_add(4)?;
        let record = functions.checked_add(size(self.number(functions, entry)?)?)?;
        let of_record = |offset: usize| self.number(record, offset);
        let (file, line) = (self.value(of_record(20)?, place)?, self.value(of_record(24)?, place)?);
        let file = of_record(32)?.checked_add(file)?;
        let path = size(self.number(self.part(4)?, size(file)?.checked_mul(4)?)?)?;
        let path = self.memory.get(self.part(5)?.checked_add(path)?..)?;
        let path = String::from_utf8_lossy(path.split(|byte| *byte == 0).next()?);
        Some(Line { function: None, at: format!("{}:{line}", escape(&path, LONGEST_PATH)) })
    }

    /// A word of the header, after its first.
    fn header(&self, n: usize) -> Option<usize> {
        let at = self.start.checked_add(MAGIC.len() + n * 8)?;
        usize::try_from(u64::from_le_bytes(self.memory.get(at..)?.first_chunk().copied()?)).ok()
    }

    /// Where a part of the table begins: 4 is the files of each package, 5 their names, 6 what changes with the place, 7 the functions.
    fn part(&self, n: usize) -> Option<usize> {
        self.start.checked_add(self.header(n)?)
    }

    fn number(&self, part: usize, offset: usize) -> Option<u32> {
        let bytes = self.memory.get(part.checked_add(offset)?..)?.first_chunk().copied()?;
        Some(u32::from_le_bytes(bytes))
    }

    /// What a value is at a place: steps of the value, each with the places that it holds for, until a step of none.
    fn value(&self, list: u32, place: u32) -> Option<u32> {
        let list = self.memory.get(self.part(6)?.checked_add(size(list)?)?..)?;
        let mut reader = BinaryReader::new(list, 0);
        let (mut value, mut until) = (u32::MAX, 0_u32);
        loop {
            let first = until == 0;
            let step = reader.read_var_u32().ok()?;
            if step == 0 && !first {
                return None;
            }
            // The last bit is the sign.
            value = value.wrapping_add(if step & 1 == 0 { step >> 1 } else { !(step >> 1) });
            until = until.checked_add(reader.read_var_u32().ok()?)?;
            if place < until {
                return Some(value);
            }
            if until == 0 {
                return None;
            }
        }
    }
}

/// The place where a function goes on after the call at an offset, as it wrote it down before. Nothing where it calls nothing before it.
fn returns_to((body, start): (&[u8], u64), within: u64, number: u32) -> Option<u32> {
    let mut reader = FunctionBody::new(BinaryReader::new(body, 0)).get_operators_reader().ok()?;
    let mut last = None;
    while !reader.eof() && start.saturating_add(u64::try_from(reader.original_position()).ok()?) < within {
        if let Operator::I64Const { value } = reader.read().ok()?
            && value >> 16 == i64::from(number)
        {
            last = u32::try_from(value & 0xffff).ok();
        }
    }
    last
}

fn size(number: u32) -> Option<usize> {
    usize::try_from(number).ok()
}
