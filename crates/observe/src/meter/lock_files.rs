//! The file of each lock that `--mutex`, `--rwlock` and `--spin` do not find by its name alone. These options search the program
//! that is started, and the libraries with which it starts. A lock may be in a program that a script starts, or in a library
//! that is opened later.

use super::names::Names;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use unspin_launch::plan::Closure;
use unspin_launch::program::Program;
use unspin_launch::program::system_code::is_library_of_system;
use unspin_report::{MeterReport, Name};
use unspin_wire::{Image, Key, RecordKind};

/// The name of a lock, and its origin.
type NameAndOrigin = (String, Option<String>);

/// The files of the locks of a report, by name and origin.
#[derive(Default)]
pub struct LockFiles {
    files: RefCell<BTreeMap<NameAndOrigin, Vec<PathBuf>>>,
}

impl LockFiles {
    /// Notes the files of a lock that a plan can replace. `name` is the name of this key.
    pub fn note(&self, names: &Names<'_>, image: &Image, key: &Key, name: &Name) {
        if key.kind().and_then(RecordKind::family).is_none() {
            return;
        }
        let row = (name.lock.clone(), name.origin.clone());
        let mut files = self.files.borrow_mut();
        files.entry(row).or_insert_with(|| {
            let trace = names.trace(image, key);
            trace.iter().flat_map(|trace| trace.files()).map(Path::to_path_buf).collect()
        });
    }

    /// Writes into the report which locks need their file beside their name.
    pub fn add_to(self, report: &mut MeterReport) {
        let command: Vec<OsString> = report.invocation.command.iter().map(OsString::from).collect();
        let Some(program) = (!command.is_empty()).then(|| Program::find_any(&command).ok()).flatten() else {
            return;
        };
        let own = program.path.canonicalize().unwrap_or_else(|_| program.path.clone());
        let files = self.files.into_inner();
        let mut closure = None;
        for lock in &mut report.locks {
            let of_lock = files.get(&(lock.row.name.clone(), lock.origin.clone()));
            let elsewhere = of_lock.into_iter().flatten().find(|file| {
                let is_found = |closure: &Closure| closure.files.iter().any(|known| known.path() == **file);
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                **file != own
                    && !is_library_of_system(&name)
                    && !is_found(closure.get_or_insert_with(|| Closure::of(&program)))
            });
            lock.module = elsewhere.map(|file| file.display().to_string());
        }
    }
}
