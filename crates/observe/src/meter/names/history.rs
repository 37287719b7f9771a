//! The history of the object at an address: its initialisation and first use, in this process or in one of its
//! ancestors.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use unspin_wire::{Class, Image, Key, Record, RecordKind, Snapshot, Stack};

/// A use or an initialisation in a process.
#[derive(Clone, Copy, Debug)]
pub struct RecordedUse<'a> {
    /// The process.
    pub image: &'a Image,
    /// The object and its caller.
    pub key: Key,
    /// The list of modules that contains the caller.
    pub generation: u8,
    /// The copied piece of the stack.
    pub stack: Option<&'a Stack>,
}

/// All processes of a snapshot, by the addresses that they used.
pub struct History<'a> {
    processes: Vec<ProcessRecords<'a>>,
    by_identity: HashMap<(u32, u64), usize>,
}

struct ProcessRecords<'a> {
    image: &'a Image,
    inits: HashMap<u64, Vec<(Key, &'a Record)>>,
    uses: HashMap<u64, (Key, &'a Record)>,
    stacks: HashMap<Key, &'a Stack>,
    /// The parent process, with which it shared its memory until the fork.
    parent: Option<usize>,
}

impl<'a> History<'a> {
    /// For a snapshot.
    pub fn new(snapshot: &'a Snapshot) -> History<'a> {
        let mut processes: Vec<ProcessRecords<'a>> =
            snapshot.images.iter().map(ProcessRecords::new).collect();
        let layouts: Vec<Vec<&[u8]>> = snapshot.images.iter().map(layout).collect();
        let relatives = Relatives::new(snapshot, &layouts);
        for (index, layout) in layouts.iter().enumerate() {
            processes[index].parent = relatives.parent(index, layout);
        }
        let identity = |(index, image): (usize, &Image)| ((image.pid, image.since), index);
        let by_identity = snapshot.images.iter().enumerate().map(identity).collect();
        History { processes, by_identity }
    }

    /// The initialisation of a row's object: the latest one before the row's first use.
    pub fn initialisation(&self, image: &Image, key: &Key) -> Option<RecordedUse<'a>> {
        let first_use = image.rows.get(key).map_or(u64::MAX, |record| record.first_use.ticks);
        self.with_ancestors(image).find_map(|(process, until)| {
            let known = process.inits.get(&key.address())?;
            let before = known.iter().filter_map(|(key, record)| {
                Some((latest_before(record, first_use.min(until))?, *key, record.first_use.generation))
            });
            let (_, key, generation) = before.max_by_key(|(when, ..)| *when)?;
            Some(process.site(key, generation))
        })
    }

    /// The first use of the object.
    pub fn first_use(&self, image: &Image, key: &Key) -> Option<RecordedUse<'a>> {
        let uses = self.with_ancestors(image).filter_map(|(process, until)| {
            let (key, record) = process.uses.get(&key.address())?;
            (record.first_use.ticks <= until).then_some((process, *key, record))
        });
        let (process, key, record) = uses.min_by_key(|(_, _, record)| record.first_use.ticks)?;
        Some(process.site(key, record.first_use.generation))
    }

    /// The use that a row counts.
    pub fn site(&self, image: &Image, key: &Key) -> Option<RecordedUse<'a>> {
        let process = &self.processes[*self.by_identity.get(&(image.pid, image.since))?];
        let record = process.image.rows.get(key)?;
        Some(process.site(*key, record.first_use.generation))
    }

    /// All rows that count a use.
    pub fn uses(&self) -> impl Iterator<Item = RecordedUse<'a>> {
        self.processes.iter().flat_map(|process| {
            let is_use = |key: &Key| key.kind().is_some_and(|kind| kind.class() != Class::Init);
            let rows = process.image.rows.iter().filter(move |(key, _)| is_use(key));
            rows.map(|(key, record)| process.site(*key, record.first_use.generation))
        })
    }

    /// All known initialisations.
    pub fn initialisations(&self) -> impl Iterator<Item = RecordedUse<'a>> {
        self.processes.iter().flat_map(|process| {
            process
                .inits
                .values()
                .flatten()
                .map(|(key, record)| process.site(*key, record.first_use.generation))
        })
    }

    /// The first use of each object.
    pub fn first_uses(&self) -> impl Iterator<Item = RecordedUse<'a>> {
        self.processes.iter().flat_map(|process| {
            process.uses.values().map(|(key, record)| process.site(*key, record.first_use.generation))
        })
    }

    /// A process and its ancestors, each with the time of the fork, before which it shares their history.
    fn with_ancestors(&self, image: &Image) -> impl Iterator<Item = (&ProcessRecords<'a>, u64)> {
        let mut next = self.by_identity.get(&(image.pid, image.since)).map(|&index| (index, u64::MAX));
        let mut generations = 0..self.processes.len();
        std::iter::from_fn(move || {
            generations.next()?;
            let (index, until) = next?;
            let process = &self.processes[index];
            next = process.parent.map(|parent| (parent, until.min(process.image.since)));
            Some((process, until))
        })
    }
}

