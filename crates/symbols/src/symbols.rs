//! The queries: from addresses to names.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::time::SystemTime;

use crate::binary::Binary;
use crate::frame::{Frame, SymbolKind, Variable};
use crate::name::{Name, demangle};
use crate::space::{AddressSpace, Build, Identity, Module};
use crate::unwind::{self, StackCopy};

/// Where Debian, Fedora and others install separate debug files.
pub(crate) const DEBUG_ROOT: &str = "/usr/lib/debug";

/// A file, its path, and its build as far as it is known.
type MappedFile = (Identity, PathBuf, Option<Build>);

/// Finds names. Each file is opened once and kept, however many spaces it is mapped in.
///
/// `Send`, but not `Sync`: it is used by one thread at a time.
pub struct Symbols {
    debug_root: PathBuf,
    /// When the processes ended; `None`: just now, or not yet.
    mapped: Option<SystemTime>,
    /// `None` for files that could not be opened.
    binaries: RefCell<HashMap<MappedFile, Option<Binary>>>,
    /// Requested files with code that cannot be used, because they were replaced or removed.
    replaced: RefCell<BTreeSet<PathBuf>>,
}

impl Default for Symbols {
    fn default() -> Self {
        Self::new()
    }
}

impl Symbols {
    /// No file is open yet; separate debug files come from `/usr/lib/debug`.
    pub fn new() -> Symbols {
        Symbols::with_debug_root(DEBUG_ROOT)
    }

    /// Separate debug files come from another folder: by build id (`.build-id/ab/cdef….debug`), and by the name that
    /// the program gives. That name is also looked up beside the program and in `.debug` there.
    pub fn with_debug_root(folder: impl Into<PathBuf>) -> Symbols {
        Symbols {
            debug_root: folder.into(),
            mapped: None,
            binaries: RefCell::default(),
            replaced: RefCell::default(),
        }
    }

    /// For processes that ended at that time: a file that has changed since is not the one that they ran, so its names
    /// would be wrong and are not used.
    pub fn as_of(mut self, time: SystemTime) -> Symbols {
        self.mapped = Some(time);
        self
    }

    /// The functions of a return address: the function that made the call, and the functions into which it was inlined,
    /// innermost first. Never empty.
    ///
    /// Uses the byte before the address, which belongs to the call: the next instruction may belong to another
    /// function.
    pub fn code(&self, space: &AddressSpace, return_address: u64) -> Vec<Frame> {
        let address = return_address.wrapping_sub(1);
        let Some(module) = space.module_of(address) else {
            let name = format!("{return_address:#x}");
            return vec![unknown(name, return_address, String::new())];
        };
        let own = self.with(module, |binary| binary.translate(module, address));
        let frames =
            own.and_then(|own| self.with(module, |binary| Some(self.frames_of(binary, module, own))));
        frames.filter(|frames| !frames.is_empty()).unwrap_or_else(|| {
            let offset = own.map_or_else(|| module.offset(return_address), |own| own + 1);
            vec![unknown(format!("{}+{offset:#x}", module.file_name()), offset, module.file_name())]
        })
    }

    /// The start of the function that contains a return address, as an address of the file, by its unwind tables: functions
    /// without a name have one too. `None` if the file has no tables, or if no file is mapped there.
    pub fn function_start(&self, space: &AddressSpace, return_address: u64) -> Option<u64> {
        let address = return_address.wrapping_sub(1);
        let module = space.module_of(address)?;
        self.with(module, |binary| binary.rules()?.function_start(binary.translate(module, address)?))
    }

    /// The static variable at an address. `None` for the heap, for stacks, for thread-local variables, and for
    /// variables whose names were stripped.
    pub fn variable(&self, space: &AddressSpace, address: u64) -> Option<Variable> {
        let module = space.module_below(address)?;
        self.with(module, |binary| {
            let own = binary.translate(module, address)?;
            let symbol = binary.table(&self.debug_root).variable(own)?;
            let offset = own - symbol.address;
            let declaration = binary
                .dwarf(&self.debug_root)
                .and_then(|dwarf| binary.statics(&self.debug_root).declaration(dwarf, symbol.address, offset))
                .unwrap_or_default();
            Some(Variable {
                name: declaration.name_of(symbol.name),
                offset,
                size: symbol.size,
                member: declaration.member,
                location: declaration.location,
                module: module.file_name(),
            })
        })
    }

