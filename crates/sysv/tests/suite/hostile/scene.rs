//! An arena with objects of every class, the threads that use it while it is overwritten, and what must stay unchanged.

use super::caller::{self, Caller, Ids, SEGMENT, SEMS, fill};
use super::flaw::Flaw;
use super::program::{Aim, Calling, Poke, Step, Value, Width};
use super::strangers::Strangers;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use unspin_sys::ipc::{self, Sembuf, flag};
use unspin_sysv::arena_parts::{self, Part};
use unspin_sysv::{Engine, Kind, Options};

/// The calling threads, for any number of scenes, and the kernel objects that they must not change.
pub struct Stage {
    partner: Caller,
    /// One waits for a semaphore, one for a message.
    sleepers: [Caller; 2],
    strangers: Strangers,
    folder: tempfile::TempDir,
    scenes: usize,
}

impl Stage {
    pub fn new() -> Stage {
        extern "C" fn ignore(_: i32) {}
        // SAFETY: all zeroes but the handler, which does nothing: system calls that sleep answer EINTR.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = ignore as *const () as usize;
            libc::sigaction(libc::SIGUSR1, &action, core::ptr::null_mut());
        }
        Stage {
            partner: Caller::new(),
            sleepers: [Caller::new(), Caller::new()],
            strangers: Strangers::new(),
            folder: tempfile::tempdir_in("/dev/shm").expect("a folder in memory"),
            scenes: 0,
        }
    }

    /// Performs a program in a new arena of this kind. An error says what happened that must not.
    pub fn perform(&mut self, kind: Kind, steps: &[Step], flaw: Flaw) -> Result<(), String> {
        self.scenes += 1;
        let path = self.folder.path().join(self.scenes.to_string());
        let scene = Scene::new(self, kind, &path);
        let done = scene.perform(self, steps).and_then(|()| flaw.commit(&scene.file, &scene.parts));
        let back = self.sleepers.iter_mut().map(Caller::wake).fold(Ok(()), Result::and);
        let (engine, ids) = (scene.engine, scene.ids);
        for caller in self.sleepers.iter_mut().chain([&mut self.partner]) {
            caller.begin(engine, move || {
                engine.leave();
                Ok(())
            })?;
            caller.end()?;
        }
        engine.leave();
        // The mapping stays for as long as the process lives; its memory need not.
        scene.file.set_len(0).expect("our own file");
        std::fs::remove_file(&path).expect("our own file");
        let harm = self.strangers.are_well();
        Strangers::remove_segments(&ids.segments);
        done.and(back).and(harm)
    }
}

struct Scene {
    engine: Engine,
    file: File,
    parts: Vec<Part>,
    /// Those of them that are one word.
    words: Vec<Part>,
    ids: Arc<Ids>,
    /// The owners that the locks name.
    names: [u32; 2],
    stranger: i32,
}

/// A size with little more room than the programs need.
const ARENA_BYTES: u64 = 320 << 20;

fn op(sem_num: u16, sem_op: i16, flags: i32) -> Sembuf {
    Sembuf { sem_num, sem_op, sem_flg: flags as i16 }
}

