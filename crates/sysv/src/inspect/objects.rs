//! Listing and removing objects: the calls of ipcs(1) and ipcrm(1), with values in place of addresses.

use crate::Engine;
use crate::class::Class;
use unspin_sys::Errno;
use unspin_sys::ipc::{Msginfo, MsqidDs, SemidDs, Seminfo, ShmInfo, ShmidDs, flag};

/// One semaphore. Its fields are not read at the same moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Semaphore {
    /// The semaphore's value.
    pub value: i32,
    /// Number of threads that wait for it to grow (`semncnt`).
    pub ncount: i32,
    /// Number of threads that wait for it to become zero (`semzcnt`).
    pub zcount: i32,
    /// Pid of the process that changed it last.
    pub pid: i32,
}

impl Engine {
    /// The semaphore sets with their ids, in the order of their indices, also those that the caller may not read. Sets
    /// that are removed meanwhile are left out.
    pub fn sets(&self) -> Result<Vec<(i32, SemidDs)>, Errno> {
        let (highest, _) = self.sem_info()?;
        list(highest, |index, status: &mut SemidDs| {
            // SAFETY: the structure that the command fills, alive and ours.
            unsafe { self.semctl(index, 0, flag::SEM_STAT_ANY, status as *mut SemidDs as usize) }
        })
    }

    /// The message queues, in the form of [`Engine::sets`].
    pub fn queues(&self) -> Result<Vec<(i32, MsqidDs)>, Errno> {
        let (highest, _) = self.msg_info()?;
        list(highest, |index, status: &mut MsqidDs| {
            // SAFETY: the structure that the command fills, alive and ours.
            unsafe { self.msgctl(index, flag::MSG_STAT_ANY, status as *mut MsqidDs as usize) }
        })
    }

    /// The shared memory segments, in the form of [`Engine::sets`].
    pub fn segments(&self) -> Result<Vec<(i32, ShmidDs)>, Errno> {
        let (highest, _) = self.shm_info()?;
        list(highest, |index, status: &mut ShmidDs| {
            // SAFETY: the structure that the command fills, alive and ours.
            unsafe { self.shmctl(index, flag::SHM_STAT_ANY, status as *mut ShmidDs as usize) }
        })
    }

    /// The highest index in use (0 if none is), and the counts of `SEM_INFO`.
    pub fn sem_info(&self) -> Result<(i32, Seminfo), Errno> {
        let mut info = Seminfo::default();
        // SAFETY: the structure that the command fills, alive and ours.
        let highest = unsafe { self.semctl(0, 0, flag::SEM_INFO, &raw mut info as usize) }?;
        Ok((highest, info))
    }

    /// The highest index in use (0 if none is), and the counts of `MSG_INFO`.
    pub fn msg_info(&self) -> Result<(i32, Msginfo), Errno> {
        let mut info = Msginfo::default();
        // SAFETY: the structure that the command fills, alive and ours.
        let highest = unsafe { self.msgctl(0, flag::MSG_INFO, &raw mut info as usize) }?;
        Ok((highest, info))
    }

    /// The highest index in use (0 if none is), and the counts of `SHM_INFO`.
    pub fn shm_info(&self) -> Result<(i32, ShmInfo), Errno> {
        let mut info = ShmInfo::default();
        // SAFETY: the structure that the command fills, alive and ours.
        let highest = unsafe { self.shmctl(0, flag::SHM_INFO, &raw mut info as usize) }?;
        Ok((highest, info))
    }

    /// Semaphore `number` of a set. `EACCES` without permission to read it, `EINVAL` if there is none.
    pub fn semaphore(&self, id: i32, number: i32) -> Result<Semaphore, Errno> {
        // SAFETY: these commands take no address.
        let get = |command| unsafe { self.semctl(id, number, command, 0) };
        Ok(Semaphore {
            value: get(flag::GETVAL)?,
            ncount: get(flag::GETNCNT)?,
            zcount: get(flag::GETZCNT)?,
            pid: get(flag::GETPID)?,
        })
    }

    /// Removes an object (`IPC_RMID`). `EINVAL` if there is none, `EPERM` if the caller may not remove it.
    pub fn remove(&self, class: Class, id: i32) -> Result<(), Errno> {
        // SAFETY: IPC_RMID takes no address.
        let removed = unsafe {
            match class {
                Class::Sem => self.semctl(id, 0, flag::IPC_RMID, 0),
                Class::Msg => self.msgctl(id, flag::IPC_RMID, 0),
                Class::Shm => self.shmctl(id, flag::IPC_RMID, 0),
            }
        };
        removed.map(drop)
    }
}

