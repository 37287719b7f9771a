//! `unspin plan status`.

use super::process::Process;
use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::ExitCode;
use unspin_launch::error::Error;
use unspin_launch::output::stdout;
use unspin_launch::plan::deployed::{DeployedEntry, DeployedPlan};
use unspin_sys::printable;
use unspin_wire::plan::LockFamily;
use unspin_wire::{OwnTally, TallyCount, TallyUse};

/// Prints what the plan has replaced in a process until now.
pub fn status(pid: u32) -> Result<ExitCode, Error> {
    let process = Process::of(pid)?;
    if !process.has_library() {
        return Err(Error::Input(format!(
            "process {pid}: runs without the preload library: start it with LD_PRELOAD and UNSPIN_PLAN (`unspin plan env`)"
        )));
    }
    if process.could_not_load_library() {
        return Err(Error::Input(format!(
            "process {pid}: runs without the preload library, which lies where nothing may be executed: a file system that is mounted \
             noexec, or outside of the ExecPaths= of a unit with NoExecPaths= (`unspin plan systemd --locked-down` prints the setting), or reads the library's file itself"
        )));
    }
    let tally = process.tally()?.ok_or_else(|| {
        Error::Input(format!(
            "process {pid}: keeps no tally: start it with UNSPIN_STATUS=1; if it was, no plan is in effect in it, and its log says why"
        ))
    })?;
    // Not that of its environment, which a program may overwrite with its title.
    let plan = PathBuf::from(OsString::from_vec(tally.path().collect()));
    let entries = DeployedPlan::read(&process.file(&plan)).map(|plan| plan.entries).map_err(|_| {
        format!(
            "the plan {} cannot be read as the process sees it now",
            printable::line(&plan.to_string_lossy())
        )
    });
    let name = printable::line(&process.name()).to_string();
    stdout::print(&text(&format!("{name} (process {pid})"), entries, tally))?;
    Ok(ExitCode::SUCCESS)
}

fn text(process: &str, entries: Result<Vec<DeployedEntry>, String>, tally: OwnTally) -> String {
    let mut text = format!("{process}\n");
    if let Err(why) = &entries {
        let _ = writeln!(text, "  no entries are named: {why}");
    }
    for entry in entries.iter().flatten().filter(|entry| !entry.counts.is_empty()) {
        let replaced: u64 = entry.counts.iter().map(|&count| tally.get(count)).sum();
        let noun = match entry.counts[0] {
            TallyCount::Replaced(family, _) if replaced == 1 => family.noun(),
            TallyCount::Replaced(family, _) => family.nouns(),
            _ if replaced == 1 => "call site",
            _ => "call sites",
        };
        let _ = writeln!(text, "  {}: {replaced} {noun}", printable::line(&entry.label));
    }
    for family in LockFamily::ALL {
        let (spun, slept) = (tally.uses(TallyUse::Spun(family)), tally.uses(TallyUse::Slept(family)));
        if spun + slept > 0 {
            let _ = writeln!(
                text,
                "  acquisitions of replaced {} that waited: {}, of which {spun} without sleep",
                family.nouns(),
                spun + slept
            );
        }
    }
    let (found, in_vain) = (tally.uses(TallyUse::Found), tally.uses(TallyUse::InVain));
    if found + in_vain > 0 {
        let _ = writeln!(text, "  polls: {}, of which {found} ended a wait", found + in_vain);
    }
    if tally.process().is_none() {
        text.push_str("  nothing was counted since the process was forked\n");
    }
    let obstacles = [
        (
            TallyCount::Wrapped,
            "nothing is replaced: another library wraps the lock functions, or a sanitizer does",
        ),
        (TallyCount::Bypassed, "nothing more is replaced: code was loaded whose calls bypass the hooks"),
        (
            TallyCount::Filters,
            "no wait polls: a seccomp filter is in force, and UNSPIN_LOOKS does not state what it permits (docs/containers.md)",
        ),
    ];
    for (_, why) in obstacles.into_iter().filter(|&(count, _)| tally.get(count) > 0) {
        let _ = writeln!(text, "  {why}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_wire::{OwnTallyPlace, TallyRow};

    #[test]
    fn entries_and_uses_are_printed() {
        let replaced = TallyCount::Replaced(LockFamily::Mutex, TallyRow::Rule(0));
        let site = TallyCount::Sites(TallyRow::Rule(0));
        let entry = |label: &str, counts| DeployedEntry { label: label.into(), counts };
        let entries =
            vec![entry("adaptive@q", vec![replaced]), entry("poll@f", vec![site]), entry("system@r", vec![])];
        let tally = OwnTallyPlace::none().begin().unwrap();
        assert_eq!(
            text("server (process 7)", Err("gone".into()), tally),
            "server (process 7)\n  no entries are named: gone\n  nothing was counted since the process was forked\n"
        );
        tally.add(replaced);
        [TallyUse::Spun(LockFamily::Mutex), TallyUse::Slept(LockFamily::Mutex), TallyUse::Found]
            .into_iter()
            .for_each(|used| tally.add_use(used, 1));
        tally.add(TallyCount::Filters);
        assert_eq!(
            text("server (process 7)", Ok(entries), tally),
            "server (process 7)\n  adaptive@q: 1 mutex\n  poll@f: 0 call sites\n  acquisitions of replaced mutexes that waited: 2, of \
             which 1 without sleep\n  polls: 1, of which 1 ended a wait\n  no wait polls: a seccomp filter is in force, and UNSPIN_LOOKS does not state what it permits (docs/containers.md)\n"
        );
    }
}
