//! Instructions per call, counted by valgrind: the same on a busy machine as on an idle one.
//!
//! Callgrind counts what a process executes in user mode. A program that does its work N times, and one that does it
//! 2 N times, differ by N calls and by nothing else. Valgrind has no vDSO: a clock is a system call there, which counts
//! as one instruction and not as the dozen that it is.

mod budget;
mod table;

use crate::inner::{Call, Company, EffortOptions, Paired, Section, Task};
use crate::measurement::World;
use crate::options::Options;
use crate::recording_file::RecordingFile;
use crate::start;
use crate::tools::{self, Tools};
use budget::Budget;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use table::{InstructionsRow, InstructionsTable};
use unspin_locks::rw::RwLockKind;
use unspin_locks::{LockKind, SpinKind};

/// Calls of the shorter run.
const TIMES: u64 = 20_000;
/// How often a budget must be exceeded.
const ATTEMPTS: u32 = 3;

/// Counts, prints tables, and compares with the budget or writes it.
pub fn run(options: &Options) -> Result<(), String> {
    // Report an unreadable budget now, not after a minute of counting.
    let budget = options.budget.as_deref().map(Budget::read).transpose()?;
    if let Err(reason) = tools::output(Command::new("valgrind").arg("--version")) {
        let why = format!("valgrind cannot be used ({reason}): apt-get install valgrind");
        if budget.is_some() {
            return Err(why);
        }
        println!("skipped, because {why}");
        return Ok(());
    }
    let tools = Tools::prepare(options.unspin.as_deref(), options.mutrace.as_deref())?;
    println!("instructions per call in user mode, by callgrind; {}", tools.version);
    let mut tables = SUBJECTS
        .into_iter()
        .map(|subject| count_and_print(subject, &tools))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(path) = &options.update_budget {
        Budget::of(&tables).write(path)?;
        println!("\n{}: written", path.display());
    }
    let Some(budget) = budget else { return Ok(()) };
    let mut result = budget.check(&tables);
    // Where a thread lost its CPU at the wrong moment, it takes another path once. A count that is too high each time is the
    // code's. Only the tables with such counts are counted again.
    for _ in 1..ATTEMPTS {
        let Err(reason) = &result else { break };
        println!("\n{reason}\n\nOnce more:");
        for (subject, table) in SUBJECTS.into_iter().zip(&mut tables) {
            if budget.is_exceeded(table) {
                *table = count_and_print(subject, &tools)?;
            }
        }
        result = budget.check(&tables);
    }
    result
}

type Subject = fn(&Tools) -> Result<InstructionsTable, String>;

const SUBJECTS: [Subject; 8] =
    [engines, sections, meter, mutexes, read_locks, write_locks, spin_locks, waits];

fn count_and_print(subject: Subject, tools: &Tools) -> Result<InstructionsTable, String> {
    let table = subject(tools)?;
    print!("\n{table}");
    Ok(table)
}

fn engines(tools: &Tools) -> Result<InstructionsTable, String> {
    let rows = [
        ("semop +1 and -1", Call::Semop, 2),
        ("semop -1 IPC_NOWAIT: EAGAIN", Call::Eagain, 1),
        ("semctl GETVAL", Call::Getval, 1),
        ("semget of an existing key", Call::Semget, 1),
    ];
    let rows = rows.map(|(name, call, calls)| {
        let task = |times| Task::Call { call, effort: EffortOptions::times(times) };
        let count = |world| per_time(world, tools, |times| start::words(&task(times)));
        let counts = World::ENGINES.into_iter().map(|world| Ok(Some(count(world)? / f64::from(calls))));
        Ok(InstructionsRow::new(name, counts.collect::<Result<_, String>>()?))
    });
    Ok(InstructionsTable {
        title: "System V IPC",
        columns: World::ENGINES.map(World::label).to_vec(),
        rows: rows.into_iter().collect::<Result<_, String>>()?,
        missing: Vec::new(),
    })
}