impl Scene {
    fn new(stage: &mut Stage, kind: Kind, path: &Path) -> Scene {
        let options = Options { bytes: ARENA_BYTES, ..Options::default() };
        let engine = Engine::open(kind, path, &options, None).expect("a new arena");
        let make = "what a new arena has room for";
        let ids = Ids {
            sets: [SEMS as i32, 1].map(|n| engine.semget(n, n, flag::IPC_CREAT | 0o600).expect(make)).into(),
            queues: [1, 2].map(|key| engine.msgget(key, flag::IPC_CREAT | 0o600).expect(make)).into(),
            segments: vec![engine.shmget(1, SEGMENT, flag::IPC_CREAT | 0o600).expect(make)],
        };
        let (set, queue, empty) = (ids.sets[0], ids.queues[0], ids.queues[1]);
        engine.semop_ops(set, &[op(0, 2, flag::SEM_UNDO), op(1, 1, 0)]).expect(make);
        fill(&engine, queue, &[16, 40, 100, 16]).expect(make);
        let (tell, told) = std::sync::mpsc::channel();
        let job = move || {
            let _ = engine.semop_ops(set, &[op(0, -1, flag::SEM_UNDO)]);
            tell.send(arena_parts::own_lock_word(&engine)).map_err(|e| e.to_string())
        };
        stage.partner.begin(engine, job).and_then(|()| stage.partner.end()).expect(make);
        let [waiter, receiver] = &mut stage.sleepers;
        waiter
            .begin(engine, move || {
                let _ = engine.semop_ops(set, &[op(2, -1, 0)]);
                Ok(())
            })
            .expect(make);
        receiver
            .begin(engine, move || {
                let _ = engine.receive(empty, &mut [0; 64], 0, 0);
                Ok(())
            })
            .expect(make);
        while engine.semaphore(set, 2).is_ok_and(|sem| sem.ncount == 0) {
            std::thread::yield_now();
        }
        let names =
            [arena_parts::own_lock_word(&engine), told.recv().expect(make)].map(|name| name.expect(make));
        let parts = arena_parts::all(&engine).expect(make);
        let words = parts.iter().copied().filter(|part| part.bytes <= 8).collect();
        let file = File::options().read(true).write(true).open(path).expect("our own file");
        Scene { engine, file, parts, words, ids: Arc::new(ids), names, stranger: stage.strangers.segment }
    }

    fn perform(&self, stage: &mut Stage, steps: &[Step]) -> Result<(), String> {
        for step in steps {
            match step {
                Step::Poke(poke) => self.poke(poke),
                Step::Call(Calling::Main, call) => caller::make(&self.engine, &self.ids, call)?,
                Step::Call(Calling::Partner, call) => {
                    let (engine, ids, call) = (self.engine, self.ids.clone(), *call);
                    stage.partner.begin(engine, move || caller::make(&engine, &ids, &call))?;
                }
            }
        }
        stage.partner.end()
    }

    fn part(&self, n: u16) -> Part {
        self.parts[n as usize % self.parts.len()]
    }

    /// The word at an offset; 0 behind the end.
    fn word(&self, at: u64) -> u64 {
        let mut bytes = [0; 8];
        let _ = self.file.read_exact_at(&mut bytes, at);
        u64::from_ne_bytes(bytes)
    }

    fn poke(&self, poke: &Poke) {
        let part = match poke.aim {
            Aim::Any => self.part(poke.part),
            Aim::Words => self.words[poke.part as usize % self.words.len()],
        };
        let width = match poke.width {
            Width::Four => 4,
            Width::Eight => 8,
        };
        let at = part.at + u64::from(poke.word) * width % part.bytes.next_multiple_of(width);
        let value = match poke.value {
            Value::Number(number) => number.into(),
            Value::Ones(bits) => u64::MAX.checked_shr(64 - u32::from(bits)).unwrap_or(0),
            Value::Itself => part.at,
            Value::Part(n, more) => self.part(n).at + u64::from(more),
            Value::End(near) => ARENA_BYTES.wrapping_add_signed(near.into()),
            Value::Name(calling) => self.names[calling as usize].into(),
            Value::Flip(bit) => self.word(at) ^ 1 << bit,
            Value::Copy(n, word) => self.word(self.part(n).at + u64::from(word) % 16 * width),
            Value::Stranger => self.stranger as u64,
        };
        self.file.write_all_at(&value.to_ne_bytes()[..width as usize], at).expect("our own file");
    }
}

/// Removes a segment of the kernel's, if it is one of a scene's.
pub fn remove_segment(id: i32) {
    if ipc::shm_stat_any(id).is_ok_and(|(found, status)| found == id && status.shm_segsz == SEGMENT as u64) {
        let _ = ipc::shm_remove(id);
    }
}
