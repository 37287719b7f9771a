//! Segments: names of an arena for memory of the kernel.

use crate::noise::Noise;
use crate::pages::pages;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use unspin_sys::Errno;
use unspin_sys::ipc::{self, ShmInfo, ShmidDs, flag};
use unspin_sysv::{Engine, Kind, Options, Removed, remove_arena};

/// An engine of its own, whose segments go with it.
struct World {
    dir: tempfile::TempDir,
    engine: Engine,
}

impl World {
    fn new(kind: Kind) -> World {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(kind, &dir.path().join("arena"), &Options::default(), None).unwrap();
        World { dir, engine }
    }

    fn arena(&self) -> PathBuf {
        self.dir.path().join("arena")
    }

    fn make(&self, key: i32) -> i32 {
        self.engine.shmget(key, 100, flag::IPC_CREAT | 0o600).unwrap()
    }

    fn info(&self) -> (i32, u64) {
        let mut info = ShmInfo::default();
        // SAFETY: the address is that of a live structure.
        unsafe { self.engine.shmctl(0, flag::SHM_INFO, &raw mut info as usize) }.unwrap();
        (info.used_ids, info.shm_tot)
    }

    fn remove(&self, id: i32) {
        // SAFETY: the command takes no address.
        unsafe { self.engine.shmctl(id, flag::IPC_RMID, 0) }.unwrap();
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = remove_arena(&self.arena());
    }
}

fn worlds() -> [World; Kind::IN_ARENAS.len()] {
    Kind::IN_ARENAS.map(World::new)
}

fn is_there(id: i32) -> bool {
    ipc::shm_stat_any(id).is_ok_and(|(now, _)| now == id)
}

#[test]
fn segment_keys_are_per_arena_and_ids_are_the_kernels() {
    let [a, b] = [Kind::Global, Kind::Rcu].map(World::new);
    let (in_a, in_b) = (a.make(0x5EED), b.make(0x5EED));
    assert_ne!(in_a, in_b);
    assert_eq!(a.engine.shmget(0x5EED, 0, 0), Ok(in_a));
    let mut status = ShmidDs::default();
    // SAFETY: the address is that of a live structure.
    let told = |world: &World, id, status: &mut ShmidDs| unsafe {
        world.engine.shmctl(id, flag::IPC_STAT, &raw mut *status as usize)
    };
    told(&a, in_a, &mut status).unwrap();
    assert_eq!(status.shm_perm.key, 0x5EED);
    told(&b, in_a, &mut status).unwrap();
    assert_eq!(status.shm_perm.key, 0, "attached by its id, but its key is not in this arena");
    assert_eq!(b.info(), (1, 1));
}

#[test]
fn segment_removed_outside_is_not_found() {
    for world in worlds() {
        let (id, other) = (world.make(7), world.make(8));
        // SAFETY: mapped where there is room.
        let at = unsafe { world.engine.shmat(other, 0, 0) }.unwrap();
        ipc::shm_remove(id).unwrap();
        ipc::shm_remove(other).unwrap();
        assert_eq!(world.engine.shmget(7, 0, 0), Err(Errno::ENOENT));
        assert_eq!(world.engine.shmget(8, 0, 0), Err(Errno::ENOENT), "it has lost its key");
        assert_eq!(world.info(), (1, 1), "and is there");
        let again = world.make(8);
        // SAFETY: nothing refers to it.
        unsafe { world.engine.shmdt(at) }.unwrap();
        assert_eq!(world.info(), (1, 1));
        assert_eq!(world.engine.shmget(8, 0, 0), Ok(again));
        world.remove(again);
        assert_eq!(world.info(), (0, 0));
    }
}

/// Thousands of segments are created, and removed by their last detachment, which is not reported. Little memory stays
/// in use.
#[test]
fn entries_of_dead_processes_are_reused() {
    for world in worlds() {
        for key in 1..3000 {
            let id = world.make(key);
            // SAFETY: mapped where there is room; nothing refers to it when it is detached.
            unsafe {
                let at = world.engine.shmat(id, 0, 0).unwrap();
                world.remove(id);
                world.engine.shmdt(at).unwrap();
            }
        }
        assert_eq!(world.info(), (0, 0));
        assert_eq!(world.engine.shmget(5, 0, 0), Err(Errno::ENOENT));
    }
}

#[test]
fn removing_arena_removes_its_segments() {
    for world in worlds() {
        let ids: Vec<i32> = (1..100).map(|key| world.make(key)).collect();
        let private = world.make(flag::IPC_PRIVATE);
        let foreign = ipc::shmget(flag::IPC_PRIVATE, 100, 0o600).unwrap();
        world.remove(ids[5]);
        assert_eq!(remove_arena(&world.arena()).unwrap(), Removed { segments: 99, refused: 0 });
        assert!(!world.arena().exists() && !is_there(private) && ids.iter().all(|&id| !is_there(id)));
        assert!(is_there(foreign), "it was in no arena");
        ipc::shm_remove(foreign).unwrap();
        assert!(remove_arena(&world.arena()).is_err(), "there is none");
    }
}

#[test]
fn remove_refuses_other_files() {
    let dir = tempfile::tempdir().unwrap();
    for contents in ["", "short", &"something else entirely\n".repeat(1000)] {
        let path = dir.path().join("file");
        std::fs::write(&path, contents).unwrap();
        assert!(remove_arena(&path).is_err());
        assert!(path.exists());
    }
}

/// Puts other ids in the place of those that an arena has; says how many.
fn rename(file: &File, ids: &[i32], others: &[i32]) -> usize {
    let mut renamed = 0;
    pages(file, |at, page| {
        let before = renamed;
        for word in page.chunks_exact_mut(4) {
            if let Some(i) = ids.iter().position(|id| id.to_ne_bytes() == *word) {
                word.copy_from_slice(&others[i].to_ne_bytes());
                renamed += 1;
            }
        }
        if renamed > before {
            file.write_all_at(page, at).unwrap();
        }
    });
    renamed
}

/// Whatever an arena's file contains, removing it removes no segment of other programs, and removes the file.
#[test]
fn removing_damaged_arena_keeps_foreign_segments() {
    let foreign = [(); 9].map(|()| ipc::shmget(flag::IPC_PRIVATE, 200, 0o600).unwrap());
    let mut noise = Noise(0x9E37_79B9_7F4A_7C15);
    for round in 0..42 {
        let world = World::new(Kind::Rcu);
        let ids: Vec<i32> = (1..10).map(|key| world.make(key)).collect();
        let file = File::options().read(true).write(true).open(world.arena()).unwrap();
        let length = file.metadata().unwrap().len();
        match round {
            0..20 => file.set_len(8 + noise.below(length)).unwrap(),
            20..40 => pages(&file, |at, page| {
                // The magic stays.
                for word in page.chunks_exact_mut(8).skip(1) {
                    if noise.below(16) == 0 {
                        word.copy_from_slice(&noise.next().to_ne_bytes());
                    }
                }
                file.write_all_at(page, at).unwrap();
            }),
            _ => assert!(rename(&file, &ids, &foreign) >= ids.len()),
        }
        remove_arena(&world.arena()).unwrap();
        assert!(!world.arena().exists());
        for id in ids {
            // Some went with the arena.
            let _ = ipc::shm_remove(id);
        }
    }
    assert!(foreign.iter().all(|&id| is_there(id)));
    foreign.iter().for_each(|&id| ipc::shm_remove(id).unwrap());
}
