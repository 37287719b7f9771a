use super::*;
use crate::plan::place::By;
use crate::plan::testing;
use unspin_e2e::Workshop;

fn places(program: &Program, name: &str) -> Result<Vec<Place>, String> {
    let resolver = Resolver::new(program);
    resolver.places(LockFamily::Mutex, &LockName::new(name).unwrap(), None).map_err(|e| e.to_string())
}

/// A plan for mutexes.
fn mutexes() -> PlanTarget {
    PlanTarget { families: vec![LockFamily::Mutex], waits: false }
}

/// The program and its library.
fn two_files(workshop: &Workshop, flags: &[&str]) -> Option<(Program, std::path::PathBuf)> {
    let library = [&["-shared", "-fPIC", "-DOTHER"], flags].concat();
    let library = workshop.compile("same_names.c", &library, "libother.so")?;
    let linked = ["-Wl,-rpath,$ORIGIN", library.to_str().unwrap()];
    let path = workshop.compile("same_names.c", &[flags, &linked].concat(), "linked")?;
    Some((Program::at(&path), library))
}

#[test]
fn ambiguous_name_is_refused() {
    let workshop = Workshop::new();
    let Some((program, library)) = two_files(&workshop, &["-O1"]) else { return };
    let expected = "lock is the name of 2 locks: choose one by its full name, 'lock, static, libother.so' or 'lock, static, linked'";
    assert_eq!(places(&program, "lock"), Err(expected.into()));
    let one = places(&program, "lock, static, libother.so").unwrap();
    assert_eq!(
        one[0].spans.iter().map(|span| span.module.as_path()).collect::<Vec<_>>(),
        [library.as_path()]
    );
}

/// The dynamic linker merges variables that both define under one name.
#[test]
fn variable_exported_twice_is_one_lock() {
    let workshop = Workshop::new();
    let Some((program, library)) = two_files(&workshop, &["-g", "-rdynamic"]) else { return };
    let found = places(&program, "shared_lock").unwrap();
    let modules: Vec<_> = found[0].spans.iter().map(|span| span.module.as_path()).collect();
    assert_eq!(modules, [program.path.as_path(), &library]);
}

#[test]
fn source_line_finds_variables_and_code() {
    let workshop = Workshop::new();
    let Some(program) = testing::compile(&workshop, "heap_locks.c", &["-g", "-O1"]) else { return };
    let found = places(&program, "heap_locks.c:18").unwrap();
    assert!(found.iter().any(|place| place.by == By::Init && place.spans.len() == 1), "{found:?}");
    let nothing = places(&program, "heap_locks.c:3").unwrap_err();
    assert!(nothing.starts_with("heap_locks.c:3: no code or variable of "), "{nothing}");
    let Some(program) = testing::compile(&workshop, "static_locks.c", &["-g", "-O1"]) else { return };
    let found = places(&program, "static_locks.c:4").unwrap();
    assert_eq!(found, places(&program, "cache_lock").unwrap());
    assert_eq!((found[0].by, found.len()), (By::Variable, 1));
}

#[test]
fn source_line_without_debug_information_is_refused() {
    let workshop = Workshop::new();
    let Some(program) = testing::compile(&workshop, "static_locks.c", &["-O1"]) else { return };
    let error = places(&program, "static_locks.c:4").unwrap_err();
    assert!(
        error.contains("has no debug information, so that no line of static_locks.c is known"),
        "{error}"
    );
}

#[test]
fn unknown_name_is_refused_with_suggestions() {
    let workshop = Workshop::new();
    let Some((program, _)) = two_files(&workshop, &["-g"]) else { return };
    let path = program.path.display();
    let ask = "`unspin meter` prints the names of a program's locks";
    let error = places(&program, "shraed_lock").unwrap_err();
    let expected = format!("shraed_lock: there is no such variable or function in {path} and its library");
    assert_eq!(error, format!("{expected} (meant: shared_lock?); {ask}"));
}

#[test]
fn misspelled_part_of_a_variable_is_refused_with_suggestions() {
    let workshop = Workshop::new();
    let source = workshop.file("jobs.cc");
    let jobs = "#include <mutex>\nstruct Queue { int size_; std::mutex m_; } jobs;\n\
                int main() { jobs.m_.lock(); return jobs.size_; }";
    std::fs::write(&source, jobs).unwrap();
    let Some(program) = testing::compile(&workshop, source.to_str().unwrap(), &["-g"]) else { return };
    assert!(places(&program, "jobs.m_").is_ok());
    for wrong in ["jobs.m", "job.m_", "jobs.mm_"] {
        let error = places(&program, wrong).unwrap_err();
        assert!(error.contains(" (meant: jobs.m_"), "{error}");
    }
}