/// The objects that `stat` finds at the indices up to `highest`.
fn list<T: Default>(
    highest: i32,
    mut stat: impl FnMut(i32, &mut T) -> Result<i32, Errno>,
) -> Result<Vec<(i32, T)>, Errno> {
    let mut objects = Vec::new();
    for index in 0..=highest {
        let mut status = T::default();
        match stat(index, &mut status) {
            Ok(id) => objects.push((id, status)),
            // No object has this index, or it is being removed.
            Err(Errno::EINVAL | Errno::EIDRM) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{MAX_OBJECTS, Table};
    use crate::sem::Set;
    use crate::{Kind, Options};
    use unspin_sync::atomic::Ordering::Relaxed;
    use unspin_sys::ipc::flag::IPC_PRIVATE;

    #[test]
    fn object_is_listed_until_removed() {
        let dir = tempfile::tempdir().unwrap();
        for kind in Kind::ALL {
            let engine =
                Engine::open(kind, &dir.path().join(kind.name()), &Options::default(), None).unwrap();
            let set = engine.semget(IPC_PRIVATE, 3, 0o640).unwrap();
            let queue = engine.msgget(IPC_PRIVATE, 0o640).unwrap();
            let segment = engine.shmget(IPC_PRIVATE, 100, 0o640).unwrap();
            let found = |id, listed: Vec<(i32, u32)>| listed.into_iter().find(|it| it.0 == id).map(|it| it.1);
            let set_mode =
                || found(set, engine.sets().unwrap().iter().map(|s| (s.0, s.1.sem_perm.mode)).collect());
            let queue_mode =
                || found(queue, engine.queues().unwrap().iter().map(|q| (q.0, q.1.msg_perm.mode)).collect());
            let segment_mode = || {
                found(segment, engine.segments().unwrap().iter().map(|s| (s.0, s.1.shm_perm.mode)).collect())
            };
            assert_eq!((set_mode(), queue_mode(), segment_mode()), (Some(0o640), Some(0o640), Some(0o640)));
            assert_eq!(engine.semaphore(set, 2), Ok(Semaphore::default()));
            assert_eq!(engine.semaphore(set, 3), Err(Errno::EINVAL));
            for (class, id) in [(Class::Sem, set), (Class::Msg, queue), (Class::Shm, segment)] {
                assert_eq!(engine.remove(class, id), Ok(()), "{kind} {class:?}");
                assert_eq!(engine.remove(class, id), Err(Errno::EINVAL), "{kind} {class:?}");
            }
            assert_eq!((set_mode(), queue_mode(), segment_mode()), (None, None, None));
        }
    }

    #[test]
    fn objects_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None).unwrap();
        engine.semget(IPC_PRIVATE, 3, 0o600).unwrap();
        let (_, info) = engine.sem_info().unwrap();
        assert_eq!((info.semusz, info.semaem), (1, 3));
    }

    /// A table that was overwritten claims to have billions of entries.
    #[test]
    fn walks_of_damaged_arena_terminate() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None).unwrap();
        let id = engine.semget(IPC_PRIVATE, 3, 0o600).unwrap();
        let arena = &engine.inner.unwrap().arena;
        for class in Class::ALL {
            let table = arena.get::<Table>(arena.header().root(class).table.load(Relaxed)).unwrap();
            table.init(u32::MAX);
            assert_eq!(table.capacity(), MAX_OBJECTS);
            // The memory behind the table contains no offsets of objects.
            match class {
                Class::Sem => drop(engine.sets().unwrap()),
                Class::Msg => drop(engine.queues().unwrap()),
                Class::Shm => drop(engine.segments().unwrap()),
            }
        }
        assert!(engine.sets().unwrap().iter().any(|set| set.0 == id));
    }

    /// A header that was overwritten claims more semaphores than fit into memory.
    #[test]
    fn set_with_impossible_size_is_not_found() {
        let dir = tempfile::tempdir().unwrap();
        for kind in Kind::IN_ARENAS {
            let engine =
                Engine::open(kind, &dir.path().join(kind.name()), &Options::default(), None).unwrap();
            let id = engine.semget(IPC_PRIVATE, 3, 0o600).unwrap();
            let inner = engine.inner.unwrap();
            let (_, set) = inner.find::<Set>(id).unwrap();
            set.nsems.store(u32::MAX, Relaxed);
            assert_eq!(engine.semaphore(id, 4_000_000), Err(Errno::EINVAL), "{kind}");
            assert_eq!(engine.sets(), Ok(vec![]), "{kind}");
        }
    }
}