/// Processes by their layout, in the order of their first use of a lock: a program may have thousands.
struct Relatives<'a, 'l> {
    snapshot: &'a Snapshot,
    with_layout: HashMap<&'l [&'a [u8]], Vec<usize>>,
    with_pid: HashMap<(&'l [&'a [u8]], u32), Vec<usize>>,
}

impl<'a, 'l> Relatives<'a, 'l> {
    fn new(snapshot: &'a Snapshot, layouts: &'l [Vec<&'a [u8]>]) -> Relatives<'a, 'l> {
        let (mut with_layout, mut with_pid) = (HashMap::new(), HashMap::new());
        for (index, (image, layout)) in snapshot.images.iter().zip(layouts).enumerate() {
            if !layout.is_empty() {
                with_layout.entry(&layout[..]).or_insert_with(Vec::new).push(index);
                with_pid.entry((&layout[..], image.pid)).or_insert_with(Vec::new).push(index);
            }
        }
        Relatives { snapshot, with_layout, with_pid }
    }

    /// The parent of a process. The parent of a daemon is unknown. Processes with the same layout have the same ancestor,
    /// so the first of them stands for it.
    fn parent(&self, index: usize, layout: &[&[u8]]) -> Option<usize> {
        let child = &self.snapshot.images[index];
        let before = |other: &usize| *other != index && self.snapshot.images[*other].since <= child.since;
        let parents = self.with_pid.get(&(layout, child.parent));
        let parent = parents.and_then(|parents| parents.iter().copied().rfind(before));
        parent.or_else(|| self.with_layout.get(layout)?.iter().copied().find(before))
    }
}

impl<'a> ProcessRecords<'a> {
    fn new(image: &'a Image) -> ProcessRecords<'a> {
        let mut inits = HashMap::<u64, Vec<(Key, &Record)>>::new();
        let mut uses = HashMap::<u64, (Key, &Record)>::new();
        for (key, record) in &image.rows {
            match key.kind().map(RecordKind::class) {
                // A fact about an object is no use of it.
                Some(Class::Detail) => (),
                Some(Class::Init) => inits.entry(key.address()).or_default().push((*key, record)),
                // A wait without an object has no first use.
                Some(_) if key.kind().is_some_and(RecordKind::has_object) => {
                    let first = uses.entry(key.address()).or_insert((*key, record));
                    if record.first_use < first.1.first_use {
                        *first = (*key, record);
                    }
                }
                _ => {}
            }
        }
        let stacks = image.stacks.iter().map(|stack| (stack.key, stack)).collect();
        ProcessRecords { image, inits, uses, stacks, parent: None }
    }

    fn site(&self, key: Key, generation: u8) -> RecordedUse<'a> {
        RecordedUse { image: self.image, key, generation, stack: self.stacks.get(&key).copied() }
    }
}

/// The time of the last known initialisation of an object before `until`.
fn latest_before(init: &Record, until: u64) -> Option<u64> {
    [init.latest, init.first_use.ticks]
        .into_iter()
        .filter(|&when| when <= until)
        .max()
        .filter(|_| init.first_use.ticks <= until)
}

/// What a process shares only with its children, as long as addresses are random: the addresses of its program and of
/// the vDSO. None if its modules are unknown.
fn layout(image: &Image) -> Vec<&[u8]> {
    let lines = image.modules.first().map_or(&[][..], Vec::as_slice).split(|&b| b == b'\n');
    let mut lines = lines.filter(|line| !line.is_empty());
    let program = lines.next();
    program.into_iter().chain(lines.find(|line| line.ends_with(b"[vdso]"))).collect()
}

/// The path of the first file in a list of modules: usually the program, which has the lowest address. Empty without
/// one.
pub fn first_path(modules: &[u8]) -> &Path {
    let line = modules.split(|&b| b == b'\n').next().unwrap_or_default();
    let start = line.iter().position(|&byte| byte == b'/').unwrap_or(line.len());
    Path::new(OsStr::from_bytes(&line[start..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use unspin_wire::{FirstUse, Invocation, Level, Unrecorded, Window};

    fn image(pid: u32, parent: u32, since: u64, rows: &[(Key, u64, u64)]) -> Image {
        let record = |&(key, born, latest): &(Key, u64, u64)| {
            (key, Record { first_use: FirstUse { ticks: born, generation: 1 }, latest, ..Record::default() })
        };
        let rows: BTreeMap<Key, Record> = rows.iter().map(record).collect();
        let modules = vec![
            b"1000-2000 r-xp 00000000 fe:00 7 /bin/x\n7000-8000 r-xp 00000000 00:00 0 [vdso]\n".to_vec(),
        ];
        Image { pid, parent, since, rows, modules, ..Image::default() }
    }

    fn snapshot(images: Vec<Image>) -> Snapshot {
        let window = Window { seconds: 1.0, cpus: 1, ticks_per_second: 1e9, cpu_seconds: None };
        let unrecorded = Unrecorded::default();
        let invocation = Invocation::default();
        Snapshot {
            window,
            started: 0,
            level: Level::Full,
            wake_up: None,
            disturbance: None,
            invocation,
            images,
            unrecorded,
        }
    }

    const fn init(address: usize, caller: usize) -> Key {
        Key::new(RecordKind::Init, address, caller)
    }

    const fn mutex(address: usize, caller: usize) -> Key {
        Key::new(RecordKind::Mutex, address, caller)
    }

    #[test]
    fn latest_initialisation_before_the_use_counts() {
        let early = (mutex(64, 1), 5, 0);
        let rows = [
            early,
            (init(64, 10), 20, 60),
            (init(64, 11), 40, 40),
            (mutex(64, 2), 30, 0),
            (mutex(64, 3), 50, 0),
        ];
        let late = (mutex(64, 4), 70, 0);
        let snapshot = snapshot(vec![image(1, 0, 0, &[&rows[..], &[late]].concat())]);
        let history = History::new(&snapshot);
        let caller =
            |key: Key| history.initialisation(&snapshot.images[0], &key).map(|site| site.key.caller as usize);
        assert_eq!(caller(early.0), None, "it was used before anybody initialised it");
        assert_eq!(
            [caller(mutex(64, 2)), caller(mutex(64, 3)), caller(late.0)],
            [Some(10), Some(11), Some(10)]
        );
        assert_eq!(caller(mutex(72, 2)), None);
        let first = history.first_use(&snapshot.images[0], &late.0).unwrap();
        assert_eq!(first.key, early.0);
    }

    #[test]
    fn child_inherits_the_history_before_the_fork() {
        let parent = image(1, 0, 0, &[(init(64, 10), 20, 20), (init(72, 12), 90, 90), (mutex(64, 1), 25, 0)]);
        let child = image(2, 1, 50, &[(mutex(64, 2), 60, 0), (mutex(72, 2), 95, 0)]);
        let mut stranger = image(3, 1, 50, &[(mutex(64, 2), 60, 0)]);
        stranger.modules[0] = b"5000-6000 r-xp 00000000 fe:00 7 /bin/x\n".to_vec();
        let snapshot = snapshot(vec![parent, child, stranger]);
        let history = History::new(&snapshot);
        let site = |image: usize, key: Key| history.initialisation(&snapshot.images[image], &key);
        let found = site(1, mutex(64, 2)).unwrap();
        assert_eq!((found.image.pid, found.key), (1, init(64, 10)));
        assert!(site(1, mutex(72, 2)).is_none(), "the parent did that after the fork, in its own memory");
        assert!(site(2, mutex(64, 2)).is_none(), "after exec nothing is where it was");
        assert_eq!(history.first_use(&snapshot.images[1], &mutex(64, 2)).unwrap().image.pid, 1);
    }
}