fn sections(tools: &Tools) -> Result<InstructionsTable, String> {
    let mut table =
        InstructionsTable { title: "RCU", columns: vec!["section"], ..InstructionsTable::default() };
    for (name, section) in [
        ("read section, as the engine", Section::Slot),
        ("Reader::read", Section::Reader),
        ("crossbeam-epoch", Section::Epoch),
    ] {
        let task = |times| Task::Section { section, effort: EffortOptions::times(times) };
        let count = per_time(World::NoPreload, tools, |times| start::words(&task(times)))?;
        table.rows.push(InstructionsRow::new(name, vec![Some(count)]));
    }
    match &tools.liburcu {
        Ok(program) => {
            let words = |times: u64| Ok(vec![program.into(), "times".into(), times.to_string().into()]);
            table.rows.push(InstructionsRow::new(
                "liburcu-memb",
                vec![Some(per_time(World::NoPreload, tools, words)?)],
            ));
        }
        Err(reason) => table.missing.push(format!("liburcu-memb: {reason}")),
    }
    Ok(table)
}

/// What a lock costs in each of the meter's worlds.
fn meter(tools: &Tools) -> Result<InstructionsTable, String> {
    let worlds = World::METER.map(|world| if world == World::NoPreload { "bare" } else { world.label() });
    let mut table =
        InstructionsTable { title: "Meter", columns: worlds.to_vec(), ..InstructionsTable::default() };
    for (name, lock, company) in [
        ("mutex lock and unlock", Paired::Mutex, Company::Sleeper),
        ("the same, a process of one thread", Paired::Mutex, Company::Nobody),
        ("read lock and unlock", Paired::Read, Company::Sleeper),
        ("write lock and unlock", Paired::Write, Company::Sleeper),
        ("spin lock and unlock", Paired::Spin, Company::Sleeper),
    ] {
        let words = |times| start::words(&Task::Pair { lock, company, effort: EffortOptions::times(times) });
        let count = |world| match (world, &tools.mutrace) {
            (World::Mutrace, Err(_)) => Ok(None),
            _ => per_time(world, tools, words).map(Some),
        };
        let counts = World::METER.into_iter().map(count).collect::<Result<_, String>>()?;
        table.rows.push(InstructionsRow::new(name, counts));
    }
    if let Err(reason) = &tools.mutrace {
        table.missing.push(format!("mutrace: {reason}"));
    }
    Ok(table)
}

/// The cost of a replaced mutex.
fn mutexes(tools: &Tools) -> Result<InstructionsTable, String> {
    let kinds = LockKind::ALL.map(|kind| (kind.name(), World::Mutex(kind)));
    replaced("Mutex lock and unlock, replaced", Paired::Mutex, &kinds, tools)
}

/// The cost of a replaced read-write lock, taken for reading.
fn read_locks(tools: &Tools) -> Result<InstructionsTable, String> {
    let kinds = RwLockKind::ALL.map(|kind| (kind.name(), World::RwLock(kind)));
    replaced("Read lock and unlock, replaced", Paired::Read, &kinds, tools)
}

/// The cost of a replaced read-write lock, taken for writing.
fn write_locks(tools: &Tools) -> Result<InstructionsTable, String> {
    let kinds = RwLockKind::ALL.map(|kind| (kind.name(), World::RwLock(kind)));
    replaced("Write lock and unlock, replaced", Paired::Write, &kinds, tools)
}

/// The cost of a replaced spin lock.
fn spin_locks(tools: &Tools) -> Result<InstructionsTable, String> {
    let kinds = SpinKind::ALL.map(|kind| (kind.name(), World::Spin(kind)));
    replaced("Spin lock and unlock, replaced", Paired::Spin, &kinds, tools)
}