#[test]
fn messages_name_the_program_as_the_user_did() {
    let workshop = Workshop::new();
    let Some(program) = testing::compile(&workshop, "static_locks.c", &["-g"]) else { return };
    let link = workshop.file("link");
    std::os::unix::fs::symlink(&program.path, &link).unwrap();
    let error = places(&Program::at(&link), "nothing").unwrap_err();
    assert!(error.contains(&format!(" in {};", link.display())), "{error}");
}

#[test]
fn variable_too_small_for_a_mutex_is_refused() {
    let workshop = Workshop::new();
    let Some(program) = testing::compile(&workshop, "same_names.c", &["-g", "-shared", "-fPIC", "-DOTHER"])
    else {
        return;
    };
    let error = places(&program, "counter").unwrap_err();
    assert!(error.starts_with("counter: the variable (counter, static, same_names.c:"), "{error}");
    assert!(error.contains(" has 8 bytes, too few for a mutex; "), "{error}");
}

#[test]
fn wrapper_name_finds_the_call_chain() {
    let workshop = Workshop::new();
    let Some(program) = testing::compile(&workshop, "wrapped_locks.cc", &["-g", "-O1"]) else { return };
    let found = places(&program, "Journal::Journal ▸ port::Mutex::Mutex").unwrap();
    let own = |place: &&Place| place.spans.iter().all(|span| span.module == program.path);
    let own: Vec<&Place> = found.iter().filter(own).collect();
    assert_eq!((own.len(), own[0].by, own[0].spans.len()), (1, By::Init, 2), "{found:?}");
    let error = places(&program, "Index::Index ▸ port::Mutex::Lock").unwrap_err();
    let why = "it calls no function of libc that initialises a mutex: name the function that does, or for which it is done";
    assert_eq!(error, format!("Index::Index ▸ port::Mutex::Lock: {why}"));
    assert!(places(&program, "Index::Index").is_err(), "it calls what does");
    assert!(places(&program, "port::Mutex::Mutex").is_ok());
    assert!(places(&program, "Index::Index ▸ nobody").is_err());
}

/// A table with read-write locks and a spin lock: static, initialised by a call, and first used without one.
const TABLE: &str = "#include <pthread.h>\n#include <stdlib.h>\n\
    static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;\n\
    static pthread_spinlock_t turn;\n\
    struct table { pthread_mutex_t mutex; pthread_rwlock_t rwlock; };\n\
    __attribute__((noinline)) struct table *table_new(void) {\n\
        struct table *t = malloc(sizeof *t); pthread_mutex_init(&t->mutex, 0);\n\
        pthread_rwlock_init(&t->rwlock, 0); return t; }\n\
    __attribute__((noinline)) int table_get(pthread_rwlock_t *l) {\n\
        return pthread_rwlock_rdlock(l) + pthread_rwlock_unlock(l); }\n\
    __attribute__((noinline)) void turn_new(void) { pthread_spin_init(&turn, 0); }\n\
    int main(void) { turn_new(); pthread_spin_lock(&turn); struct table *t = table_new();\n\
        return table_get(&table_lock) + table_get(&t->rwlock); }\n";

#[test]
fn name_means_the_locks_of_one_family() {
    let workshop = Workshop::new();
    let source = workshop.file("table.c");
    std::fs::write(&source, TABLE).unwrap();
    let Some(program) = testing::compile(&workshop, source.to_str().unwrap(), &["-g", "-O1"]) else {
        return;
    };
    let resolver = Resolver::new(&program);
    let places = |family, name: &str| {
        resolver.places(family, &LockName::new(name).unwrap(), None).map_err(|e| e.to_string())
    };
    let bys =
        |family, name: &str| places(family, name).unwrap().iter().map(|place| place.by).collect::<Vec<_>>();
    assert_eq!(bys(LockFamily::RwLock, "table_lock"), [By::Variable]);
    assert_eq!(bys(LockFamily::RwLock, "table.c:3"), [By::Variable]);
    assert_eq!(bys(LockFamily::RwLock, "table_new"), [By::Init]);
    assert_eq!(bys(LockFamily::RwLock, "table_new, rwlock initialised at table.c:8"), [By::Init]);
    assert_eq!(bys(LockFamily::RwLock, "rwlock first used in table_get"), [By::Use]);
    assert_eq!(bys(LockFamily::RwLock, "rwlock first used in table_get or table_get"), [By::Use; 2]);
    assert_eq!(bys(LockFamily::Spin, "turn"), [By::Variable]);
    assert_eq!(bys(LockFamily::Spin, "turn_new"), [By::Init]);
    // The function is the place of both. The line of the plan says which of them it means.
    assert_eq!(bys(LockFamily::Mutex, "table_new"), [By::Init]);
    let error = |family, name: &str| places(family, name).unwrap_err();
    assert_eq!(
        error(LockFamily::Mutex, "rwlock first used in table_get"),
        "rwlock first used in table_get: it is the name of a read-write lock, which --rwlock replaces"
    );
    assert_eq!(
        error(LockFamily::RwLock, "table_get"),
        "table_get: it initialises no read-write lock: read-write locks that are first used there have the name 'rwlock \
         first used in table_get', others that of their variable, or of the function that initialises them"
    );
    assert_eq!(
        error(LockFamily::Spin, "main"),
        "main: it calls no function of libc that initialises a spin lock: name the function that does, or for which it is \
         done"
    );
    let first = error(LockFamily::Spin, "spin lock first used in main");
    assert!(first.contains("the first use does not identify a spin lock"), "{first}");
    let small = error(LockFamily::RwLock, "turn");
    assert!(small.contains("has 4 bytes, too few for a read-write lock"), "{small}");
}

