//! Locks and call sites of a recording, with the places that identify them in another run.

use crate::meter::names::{FileAddress, Lookup, Names, Parts, Trace};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use unspin_launch::plan::{Address, By, Located, Place, Span};
use unspin_symbols::File;
use unspin_wire::plan::LockFamily;
use unspin_wire::{Class, Image, Key, RecordKind, Snapshot};

/// The locks of a family in a recording, by the rows of its report (elements of arrays and objects of one origin together).
/// Locks of which only an address is known, and those in files that have changed since, are left out.
pub fn locks(snapshot: &Snapshot, lookup: &Lookup, family: LockFamily) -> Vec<Located> {
    let names = Names::new(snapshot, lookup, Parts::Together);
    let mut files = Files::default();
    let mut rows = BTreeMap::<(String, Option<String>), (Vec<Place>, usize)>::new();
    for image in &snapshot.images {
        for key in image.rows.keys() {
            if key.kind().and_then(RecordKind::family) != Some(family) {
                continue;
            }
            let Some((name, trace)) = names.name(image, key).zip(names.trace(image, key)) else {
                continue;
            };
            if matches!(trace, Trace::FirstUsed { .. }) && !family.has_first_use() {
                continue;
            }
            let (places, mutexes) = rows.entry((name.lock, name.origin)).or_default();
            if let Trace::FirstUsed { mutexes: sharing, .. } = trace {
                *mutexes = sharing;
            }
            for place in files.places(trace) {
                if !places.contains(&place) {
                    places.push(place);
                }
            }
        }
    }
    let located = |((name, origin), (places, mutexes))| Located { name, origin, places, mutexes };
    rows.into_iter().map(located).filter(|located| !located.places.is_empty()).collect()
}

