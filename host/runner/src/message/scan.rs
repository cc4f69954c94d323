//! What a look at a component's file found.

use super::{Nonsense, wire};
use devgate_types::ByteSize;
use devgate_types::load::{Counts, Scan};
use std::collections::BTreeSet;

/// Names that a component imports or exports, as the sandbox counts them.
const NAMES: usize = 1_000;

impl From<Scan> for wire::Scan {
    fn from(scan: Scan) -> Self {
        let is_types_alone = |(_, name): &(u32, &String)| scan.types_alone.contains(*name);
        let types_alone = (0..).zip(&scan.imports).filter(is_types_alone);
        let counts = scan.counts;
        Self {
            types_alone: types_alone.map(|(index, _)| index).collect(),
            imports: scan.imports,
            exports: scan.exports,
            functions: counts.functions,
            function_size: counts.function_size.0,
            memories: counts.memories,
            memory: counts.memory.0,
            tables: counts.tables,
            table_elements: counts.table_elements,
            instances: counts.instances,
        }
    }
}

impl wire::Scan {
    /// What it says, of a compiler that is not believed: no more names than a component may have.
    pub(crate) fn read(self) -> Result<Scan, Nonsense> {
        let scan = self;
        if scan.imports.len() > NAMES || scan.exports.len() > NAMES {
            return Err(Nonsense("too many names"));
        }
        let types_alone: BTreeSet<u32> = scan.types_alone.into_iter().collect();
        let name = |index: &u32| scan.imports.get(usize::try_from(*index).ok()?).cloned();
        Ok(Scan {
            types_alone: types_alone.iter().filter_map(name).collect(),
            counts: Counts {
                functions: scan.functions,
                function_size: ByteSize(scan.function_size),
                memories: scan.memories,
                memory: ByteSize(scan.memory),
                tables: scan.tables,
                table_elements: scan.table_elements,
                instances: scan.instances,
            },
            imports: scan.imports,
            exports: scan.exports,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_arrives_as_it_was_sent() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let scan = Scan {
            imports: names(&["a:b/c", "d:e/f", "g:h/i"]),
            types_alone: names(&["d:e/f"]).into_iter().collect(),
            exports: names(&["j"]),
            counts: Counts {
                functions: 1,
                function_size: ByteSize(2),
                memories: 3,
                memory: ByteSize(4),
                tables: 5,
                table_elements: 6,
                instances: 7,
            },
        };
        assert_eq!(wire::Scan::from(scan.clone()).read(), Ok(scan));
        let odd = wire::Scan {
            imports: vec!["x".repeat(512 << 10)],
            types_alone: vec![0; 500_000],
            ..wire::Scan::default()
        };
        assert_eq!(odd.read().map(|scan| scan.types_alone.len()), Ok(1));
        let many = wire::Scan {
            exports: vec![String::new(); 500_000],
            ..wire::Scan::default()
        };
        assert!(many.read().is_err());
    }
}
