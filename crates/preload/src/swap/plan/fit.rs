//! Whether a deployed plan is for this process: for this library, for the program, and for the files that are mapped.
//!
//! A file is recognised by its build id, wherever it lies, because an image may have it at another path than the machine on which
//! the plan was made. One without a build id is recognised by its path and its length. The program is the file whose program headers
//! the kernel has passed to the process.

use super::failure::{Failure, VERSION};
use crate::sandbox;
use core::ffi::CStr;
use core::ops::Range;
use unspin_sync::atomic::{AtomicU8, Ordering::Relaxed};
use unspin_sys::build_id::{self, ID_MAX, Mapped};
use unspin_sys::{file, maps, mem, process};
use unspin_wire::looks::LookKind;
use unspin_wire::plan::{BuiltFile, FileBuild};

/// A file that the plan names.
#[derive(Clone, Copy)]
pub struct Module {
    /// Its path, if it lies where the plan was made for it.
    pub path: &'static [u8],
    /// Its build; none in a plan that is not deployed.
    build: Option<FileBuild<'static>>,
    /// Whether the plan is in effect where it is the program.
    is_program: bool,
}

impl Module {
    pub(super) const NONE: Module = Module::named(b"");

    /// A file of any build, by its path.
    pub const fn named(path: &'static [u8]) -> Module {
        Module { path, build: None, is_program: false }
    }

    /// A file in one build.
    pub fn built(file: BuiltFile<'static>) -> Module {
        Module { path: file.path, build: Some(file.build), is_program: false }
    }

    /// A program in one build.
    pub fn program(file: BuiltFile<'static>) -> Module {
        Module { is_program: true, ..Module::built(file) }
    }

    /// Whether a mapped file is this one.
    pub fn is(&self, mapped: &MappedFile<'_>) -> bool {
        match self.build {
            None => self.path == mapped.name,
            Some(FileBuild::Length(bytes)) => self.path == mapped.name && mapped.length() == Some(bytes),
            Some(build) => mapped.id().is_some_and(|id| build.is_id(id)),
        }
    }
}

/// How files are recognised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recognise {
    /// By their paths alone, as a plan is read that is not deployed.
    ByPath,
    /// By their builds.
    ByBuild,
}

/// A file of which the beginning is mapped.
pub struct MappedFile<'line> {
    name: &'line [u8],
    /// The addresses of the mapping of its beginning.
    pub range: Range<usize>,
    /// The build id, and its length; 0: there is none, or it was not asked for.
    id: [u8; ID_MAX],
    id_length: usize,
}

impl<'line> MappedFile<'line> {
    /// The file of a line of `/proc/self/maps`, if the line maps the beginning of one.
    pub fn of(line: &'line [u8], recognise: Recognise) -> Option<MappedFile<'line>> {
        let name = maps::name(line).filter(|name| maps::offset(line) == Some(0) && name.starts_with(b"/"))?;
        let range = maps::range(line)?;
        let range = range.start as usize..range.end as usize;
        let mut id = [0; ID_MAX];
        let id_length = match recognise {
            Recognise::ByPath => 0,
            Recognise::ByBuild => match build_id::read_by(&copy, range.clone(), &mut id) {
                Mapped::Id(length) => length,
                Mapped::WithoutId | Mapped::Other => 0,
            },
        };
        Some(MappedFile { name, range, id, id_length })
    }

    fn id(&self) -> Option<&[u8]> {
        (self.id_length > 0).then(|| &self.id[..self.id_length])
    }

    fn length(&self) -> Option<u64> {
        let mut path = [0; PATH];
        path.get_mut(..self.name.len()).filter(|_| self.name.len() < PATH)?.copy_from_slice(self.name);
        file::length(CStr::from_bytes_until_nul(&path).ok()?)
    }
}

/// A longer path of a file without a build id is not recognised.
const PATH: usize = 512;

/// Copies from a mapped file, and says whether it did. The kernel copies, so that memory that cannot be read, a file that was
/// truncated, and another thread that unmaps it do no harm. Under a seccomp filter, which may end the process for
/// process_vm_readv(2), it copies by the calls by which the dynamic linker loads a library.
pub fn copy(from: usize, out: &mut [u8]) -> bool {
    let copied = if may_copy_memory() { mem::copy_in(from, out) } else { mem::read_own(from, out) };
    copied.is_ok()
}

fn may_copy_memory() -> bool {
    const UNKNOWN: u8 = 0;
    const YES: u8 = 1;
    const NO: u8 = 2;
    static DECISION: AtomicU8 = AtomicU8::new(UNKNOWN);
    // Relaxed (both): the value guards no other data, and each thread finds the same.
    match DECISION.load(Relaxed) {
        UNKNOWN => {
            let may = sandbox::permitted_looks().has(LookKind::Memory);
            DECISION.store(if may { YES } else { NO }, Relaxed);
            may
        }
        known => known == YES,
    }
}

/// Checks what a deployed plan is for: the version of the library, the files, and what came of its lines. The lines that say what the
/// plan is for come first, so they are known if another version has lines that this one does not know.
#[cold]
#[inline(never)]
pub fn check(version: &'static [u8], modules: &[Module], parsed: Result<(), Failure>) -> Result<(), Failure> {
    match (find_program(modules), parsed) {
        (Err(Failure::OtherProgram), _) => Err(Failure::OtherProgram),
        _ if version != VERSION.as_bytes() => Err(Failure::OtherLibrary(version)),
        (_, Err(wrong)) => Err(wrong),
        (found, Ok(())) => found,
    }
}

fn find_program(modules: &[Module]) -> Result<(), Failure> {
    let headers = process::program_headers();
    let (mut program, mut other_build) = (Err(Failure::OtherProgram), None);
    let read = maps::lines(|line| {
        let Some(mapped) = MappedFile::of(line, Recognise::ByBuild) else { return };
        let is_main = mapped.range.contains(&headers);
        for module in modules {
            match (module.is(&mapped), module.path == mapped.name) {
                (true, _) if is_main && module.is_program => program = Ok(()),
                (false, true) if is_main && module.is_program && program.is_err() => {
                    program = Err(Failure::OtherBuild(module.path));
                }
                (false, true) if !module.is_program => other_build = Some(module.path),
                _ => {}
            }
        }
    });
    read.map_err(Failure::NoMaps)?;
    program.and(other_build.map_or(Ok(()), |path| Err(Failure::OtherBuild(path))))
}
