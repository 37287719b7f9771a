//! A program whose spin locks are replaced answers what it answers without; glibc, alone, is the oracle.

use unspin_e2e::{Recorder, Run, World, assert_same, build, build_library};
use unspin_wire::{Level, RecordKind};

/// Replaced, replaced beside mutexes, and the control.
const PLANS: [&str; 3] = ["spin\tadaptive\tall", "adaptive\tall\nspin\tadaptive\tall", "spin\tsystem\tall"];

fn survives(source: &str, args: &[&str]) {
    let Some(program) = build(source) else { return };
    let run = |world| Run::new(program.path(), world).args(args);
    let bare = run(World::Bare).output();
    assert!(bare.status.success() && !bare.stdout.is_empty(), "{source} fails by itself:\n{bare}");
    for plan in PLANS {
        let replaced = || run(World::Kernel).mutexes(plan);
        assert_same(source, plan, &bare, &replaced().output());
        let recorder = Recorder::create(Level::Full);
        assert_same(source, format!("{plan}, metered"), &bare, &replaced().record(&recorder).output());
    }
}

#[test]
fn calls_answer_as_glibc() {
    survives("pthread/spin", &[]);
}

#[test]
fn unusual_uses_answer_as_glibc() {
    survives("pthread/spin_unusual", &[]);
}

#[test]
fn crowds_finish() {
    survives("pthread/spin_crowd", &["small"]);
}

/// libc's lock would need minutes: each time that an owner is preempted, the others spin for their time slices.
#[test]
fn large_crowds_finish_where_waiters_sleep() {
    let Some(program) = build("pthread/spin_crowd") else { return };
    let run = || Run::new(program.path(), World::Kernel).args(["large"]).mutexes("spin\tadaptive\tall");
    let recorder = Recorder::create(Level::Full);
    for outcome in [run().output(), run().record(&recorder).output()] {
        assert!(outcome.status.success(), "{outcome}");
        let counted = ["128000", "320000", "320", "24", "2000"];
        for (line, count) in outcome.stdout.lines().zip(counted) {
            assert!(line.ends_with(&format!(": counted {count}, free 200")), "{outcome}");
        }
        assert_eq!(outcome.stdout.lines().count(), counted.len(), "{outcome}");
    }
}

#[test]
fn plugin_bound_to_libc_shares_a_spin_lock() {
    let Some(plugin) = build_library("pthread/spin_plugin") else { return };
    let path = plugin.path().to_str().expect("scratch paths are UTF-8");
    for how in ["deep", "apart", "handle"] {
        survives("pthread/spin_deep", &[path, how]);
    }
}

/// What the rows of spin locks say of a run under this plan: how often threads spun, and how often they slept.
fn waits_under(plan: &str) -> Option<(u64, u64)> {
    let program = build("pthread/spin_crowd")?;
    let recorder = Recorder::create(Level::Full);
    let outcome =
        Run::new(program.path(), World::Kernel).args(["small"]).mutexes(plan).record(&recorder).output();
    assert!(outcome.status.success(), "{outcome}");
    let (mut spun, mut slept) = (0, 0);
    for (key, record) in recorder.snapshot().images.iter().flat_map(|image| &image.rows) {
        if key.kind() == Some(RecordKind::Spin) {
            spun += record.counts.spun;
            slept += record.counts.slept;
        }
    }
    Some((spun, slept))
}

/// Owners sleep with the lock, so the others do too. libc's waiters spin.
#[test]
fn the_meter_is_told_how_was_waited() {
    let Some((_, slept)) = waits_under("spin\tadaptive\tall") else { return };
    assert!(slept > 0);
    let Some((spun, slept)) = waits_under("spin\tsystem\tall") else { return };
    assert!(spun > 0 && slept == 0, "{spun} spun, {slept} slept");
}
