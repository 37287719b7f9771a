//! unspin's figures against the kernel and against its peers: one command, one table.
//!
//! ```text
//! cargo run --release -p unspin-bench
//! ```
//!
//! What is measured runs in processes of their own: this program starts itself again as `inner TASK`, an ordinary
//! program that calls libc, either as it is or under `unspin run --sysv ENGINE`. Each repetition runs all of them once
//! in random order, so that disturbances affect both sides of a ratio.
#![warn(missing_docs)]

mod conditions;
mod figure;
mod hand_off;
mod inner;
mod instructions;
mod ipc;
mod locks;
mod measurement;
mod meter;
mod options;
mod plan;
mod program;
mod quantity;
mod recording_file;
mod runqueue;
mod session;
mod start;
mod table;
mod test_user;
mod tools;
mod waits;

use clap::Parser;
use options::{Command, Options};
use std::process::ExitCode;
use tools::Tools;

fn main() -> ExitCode {
    let options = Options::parse();
    let result = match &options.command {
        Some(Command::Inner(task)) => inner::run(task),
        None if options.instructions => instructions::run(&options),
        None => measure(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("unspin-bench: {text}");
            ExitCode::FAILURE
        }
    }
}

fn measure(options: &Options) -> Result<(), String> {
    let tools = Tools::prepare(options.unspin.as_deref(), options.mutrace.as_deref())?;
    let extent = options.extent();
    let (mut plan, mut meter) = (plan::rows(&tools, &extent), meter::rows(&tools, &extent));
    let (mut locks, mut waits) = (locks::rows(&extent), waits::rows(&tools, &extent));
    let mut queues = runqueue::rows(&extent);
    if let Some(only) = &options.only {
        plan.retain(|row| only.includes(row.name));
        for rows in [&mut meter, &mut locks, &mut waits, &mut queues] {
            rows.retain(|row| only.includes(&row.name));
        }
        if plan.is_empty() && [&meter, &locks, &waits, &queues].iter().all(|rows| rows.is_empty()) {
            return Err(format!("--only {only}: no row has such a name"));
        }
    }
    let measurements = plan.iter().flat_map(plan::Row::measurements);
    let quantities = [&meter, &locks, &waits, &queues].into_iter().flatten();
    let quantities = quantities.flat_map(quantity::QuantityRow::measurements);
    let measurements: Vec<_> = measurements.chain(quantities).collect();
    let session = session::run(&measurements, &tools, &extent)?;
    let document = table::Document {
        session: &session,
        figures: &figure::evaluate(&plan, &session),
        meter: &quantity::evaluate(&meter, &session),
        locks: &quantity::evaluate(&locks, &session),
        waits: &quantity::evaluate(&waits, &session),
        runqueue: &quantity::evaluate(&queues, &session),
    };
    if let Some(path) = &options.json {
        let text = serde_json::to_string_pretty(&document);
        let text = text.map_err(|e| e.to_string())?;
        std::fs::write(path, text + "\n").map_err(|e| format!("--json {}: {e}", path.display()))?;
    }
    print!("{}", table::text(&document));
    Ok(())
}
