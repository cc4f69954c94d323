//! The part of a call's capabilities that is outside the device tree: files and mounts.

use super::{CallHost, failure};
use crate::grants::{FileRefused, GrantedMount, Grants, Line, MountDenied};
use crate::status::RefusalKind;
use devgate_types::component::{Answered, Denied, LogLevel};
use devgate_types::{Failure, FailureKind, MountHandle, escape};

/// The largest text file, and the most bytes that one read gives, as the contract says.
const TEXT_BYTES: usize = 64 << 10;
const READ_BYTES: usize = 1 << 20;

impl CallHost {
    /// The handle of a mount in this call.
    pub(super) fn hold_mount(&mut self, mount: GrantedMount) -> MountHandle {
        let found = self.mounts.iter().position(|held| *held == mount);
        let number = found.unwrap_or_else(|| {
            self.mounts.push(mount);
            self.mounts.len() - 1
        });
        MountHandle(u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// What is wrong with a mount at this moment, if anything: the last look before it is handed out.
    pub(crate) fn mount_problem(&self, mount: &GrantedMount) -> Option<String> {
        self.grants.mount_problem_now(mount)
    }

    /// The mount that a handle stands for, if this call holds it.
    pub(crate) fn held_mount(&self, handle: MountHandle) -> Option<&GrantedMount> {
        self.mounts.get(usize::try_from(handle.0).ok()?)
    }

    pub(super) fn text_of_file(&mut self, path: &str) -> Answered<String> {
        let bytes = self.ask_file(path, "file", |grants, path| grants.file(path, TEXT_BYTES))?;
        self.count(bytes.len())?;
        let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
        let Some(mut text) = text else {
            let message = format!("file \"{}\" is not text", escape(path, 160));
            return Err(Failure::new(FailureKind::Other, message).with_code("not-text").into());
        };
        text.truncate(text.trim_end().len());
        Ok(text)
    }

    pub(super) fn bytes_of_file(&mut self, path: &str, offset: u64, length: u32) -> Answered<Vec<u8>> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > READ_BYTES {
            let message = format!("file \"{}\": at most {READ_BYTES} bytes at once", escape(path, 160));
            return Err(Failure::new(FailureKind::Limit, message).into());
        }
        // Never more into memory than the call may still read, and one byte to see that it is too much.
        let left = usize::try_from(self.limits.read.0.saturating_sub(self.bytes_read)).unwrap_or(usize::MAX);
        let length = length.min(left.saturating_add(1));
        let bytes = self.ask_file(path, "file", |grants, path| grants.file_at(path, offset, length))?;
        self.count(bytes.len())?;
        Ok(bytes)
    }

    pub(super) fn names_in_directory(&mut self, path: &str) -> Answered<Vec<String>> {
        let names = self.ask_file(path, "directory", Grants::file_entries)?;
        self.count(names.iter().map(String::len).sum())?;
        Ok(names)
    }

    fn ask_file<T>(
        &self,
        path: &str,
        kind: &str,
        question: impl FnOnce(&Grants, &str) -> Result<T, FileRefused>,
    ) -> Answered<T> {
        let answer = question(&self.grants, path);
        let what = format!("{kind} \"{}\"", escape(path, 160));
        answer.map_err(|refused| match refused {
            FileRefused::Denied(told, full) => {
                self.refused(&what, full.as_deref().unwrap_or(&told));
                denied(&what, &told)
            }
            FileRefused::Read(error) => failure(&what, &error).into(),
        })
    }

    pub(super) fn ask_mount(&mut self, name: &str) -> Answered<MountHandle> {
        let answer = self.grants.mount(name);
        let what = format!("mount \"{}\"", escape(name, 80));
        match answer {
            Ok(mount) => Ok(self.hold_mount(mount)),
            Err(why) => {
                let text = why.to_string();
                self.refused(&what, &text);
                Err(match why {
                    MountDenied::Missing(_) => Failure::new(FailureKind::NotFound, format!("{what}: {text}")).into(),
                    MountDenied::NotGranted | MountDenied::Refused(_) => denied(&what, &text),
                })
            }
        }
    }

    /// Tells the admin what the component asked for and does not get: once each.
    pub(super) fn refused(&self, what: &str, why: &str) {
        let plugin = self.grants.policy.name.as_str();
        if let Some(heard) = &self.grants.heard {
            heard.line(Line {
                level: LogLevel::Warn,
                refusal: true,
                text: format!("the component asked for {what}: {why}"),
            });
        }
        let line = format!("plugin {plugin}: the component asked for {what}: {why}");
        self.grants.board.refuses(RefusalKind::Capability, &line);
        match self.grants.told.first_time(&line) {
            Some(0) => tracing::warn!(plugin, family = "refused", "{line}"),
            Some(left_out) => tracing::warn!(
                plugin,
                family = "refused",
                left_out,
                "{line}; before it {left_out} other refusals were not logged"
            ),
            None => {}
        }
    }
}

pub(super) fn denied(what: &str, why: &str) -> Denied {
    Denied::Failure(Failure::new(FailureKind::Denied, format!("{what}: {why}")))
}
