//! How a GPU is divided: its compute partitions (SPX is one, CPX one for each of its compute dies) and its memory's.
//!
//! The driver names both in `current_compute_partition` and `current_memory_partition` of the PCI function, where the GPU can
//! be divided at all (`amdgpu_gfx.c`, `amdgpu_gmc.c`).

use devgate_sdk::Error;

/// The words of the driver (`amdgpu_gfx_compute_mode_desc`, `nps_desc`).
const COMPUTE: [&str; 5] = ["SPX", "DPX", "TPX", "QPX", "CPX"];
const MEMORY: [&str; 6] = ["NPS1", "NPS2", "NPS3", "NPS4", "NPS6", "NPS8"];

/// The two words, in capitals as the driver writes them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mode {
    pub(crate) compute: String,
    pub(crate) memory: String,
}

impl Mode {
    /// From the two attributes; nothing for a GPU that has neither. What reads as no mode that a driver has (`UNKNOWN` is one for
    /// it) is an error: of a GPU in that state nothing is to be concluded.
    pub(crate) fn of(compute: Option<String>, memory: Option<String>) -> Result<Option<Self>, Error> {
        let word = |name: &str, text: String, known: &[&str]| {
            let found = known.iter().find(|word| word.eq_ignore_ascii_case(&text));
            found.map(|word| (*word).to_owned()).ok_or_else(|| {
                let said: String = text.chars().take(32).collect();
                Error::other("amd.mode", format!("{name} reads {said}"))
            })
        };
        match (compute, memory) {
            (Some(compute), Some(memory)) => Ok(Some(Self {
                compute: word("current_compute_partition", compute, &COMPUTE)?,
                memory: word("current_memory_partition", memory, &MEMORY)?,
            })),
            // Some GPUs divide one of the two only; AMD's plugin counts those as not divided, and so does this.
            _ => Ok(None),
        }
    }

    /// As AMD's plugin names a resource: `cpx_nps4`.
    pub(crate) fn resource(&self) -> String {
        format!("{}_{}", self.compute, self.memory).to_ascii_lowercase()
    }

    /// For people: `CPX/NPS4`.
    pub(crate) fn words(&self) -> String {
        format!("{}/{}", self.compute, self.memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(compute: Option<&str>, memory: Option<&str>) -> Result<Option<String>, String> {
        let mode = Mode::of(compute.map(str::to_owned), memory.map(str::to_owned));
        mode.map(|mode| mode.map(|mode| mode.resource())).map_err(|e| e.message)
    }

    #[test]
    fn both_words_make_a_mode() {
        assert_eq!(of(Some("CPX"), Some("NPS4")), Ok(Some("cpx_nps4".to_owned())));
        assert_eq!(of(Some("SPX"), Some("NPS1")), Ok(Some("spx_nps1".to_owned())));
        let mode = Mode::of(Some("dpx".to_owned()), Some("nps2".to_owned())).unwrap().unwrap();
        assert_eq!(mode.words(), "DPX/NPS2");
    }

    #[test]
    fn a_gpu_that_is_not_divided_has_none() {
        assert_eq!(of(None, None), Ok(None));
        assert_eq!(of(None, Some("NPS1")), Ok(None));
    }

    #[test]
    fn what_is_no_mode_is_an_error() {
        assert_eq!(of(Some("UNKNOWN"), Some("NPS1")), Err("current_compute_partition reads UNKNOWN".to_owned()));
        for (compute, memory) in
            [("", "NPS1"), ("CP", "NPS1"), ("CPXCPX", "NPS1"), ("CPX", ""), ("CPX", "NPS"), ("CPX", "4")]
        {
            assert!(of(Some(compute), Some(memory)).is_err(), "{compute} {memory}");
        }
        let long = of(Some(&"C".repeat(4_096)), Some("NPS1")).unwrap_err();
        assert!(long.len() < 100, "{long}");
    }
}
