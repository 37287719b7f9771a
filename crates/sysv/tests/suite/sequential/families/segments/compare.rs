//! A program, performed by an engine and by the model.

use super::model::{Answer, Flaw, Model, PAGE, Piece, Segment};
use super::program::{Call, Command};
use crate::families::{self, BAD_ADDRESS};
use unspin_sys::Errno;
use unspin_sys::ipc::{ShmInfo, ShmidDs, flag};
use unspin_sysv::Engine;

/// Where the bays are: far below what the kernel gives out, and above what programs ask for.
const BAYS: usize = 0x1000_0000_0000;

/// See [`families::Family::compare`].
pub fn compare(engine: &Engine, first_key: i32, calls: &[Call], flaw: Flaw) -> Result<(), String> {
    let mut world = World { engine, first_key, model: Model::new(BAYS, flaw), stray: vec![] };
    let result = calls.iter().zip(0u8..).try_for_each(|(call, number)| {
        let result = world.step(number, call).and_then(|()| world.check_memory());
        result.map_err(|difference| format!("call {number} of {calls:#?}\n{difference}"))
    });
    world.clear();
    result
}

struct World<'a> {
    engine: &'a Engine,
    first_key: i32,
    model: Model,
    /// Segments that the model does not know.
    stray: Vec<i32>,
}

impl World<'_> {
    fn step(&mut self, number: u8, call: &Call) -> Result<(), String> {
        let got = self.perform(number, call);
        match (got, self.model.call(number, call)) {
            (Answer::Number(Ok(id)), Answer::New(segment)) => match self.model.name(id, segment) {
                true => Ok(()),
                false => Err(format!("id {id} is not new")),
            },
            (Answer::At(Some(at)), Answer::At(meant)) if meant.is_none_or(|meant| meant == at) => {
                let Call::Attach { segment, flags, .. } = *call else {
                    unreachable!("the model took it for one")
                };
                match self.model.attach(self.model.id(segment), at, flags) {
                    true => Ok(()),
                    false => Err(format!("attached at {at:#x}, where something is")),
                }
            }
            (got, meant) => {
                if let (Call::Get { .. }, Answer::Number(Ok(id))) = (call, &got) {
                    self.stray.push(*id);
                }
                match got == shown(meant.clone()) {
                    true => Ok(()),
                    false => Err(format!("engine: {got:?}\nmodel:  {meant:?}")),
                }
            }
        }
    }

    fn perform(&self, number: u8, call: &Call) -> Answer {
        match *call {
            Call::Get { key, size, flags } => {
                Answer::Number(self.engine.shmget(families::key(self.first_key, key), size, flags))
            }
            Call::Attach { segment, place, flags } => {
                // SAFETY: the place is free for the kernel to choose, or one where only attachments are; no code keeps
                // references to them.
                match unsafe { self.engine.shmat(self.model.id(segment), self.model.address(place), flags) } {
                    Ok(at) => Answer::At(Some(at)),
                    Err(errno) => Answer::Number(Err(errno)),
                }
            }
            Call::Detach { attachment, offset } => {
                // SAFETY: no code keeps references to attachments.
                Answer::Number(unsafe { self.engine.shmdt(self.model.began(attachment) + offset) })
            }
            Call::Unmap { attachment, page } => {
                let at = self.model.began(attachment) + page * PAGE;
                if self.model.piece_at(at).is_none() {
                    return Answer::Number(Ok(0));
                }
                // SAFETY: the page is one of an attachment, to which no code keeps references.
                Answer::Number(Ok(unsafe { libc::munmap(at as *mut libc::c_void, PAGE) }))
            }
            Call::Write { attachment, page } => {
                let at = self.model.began(attachment) + page * PAGE;
                if self.model.piece_at(at).is_some_and(|(_, piece)| piece.writable) {
                    // SAFETY: the page is one of an attachment, as was checked after the call before, and can be
                    // written.
                    unsafe { (at as *mut u8).write_volatile(number) };
                }
                Answer::Number(Ok(0))
            }
            Call::Control { segment, command } => self.command(self.model.id(segment), command),
        }
    }

    fn control(&self, id: i32, command: i32, arg: usize) -> Result<i32, Errno> {
        // SAFETY: callers pass no address, a bad one, or one with room for what the command writes.
        unsafe { self.engine.shmctl(id, command, arg) }
    }

    fn command(&self, id: i32, command: Command) -> Answer {
        let simple = |command, arg| Answer::Number(self.control(id, command, arg));
        match command {
            Command::Stat => match self.status(id) {
                Ok((segment, count)) => Answer::Status(segment, count),
                Err(errno) => Answer::Number(Err(errno)),
            },
            Command::List => self.list(),
            Command::Set(extra) => {
                let mut new = ShmidDs::default();
                let _ = self.control(id, flag::IPC_STAT, &raw mut new as usize);
                new.shm_perm.mode = 0o700 | extra;
                simple(flag::IPC_SET, &raw const new as usize)
            }
            Command::Lock => simple(flag::SHM_LOCK, 0),
            Command::Unlock => simple(flag::SHM_UNLOCK, 0),
            Command::BadAddress(command) | Command::Unknown(command) => simple(command, BAD_ADDRESS),
            Command::Remove => simple(flag::IPC_RMID, 0),
        }
    }

    fn status(&self, id: i32) -> Result<(Segment, usize), Errno> {
        let mut status = ShmidDs::default();
        self.control(id, flag::IPC_STAT, &raw mut status as usize)?;
        let segment = Segment {
            // Keys are small numbers above a base whose low byte is zero; a private segment's is zero.
            key: status.shm_perm.key as u8,
            mode: status.shm_perm.mode,
            size: status.shm_segsz as usize,
            pages: vec![],
            // No other process attaches, so a segment that was attached has this process as its last pid.
            attached: status.shm_atime != 0 && status.shm_lpid == std::process::id() as i32,
            detached: status.shm_dtime != 0,
        };
        Ok((segment, status.shm_nattch as usize))
    }

    fn list(&self) -> Answer {
        let mut info = ShmInfo::default();
        match self.control(0, flag::SHM_INFO, &raw mut info as usize) {
            Err(errno) => Answer::Number(Err(errno)),
            Ok(highest) => {
                let mut status = ShmidDs::default();
                let stat = |index| self.control(index, flag::SHM_STAT, &raw mut status as usize).ok();
                let mut ids: Vec<i32> = (0..=highest).filter_map(stat).collect();
                ids.sort_unstable();
                // The counts match the listed segments.
                match ids.len() == info.used_ids as usize {
                    true => Answer::List(ids, info.shm_tot as usize),
                    false => Answer::List(vec![-info.used_ids], info.shm_tot as usize),
                }
            }
        }
    }

    /// Whether the attachments of the process, their addresses and their contents are those of the model.
    fn check_memory(&self) -> Result<(), String> {
        let meant: Vec<_> = self.model.pieces().map(|(at, piece)| (at, seen(piece))).collect();
        let got = mapped();
        if got != meant {
            return Err(format!("attached: {got:x?}\nmodel:  {meant:x?}"));
        }
        for (at, piece) in self.model.pieces() {
            // SAFETY: these pages are mapped, as was just checked, and no thread writes to them.
            let read = |page| unsafe { ((at + page * PAGE) as *const u8).read_volatile() };
            let got: Vec<u8> = (0..piece.count).map(read).collect();
            if got != self.model.contents(piece) {
                return Err(format!("at {at:#x}: {got:?}\nmodel:  {:?}", self.model.contents(piece)));
            }
        }
        Ok(())
    }

    fn clear(self) {
        for (at, _) in mapped() {
            // SAFETY: no code keeps references to attachments. Pieces whose first page is missing are unmapped below.
            let _ = unsafe { self.engine.shmdt(at) };
        }
        for (at, (_, _, count, _)) in mapped() {
            // SAFETY: as above.
            unsafe { libc::munmap(at as *mut libc::c_void, count * PAGE) };
        }
        for id in self.model.ids().chain(self.stray.iter().copied()) {
            let _ = self.control(id, flag::IPC_RMID, 0);
        }
    }
}