/// The meter's name for code in a file without symbols is found again.
#[test]
fn call_in_stripped_file_is_found_by_offset() {
    let workshop = Workshop::new();
    let Some(whole) = testing::compile(&workshop, "heap_locks.c", &["-O1"]) else { return };
    let call = File::open(&whole.path).unwrap().calls(|name| name == "pthread_mutex_init")[0];
    let name = whole.path.file_name().unwrap().to_string_lossy().into_owned();
    let named = format!("{name}+{:#x}, mutex initialised there", call + 1);
    let Some(stripped) = testing::compile(&workshop, "heap_locks.c", &["-O1", "-s"]) else { return };
    let found = places(&stripped, &named).unwrap();
    assert!(found[0].by == By::Init && found[0].spans[0].range == (call..call + 1), "{found:?}");
    let error = places(&stripped, &format!("{name}+{:#x}", call + 2)).unwrap_err();
    assert!(error.contains("it calls no function of libc that initialises a mutex"), "{error}");
    assert!(places(&stripped, "other+0x1135").unwrap_err().contains("there is no such variable"));
}

#[test]
fn file_name_that_contains_or_is_one_name() {
    let workshop = Workshop::new();
    let Some(program) = testing::compile(&workshop, "static_locks.c", &["-O1", "-s"]) else { return };
    let file = workshop.file("this or that");
    std::fs::rename(&program.path, &file).unwrap();
    let call = File::open(&file).unwrap().calls(|name| name == "pthread_mutex_lock")[0];
    let name = format!("mutex first used in this or that+{:#x}", call + 1);
    assert!(places(&Program::at(&file), &name).is_ok_and(|places| !places.is_empty()));
}

#[test]
fn name_in_a_script_is_refused_with_a_hint() {
    let workshop = Workshop::new();
    let script = workshop.file("script");
    std::fs::write(&script, "#!/bin/sh\nexec ./server\n").unwrap();
    let error = places(&Program::at(&script), "cache_lock").unwrap_err();
    assert!(error.starts_with("cache_lock: there is no such lock in /"), "{error}");
    assert!(error.contains(&format!(", which runs the script {}; ", script.display())), "{error}");
    assert!(error.contains("'cache_lock in /path/of/the/file'"), "{error}");
}

#[test]
fn lock_of_another_file_is_found_by_its_name_and_file() {
    let workshop = Workshop::new();
    let Some(wrapped) = workshop.compile("wrapped_locks.cc", &["-g", "-O1"], "wrapped") else { return };
    let shell = Program::at(Path::new("/bin/sh"));
    let name = "Journal::Journal ▸ port::Mutex::Mutex";
    assert!(places(&shell, name).unwrap_err().contains(&format!("'{name} in /path/of/the/file'")));
    let in_file = LockName::new(&format!("{name} in {}", wrapped.display())).unwrap();
    let (name, file) = in_file.split_file();
    assert_eq!(file.as_deref(), Some(&*wrapped));
    let found = Resolver::new(&shell).places(LockFamily::Mutex, &name, file.as_deref()).unwrap();
    assert!(found.iter().any(|place| place.spans.iter().all(|span| span.module == wrapped)));
}