/// The cost of a lock under each kind that replaces it.
fn replaced(
    title: &'static str,
    lock: Paired,
    kinds: &[(&'static str, World)],
    tools: &Tools,
) -> Result<InstructionsTable, String> {
    let company = Company::Sleeper;
    let words = |times| start::words(&Task::Pair { lock, company, effort: EffortOptions::times(times) });
    let bare = per_time(World::NoPreload, tools, words)?;
    let mut table =
        InstructionsTable { title, columns: vec!["bare", "replaced"], ..InstructionsTable::default() };
    for &(name, world) in kinds {
        let count = per_time(world, tools, words)?;
        table.rows.push(InstructionsRow::new(name, vec![Some(bare), Some(count)]));
    }
    Ok(table)
}

/// The cost of a hook for a wait that ends at once.
fn waits(tools: &Tools) -> Result<InstructionsTable, String> {
    let mut table = InstructionsTable {
        title: "Waits",
        columns: vec!["bare", "system", "poll"],
        ..InstructionsTable::default()
    };
    if let Err(reason) = &tools.waits {
        table.missing.push(format!("waits: {reason}"));
        return Ok(table);
    }
    let program = tools.kit()?.program("waits");
    for (name, what) in [
        ("read of a byte, and its write", "read"),
        ("epoll_wait of a ready set", "epoll"),
        ("sem_wait, and its post", "free"),
    ] {
        let words = |times: u64| {
            Ok(vec![program.clone().into(), what.into(), "times".into(), times.to_string().into()])
        };
        let worlds = [World::NoPreload, World::WaitsSystem, World::WaitsReady];
        let counts = worlds.into_iter().map(|world| per_time(world, tools, words).map(Some));
        table.rows.push(InstructionsRow::new(name, counts.collect::<Result<_, String>>()?));
    }
    Ok(table)
}

/// What one time more costs. The two runs take place at the same time, unless they would use the same arena.
fn per_time(
    world: World,
    tools: &Tools,
    words: impl Fn(u64) -> Result<Vec<OsString>, String>,
) -> Result<f64, String> {
    let start = |times, folder| Counting::start(world, tools, words(times)?, tools.scratch().join(folder));
    let once = start(TIMES, "once")?;
    let (once, twice) = match world.engine() {
        None => {
            let twice = start(2 * TIMES, "twice")?;
            (once.finish()?, twice.finish()?)
        }
        Some(_) => (once.finish()?, start(2 * TIMES, "twice")?.finish()?),
    };
    Ok((twice as f64 - once as f64) / TIMES as f64)
}

/// A run under callgrind.
struct Counting {
    child: Child,
    file: PathBuf,
    /// Removed at the end.
    _recorded: Option<RecordingFile>,
}

impl Counting {
    /// Starts a program; callgrind's file and the recording go into `folder`.
    fn start(
        world: World,
        tools: &Tools,
        program: Vec<OsString>,
        folder: PathBuf,
    ) -> Result<Counting, String> {
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let file = folder.join("callgrind");
        let mut words: Vec<OsString> = vec!["valgrind".into(), "--tool=callgrind".into()];
        let mut option = OsString::from("--callgrind-out-file=");
        option.push(&file);
        words.push(option);
        words.extend(program);
        let recorded = RecordingFile::new(world, &folder)?;
        let path = recorded.as_ref().map(RecordingFile::path);
        let mut command = start::inside(world, tools, words, path)?;
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        Ok(Counting { child: child.map_err(|e| format!("valgrind: {e}"))?, file, _recorded: recorded })
    }

    /// Waits for the end. Returns the number of all instructions.
    fn finish(self) -> Result<u64, String> {
        let output = self.child.wait_with_output().map_err(|e| format!("valgrind: {e}"))?;
        if !output.status.success() {
            return Err(format!("valgrind ({}): {}", output.status, String::from_utf8_lossy(&output.stderr)));
        }
        let text = std::fs::read_to_string(&self.file).map_err(|e| format!("callgrind's output: {e}"))?;
        let total =
            text.lines().find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")));
        total.and_then(|n| n.trim().parse().ok()).ok_or_else(|| "callgrind's output holds no total".into())
    }
}
