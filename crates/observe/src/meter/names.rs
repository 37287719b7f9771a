//! Names of locks and callers.
//!
//! A lock is named after its static variable; or else after its initialisation; or else after its first use.
//!
//! The initialisation is the latest one at this address before the lock's first use, because an address may have had
//! several lives (`history`). For initialisations and first uses there is a copied piece of stack, which is unwound as
//! far as is needed to tell apart two locks that were initialised through one wrapper (`site`). Two places in one
//! function are two origins, so their locks are not folded into one row. Each row says which of its process's lists of
//! modules was valid: an address has a meaning only together with the mappings of its time.

mod first_uses;
mod history;
mod lookup;
mod shared;
mod site;
mod started;
mod through;
mod words;

pub use lookup::{FileAddress, Lookup};

use first_uses::{CallSite, FirstUse, FirstUses, Group};
use history::{History, RecordedUse};
use shared::Shared;
use std::cell::OnceCell;
use std::collections::HashSet;
use std::path::Path;
use through::Through;
use unspin_report::{Name, pprof};
use unspin_symbols::{Frame, Variable};
use unspin_wire::{Image, Key, RecordKind, Snapshot};

/// Whether the parts of a variable share one name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parts {
    /// The elements of an array have the name of the array.
    Together,
    /// Each element has its own name.
    Apart,
}

/// What identifies a lock in another run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trace {
    /// A static variable, or a part of one.
    Variable {
        /// The name, including the part.
        name: String,
        /// The address of the variable.
        start: u64,
        /// The size of the variable in bytes.
        size: u64,
        /// The address of the lock.
        home: FileAddress,
    },
    /// The return addresses of the calls that initialised it, innermost first, up to the frame after which it is named.
    Initialised(Vec<FileAddress>),
    /// The return addresses of each call that may be the first use of the lock, and the number of mutexes that share
    /// these uses.
    FirstUsed {
        /// Each of these uses identifies it.
        uses: Vec<Vec<FileAddress>>,
        /// Mutexes that these uses do not tell apart.
        mutexes: usize,
    },
}

impl Trace {
    /// The files that contain the variable or the calls.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let (home, calls): (_, &[Vec<FileAddress>]) = match self {
            Trace::Variable { home, .. } => (Some(home), &[]),
            Trace::Initialised(calls) => (None, std::slice::from_ref(calls)),
            Trace::FirstUsed { uses, .. } => (None, uses),
        };
        home.into_iter().chain(calls.iter().flatten()).map(|address| &*address.module)
    }
}

/// Names for the keys of one snapshot.
pub struct Names<'a> {
    lookup: &'a Lookup,
    history: History<'a>,
    parts: Parts,
    /// Functions through which locks are initialised, and through which they are first used.
    initialisers: OnceCell<Shared>,
    users: OnceCell<Shared>,
    first_uses: OnceCell<FirstUses>,
    through: OnceCell<Through>,
}