/// What a status shows: not the contents.
fn shown(meant: Answer) -> Answer {
    match meant {
        Answer::Status(segment, count) => Answer::Status(Segment { pages: vec![], ..segment }, count),
        other => other,
    }
}

/// A piece as `/proc` shows it: id, first page, pages, whether they can be written.
type Seen = (i32, usize, usize, bool);

fn seen(piece: Piece) -> Seen {
    (piece.segment, piece.first, piece.count, piece.writable)
}

/// Segments in the memory of this process, by address (proc_pid_maps(5): the id takes the place of the inode).
fn mapped() -> Vec<(usize, Seen)> {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("/proc is mounted");
    let parse = |line: &str| {
        let [range, access, offset, _, id, name] = line.split_ascii_whitespace().collect::<Vec<_>>()[..6]
        else {
            unreachable!("six were asked for");
        };
        let (from, to) = range.split_once('-')?;
        let hex = |text| usize::from_str_radix(text, 16).ok();
        let (from, to, first) = (hex(from)?, hex(to)?, hex(offset)? / PAGE);
        let seen = (id.parse().ok()?, first, (to - from) / PAGE, access.contains('w'));
        name.starts_with("/SYSV").then_some((from, seen))
    };
    maps.lines().filter(|line| line.contains("/SYSV")).filter_map(parse).collect()
}
