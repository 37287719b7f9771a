//! The run queues' locks in the meter's table.

use unspin_report::MeterReport;
use unspin_runqueue::lock::describe;
use unspin_runqueue::queue::Policy;
use unspin_runqueue::{Builder, spawn, yield_now};
use unspin_wire::{Config, Level, Recording};

/// A recording that outlives the executor.
fn recording(folder: &tempfile::TempDir, policy: Policy, level: Level) -> &'static Recording {
    let path = folder.path().join(format!("{policy}-{level}"));
    Box::leak(Box::new(Recording::create(&path, Config { level, ..Config::default() }).unwrap()))
}

#[test]
fn both_policies_have_rows_by_operation_and_a_conclusion() {
    let folder = tempfile::tempdir().unwrap();
    for policy in Policy::ALL {
        let recording = recording(&folder, policy, Level::Full);
        let executor = Builder::new().policy(policy).workers(3).recording(recording).build().unwrap();
        let all = executor.spawn(async {
            let tasks: Vec<_> = (0..500).map(|_| spawn(yield_now())).collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
        executor.block_on(all).unwrap();
        let statistics = executor.statistics();
        drop(executor);
        recording.finish(None);
        let report = MeterReport::from_recording(recording, &|_, key| describe(key).map(Into::into));
        let lock = report.lock("runqueue_lock").expect("the lock has a row");
        // Queues that were never used have no row.
        let most = if policy == Policy::Global { 1 } else { 3 };
        assert!((1..=most).contains(&lock.locks), "{policy}: {}", lock.locks);
        let callers: Vec<_> = lock.callers().map(|(_, caller)| caller.row.name.as_str()).collect();
        assert!(["push", "yield", "pop"].iter().all(|name| callers.contains(name)), "{policy}: {callers:?}");
        let pushes = lock.callers().find(|(_, caller)| caller.row.name == "push").unwrap().1;
        assert!(pushes.row.attempts >= 501, "one for each task");
        assert!(lock.row.util > 0.0 && lock.headline(report.cpus).contains("utilized"));
        let text = report.lockmeter();
        assert!(text.contains("runqueue_lock") && text.contains("push"), "{text}");
        let acquisitions: u64 =
            statistics.iter().filter_map(|queue| queue.lock).map(|lock| lock.acquisitions).sum();
        assert!(acquisitions >= 1_000, "{policy}: {acquisitions}");
    }
}

#[test]
fn level_counts_reads_no_clock() {
    let folder = tempfile::tempdir().unwrap();
    let recording = recording(&folder, Policy::PerCpu, Level::Counts);
    let executor = Builder::new().workers(1).recording(recording).build().unwrap();
    executor.block_on(executor.spawn(async {})).unwrap();
    drop(executor);
    let total = recording.snapshot().total();
    assert!(total.nowait > 0 && total.hold == 0 && total.wait() == 0, "{total:?}");
}