impl<'a> Names<'a> {
    /// Names are looked up when they are first requested.
    pub fn new(snapshot: &'a Snapshot, lookup: &'a Lookup, parts: Parts) -> Names<'a> {
        let history = History::new(snapshot);
        Names {
            lookup,
            history,
            parts,
            initialisers: OnceCell::new(),
            users: OnceCell::new(),
            first_uses: OnceCell::new(),
            through: OnceCell::new(),
        }
    }

    /// The name of a key of a process.
    pub fn name(&self, image: &Image, key: &Key) -> Option<Name> {
        if let Some(names) = names_of_own_lock(key) {
            return Some(names.into());
        }
        let kind = key.kind()?;
        let (lock, origin) = self.lock(image, key, kind);
        let (caller, place) = self.caller(image, key);
        let is_call_site = lock == caller;
        let through = self.through.get_or_init(|| self.find_through());
        let place = match (through.describe(&lock, &origin, &caller), place) {
            (Some(outers), Some(CallerPlace::Line(line))) => Some(format!("{line}, {outers}")),
            (Some(outers), _) => Some(outers),
            (None, place) => place.map(CallerPlace::into_text),
        };
        let origin = if is_call_site { place.clone() } else { origin };
        Some(Name { lock, origin, caller, place })
    }

    /// The function of a key's caller, and those into which it was inlined. The outer callers are known only for first
    /// uses, so they are left out.
    pub fn frames(&self, image: &Image, key: &Key) -> Vec<pprof::Frame> {
        if names_of_own_lock(key).is_some() {
            return Vec::new();
        }
        let frames = self.lookup.code(image, generation(image, key), key.caller);
        let frame = |frame: &Frame| {
            let location = frame.location.as_ref();
            pprof::Frame {
                function: frame.function.clone(),
                file: location.map_or_else(String::new, |location| location.file.clone()),
                line: location.map_or(0, |location| location.line),
            }
        };
        frames.iter().map(frame).collect()
    }

    /// The lock's name and its origin.
    fn lock(&self, image: &Image, key: &Key, kind: RecordKind) -> (String, Option<String>) {
        if key.address() == 0 {
            return (format!("{}s that did not fit", kind.noun()), None);
        }
        let generation = generation(image, key);
        if !kind.has_object() {
            return self.caller_as_lock(image, key);
        }
        if matches!(kind, RecordKind::Futex | RecordKind::EngineWait) {
            let variable = self.variable(image, key, kind, generation);
            return variable.unwrap_or_else(|| self.call_site(image, key));
        }
        self.variable(image, key, kind, generation)
            .or_else(|| self.name_by_initialisation(image, key, kind))
            .or_else(|| self.name_by_first_use(image, key, kind))
            .unwrap_or_else(|| (format!("{} {:#x}", kind.noun(), key.address()), None))
    }

    /// The name of a wait without an object: its call site in the form that `--waits poll@` accepts, and its place.
    fn caller_as_lock(&self, image: &Image, key: &Key) -> (String, Option<String>) {
        let (caller, place) = self.caller(image, key);
        (caller, place.map(CallerPlace::into_text))
    }

    /// The name of a wait whose object has none: its call site, or the function for which a wrapper waits there.
    fn call_site(&self, image: &Image, key: &Key) -> (String, Option<String>) {
        let found = self.history.site(image, key).and_then(|site| {
            let chain = self.lookup.chain(&site);
            // A call in a function with several callers is one wait, so it is not named after the first caller.
            let found = site::of(&chain.frames, &Shared::default())?;
            let address = chain.returns[found.depth(&chain.frames) - 1];
            (address != key.caller).then(|| (found.place(), found.name))
        });
        found.map_or_else(|| self.caller_as_lock(image, key), |(place, name)| (name, place))
    }

    /// What identifies the lock of a key. None for waits without an object, for which [`name`](Names::name) knows only
    /// an address, and for files that have changed since.
    pub fn trace(&self, image: &Image, key: &Key) -> Option<Trace> {
        let kind = key.kind().filter(|kind| kind.has_object() && key.address() != 0)?;
        let generation = generation(image, key);
        if let Some(variable) = self.lookup.variable(image, generation, key.address()) {
            let home = self.lookup.file_address(image, generation, key.address())?;
            let start = home.address.checked_sub(variable.offset)?;
            let name = self.part(&variable, kind);
            return Some(Trace::Variable { name, start, size: variable.size, home });
        }
        if let Some(site) = self.history.initialisation(image, key) {
            return self.calls(&site, self.initialisers()).map(Trace::Initialised);
        }
        let site = self.history.first_use(image, key)?;
        match self.group(&site).filter(|group| !group.calls.is_empty()) {
            Some(group) => Some(Trace::FirstUsed { uses: group.calls.clone(), mutexes: group.mutexes }),
            None => {
                let calls = self.calls(&site, self.users())?;
                Some(Trace::FirstUsed { uses: vec![calls], mutexes: 1 })
            }
        }
    }

    /// The calls that led to a site, up to the frame after which its lock is named.
    fn calls(&self, site: &RecordedUse<'_>, shared: &Shared) -> Option<Vec<FileAddress>> {
        let chain = self.lookup.chain(site);
        let depth = site::of(&chain.frames, shared)?.depth(&chain.frames);
        let mut returns = chain.returns[..depth].to_vec();
        returns.dedup();
        self.lookup.file_addresses(site, &returns)
    }

    fn initialisers(&self) -> &Shared {
        let chains = || Shared::new(self.history.initialisations().map(|site| self.lookup.chain(&site)));
        self.initialisers.get_or_init(chains)
    }

    fn users(&self) -> &Shared {
        let chains = || Shared::new(self.history.first_uses().map(|site| self.lookup.chain(&site)));
        self.users.get_or_init(chains)
    }

    /// The group of the mutex whose first use this is.
    fn group(&self, site: &RecordedUse<'_>) -> Option<&Group> {
        self.first_uses.get_or_init(|| self.find_first_uses()).group(first_uses::object(site))
    }

    /// Every call site that locks a mutex or a read-write lock without an initialisation.
    fn find_first_uses(&self) -> FirstUses {
        let (mut uses, mut others) = (Vec::new(), HashSet::new());
        let is_lock = |site: &RecordedUse<'_>| {
            matches!(site.key.kind(), Some(RecordKind::Mutex | RecordKind::Read | RecordKind::Write))
        };
        for site in self.history.uses().filter(is_lock) {
            let (image, key) = (site.image, &site.key);
            if key.address() == 0 || self.history.initialisation(image, key).is_some() {
                continue;
            }
            let chain = self.lookup.chain(&site);
            let at = |shared: &Shared| {
                let found = site::of(&chain.frames, shared)?;
                let depth = found.depth(&chain.frames).max(chain.beyond);
                let calls = self.lookup.file_addresses(&site, &first_uses::returns(&chain, depth))?;
                Some(CallSite { place: found.place(), function: found.name, calls })
            };
            let Some((full, inner)) = at(self.users()).zip(at(&Shared::default())) else { continue };
            if self.lookup.variable(image, site.generation, key.address()).is_some() {
                others.extend([full.calls, inner.calls]);
                continue;
            }
            // A forked child goes on with the mutexes of its parent.
            let Some(first) = self.history.first_use(image, key) else { continue };
            let (object, ticks) = (first_uses::object(&first), image.rows[key].first_use.ticks);
            uses.push(FirstUse { object, ticks, full, inner });
        }
        FirstUses::new(&uses, &others)
    }

    fn part(&self, variable: &Variable, kind: RecordKind) -> String {
        match self.parts {
            Parts::Together => folded_name(variable, kind),
            Parts::Apart => unfolded_name(variable),
        }
    }

    fn variable(
        &self,
        image: &Image,
        key: &Key,
        kind: RecordKind,
        generation: u8,
    ) -> Option<(String, Option<String>)> {
        let variable = self.lookup.variable(image, generation, key.address())?;
        let name = self.part(&variable, kind);
        let origin = match &variable.location {
            Some(location) => format!("static, {location}"),
            None => format!("static, {}", variable.module),
        };
        Some((name, Some(origin)))
    }

    fn name_by_initialisation(
        &self,
        image: &Image,
        key: &Key,
        kind: RecordKind,
    ) -> Option<(String, Option<String>)> {
        let site = self.history.initialisation(image, key)?;
        let chain = self.lookup.chain(&site);
        let found = site::of(&chain.frames, self.initialisers())?;
        let origin = match found.place() {
            Some(place) => format!("{} initialised at {place}", kind.noun()),
            None => format!("{} initialised there", kind.noun()),
        };
        Some((found.name, Some(origin)))
    }

    fn name_by_first_use(
        &self,
        image: &Image,
        key: &Key,
        kind: RecordKind,
    ) -> Option<(String, Option<String>)> {
        let site = self.history.first_use(image, key)?;
        if let Some(group) = self.group(&site) {
            let origin = group.place.as_ref().map(|place| format!("first used at {place}"));
            return Some((format!("{} first used in {}", kind.noun(), group.functions), origin));
        }
        let chain = self.lookup.chain(&site);
        let found = site::of(&chain.frames, self.users())?;
        let origin = found.place().map(|place| format!("first used at {place}"));
        Some((format!("{} first used in {}", kind.noun(), found.name), origin))
    }

    /// The caller's name and place.
    fn caller(&self, image: &Image, key: &Key) -> (String, Option<CallerPlace>) {
        let frames = self.lookup.code(image, generation(image, key), key.caller);
        match (frames.last(), site::innermost(&frames)) {
            (Some(machine), Some(seen)) => (machine.with_offset(), self.place(image, seen, machine)),
            _ => (format!("{:#x}", key.caller), None),
        }
    }

    fn find_through(&self) -> Through {
        let mut through = Through::default();
        for site in self.history.uses() {
            let (image, key) = (site.image, &site.key);
            let frames = self.lookup.code(image, site.generation, key.caller);
            let Some(machine) = frames.last() else { continue };
            let Some(kind) = key.kind() else { continue };
            let waits_for_others = !kind.has_object() && words::is_wait_wrapper(&machine.short);
            if !words::is_wrapper(&machine.short) && !words::is_runtime(machine) && !waits_for_others {
                continue;
            }
            let chain = self.lookup.chain(&site);
            if let Some(outer) = site::caller_of_wrapper(&chain.frames[chain.beyond..]) {
                let (lock, origin) = self.lock(image, key, kind);
                through.add(lock, origin, machine.with_offset(), outer, image.rows[key].first_use.ticks);
            }
        }
        through
    }

    /// For a function that was inlined there, its name as well.
    fn place(&self, image: &Image, seen: &Frame, machine: &Frame) -> Option<CallerPlace> {
        match &seen.location {
            Some(location) if seen.short != machine.short => {
                Some(CallerPlace::Line(format!("{} {location}", seen.short)))
            }
            Some(location) => Some(CallerPlace::Line(location.to_string())),
            None if machine.kind == unspin_symbols::SymbolKind::Unknown => None,
            None if machine.module == self.lookup.program(image) => None,
            None => Some(CallerPlace::Library(machine.module.clone())),
        }
    }
}