    /// The file that is loaded at an address, and the address within the file's own address space. `None` if no file is
    /// mapped there, or if the file is gone or has changed.
    pub fn file_and_offset(&self, space: &AddressSpace, address: u64) -> Option<(PathBuf, u64)> {
        let module = space.module_below(address)?;
        self.with(module, |binary| Some((module.path.clone(), binary.translate(module, address)?)))
    }

    /// The callers in a copied piece of a stack, innermost first: `stack.ip`, then return addresses, as far as the copy
    /// reaches and unwind tables (or frame pointers) lead.
    ///
    /// Guaranteed for any input: each address after the first lies in mapped code, and there are no more addresses than
    /// the copy has room for.
    pub fn unwind(&self, space: &AddressSpace, stack: &StackCopy<'_>) -> Vec<u64> {
        unwind::chain(space, stack, |address, registers, stack| {
            let module = space.module_of(address)?;
            self.with(module, |binary| {
                let own = binary.translate(module, address)?;
                binary.rules()?.caller(own, registers, stack)
            })
        })
    }

    /// Combines what DWARF says about an address of the file with the symbol table, which alone has the names of copies
    /// that the compiler made.
    fn frames_of(&self, binary: &Binary, module: &Module, address: u64) -> Vec<Frame> {
        let symbol = binary.table(&self.debug_root).function(address);
        let known = binary.dwarf(&self.debug_root).map(|dwarf| dwarf.frames(address)).unwrap_or_default();
        if symbol.is_none() && known.is_empty() {
            return Vec::new();
        }
        let start = symbol.map(|symbol| symbol.address).or_else(|| binary.rules()?.function_start(address));
        let offset = start.map_or(0, |start| address + 1 - start);
        let last = known.len().saturating_sub(1);
        let mut frames: Vec<Frame> = Vec::with_capacity(known.len());
        let mut outermost = None;
        for (index, known) in known.into_iter().enumerate() {
            if index == last {
                outermost = Some(known);
            } else if let Some(name) = known.name {
                frames.push(frame(demangle(&name), offset, known.location, module, SymbolKind::Inlined));
            }
        }
        let location = outermost.as_mut().and_then(|known| known.location.take());
        let name = symbol.map(|symbol| symbol.name.to_owned()).or_else(|| outermost?.name);
        if let Some(name) = name {
            frames.push(frame(demangle(&name), offset, location, module, SymbolKind::Function));
        }
        frames
    }

    /// Queries the file of a module. Opens the file at the first query.
    fn with<T>(&self, module: &Module, ask: impl FnOnce(&Binary) -> Option<T>) -> Option<T> {
        if !module.is_file() {
            self.note_replaced(module);
            return None;
        }
        let key = (module.identity, module.path.clone(), module.build.clone());
        let mut binaries = self.binaries.borrow_mut();
        let binary = binaries.entry(key).or_insert_with(|| Binary::open(module, self.mapped)).as_ref();
        if binary.is_none() {
            self.note_replaced(module);
        }
        ask(binary?)
    }

    /// Notes a module whose file is not used, unless it never had a name.
    fn note_replaced(&self, module: &Module) {
        let has_code = module.mappings.iter().any(|mapping| mapping.executable);
        let is_nameless = module.path.starts_with("/memfd:") || module.path.starts_with("/dev/zero");
        if has_code && module.path.is_absolute() && !is_nameless {
            self.replaced.borrow_mut().insert(module.path.clone());
        }
    }

    /// The files with code whose names were asked for and are not known: another file has the name now, the file was
    /// changed or removed, or it cannot be read.
    pub fn replaced_files(&self) -> Vec<PathBuf> {
        self.replaced.borrow().iter().cloned().collect()
    }
}

fn frame(
    name: Name,
    offset: u64,
    location: Option<crate::frame::Location>,
    module: &Module,
    kind: SymbolKind,
) -> Frame {
    Frame { function: name.full, short: name.short, offset, location, module: module.file_name(), kind }
}

fn unknown(name: String, offset: u64, module: String) -> Frame {
    Frame { function: name.clone(), short: name, offset, location: None, module, kind: SymbolKind::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_can_be_sent_to_another_thread() {
        fn is_send<T: Send>() {}
        is_send::<Symbols>();
        is_send::<AddressSpace>();
    }
}