/// A library initialises its mutex for a function of the program that loads it.
#[test]
fn call_chain_through_two_files_is_found() {
    let workshop = Workshop::new();
    let (library, source) = (workshop.file("part.c"), workshop.file("whole.c"));
    std::fs::write(
        &library,
        "#include <pthread.h>\nvoid part_new(pthread_mutex_t *m) { pthread_mutex_init(m, 0); m->__data.__lock = 0; }",
    )
    .unwrap();
    let whole = "#include <pthread.h>\nvoid part_new(pthread_mutex_t *); static pthread_mutex_t m;\n\
                 int main(void) { part_new(&m); return m.__data.__lock; }";
    std::fs::write(&source, whole).unwrap();
    let Some(library) = workshop.compile(library.to_str().unwrap(), &["-shared", "-fPIC"], "libpart.so")
    else {
        return;
    };
    let linked = [library.to_str().unwrap(), "-Wl,-rpath,$ORIGIN"];
    let Some(program) = testing::compile(&workshop, source.to_str().unwrap(), &linked) else { return };
    let name = LockName::new("main ▸ part_new").unwrap();
    let found = Resolver::new(&program).places(LockFamily::Mutex, &name, Some(&library)).unwrap();
    let modules: Vec<_> = found[0].spans.iter().map(|span| &span.module).collect();
    assert_eq!(modules, [&library, &program.path]);
}

/// Like the JDK's launcher: a link to a program that finds its library in its own folder.
#[test]
fn origin_libraries_are_found_through_a_link() {
    let workshop = Workshop::new();
    let (library, source) = (workshop.file("beside.c"), workshop.file("launcher.c"));
    let locks = "#include <pthread.h>\nint beside(pthread_mutex_t *m) { return pthread_mutex_lock(m); }";
    std::fs::write(&library, locks).unwrap();
    std::fs::write(&source, "int beside(void *); int main(void) { return beside(0); }").unwrap();
    let library = library.to_str().unwrap();
    let Some(library) = workshop.compile(library, &["-shared", "-fPIC"], "libbeside.so") else { return };
    let flags = [library.to_str().unwrap(), "-Wl,-rpath,$ORIGIN"];
    let Some(launcher) = workshop.compile(source.to_str().unwrap(), &flags, "launcher") else { return };
    let elsewhere = Workshop::new();
    std::os::unix::fs::symlink(launcher, elsewhere.file("link")).unwrap();
    let launcher = Program::at(&elsewhere.file("link"));
    assert!(Resolver::new(&launcher).check_reach(&mutexes()).is_ok(), "the library locks");
    std::fs::remove_file(library).unwrap();
    assert!(
        Resolver::new(&launcher).check_reach(&mutexes()).is_ok(),
        "a missing library may call the functions"
    );
}

#[test]
fn program_without_mutexes_is_refused() {
    let workshop = Workshop::new();
    let source = workshop.file("plain.c");
    std::fs::write(&source, "int main(void) { return 0; }").unwrap();
    let Some(plain) = testing::compile(&workshop, source.to_str().unwrap(), &[]) else { return };
    let error = Resolver::new(&plain).check_reach(&mutexes()).unwrap_err();
    assert!(matches!(error, Error::CannotRun(_)), "{error}");
    assert!(error.to_string().contains("plain") || error.to_string().contains("program"), "{error}");
    let locks = "#include <pthread.h>\npthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;\n\
                 int main(void) { return pthread_rwlock_rdlock(&table_lock); }";
    std::fs::write(&source, locks).unwrap();
    let Some(rwlocks) = testing::compile(&workshop, source.to_str().unwrap(), &[]) else { return };
    let error = Resolver::new(&rwlocks).check_reach(&mutexes()).unwrap_err().to_string();
    assert!(error.contains("they call those of read-write locks, which --rwlock replaces"), "{error}");
    assert_eq!(Resolver::new(&rwlocks).called_families(), [LockFamily::RwLock]);
    let reach = |families: &[LockFamily], waits| {
        let target = PlanTarget { families: families.to_vec(), waits };
        Resolver::new(&rwlocks).check_reach(&target).map_err(|e| e.to_string())
    };
    assert_eq!(reach(&[LockFamily::RwLock], false), Ok(()));
    assert_eq!(reach(&[LockFamily::Spin, LockFamily::RwLock], true), Ok(()));
    let error = reach(&[LockFamily::Mutex, LockFamily::Spin], true).unwrap_err();
    let calls = "call a function of libc that locks a mutex or locks a spin lock or waits, so there is";
    assert!(error.contains(calls), "{error}");
    let shell = Program::at(Path::new("/bin/sh"));
    assert!(Resolver::new(&shell).check_reach(&mutexes()).is_ok(), "a shell starts others");
}