/// The place of a caller.
enum CallerPlace {
    /// `queue.c:31`
    Line(String),
    /// The library, without debug information; none for the program itself.
    Library(String),
}

impl CallerPlace {
    fn into_text(self) -> String {
        match self {
            CallerPlace::Line(text) | CallerPlace::Library(text) => text,
        }
    }
}

/// The names of a lock of unspin's own, and of its caller.
fn names_of_own_lock(key: &Key) -> Option<(String, String)> {
    unspin_sysv::describe(key).or_else(|| unspin_runqueue::lock::describe(key))
}

/// The list of modules that applies to a row.
fn generation(image: &Image, key: &Key) -> u8 {
    image.rows.get(key).map_or(1, |record| record.first_use.generation)
}

/// `pool[3].lock`, or `pool+0x78`.
fn unfolded_name(variable: &Variable) -> String {
    match (variable.member.is_empty(), variable.offset) {
        (false, _) => format!("{}{}", variable.name, variable.member),
        (true, 0) => variable.name.clone(),
        (true, offset) => format!("{}+{offset:#x}", variable.name),
    }
}

/// `pool.lock` for each element of the pool. Without debug information about the parts, a variable that could be an
/// array of such objects counts as one.
fn folded_name(variable: &Variable, kind: RecordKind) -> String {
    let size = kind.bytes();
    if variable.member.is_empty() {
        let array = variable.size.is_multiple_of(size) && variable.offset.is_multiple_of(size);
        return if array { variable.name.clone() } else { unfolded_name(variable) };
    }
    let mut name = variable.name.clone();
    let mut depth = 0u32;
    for character in variable.member.chars() {
        match character {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ if depth == 0 => name.push(character),
            _ => {}
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_wire::{ANY_DESCRIPTOR, AttemptOutcome, Config, Recording, Sample};

    fn variable(member: &str, offset: u64, size: u64) -> Variable {
        let (member, module) = (member.into(), "a".into());
        Variable { name: "pool".into(), offset, size, member, location: None, module }
    }

    #[test]
    fn elements_of_arrays_share_a_name() {
        let element = variable("[3].lock", 0x78, 400);
        assert_eq!(
            (folded_name(&element, RecordKind::Mutex), unfolded_name(&element)),
            ("pool.lock".into(), "pool[3].lock".into())
        );
        let unknown = variable("", 80, 400);
        assert_eq!(
            (folded_name(&unknown, RecordKind::Mutex), unfolded_name(&unknown)),
            ("pool".into(), "pool+0x50".into())
        );
        let within = variable("", 0x48, 400);
        assert_eq!(
            folded_name(&within, RecordKind::Mutex),
            "pool+0x48",
            "no multiple of a mutex's size: not an array of them"
        );
        assert_eq!(unfolded_name(&variable("", 0, 40)), "pool");
    }

    // Nothing is inlined into them: with optimisation the first instruction could belong to another function.
    #[inline(never)]
    fn serve_loop() -> u32 {
        7
    }

    #[inline(never)]
    fn read_all() -> u32 {
        8
    }

    static STATE: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

    /// Recorded like a hook records it: this process waits in functions of its own.
    #[test]
    fn waits_without_an_object_are_named_after_their_call_site() {
        let folder = tempfile::tempdir().unwrap();
        let recording = Recording::create(&folder.path().join("run"), Config::default()).unwrap();
        let table = recording.claim().unwrap();
        recording.note_modules(&table, &mut |_| ());
        let (serve, read) = (serve_loop as fn() -> u32 as usize + 1, read_all as fn() -> u32 as usize + 1);
        let state = &raw const STATE as usize;
        let keys = [
            Key::new(RecordKind::Epoll, ANY_DESCRIPTOR, serve),
            Key::new(RecordKind::Receive, ANY_DESCRIPTOR, read),
            Key::new(RecordKind::Futex, state, serve),
            Key::new(RecordKind::Futex, 0x1000, read),
            Key::new(RecordKind::Join, 0, 0),
        ];
        for key in keys {
            table.record(key, &Sample { outcome: AttemptOutcome::Slept, hold: 0, spun: 0, slept: 1000 });
        }
        recording.release(table, None);
        recording.finish(None);
        let snapshot = recording.snapshot();
        let lookup = Lookup::new();
        let names = Names::new(&snapshot, &lookup, Parts::Together);
        let found = keys.map(|key| names.name(&snapshot.images[0], &key).unwrap());
        let ends =
            ["::serve_loop+0x1", "::read_all+0x1", "STATE", "::read_all+0x1", "joins that did not fit"];
        for (name, end) in found.iter().zip(ends) {
            // With debug information a variable has parts.
            assert!(name.lock.ends_with(end) || name.lock.contains("tests::STATE"), "{name:?}");
        }
        assert!(found[0].origin.as_deref().is_some_and(|origin| origin.contains("names.rs:")), "{found:?}");
        assert!(found[2].origin.as_deref().is_some_and(|origin| origin.starts_with("static, ")), "{found:?}");
        assert!([0, 1, 3].iter().all(|&at| found[at].lock == found[at].caller), "one name: {found:?}");
        assert!(keys.iter().take(2).all(|key| names.trace(&snapshot.images[0], key).is_none()));
    }
}