/// The call sites of the waits of a recording, by the callers that its report names. Those in files that have
/// changed since are left out.
pub fn call_sites(snapshot: &Snapshot, lookup: &Lookup) -> Vec<Located> {
    let names = Names::new(snapshot, lookup, Parts::Together);
    let mut rows = BTreeMap::<(String, Option<String>), Vec<Place>>::new();
    for image in &snapshot.images {
        for key in image.rows.keys() {
            if key.kind().map(RecordKind::class) != Some(Class::Wait) {
                continue;
            }
            let Some((name, home)) = names.name(image, key).zip(call_of(image, key, lookup)) else {
                continue;
            };
            let places = rows.entry((name.caller, name.place)).or_default();
            let span = Span::new(&home.module, home.address..home.address + 1);
            let place = Place { by: By::Site, spans: vec![span] };
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    rows.into_iter().map(|((name, origin), places)| Located { name, origin, places, mutexes: 0 }).collect()
}

/// The last byte of the call that a row counts, in its file. The address may belong to a later list of modules than the
/// row: a library may have been loaded after the row was recorded and before the modules were.
pub fn call_of(image: &Image, key: &Key, lookup: &Lookup) -> Option<FileAddress> {
    let noted = image.rows.get(key).map_or(1, |record| record.first_use.generation).max(1);
    let latest = u8::try_from(image.modules.len()).unwrap_or(u8::MAX).max(noted);
    (noted..=latest).find_map(|generation| lookup.file_address(image, generation, key.caller.wrapping_sub(1)))
}

/// The files that contain the variables, with cached results.
#[derive(Default)]
struct Files {
    open: HashMap<PathBuf, Option<File>>,
    parts: HashMap<(PathBuf, String, u64), Vec<Range<Address>>>,
}

impl Files {
    fn places(&mut self, trace: Trace) -> Vec<Place> {
        match trace {
            Trace::Variable { name, start, size, home } => {
                let parts = self.parts(&home.module, name, start..start.saturating_add(size));
                // If the file does not describe the parts, at least the used one is known.
                let spans = match parts.iter().any(|range| range.contains(&home.address)) {
                    true => parts.iter().map(|range| Span::new(&home.module, range.clone())).collect(),
                    false => vec![Span::new(&home.module, home.address..home.address + 1)],
                };
                vec![Place { by: By::Variable, spans }]
            }
            Trace::Initialised(calls) => vec![place_of_calls(By::Init, &calls)],
            Trace::FirstUsed { uses, .. } => {
                uses.iter().map(|calls| place_of_calls(By::Use, calls)).collect()
            }
        }
    }

    /// The parts of a variable that share a name, including those that this run did not use.
    fn parts(&mut self, module: &Path, name: String, variable: Range<Address>) -> &[Range<Address>] {
        let key = (module.to_path_buf(), name, variable.start);
        let open = &mut self.open;
        self.parts.entry(key).or_insert_with_key(|(module, name, _)| {
            let file = open.entry(module.clone()).or_insert_with(|| File::open(module));
            let named = file.as_ref().map(|file| file.variables(name)).unwrap_or_default();
            let ranges = named.into_iter().flat_map(|variable| variable.ranges);
            ranges.filter(|range| range.start >= variable.start && range.end <= variable.end).collect()
        })
    }
}

/// A call is identified by its last byte.
fn place_of_calls(by: By, calls: &[FileAddress]) -> Place {
    let span = |home: &FileAddress| Span::new(&home.module, home.address - 1..home.address);
    Place { by, spans: calls.iter().map(span).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::outputs::Results;
    use crate::settings::ViewSettings;
    use crate::testing::{record, run_with_plan};
    use std::os::unix::fs::PermissionsExt;
    use unspin_e2e::Workshop;
    use unspin_launch::plan::{Choice, Entry, LockName, Plan, Resolver, Which};
    use unspin_launch::program::Program;
    use unspin_report::{LockProperty, MeterReport};

    /// The mutexes of a recording by name.
    fn locate(path: &Path, arguments: &[&str]) -> BTreeMap<String, Located> {
        locate_family(path, arguments, LockFamily::Mutex)
    }

    fn locate_family(path: &Path, arguments: &[&str], family: LockFamily) -> BTreeMap<String, Located> {
        let all = locks(&record(path, arguments), &Lookup::new(), family);
        all.into_iter().map(|located| (located.name.clone(), located)).collect()
    }

    fn by(located: &Located) -> Vec<(By, usize)> {
        located.places.iter().map(|place| (place.by, place.spans.len())).collect()
    }

    /// The names that the recording prints are found in the program's files, at the places that the recording contains.
    fn assert_agreement(path: &Path, located: &BTreeMap<String, Located>) {
        let program = Program::at(path);
        let resolver = Resolver::new(&program);
        for located in located.values() {
            for name in [located.label(), located.name.clone()] {
                let places = resolver
                    .places(unspin_wire::plan::LockFamily::Mutex, &LockName::new(&name).unwrap(), None)
                    .unwrap();
                let known = |exact: &Place| match exact.by {
                    By::Variable => exact.spans.iter().all(|span| places[0].spans.contains(span)),
                    _ => places.iter().any(|general| exact.is_within(general)),
                };
                assert!(located.places.iter().all(known), "{name}: {:?} in {places:?}", located.places);
            }
        }
    }

    #[test]
    fn static_variable_is_located() {
        let workshop = Workshop::new();
        for flags in [&["-g", "-O1"][..], &["-O2"], &["-g", "-O0", "-no-pie"]] {
            let Some(path) = workshop.compile("static_locks.c", flags, "program") else { return };
            let located = locate(&path, &[]);
            assert_eq!(located.keys().collect::<Vec<_>>(), ["buckets", "cache_lock"], "rwlocks are none");
            let span = &located["buckets"].places[0].spans[0];
            assert_eq!(
                (span.range.end - span.range.start, by(&located["buckets"])),
                (160, vec![(By::Variable, 1)])
            );
            assert_agreement(&path, &located);
        }
    }

    #[test]
    fn read_write_lock_is_located_apart_from_mutexes() {
        let workshop = Workshop::new();
        let Some(path) = workshop.compile("static_locks.c", &["-g", "-O1"], "program") else { return };
        let located = locate_family(&path, &[], LockFamily::RwLock);
        assert_eq!(located.keys().collect::<Vec<_>>(), ["table.lock"]);
        assert_eq!(by(&located["table.lock"]), [(By::Variable, 1)]);
        assert!(locate_family(&path, &[], LockFamily::Spin).is_empty());
    }

    #[test]
    fn heap_lock_is_located_by_its_initialisation() {
        let workshop = Workshop::new();
        // A function that ends with a jump to libc's function is missing in call chains.
        let calls = "-fno-optimize-sibling-calls";
        for flags in [&["-g", "-O1"][..], &["-g", "-O0"], &["-O2", calls], &["-g", "-O3", "-fno-plt", calls]]
        {
            let Some(path) = workshop.compile("heap_locks.c", flags, "program") else { return };
            let located = locate(&path, &[]);
            let names = ["log_open", "mutex first used in wild_use", "queue_new"];
            assert_eq!(located.keys().collect::<Vec<_>>(), names, "{flags:?}");
            let expected = [(By::Init, 1), (By::Use, 1), (By::Init, 1)].map(|one| vec![one]);
            assert_eq!(names.map(|name| by(&located[name])), expected, "{flags:?}");
            assert_agreement(&path, &located);
        }
    }

    #[test]
    fn wrapped_lock_is_located_by_its_call_chain() {
        let workshop = Workshop::new();
        for flags in [&["-g", "-O1"][..], &["-O2", "-fno-optimize-sibling-calls"]] {
            let Some(path) = workshop.compile("wrapped_locks.cc", flags, "program") else { return };
            let located = locate(&path, &[]);
            let names = ["Index::Index ▸ port::Mutex::Mutex", "Journal::Journal ▸ port::Mutex::Mutex"];
            assert_eq!(located.keys().collect::<Vec<_>>(), names, "{flags:?}");
            for name in names {
                assert_eq!(by(&located[name]), [(By::Init, 2)], "{flags:?}");
            }
            assert_ne!(located[names[0]].places, located[names[1]].places);
            assert_agreement(&path, &located);
        }
    }

    #[test]
    fn lock_of_a_plugin_is_located() {
        let workshop = Workshop::new();
        let Some(path) = workshop.compile("loads_plugin.c", &["-g"], "program") else { return };
        let plugin = workshop.compile("plugin.c", &["-g", "-shared", "-fPIC"], "plugin.so").unwrap();
        let located = locate(&path, &[plugin.to_str().unwrap()]);
        assert_eq!(located.keys().collect::<Vec<_>>(), ["plugin_lock", "plugin_new"]);
        assert!(located.values().flat_map(|one| &one.places).all(|place| place.spans[0].module == plugin));
        let program = Program::at(&path);
        let resolver = Resolver::new(&program);
        let name = LockName::new("plugin_lock").unwrap();
        assert!(
            resolver
                .places(unspin_wire::plan::LockFamily::Mutex, &name, None)
                .unwrap_err()
                .to_string()
                .contains("there is no such variable")
        );
        assert_eq!(
            resolver.places(unspin_wire::plan::LockFamily::Mutex, &name, Some(&plugin)).unwrap(),
            located["plugin_lock"].places
        );
    }

    #[test]
    fn lock_of_a_stripped_program_is_located_by_its_calls() {
        let workshop = Workshop::new();
        let Some(path) = workshop.compile("heap_locks.c", &["-O1", "-s"], "program") else { return };
        let located = locate(&path, &[]);
        assert_eq!(located.len(), 3, "{located:?}");
        assert!(located.keys().all(|name| name.contains("program+0x")), "{located:?}");
        let mut all: Vec<_> = located.values().flat_map(by).collect();
        all.sort();
        assert_eq!(all, [(By::Init, 1), (By::Init, 1), (By::Use, 1)]);
    }

    /// libc's function returns to the caller of a function that jumps to it, or that another file or a pointer supplies.
    #[test]
    fn call_of_a_function_that_jumps_to_libc_is_found() {
        let workshop = Workshop::new();
        for flags in [&["-O2"][..], &["-O2", "-s"], &["-O2", "-s", "-fno-plt"], &["-O2", "-g"]] {
            let Some(path) = workshop.compile("jumping_locks.c", flags, "program") else { return };
            let located = locate(&path, &[]);
            assert_eq!(located.len(), 3, "{flags:?} {located:?}");
            assert_agreement(&path, &located);
        }
    }

    /// The report of a recording.
    fn report(path: &Path, arguments: &[&str]) -> MeterReport {
        Results::new(&record(path, arguments), &Lookup::new(), &ViewSettings::default()).report
    }

    /// The option that the report suggests for a lock is valid for the program that was started.
    #[test]
    fn lock_of_a_program_that_a_script_starts_is_named_with_its_file() {
        let workshop = Workshop::new();
        let Some(path) = workshop.compile("static_locks.c", &["-g", "-O1"], "program") else { return };
        assert_eq!(report(&path, &[]).lock("cache_lock").unwrap().module, None);
        let (text, script) = (workshop.file("text"), workshop.file("script"));
        std::fs::write(&text, format!("#!/bin/sh\n{}\n", path.display())).unwrap();
        std::fs::set_permissions(&text, std::fs::Permissions::from_mode(0o755)).unwrap();
        unspin_e2e::copy_program(&text, &script);
        let module = report(&script, &[]).lock("cache_lock").unwrap().module.clone();
        assert_eq!(module.as_deref(), path.to_str());
        let choice: Choice = format!("fair@cache_lock in {}", module.unwrap()).parse().unwrap();
        let plan = Plan::chosen(&[choice], &[], &[], &[]).unwrap().compile(&Program::at(&script)).unwrap();
        let alone = Plan::chosen(&["fair@cache_lock".parse().unwrap()], &[], &[], &[]).unwrap();
        assert_eq!(plan.to_string(), alone.compile(&Program::at(&path)).unwrap().to_string());
    }

    #[test]
    fn lock_of_a_plugin_is_named_with_its_file() {
        let workshop = Workshop::new();
        let Some(path) = workshop.compile("loads_plugin.c", &["-g"], "program") else { return };
        let plugin = workshop.compile("plugin.c", &["-g", "-shared", "-fPIC"], "plugin.so").unwrap();
        let report = report(&path, &[plugin.to_str().unwrap()]);
        for name in ["plugin_lock", "plugin_new"] {
            assert_eq!(report.lock(name).unwrap().module.as_deref(), plugin.to_str());
        }
    }

    #[test]
    fn property_that_keeps_a_mutex_libcs_is_reported() {
        let workshop = Workshop::new();
        let Some(path) = workshop.compile("special_mutexes.c", &["-g"], "program") else { return };
        let of = |property: &str| report(&path, &[property]).lock("special").unwrap().property;
        assert_eq!(of("plain"), None);
        assert_eq!(of("shared"), Some(LockProperty::Shared));
        assert_eq!(of("robust"), Some(LockProperty::Robust));
        assert_eq!(of("inheriting"), Some(LockProperty::Inheriting));
    }

    /// Whether a thread has waited or not: the report also tells of readers that do not wait.
    #[test]
    fn shared_read_write_lock_is_reported() {
        let workshop = Workshop::new();
        let Some(path) = workshop.compile("special_rwlocks.c", &["-g"], "program") else { return };
        let report = report(&path, &[]);
        let of = |name: &str| report.lock(name).unwrap().property;
        assert_eq!([of("plain"), of("waited_for")], [None; 2]);
        assert_eq!([of("shared"), of("shared_waited_for")], [Some(LockProperty::Shared); 2]);
        assert_eq!(of("shared_by_bytes"), Some(LockProperty::Shared), "another process has initialised it");
    }

    /// A mutex that is initialised through a wrapper, in a program with a gap between its segments: glibc describes it as
    /// several mappings.
    #[test]
    fn call_chain_is_recognised_in_a_program_with_gaps() {
        let workshop = Workshop::new();
        let gaps = ["-O1", "-s", "-Wl,-z,separate-code", "-Wl,-z,max-page-size=0x200000"];
        let Some(path) = workshop.compile("named_mutexes.cc", &gaps, "program") else { return };
        let chains = locate(&path, &[]).into_values().filter(|lock| lock.places[0].spans.len() > 1);
        let chains: Vec<Located> = chains.collect();
        assert!(!chains.is_empty());
        for lock in chains {
            let entry = Entry::new(unspin_locks::LockKind::Fair, Which::Located(lock.clone()));
            let plan = Plan::of(entry);
            let compiled = plan.compile(&Program::at(&path)).unwrap();
            let said = run_with_plan(&path, &[], &compiled, &workshop.file("plan"));
            assert!(said.lines().any(|line| line.ends_with(" fair")), "{lock:?} {said}");
        }
    }

    /// In each run another single lock gets another kind than the rest.
    fn recognise_each(path: &Path, arguments: &[&str], workshop: &Workshop) -> Vec<String> {
        let located = locate(path, arguments);
        let program = Program::at(path);
        let mut alone = Vec::new();
        for lock in located.values() {
            let mut plan = Plan::all(unspin_locks::LockKind::Steal);
            let which = Which::Located(lock.clone());
            plan.locks.push(Entry::new(unspin_locks::LockKind::Fair, which));
            let said =
                run_with_plan(path, arguments, &plan.compile(&program).unwrap(), &workshop.file("plan"));
            let fair = said.lines().filter_map(|line| line.strip_suffix(" fair"));
            alone.push(fair.collect::<Vec<_>>().join(" "));
            assert!(said.lines().all(|line| line.ends_with(" fair") || line.ends_with(" steal")), "{said}");
        }
        alone
    }

    #[test]
    fn recorded_lock_is_identified_in_another_run() {
        let workshop = Workshop::new();
        let shards = ["shards[1].ends[0].guard shards[1].ends[1].guard", "shards[0].lock shards[2].lock"];
        let others =
            ["Cache::table_lock", "Index", "Journal", "buckets[0] buckets[3]", "cache_lock", "wild_use"];
        let rest = ["plain", "ring_open", "queue_new", "work::guard"];
        let mut expected = [&shards[..], &others, &rest].concat();
        expected.sort_unstable();
        for flags in [&["-g", "-O1"][..], &["-g", "-O0"], &["-g", "-O2", "-no-pie"]] {
            let Some(path) = workshop.compile("named_mutexes.cc", flags, "program") else { return };
            let mut alone = recognise_each(&path, &[], &workshop);
            alone.sort_unstable();
            assert_eq!(alone, expected, "{flags:?}");
        }
    }

    /// A plan that is made from one run, applied to 20 further runs of which each function is first in half.
    #[test]
    fn plan_of_one_run_identifies_a_mutex_whatever_uses_it_first() {
        let workshop = Workshop::new();
        let flag_sets = [&["-g", "-O1"][..], &["-g", "-O0"], &["-O2", "-s"]];
        for (flags, order) in flag_sets.into_iter().zip(["push", "pop", "push"]) {
            let Some(path) = workshop.compile("first_uses.cc", flags, "program") else { return };
            let located = locate(&path, &["1000", order]);
            let queue = located.values().find(|lock| lock.places.len() > 1).expect("two functions use it");
            assert_eq!((by(queue), queue.mutexes), (vec![(By::Use, 1); 2], 1), "{flags:?}");
            let mut plan = Plan::default();
            let which = Which::Located(queue.clone());
            plan.locks.push(Entry::new(unspin_locks::LockKind::Fair, which));
            let compiled = plan.compile(&Program::at(&path)).unwrap();
            for run in 0..20 {
                let order = ["push", "pop"][run % 2];
                let said = run_with_plan(&path, &["50", order], &compiled, &workshop.file("plan"));
                assert!(
                    said.starts_with(&format!("first {order}\nqueue fair\nlog system\n")),
                    "{flags:?} {said}"
                );
            }
        }
    }

    #[test]
    fn recorded_lock_of_plugin_or_stripped_program_is_identified() {
        let workshop = Workshop::new();
        let Some(path) = workshop.compile("loads_plugin.c", &["-s"], "program") else { return };
        let plugin = workshop.compile("plugin.c", &["-O1", "-s", "-shared", "-fPIC"], "plugin.so").unwrap();
        let mut alone = recognise_each(&path, &[plugin.to_str().unwrap()], &workshop);
        alone.sort_unstable();
        assert_eq!(alone, ["plugin_lock", "plugin_new"]);
        let Some(path) = workshop.compile("named_mutexes.cc", &["-O1", "-s"], "program") else { return };
        let alone = recognise_each(&path, &[], &workshop);
        for lock in ["queue_new", "ring_open", "wild_use"] {
            assert!(alone.iter().any(|one| one == lock), "{lock} {alone:?}");
        }
    }
}
