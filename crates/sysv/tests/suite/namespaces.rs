//! One path, several IPC namespaces: each has its own arena. A later namespace that reuses the inode number of an
//! earlier one finds none of its objects.

use crate::common::child;
use std::collections::HashSet;
use std::io::Write as _;
use std::path::Path;
use unspin_sys::ipc::flag;
use unspin_sys::namespace::Ipc;
use unspin_sysv::{Engine, Kind, Options, remove_arena};

/// Runs `f` in a process that is alone in a new IPC namespace; its answer, below 100. `None` if that is not allowed.
fn alone(f: impl FnOnce() -> i32) -> Option<i32> {
    // SAFETY: the child calls the engine, and ends without running what belongs to its parent.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            if libc::unshare(libc::CLONE_NEWIPC) != 0 {
                libc::_exit(100);
            }
            child::end_with(f);
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        assert!(libc::WIFEXITED(status), "{status:#x}");
        Some(libc::WEXITSTATUS(status)).filter(|&code| code < 100)
    }
}

fn open(path: &Path) -> Engine {
    Engine::open(Kind::Rcu, path, &Options::default(), None).unwrap()
}

/// Sets that there are, with the one that is made now.
fn sets_with_another(path: &Path) -> i32 {
    let engine = open(path);
    engine.semget(flag::IPC_PRIVATE, 1, 0o600).unwrap();
    engine.shmget(flag::IPC_PRIVATE, 1, 0o600).unwrap();
    engine.sets().unwrap().len() as i32
}

#[test]
fn each_ipc_namespace_gets_its_own_arena() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("arena");
    let Some(first) = alone(|| sets_with_another(&path)) else {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED each_ipc_namespace_gets_its_own_arena: run as root, so that unshare(CLONE_NEWIPC) is allowed"
        );
        return;
    };
    assert_eq!(first, 1);
    // Likely under the inode number of the one before, which the kernel gives again soon.
    let second = alone(|| {
        let found = sets_with_another(&path);
        assert_eq!(open(&path).sets().unwrap().len(), 1, "opened again it is the same");
        found
    });
    assert_eq!(second, Some(1));
    if Ipc::current().id == 0 {
        let _ = writeln!(std::io::stderr(), "SKIPPED the rest: Linux before 6.18 has no ids of namespaces");
        return;
    }
    assert!(Engine::join(Kind::Rcu, &path).unwrap().is_none(), "this namespace has none there");
    let here = sets_with_another(&path);
    assert_eq!((here, sets_with_another(&path)), (1, 2));
    assert!(Engine::join(Kind::Rcu, &path).unwrap().is_some());
    let names = || -> HashSet<String> {
        let entries = std::fs::read_dir(dir.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    assert!(names().contains("arena") && names().contains(&format!("arena.ns-{}", Ipc::current().inode)));
    // Segments of this namespace lie in the file beside: they go with it.
    let removed = remove_arena(&path).unwrap();
    assert_eq!((removed.segments, names()), (2, HashSet::new()));
}
