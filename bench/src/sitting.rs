//! One sitting: everything measured once per repetition, in random order.

use crate::conditions::{Conditions, Load};
use crate::measurement::Measurement;
use crate::plan::Row;
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
pub struct Extent {
    /// Repetitions.
    pub repetitions: u32,
    /// No repetition begins after this time, once there are enough.
    pub budget: Duration,
    /// Length of a loop of calls.
    pub loop_ms: u64,
    /// By how much the rings of semopbench are to be shorter.
    pub shorter: u32,
    /// Whether the outcome says anything.
    pub claims: Claims,
}

/// Whether a table says what is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Claims {
    /// It does.
    Made,
    /// Too little was measured.
    None,
}

/// Repetitions that are made whatever the time: an interval of fewer says nothing.
const AT_LEAST: u32 = 5;
/// The order is reproducible, the times are not.
const SEED: u64 = 2;
/// What takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// What was measured, and where.
#[derive(Debug, Serialize)]
pub struct Sitting {
    /// Machine, commit, command and load.
    pub conditions: Conditions,
    /// Repetitions made.
    pub repetitions: u32,
    /// Whether the outcome says anything.
    pub claims: Claims,
    /// All figures of each measurement, by repetition.
    #[serde(skip)]
    pub values: HashMap<Measurement, Vec<f64>>,
}

/// Measures all rows.
pub fn run(rows: &[Row], tools: &Tools, extent: &Extent) -> Result<Sitting, String> {
    let mut order: Vec<Measurement> = Vec::new();
    for measurement in rows.iter().flat_map(Row::measurements) {
        if !order.contains(measurement) {
            order.push(measurement.clone());
        }
    }
    let mut random = stream(SEED, Purpose::Order);
    let mut values: HashMap<Measurement, Vec<f64>> = HashMap::new();
    let (load, started) = (Load::now(), Instant::now());
    let mut own_s = 0.0;
    let mut done = 0;
    while done < extent.repetitions && (done < AT_LEAST || started.elapsed() < extent.budget) {
        order.shuffle(&mut random);
        for (i, measurement) in order.iter().enumerate() {
            progress(&format!("repetition {} of {}, {i} of {}", done + 1, extent.repetitions, order.len()));
            let (value, cpu_s) = measure(measurement, tools)?;
            values.entry(measurement.clone()).or_default().push(value);
            own_s += cpu_s;
        }
        done += 1;
    }
    progress("");
    let conditions = Conditions::of(tools, &load, own_s);
    Ok(Sitting { conditions, repetitions: done, claims: extent.claims, values })
}

/// The figure that a run prints, and the CPU seconds that it took.
fn measure(measurement: &Measurement, tools: &Tools) -> Result<(f64, f64), String> {
    let mut command = start::command(measurement, tools)?;
    let named = |what: &str| format!("{measurement:?}: {what}");
    let mut running = child::tie_to_us(command.stdin(Stdio::null()).stdout(Stdio::piped()))
        .spawn()
        .map_err(|e| named(&e.to_string()))?;
    let pid = running.id();
    let Some(ended) = child::wait_for(pid, PATIENCE).map_err(|e| named(&e.to_string()))? else {
        let _ = child::signal_group(pid, child::Signal::Kill);
        return Err(named("did not end within a minute"));
    };
    let mut text = String::new();
    if let Some(mut output) = running.stdout.take() {
        output.read_to_string(&mut text).map_err(|e| named(&e.to_string()))?;
    }
    match (ended.end, text.trim().parse()) {
        (End::Exited(0), Ok(value)) => Ok((value, ended.usage.cpu_s())),
        (end, _) => Err(named(&format!("{end:?}, and printed {text:?}"))),
    }
}

/// One line on a terminal, overwritten by the next.
fn progress(text: &str) {
    let mut error = std::io::stderr();
    if error.is_terminal() {
        let _ = write!(error, "\r\x1b[K{text}");
        let _ = error.flush();
    }
}
