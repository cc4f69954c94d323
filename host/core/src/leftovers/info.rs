//! Files for a meta network plugin: the state directory says which are devgate's.

use super::Broom;
use crate::device_info::left_behind;
use std::path::Path;

const WHAT: &str = "device-info";

impl Broom {
    /// Removes the files in `dir` that the record in the state directory names and that say what was written, then the record.
    pub fn device_info(&mut self, dir: &Path, state_dir: &Path) {
        let (record, files) = match left_behind(dir, state_dir) {
            Ok(Some(left)) => left,
            Ok(None) => return,
            Err(why) => return self.fail(WHAT, state_dir, &why),
        };
        let before = self.failures();
        for (file, is_ours) in files {
            match is_ours {
                Ok(Some(true)) => self.remove(WHAT, &file),
                Ok(Some(false)) => self.leave(WHAT, &file, "says something else than devgate wrote"),
                Ok(None) => {}
                Err(why) => self.fail(WHAT, &file, &why),
            }
        }
        // What could not be removed must be known the next time.
        if self.failures() == before {
            self.remove(WHAT, &record);
        }
    }
}
