//! Names of addresses, with a cache.

use super::history::RecordedUse;
use super::started;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime};
use unspin_symbols::{AddressSpace, Frame, StackCopy, Symbols, Variable};
use unspin_sys::printable;
use unspin_wire::{Image, Key, Snapshot};

/// Finds names and caches them, for all snapshots of one recording.
#[derive(Default)]
pub struct Lookup {
    symbols: Symbols,
    /// By the text of the modules and the program's `argv[0]`.
    spaces: Known<(Vec<u8>, Option<String>), Rc<ProcessSpace>>,
    /// The space of a process's generation, which does not change any more.
    places: Known<(u32, u64, u8), Rc<ProcessSpace>>,
    /// The link by which a program was started, by the program's `argv[0]` and file.
    links: Known<(String, PathBuf), Option<String>>,
    code: Known<(usize, u64), Rc<[Frame]>>,
    variables: Known<(usize, u64), Option<Rc<Variable>>>,
    chains: Known<(u32, u64, Key), Rc<Chain>>,
}

/// Maximum number of replaced files that are named.
const REPLACED_NAMED_MAX: usize = 4;

/// Cached answers.
type Known<Q, A> = RefCell<HashMap<Q, A>>;

/// The frames that led to a use of a lock.
#[derive(Debug)]
pub struct Chain {
    /// Innermost first: frames that locked for the caller, the caller, and its known callers.
    pub frames: Vec<Frame>,
    /// Index of the caller's first caller.
    pub beyond: usize,
    /// The return address of each frame. Frames of one address were inlined into each other.
    pub returns: Vec<u64>,
}

impl Chain {
    fn add(&mut self, address: u64, frames: &[Frame]) {
        self.frames.extend_from_slice(frames);
        self.returns.resize(self.frames.len(), address);
    }
}

/// An address in a file, as in its ELF headers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileAddress {
    /// The file.
    pub module: PathBuf,
    /// The address.
    pub address: u64,
}

/// An address space that several generations of processes share.
#[derive(Debug)]
struct ProcessSpace {
    number: usize,
    space: AddressSpace,
    /// The name of the program's file, or of the link by which it was started.
    program: String,
}

impl Lookup {
    /// An empty cache.
    pub fn new() -> Lookup {
        Lookup::default()
    }

    /// For a stored snapshot: ignores files that have changed since.
    pub fn as_of(snapshot: &Snapshot) -> Lookup {
        let metered = Duration::try_from_secs_f64(snapshot.window.seconds).unwrap_or_default();
        let end = Duration::from_nanos(snapshot.started).saturating_add(metered);
        let end = SystemTime::UNIX_EPOCH.checked_add(end);
        Lookup {
            symbols: end.map_or_else(Symbols::new, |end| Symbols::new().as_of(end)),
            ..Lookup::default()
        }
    }

    /// A sentence about the files whose names were looked up in vain so far; none if there are none.
    pub fn note_on_replaced_files(&self) -> Option<String> {
        let files = self.symbols.replaced_files();
        let more = files.len().saturating_sub(REPLACED_NAMED_MAX);
        let mut named: Vec<String> = files
            .iter()
            .take(REPLACED_NAMED_MAX)
            .map(|file| printable::line(&file.to_string_lossy()).into_owned())
            .collect();
        named.extend((more > 0).then(|| format!("and {more} more")));
        (!files.is_empty()).then(|| {
            format!(
                "Replaced or removed since they ran, or unreadable: {}. Names from another build would be wrong, so what is \
                 in the file that ran is shown as offsets.",
                named.join(", ")
            )
        })
    }

    /// The functions of a return address, innermost first.
    pub fn code(&self, image: &Image, generation: u8, address: u64) -> Rc<[Frame]> {
        let place = self.place_with(image, generation, address);
        self.code_in(&place, address)
    }

    fn code_in(&self, place: &ProcessSpace, address: u64) -> Rc<[Frame]> {
        let find = || self.symbols.code(&place.space, address).into();
        Rc::clone(self.code.borrow_mut().entry((place.number, address)).or_insert_with(find))
    }

    /// The static variable at an address.
    pub fn variable(&self, image: &Image, generation: u8, address: u64) -> Option<Rc<Variable>> {
        let place = self.place(image, generation);
        let find = || self.symbols.variable(&place.space, address).map(Rc::new);
        self.variables.borrow_mut().entry((place.number, address)).or_insert_with(find).clone()
    }

    /// The address of a variable in its file.
    pub fn file_address(&self, image: &Image, generation: u8, address: u64) -> Option<FileAddress> {
        self.file_address_in(&self.place(image, generation), address)
    }

