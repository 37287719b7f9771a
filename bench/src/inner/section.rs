//! Read-side sections, each of which reads one shared pointer.

use super::Section;
use super::timing::{Effort, per_call};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use unspin_rcu::{Domain, FenceMode, Rcu, Slot};
use unspin_sys::membarrier;
use unspin_sys::process::Identity;
use unspin_sys::tls::{self, Word};

/// What readers read.
static SHARED: AtomicUsize = AtomicUsize::new(0);

/// Nanoseconds per section.
pub fn run(section: Section, effort: &Effort) -> Result<f64, String> {
    let domain = Domain::default();
    let slots: Vec<Slot> = (0..8).map(|_| Slot::default()).collect();
    let rcu = Rcu::new(&domain, &slots);
    match section {
        Section::Slot => slot(&rcu, &domain, effort),
        Section::Reader => {
            let reader = rcu.join().map_err(|e| e.to_string())?;
            Ok(per_call(effort, || {
                let _section = reader.read();
                read();
            }))
        }
        Section::Epoch => {
            let collector = crossbeam_epoch::Collector::new();
            let handle = collector.register();
            Ok(per_call(effort, || {
                let _guard = handle.pin();
                read();
            }))
        }
    }
}

#[inline(always)]
fn read() {
    // Acquire: as a reader of a published pointer would; its partner is not part of the benchmark.
    black_box(SHARED.load(Ordering::Acquire));
}

fn slot(rcu: &Rcu<'_>, domain: &Domain, effort: &Effort) -> Result<f64, String> {
    let registry = rcu.registry();
    let fences = if membarrier::register_global_expedited() { FenceMode::Expedited } else { FenceMode::Full };
    let keep = &mut |_, _: &Identity| unspin_rcu::registry::Recovery::Done;
    let me = registry.register(&Identity::current(), fences, keep).map_err(|e| e.to_string())?;
    tls::word(Word::Rcu).set(&raw const registry.slots()[me.index()] as usize);
    let figure = per_call(effort, || {
        // SAFETY: the address of the slot, which outlives this function.
        let slot = unsafe { &*(tls::word(Word::Rcu).get() as *const Slot) };
        // SAFETY: 1. registered above by this thread, which does not fork; 2. with these fences.
        let section = unsafe { slot.enter(domain, fences) };
        read();
        // SAFETY: as above; only a number was found, which needs no section.
        unsafe { slot.leave(section) };
    });
    // SAFETY: registered by this thread, in no section, and holds nothing.
    unsafe { registry.unregister(me) };
    Ok(figure)
}
