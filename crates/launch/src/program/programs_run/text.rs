//! What the user is told about the programs that the preload library was not loaded into.

use super::{ExecutedProgram, Reach, SeenPrograms};
use crate::program::reach;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use unspin_sys::creds::Creds;
use unspin_sys::printable;

/// Maximum number of programs, or of processes, that are named.
const NAMED_MAX: usize = 4;

pub fn reach(seen: &SeenPrograms) -> Reach {
    let mut unreached = BTreeMap::<String, u64>::new();
    let mut reached = 0;
    let mut unlinked = Vec::new();
    for program in seen.programs() {
        match why(program) {
            _ if program.is_reached => reached += 1,
            None => unlinked.push(&program.name),
            Some(why) => *unreached.entry(why).or_default() += 1,
        }
    }
    match (unreached.is_empty(), &unlinked[..]) {
        (true, []) => return Reach::All,
        (true, [first, ..]) => {
            return Reach::Unknown(format!(
                "{} was seen only before its dynamic linker had loaded anything",
                printable::line(first)
            ));
        }
        _ => {}
    }
    let count: u64 = unreached.values().sum();
    let more = unreached.len().saturating_sub(NAMED_MAX);
    let mut named: Vec<String> = unreached.into_iter().take(NAMED_MAX).map(times).collect();
    named.extend((more > 0).then(|| format!("and {more} more")));
    Reach::Some(format!(
        "Processes ran that the preload library did not reach: it was loaded into {} of {} executed programs, and not into {}.",
        reached,
        reached + count,
        named.join("; ")
    ))
}

fn times((why, count): (String, u64)) -> String {
    if count == 1 { why } else { format!("{why} ({count} times)") }
}

/// What to do where the environment was not handed on.
pub const HAND_ON: &str = "put unspin directly before it, or hand on LD_PRELOAD and all UNSPIN_ variables";

/// The program, and why the library was not loaded into it. None if its dynamic linker had loaded nothing yet, so that this is
/// not known.
fn why(program: &ExecutedProgram) -> Option<String> {
    // At the execve(2) of a privileged program the kernel closes the events of a user without privileges.
    let Some((file, inode)) = &program.file else {
        return Some(format!(
            "{} (it is set-uid or has other privileges, for which the dynamic linker ignores LD_PRELOAD: run a copy without \
             them (cp); or it ended at once)",
            program.name
        ));
    };
    let shown = printable::line(&file.to_string_lossy()).into_owned();
    // The path is the one in the program's own root folder.
    if fs::metadata(file).map(|found| found.ino()).ok() != Some(*inode) {
        let is_known = program.linker.is_none() || program.has_libraries;
        return is_known.then(|| {
            format!(
                "{shown} (it had another root folder, in which the dynamic linker does not find the library: mount the folder \
                 of LD_PRELOAD there; or the file was replaced since)"
            )
        });
    }
    match reach::check(file, &Creds::current()) {
        Err(error) => {
            let error = error.to_string();
            let why = error.strip_prefix(&format!("{}: ", file.display())).unwrap_or(&error);
            let it = if why.starts_with("is ") || why.starts_with("uses ") { "it " } else { "" };
            Some(format!("{shown} ({it}{})", printable::line(why)))
        }
        Ok(()) => program
            .has_libraries
            .then(|| format!("{shown} (it was started without LD_PRELOAD, as by env -i or sudo: {HAND_ON})")),
    }
}

pub fn asan_remedy(seen: &SeenPrograms) -> Option<String> {
    let options = std::env::var("ASAN_OPTIONS").unwrap_or_default();
    if options.contains("verify_asan_link_order=0") {
        return None;
    }
    let program = seen.programs().find(|program| program.has_asan && program.is_reached)?;
    Some(format!(
        "{} contains AddressSanitizer, which refuses to start after another preloaded library: set \
         ASAN_OPTIONS=verify_asan_link_order=0.",
        program.name
    ))
}

/// Running processes by name and number: `server (12), sh (13) and 2 more`.
pub fn processes(pids: &[u32]) -> String {
    let named = pids.iter().take(NAMED_MAX).map(|pid| {
        let name = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
        format!("{} ({pid})", printable::bytes(name.strip_suffix(b"\n").unwrap_or(&name)))
    });
    let more = match pids.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    named.collect::<Vec<_>>().join(", ") + &more
}

/// The processes that ran on when the observation ended. One that has ended since may have left a child.
pub fn describe_unobserved(pids: &[u32]) -> String {
    let (gone, running): (Vec<u32>, Vec<u32>) = pids.iter().partition(|&&pid| !super::is_running(pid));
    match (&gone[..], &running[..]) {
        (_, [_, ..]) => format!("{} ran on when the program had ended", processes(&running)),
        (_, []) => "a process that it had started ran on, and may have started others".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn program(file: &str, is_reached: bool) -> ExecutedProgram {
        let inode = fs::metadata(file).map_or(1, |found| found.ino());
        let file = Some((PathBuf::from(file), inode));
        let (linker, has_libraries) = (Some("/lib/ld.so".into()), true);
        ExecutedProgram { name: "name".into(), file, linker, has_libraries, is_reached, has_asan: false }
    }

    #[test]
    fn programs_without_the_library_are_named_and_counted() {
        let reached = program("/bin/sh", true);
        assert_eq!(
            reach(&SeenPrograms { past: vec![reached.clone()], ..SeenPrograms::default() }),
            Reach::All
        );
        let unreached = program("/bin/sh", false);
        let other_root = program("/no/such/file", false);
        let privileged = ExecutedProgram { file: None, name: "su".into(), ..unreached.clone() };
        let past = vec![reached, unreached.clone(), unreached, other_root, privileged];
        let seen = SeenPrograms { past, ..SeenPrograms::default() };
        let Reach::Some(said) = reach(&seen) else { panic!("four were not reached") };
        assert!(
            said.contains("into 1 of 5 executed programs, and not into /bin/sh (it was started"),
            "{said}"
        );
        assert!(said.contains("; su (it is set-uid or has other privileges"), "{said}");
        assert!(said.contains("(2 times); /no/such/file (it had another root folder"), "{said}");
    }

    #[test]
    fn program_that_had_loaded_nothing_is_not_said_to_be_unreached() {
        let early = |file: &str| ExecutedProgram { has_libraries: false, ..program(file, false) };
        let of = |past| reach(&SeenPrograms { past, ..SeenPrograms::default() });
        for early in
            [early("/bin/sh"), early("/no/such/file"), ExecutedProgram { linker: None, ..early("/bin/sh") }]
        {
            let Reach::Unknown(why) = of(vec![program("/bin/sh", true), early.clone()]) else {
                panic!("{early:?} is not known")
            };
            assert!(why.starts_with("name was seen only before"), "{why}");
            let Reach::Some(said) = of(vec![early, program("/bin/sh", false)]) else {
                panic!("one is unreached")
            };
            assert!(said.contains("into 0 of 1 executed programs"), "{said}");
        }
    }

    #[test]
    fn remedy_for_address_sanitizer_is_said_where_the_library_is_loaded() {
        let with = |is_reached| {
            let program = ExecutedProgram { has_asan: true, ..program("/bin/sh", is_reached) };
            asan_remedy(&SeenPrograms { past: vec![program], ..SeenPrograms::default() })
        };
        assert!(with(true).is_some_and(|said| said.contains("verify_asan_link_order=0")));
        assert_eq!(with(false), None);
    }
}
