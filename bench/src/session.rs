//! One session: everything measured once per repetition, in random order.

use crate::conditions::{Conditions, Load};
use crate::measurement::{Measurement, World};
use crate::meter::check;
use crate::recording_file::RecordingFile;
use crate::start;
use crate::tools::Tools;
use rand::seq::SliceRandom;
use serde::Serialize;
use std::collections::HashMap;
use std::io::{IsTerminal, Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};
use unspin_stats::random::{Purpose, stream};
use unspin_sys::child::{self, End};

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct SessionSize {
    /// Repetitions.
    pub repetitions: u32,
    /// No repetition begins after this time, once there are enough.
    pub budget: Duration,
    /// Length of a loop of calls.
    pub loop_ms: u64,
    /// By how much the rings of semopbench are to be shorter.
    pub shorter: u32,
    /// How many times as much real programs are to do.
    pub longer: u32,
    /// Whether the outcome says anything.
    pub claims: Validity,
}

/// Whether a table can show that a goal is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Validity {
    /// It does.
    #[serde(rename = "made")]
    Valid,
    /// Too little was measured.
    #[serde(rename = "none")]
    TooShort,
}

/// Minimum number of repetitions, regardless of the time: fewer give no useful interval.
const REPETITIONS_MIN: u32 = 5;
/// The order is reproducible, the times are not.
const SEED: u64 = 2;
/// A measurement that takes longer is considered to hang.
const RUN_TIMEOUT: Duration = Duration::from_secs(60);

/// What was measured, and where.
#[derive(Debug, Serialize)]
pub struct BenchSession {
    /// Machine, commit, command and load.
    pub conditions: Conditions,
    /// Repetitions made.
    pub repetitions: u32,
    /// Whether the outcome says anything.
    pub claims: Validity,
    /// All runs of each measurement, by repetition, each with its figures.
    #[serde(skip)]
    pub runs: HashMap<Measurement, Vec<Vec<f64>>>,
}

impl BenchSession {
    /// One of a measurement's figures, by repetition.
    pub fn values(&self, measurement: &Measurement, figure: usize) -> Vec<f64> {
        self.runs[measurement].iter().map(|run| run[figure]).collect()
    }
}

/// Measures everything. A measurement that is named twice is made once.
pub fn run(
    measurements: &[&Measurement],
    tools: &Tools,
    extent: &SessionSize,
) -> Result<BenchSession, String> {
    let mut order: Vec<Measurement> = Vec::new();
    for &measurement in measurements {
        if !order.contains(measurement) {
            order.push(measurement.clone());
        }
    }
    let mut random = stream(SEED, Purpose::Order);
    let mut runs: HashMap<Measurement, Vec<Vec<f64>>> = HashMap::new();
    let (load, started) = (Load::now(), Instant::now());
    let mut own_s = 0.0;
    let mut done = 0;
    while done < extent.repetitions && (done < REPETITIONS_MIN || started.elapsed() < extent.budget) {
        order.shuffle(&mut random);
        for (i, measurement) in order.iter().enumerate() {
            progress(&format!("repetition {} of {}, {i} of {}", done + 1, extent.repetitions, order.len()));
            let (figures, cpu_s) = measure(measurement, tools)?;
            runs.entry(measurement.clone()).or_default().push(figures);
            own_s += cpu_s;
        }
        order.retain(|measurement| !measurement.is_once());
        done += 1;
    }
    progress("");
    let conditions = Conditions::of(tools, &load, own_s);
    Ok(BenchSession { conditions, repetitions: done, claims: extent.claims, runs })
}

/// The figures of a run, and the CPU seconds that it took.
fn measure(measurement: &Measurement, tools: &Tools) -> Result<(Vec<f64>, f64), String> {
    let named = |what: String| format!("{measurement:?}: {what}");
    let mut recorded = RecordingFile::new(measurement.world(), tools.scratch())?;
    let mut command = start::command(measurement, tools, recorded.as_ref().map(RecordingFile::path))?;
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    if let Measurement::Program(..) = measurement {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    if measurement.world() == World::Mutrace {
        command.stderr(Stdio::null());
    }
    child::kill_on_parent_death(&mut command);
    if let Some(recorded) = &mut recorded {
        recorded.start();
    }
    let started = Instant::now();
    let mut running = command.spawn().map_err(|e| named(e.to_string()))?;
    let pid = running.id();
    let Some(ended) = child::wait_for(pid, RUN_TIMEOUT).map_err(|e| named(e.to_string()))? else {
        let _ = child::signal_group(pid, child::Signal::Kill);
        return Err(named("did not end within a minute".into()));
    };
    let (wall_s, cpu_s) = (started.elapsed().as_secs_f64(), ended.usage.cpu_s());
    let metered_s = recorded.as_ref().map(|recorded| recorded.finish(cpu_s));
    let mut text = String::new();
    if let Some(mut output) = running.stdout.take() {
        output.read_to_string(&mut text).map_err(|e| named(e.to_string()))?;
    }
    if ended.end != End::Exited(0) {
        return Err(named(format!("{:?}, and printed {text:?}", ended.end)));
    }
    let figures = match (measurement, &recorded, metered_s) {
        (Measurement::Program(..), ..) => Ok(vec![wall_s, cpu_s]),
        (Measurement::Checked(_, task), Some(recorded), Some(seconds)) => {
            check::figures(task, &text, recorded, seconds)
        }
        _ => text
            .split_whitespace()
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map_err(|_| format!("printed {text:?}")),
    };
    Ok((figures.map_err(named)?, cpu_s))
}

/// One line on a terminal, overwritten by the next.
fn progress(text: &str) {
    let mut error = std::io::stderr();
    if error.is_terminal() {
        let _ = write!(error, "\r\x1b[K{text}");
        let _ = error.flush();
    }
}