    /// The return addresses that led to a use of a lock, as addresses in their files; none if one is in no file or in a
    /// file that has changed.
    pub fn file_addresses(&self, site: &RecordedUse<'_>, returns: &[u64]) -> Option<Vec<FileAddress>> {
        let place = self.place_with(site.image, site.generation, site.key.caller);
        // Looked up by the call instruction, which may be the last one of a file's code.
        let home = |&address: &u64| {
            let call = self.file_address_in(&place, address.wrapping_sub(1))?;
            Some(FileAddress { address: call.address + 1, ..call })
        };
        returns.iter().map(home).collect()
    }

    fn file_address_in(&self, place: &ProcessSpace, address: u64) -> Option<FileAddress> {
        let (module, address) = self.symbols.file_and_offset(&place.space, address)?;
        Some(FileAddress { module, address })
    }

    /// The frames that led to a use of a lock: only the caller's if no stack was copied.
    pub fn chain(&self, site: &RecordedUse<'_>) -> Rc<Chain> {
        let known = (site.image.pid, site.image.since, site.key);
        if let Some(chain) = self.chains.borrow().get(&known) {
            return Rc::clone(chain);
        }
        let chain = Rc::new(self.unwind(site));
        // A stack is copied shortly after its row is created: while the program runs it may still be missing.
        if site.stack.is_some() {
            self.chains.borrow_mut().insert(known, Rc::clone(&chain));
        }
        chain
    }

    fn unwind(&self, site: &RecordedUse<'_>) -> Chain {
        let caller = site.key.caller;
        let place = self.place_with(site.image, site.generation, caller);
        let addresses = site.stack.map(|stack| {
            let stack = StackCopy { ip: stack.ip, sp: stack.sp, bp: stack.bp, bytes: &stack.bytes };
            self.symbols.unwind(&place.space, &stack)
        });
        let mut chain = Chain { frames: Vec::new(), beyond: 0, returns: Vec::new() };
        for address in addresses.unwrap_or_else(|| vec![caller]) {
            chain.add(address, &self.code_in(&place, address));
            if address == caller && chain.beyond == 0 {
                chain.beyond = chain.frames.len();
            }
        }
        // The unwinder failed before it reached the caller, which the hook itself had recorded.
        if chain.beyond == 0 {
            chain.add(caller, &self.code_in(&place, caller));
            chain.beyond = chain.frames.len();
        }
        chain
    }

    /// The file name of a process's program.
    pub fn program(&self, image: &Image) -> String {
        self.place(image, 1).program.clone()
    }

    /// The space of a generation, or of the first later one that maps the address: a library may have been loaded after
    /// the modules were recorded and before the row was.
    fn place_with(&self, image: &Image, generation: u8, address: u64) -> Rc<ProcessSpace> {
        let holds = |place: &Rc<ProcessSpace>| place.space.module_of(address.wrapping_sub(1)).is_some();
        let first = self.place(image, generation);
        if holds(&first) {
            return first;
        }
        let later = generation.max(1)..=image.modules.len().min(255) as u8;
        later.map(|generation| self.place(image, generation)).find(holds).unwrap_or(first)
    }

    /// The name of the link by which a program was started. Thousands of processes may run one program.
    fn link(&self, argument: &str, program: &Path) -> Option<String> {
        let known = (argument.to_owned(), program.to_owned());
        let find = || started::by_link(argument, program);
        self.links.borrow_mut().entry(known).or_insert_with(find).clone()
    }

    /// Generations count from 1; the last one replaces missing ones.
    fn place(&self, image: &Image, generation: u8) -> Rc<ProcessSpace> {
        let generation = generation.clamp(1, image.modules.len().clamp(1, 255) as u8);
        let known = (image.pid, image.since, generation);
        if let Some(place) = self.places.borrow().get(&known) {
            return Rc::clone(place);
        }
        let text = image.modules.get(usize::from(generation) - 1).map_or(&[][..], Vec::as_slice);
        let text = constant_lines(text);
        let program = super::history::first_path(&text).to_owned();
        let link = image.command.first().and_then(|name| self.link(name, &program));
        let mut spaces = self.spaces.borrow_mut();
        let number = spaces.len();
        let place = Rc::clone(spaces.entry((text, link)).or_insert_with_key(|(text, link)| {
            let space = AddressSpace::parse(text);
            let (space, program) = match link {
                Some(link) => (space.with_name(&program, link), link.clone()),
                None => (space, program.file_name().unwrap_or_default().to_string_lossy().into_owned()),
            };
            Rc::new(ProcessSpace { number, space, program })
        }));
        // A process that is just joining has no modules yet.
        if !image.modules.is_empty() {
            self.places.borrow_mut().insert(known, Rc::clone(&place));
        }
        place
    }
}

/// The lines of modules that do not change while a process and its children run. Heap and stacks change, and contain no
/// names.
fn constant_lines(text: &[u8]) -> Vec<u8> {
    let passing = |line: &&[u8]| [&b"[heap]"[..], b"[stack]"].iter().any(|name| line.ends_with(name));
    let lines: Vec<&[u8]> = text.split(|&b| b == b'\n').filter(|line| !passing(line)).collect();
    lines.join(&b'\n')
}
