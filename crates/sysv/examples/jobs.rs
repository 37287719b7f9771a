//! Processes that share jobs: a queue has the jobs, a segment the sum, a semaphore makes the additions exclusive.
//!
//! ```sh
//! cargo run -p unspin-sysv --example jobs -- rcu ./my.arena        # prints 5050
//! ```

use std::env::args_os;
use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering::SeqCst;
use unspin_sysv::typed::{Message, MessageQueue, Segment, SemOp, SemSet, Which};
use unspin_sysv::{Engine, Kind, Options};

const KEY: i32 = 0x10B5;
const JOB: i64 = 1;
const END: i64 = 2;
const WORKERS: usize = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<_> = args_os().skip(1).collect();
    let [engine, arena, worker @ ..] = &args[..] else { return Err("usage: jobs ENGINE ARENA".into()) };
    let kind: Kind = engine.to_string_lossy().parse()?;
    let engine = Engine::open(kind, Path::new(arena), &Options::default(), None)?;
    let jobs = MessageQueue::create(&engine, KEY, 0o600)?;
    let sum = Segment::create(&engine, KEY, 8, 0o600)?;
    let turn = SemSet::create(&engine, KEY, 1, 0o600)?;
    if !worker.is_empty() {
        return Ok(work(jobs, sum, turn)?);
    }
    turn.operate(&[SemOp::post(0, 1)])?;
    let start = || Command::new(std::env::current_exe()?).args(&args).arg("worker").spawn();
    let workers = (0..WORKERS).map(|_| start()).collect::<Result<Vec<_>, _>>()?;
    for number in 1..=100u64 {
        jobs.send(&Message::new(JOB, &number.to_ne_bytes()))?;
    }
    for _ in &workers {
        jobs.send(&Message::new(END, b""))?;
    }
    for mut worker in workers {
        worker.wait()?;
    }
    println!("{}", sum.attach()?.as_atomics()[0].load(SeqCst));
    // They would outlive this program, as the kernel's objects do.
    jobs.remove()?;
    sum.remove()?;
    turn.remove()?;
    Ok(())
}

/// Adds up jobs until one of type `END` comes.
fn work(jobs: MessageQueue, sum: Segment, turn: SemSet) -> Result<(), unspin_sysv::Errno> {
    let memory = sum.attach()?;
    let mut job = Message::with_capacity(8);
    loop {
        jobs.receive(Which::First, &mut job)?;
        let (JOB, Ok(number)) = (job.mtype(), job.text().try_into()) else { return Ok(()) };
        // If this process is killed here, SEM_UNDO gives the turn back.
        turn.operate(&[SemOp::take(0, 1).undo()])?;
        let word = &memory.as_atomics()[0];
        word.store(word.load(SeqCst) + u64::from_ne_bytes(number), SeqCst);
        turn.operate(&[SemOp::post(0, 1).undo()])?;
    }
}
