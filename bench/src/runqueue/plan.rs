//! The rows of the run queues.

use crate::inner::{Task, TaskProgram, TaskRuntime, VolanoModel};
use crate::measurement::{Measurement, World};
use crate::quantity::{Bound, Extreme, Note, Quantity, QuantityRow};
use crate::session::SessionSize;

use TaskRuntime::{AsyncExecutor, Global, Percpu, Tokio};

/// All runtimes, ours first.
const ALL: [(TaskRuntime, &str); 4] =
    [(Percpu, "percpu"), (Global, "global"), (Tokio, "tokio"), (AsyncExecutor, "async-executor")];

/// All rows.
pub fn rows(extent: &SessionSize) -> Vec<QuantityRow> {
    let mut rows = Vec::new();
    for (workers, over_global) in [(2, 2.0), (8, 5.0)] {
        rows.extend(spawn_inside(workers, over_global, extent));
    }
    rows.push(yields(extent));
    rows.push(spawn_outside(extent));
    rows.push(hand_off(extent));
    rows.push(wait(extent));
    rows.extend([2, 8].into_iter().flat_map(|workers| chat(workers, extent)));
    rows
}

fn figure(runtime: TaskRuntime, program: TaskProgram, workers: usize, count: u64) -> Quantity {
    let task = Task::Tasks { runtime, program, workers, count };
    Quantity::Figure(Measurement::Inner(World::NoPreload, task), 0)
}

fn notes(what: &str, of: impl Fn(TaskRuntime) -> Quantity, unit: &'static str) -> Vec<Note> {
    let name =
        |name: &str, is_first: bool| if is_first { format!("{what}: {name}") } else { name.to_owned() };
    ALL.iter()
        .enumerate()
        .map(|(at, &(runtime, text))| Note::new(name(text, at == 0), of(runtime), unit))
        .collect()
}

fn spawn_inside(workers: usize, over_global: f64, extent: &SessionSize) -> [QuantityRow; 2] {
    let count = 1_000_000 / u64::from(extent.shorter);
    let rate = |runtime| figure(runtime, TaskProgram::SpawnInside, workers, count);
    let row = |against: &str, quantity, least, notes| QuantityRow {
        name: format!("runqueue: {count} tasks from inside, {workers} workers: percpu over {against}"),
        unit: "times",
        quantity,
        bound: Some(Bound::AtLeast(least)),
        notes,
        missing: None,
    };
    let peers = Quantity::Extreme(Extreme::Highest, vec![rate(Tokio), rate(AsyncExecutor)]);
    [
        row("global", rate(Percpu) / rate(Global), over_global, notes("millions a second", rate, "")),
        row("the faster peer", rate(Percpu) / peers, 1.0, Vec::new()),
    ]
}

fn yields(extent: &SessionSize) -> QuantityRow {
    let rate = |runtime| figure(runtime, TaskProgram::Yield, 2, 5_000 / u64::from(extent.shorter));
    QuantityRow {
        name: "runqueue: 200 tasks that yield, 2 workers: percpu over tokio".into(),
        unit: "times",
        quantity: rate(Percpu) / rate(Tokio),
        bound: Some(Bound::AtLeast(1.0)),
        notes: notes("millions a second", rate, ""),
        missing: None,
    }
}

fn spawn_outside(extent: &SessionSize) -> QuantityRow {
    let count = 1_000_000 / u64::from(extent.shorter);
    let rate = |runtime| figure(runtime, TaskProgram::SpawnOutside, 2, count);
    QuantityRow {
        name: "runqueue: tasks from 4 threads outside, 2 workers: percpu over tokio".into(),
        unit: "times",
        quantity: rate(Percpu) / rate(Tokio),
        bound: Some(Bound::AtLeast(1.2)),
        notes: notes("millions a second", rate, ""),
        missing: None,
    }
}

fn hand_off(extent: &SessionSize) -> QuantityRow {
    let time = |runtime| figure(runtime, TaskProgram::HandOff, 1, 2_000_000 / u64::from(extent.shorter));
    QuantityRow {
        name: "runqueue: one worker, one runnable task: percpu takes as long as global".into(),
        unit: "times",
        quantity: time(Percpu) / time(Global),
        bound: Some(Bound::AtMost(1.05)),
        notes: notes("a turn", time, " ns"),
        missing: None,
    }
}

fn wait(extent: &SessionSize) -> QuantityRow {
    let count = 20_000 / u64::from(extent.shorter);
    let wait = |runtime| figure(runtime, TaskProgram::Wait, 2, count);
    let median = |runtime| {
        let task = Task::Tasks { runtime, program: TaskProgram::Wait, workers: 2, count };
        Quantity::Figure(Measurement::Inner(World::NoPreload, task), 1)
    };
    let mut all = notes("99.9th percentile", wait, " us");
    all.extend(notes("median", median, " us"));
    QuantityRow {
        name: "runqueue: wait for one of 2 workers at 80 % load, 99.9th percentile, percpu over tokio".into(),
        unit: "times",
        quantity: wait(Percpu) / wait(Tokio),
        bound: None,
        notes: all,
        missing: None,
    }
}

fn chat(workers: usize, extent: &SessionSize) -> [QuantityRow; 3] {
    let messages = 100 / extent.shorter as usize;
    // The model with threads has no workers: one measurement serves both numbers of workers.
    let rate = |model, workers| {
        Quantity::Figure(Measurement::Inner(World::NoPreload, Task::Volano { model, workers, messages }), 0)
    };
    let tasks = |model| rate(model, workers);
    let threads = || rate(VolanoModel::Threads, 0);
    let notes =
        [("percpu", VolanoModel::Percpu), ("global", VolanoModel::Global), ("tokio", VolanoModel::Tokio)]
            .map(|(name, model)| Note::new(name, tasks(model), "/s"));
    let row = |against: &str, quantity, bound, notes| QuantityRow {
        name: format!("runqueue: volano 10/20/{messages}, {workers} workers: percpu over {against}"),
        unit: "times",
        quantity,
        bound,
        notes,
        missing: None,
    };
    let not_slower = Some(Bound::AtLeast(1.0));
    let all = notes.into_iter().chain([Note::new("threads", threads(), "/s")]).collect();
    [
        row("global", tasks(VolanoModel::Percpu) / tasks(VolanoModel::Global), not_slower, all),
        row("tokio", tasks(VolanoModel::Percpu) / tasks(VolanoModel::Tokio), not_slower, Vec::new()),
        row("threads", tasks(VolanoModel::Percpu) / threads(), not_slower, Vec::new()),
    ]
}
