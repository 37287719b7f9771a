//! Segments: one is in the kernel and has its name here, or neither.

use crate::every_instruction::stepping::{each_moment, engines, ignore};
use std::sync::Mutex;
use unspin_sys::Errno;
use unspin_sys::ipc::{self, flag};
use unspin_sysv::Engine;

/// Segments in the kernel of this size, which other segments do not have.
fn kernel_segments(size: usize) -> Vec<i32> {
    let (highest, _) = ipc::shm_limits().unwrap();
    let segments = (0..=highest).filter_map(|index| ipc::shm_stat_any(index).ok());
    segments.filter(|(_, status)| status.shm_segsz == size as u64).map(|(id, _)| id).collect()
}

fn segment_size() -> usize {
    1_000_000 + std::process::id() as usize
}

fn removed(engine: &Engine, id: i32) -> Result<i32, Errno> {
    // SAFETY: the command takes no address.
    unsafe { engine.shmctl(id, flag::IPC_RMID, 0) }
}

/// The process that creates a segment dies. Either the segment has its name, or the kernel does not have it any more.
/// No nameless segment stays in the kernel.
#[test]
fn sigkill_in_shmget_makes_segment_or_not() {
    let size = segment_size();
    engines(|engine| {
        each_moment(
            engine,
            |_| ignore(engine.shmget(0xBEEF, size, flag::IPC_CREAT | 0o600)),
            |_| {
                let left = engine.shmget(0xBEEF, 0, 0);
                left.iter().for_each(|&id| ignore(removed(engine, id)));
                assert_eq!(kernel_segments(size), []);
            },
            |_, steps| {
                engine.recover_dead().unwrap();
                let named: Vec<i32> = engine.shmget(0xBEEF, 0, 0).into_iter().collect();
                assert_eq!(kernel_segments(size), named, "after {steps} steps");
                let id = engine.shmget(0xBEEF, size, flag::IPC_CREAT | 0o600).unwrap();
                assert!(named.is_empty() || named == [id], "after {steps} steps");
                removed(engine, id).unwrap();
                assert_eq!(engine.shmget(0xBEEF, 0, 0), Err(Errno::ENOENT), "after {steps} steps");
            },
        );
        assert_eq!(kernel_segments(size), []);
    });
}

/// The process that removes a segment dies. The segment exists both under its key and in the kernel, or in neither,
/// attached or not.
#[test]
fn sigkill_in_shmctl_rmid_removes_segment_or_not() {
    let size = segment_size() + (1 << 22);
    let attached = Mutex::new(None);
    // SAFETY: nothing refers to it.
    let detach = || attached.lock().unwrap().take().map(|at| unsafe { ipc::shmdt(at) });
    let segment = |engine: &Engine| engine.shmget(0xFEED, size, flag::IPC_CREAT | 0o600).unwrap();
    engines(|engine| {
        for attaches in [None, Some(())] {
            each_moment(
                engine,
                |_| ignore(removed(engine, engine.shmget(0xFEED, 0, 0).unwrap())),
                |_| {
                    detach();
                    let id = segment(engine);
                    // SAFETY: mapped where there is room.
                    *attached.lock().unwrap() = attaches.map(|()| unsafe { engine.shmat(id, 0, 0) }.unwrap());
                },
                |_, steps| {
                    let named: Vec<i32> = engine.shmget(0xFEED, 0, 0).into_iter().collect();
                    let there = kernel_segments(size);
                    assert!(
                        attaches.is_some() || there == named,
                        "{there:?}, not {named:?}, after {steps} steps"
                    );
                    let id = segment(engine);
                    assert!(named.is_empty() || named == [id], "after {steps} steps");
                    assert!(!named.is_empty() || !there.contains(&id), "another one, after {steps} steps");
                    removed(engine, id).unwrap();
                    detach();
                    assert_eq!(kernel_segments(size), [], "after {steps} steps");
                },
            );
        }
    });
}

/// Check of the two tests above: they find what they look for.
#[test]
fn planted_unnamed_segment_is_detected() {
    let size = segment_size() + (1 << 23);
    let id = ipc::shmget(flag::IPC_PRIVATE, size, 0o600).unwrap();
    assert_eq!(kernel_segments(size), [id]);
    ipc::shm_remove(id).unwrap();
    assert_eq!(kernel_segments(size), []);
}
