//! A simple model of the calls: segments, and pages of one process's memory that belong to them.
//!
//! Order of checks: Linux 6.18, `ipc/shm.c` and `ipc/util.c`.

use super::program::{BAY, Call, Command, Place};
use crate::families::names::{Name, Names};
use std::collections::BTreeMap;
use unspin_sys::Errno;
use unspin_sys::ipc::flag;

/// Bytes of a page.
pub const PAGE: usize = 4096;

/// A deliberate mistake of the model. The comparison must find it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Flaw {
    /// No mistake.
    #[default]
    None,
    /// An attachment counts once, in however many pieces it is.
    CountsAttachments,
    /// A removed segment is gone though it is attached.
    RemovedAtOnce,
    /// A removed segment that is attached keeps its key.
    KeysOutliveRemoval,
    /// shmdt takes any page of an attachment.
    DetachesAnywhere,
    /// `SHM_RND` is ignored.
    NeverRoundsDown,
}

/// A segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    pub key: u8,
    /// With `SHM_DEST` and `SHM_LOCKED`.
    pub mode: u32,
    pub size: usize,
    /// What each page begins with.
    pub pages: Vec<u8>,
    /// Whether it was ever attached, and detached.
    pub attached: bool,
    pub detached: bool,
}

/// Neighbouring pages of one attachment: what the kernel calls an area.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    pub segment: i32,
    /// Which shmat it stems from.
    attachment: usize,
    /// The first page of the segment that is in it, and how many are.
    pub first: usize,
    pub count: usize,
    pub writable: bool,
}

/// What a call answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// A number, or an error.
    Number(Result<i32, Errno>),
    /// shmat took this place; where there is none, any.
    At(Option<usize>),
    /// `IPC_STAT`: the segment as it is, and how often it is attached.
    Status(Segment, usize),
    /// All ids, and pages in all.
    List(Vec<i32>, usize),
    /// shmget made a segment: any id that is not in use.
    New(Segment),
}

/// All segments, and the memory of the process.
pub struct Model {
    segments: BTreeMap<i32, Segment>,
    /// By address.
    pieces: BTreeMap<usize, Piece>,
    names: Names,
    /// Where each attachment began.
    attachments: Vec<usize>,
    /// Where the bays are.
    bays: usize,
    flaw: Flaw,
}

type Outcome<T> = Result<T, Errno>;

impl Model {
    pub fn new(bays: usize, flaw: Flaw) -> Model {
        let (segments, pieces, names) = (BTreeMap::new(), BTreeMap::new(), Names::default());
        Model { segments, pieces, names, attachments: vec![], bays, flaw }
    }

    /// The id behind a name.
    pub fn id(&self, name: Name) -> i32 {
        self.names.id(name)
    }

    /// Ids of all segments that are there.
    pub fn ids(&self) -> impl Iterator<Item = i32> + '_ {
        self.segments.keys().copied()
    }

    /// Where which pages are.
    pub fn pieces(&self) -> impl Iterator<Item = (usize, Piece)> + '_ {
        self.pieces.iter().map(|(&at, &piece)| (at, piece))
    }

    /// What each page of a piece begins with.
    pub fn contents(&self, piece: Piece) -> &[u8] {
        &self.segments[&piece.segment].pages[piece.first..][..piece.count]
    }

    /// The address that a place is.
    pub fn address(&self, place: Place) -> usize {
        match place {
            Place::Anywhere => 0,
            Place::Bay(n, offset) => self.bays + usize::from(n) * BAY + offset,
        }
    }

    /// Where the n-th attachment began; nothing is mapped there if there was none.
    pub fn began(&self, attachment: u8) -> usize {
        match self.attachments.len() {
            0 => self.bays,
            count => self.attachments[attachment as usize % count],
        }
    }

    /// Notes which id a new segment got; `false` if it cannot have got that one.
    pub fn name(&mut self, id: i32, segment: Segment) -> bool {
        let known = self.segments.insert(id, segment).is_some();
        // The kernel gives ids again.
        self.names.note(id);
        id >= 0 && !known
    }

    /// Notes where a segment was attached; `false` if something is there.
    pub fn attach(&mut self, id: i32, at: usize, flags: i32) -> bool {
        let segment = self.segments.get_mut(&id).expect("it is attached");
        segment.attached = true;
        let count = segment.pages.len();
        let attachment = self.attachments.len();
        let new = Piece { segment: id, attachment, first: 0, count, writable: flags & flag::SHM_RDONLY == 0 };
        let free = self.is_free(at, count) || flags & flag::SHM_REMAP != 0;
        // Attached before what it replaces goes, so that it outlives a replacement of itself.
        let replaced = self.cut(at, count);
        self.pieces.insert(at, new);
        self.attachments.push(at);
        self.let_go(replaced);
        free
    }

    /// Performs a call, which is the `number`-th.
    pub fn call(&mut self, number: u8, call: &Call) -> Answer {
        let answer = match *call {
            Call::Get { key, size, flags } => self.get(key, size, flags),
            Call::Attach { segment, place, flags } => self.find_place(self.id(segment), place, flags),
            Call::Detach { attachment, offset } => self.detach(self.began(attachment) + offset),
            Call::Unmap { attachment, page } => {
                let gone = self.cut(self.began(attachment) + page * PAGE, 1);
                self.let_go(gone);
                Ok(Answer::Number(Ok(0)))
            }
            Call::Write { attachment, page } => {
                self.write(self.began(attachment) + page * PAGE, number);
                Ok(Answer::Number(Ok(0)))
            }
            Call::Control { segment, command } => self.control(self.id(segment), command),
        };
        answer.unwrap_or_else(|errno| Answer::Number(Err(errno)))
    }

    fn get(&mut self, key: u8, size: usize, flags: i32) -> Outcome<Answer> {
        if let Some((&id, segment)) = self.segments.iter().find(|(_, found)| key != 0 && found.key == key) {
            return match flags & flag::IPC_EXCL != 0 && flags & flag::IPC_CREAT != 0 {
                true => Err(Errno::EEXIST),
                false if size > segment.size => Err(Errno::EINVAL),
                false => Ok(Answer::Number(Ok(id))),
            };
        }
        if key != 0 && flags & flag::IPC_CREAT == 0 {
            return Err(Errno::ENOENT);
        }
        if size == 0 || size == usize::MAX {
            return Err(Errno::EINVAL);
        }
        let (mode, pages) = (flags as u32 & 0o777, vec![0; size.div_ceil(PAGE)]);
        Ok(Answer::New(Segment { key, mode, size, pages, attached: false, detached: false }))
    }

    fn find_place(&self, id: i32, place: Place, flags: i32) -> Outcome<Answer> {
        let rounds = flags & flag::SHM_RND != 0 && self.flaw != Flaw::NeverRoundsDown;
        let at = match self.address(place) {
            at if rounds => at - at % PAGE,
            at => at,
        };
        let segment = self.segments.get(&id).ok_or(Errno::EINVAL)?;
        match place {
            Place::Anywhere if flags & flag::SHM_REMAP == 0 => Ok(Answer::At(None)),
            Place::Anywhere => Err(Errno::EINVAL),
            _ if at % PAGE != 0 => Err(Errno::EINVAL),
            _ if flags & flag::SHM_REMAP == 0 && !self.is_free(at, segment.pages.len()) => Err(Errno::EINVAL),
            _ => Ok(Answer::At(Some(at))),
        }
    }

    fn is_free(&self, at: usize, pages: usize) -> bool {
        self.pieces
            .iter()
            .all(|(&other, piece)| at + pages * PAGE <= other || other + piece.count * PAGE <= at)
    }

    /// shmdt: unmaps the first piece from `at` on that lies where an attachment at `at` would have it, and all other
    /// such pieces of the same attachment.
    fn detach(&mut self, at: usize) -> Outcome<Answer> {
        if !at.is_multiple_of(PAGE) {
            return Err(Errno::EINVAL);
        }
        let at = match self.piece_at(at) {
            Some((start, piece)) if self.flaw == Flaw::DetachesAnywhere => start - piece.first * PAGE,
            _ => at,
        };
        let in_place = |(start, piece): &(&usize, &Piece)| *start - at == piece.first * PAGE;
        let (_, &meant) = self.pieces.range(at..).find(in_place).ok_or(Errno::EINVAL)?;
        let its = |piece: &(&usize, &Piece)| in_place(piece) && piece.1.attachment == meant.attachment;
        let starts: Vec<usize> = self.pieces.range(at..).filter(its).map(|(&start, _)| start).collect();
        let gone = starts.iter().filter_map(|start| self.pieces.remove(start)).collect();
        self.let_go(gone);
        Ok(Answer::Number(Ok(0)))
    }

    /// Takes pages out of the process's memory; what was there.
    fn cut(&mut self, from: usize, pages: usize) -> Vec<Piece> {
        let to = from + pages * PAGE;
        let touched: Vec<(usize, Piece)> =
            self.pieces().filter(|(at, piece)| from < at + piece.count * PAGE && *at < to).collect();
        for &(at, piece) in &touched {
            self.pieces.remove(&at);
            let end = at + piece.count * PAGE;
            if at < from {
                self.pieces.insert(at, Piece { count: (from - at) / PAGE, ..piece });
            }
            if to < end {
                let first = piece.first + (to - at) / PAGE;
                self.pieces.insert(to, Piece { first, count: (end - to) / PAGE, ..piece });
            }
        }
        touched.into_iter().map(|(_, piece)| piece).collect()
    }

    /// Segments of which pages were detached, and which may have waited for that to be gone.
    fn let_go(&mut self, pieces: Vec<Piece>) {
        for piece in pieces {
            let unused = self.count(piece.segment) == 0;
            if let Some(segment) = self.segments.get_mut(&piece.segment) {
                segment.detached = true;
                if segment.mode & flag::SHM_DEST != 0 && unused {
                    self.segments.remove(&piece.segment);
                }
            }
        }
    }

    fn count(&self, id: i32) -> usize {
        let mut its: Vec<usize> =
            self.pieces.values().filter(|piece| piece.segment == id).map(|piece| piece.attachment).collect();
        if self.flaw == Flaw::CountsAttachments {
            its.sort_unstable();
            its.dedup();
        }
        its.len()
    }

    /// The piece that has an address.
    pub fn piece_at(&self, at: usize) -> Option<(usize, Piece)> {
        self.pieces().find(|&(start, piece)| start <= at && at < start + piece.count * PAGE)
    }

    fn write(&mut self, at: usize, number: u8) {
        if let Some((start, piece)) = self.piece_at(at)
            && piece.writable
        {
            let segment = self.segments.get_mut(&piece.segment).expect("a segment that is attached is there");
            segment.pages[piece.first + (at - start) / PAGE] = number;
        }
    }

    fn control(&mut self, id: i32, command: Command) -> Outcome<Answer> {
        if command == Command::List {
            let pages = self.segments.values().map(|segment| segment.pages.len()).sum();
            return Ok(Answer::List(self.ids().collect(), pages));
        }
        if id < 0 {
            return Err(Errno::EINVAL);
        }
        match command {
            Command::Unknown(_) => return Err(Errno::EINVAL),
            Command::BadAddress(flag::IPC_SET) => return Err(Errno::EFAULT),
            _ => {}
        }
        let count = self.count(id);
        let segment = self.segments.get_mut(&id).ok_or(Errno::EINVAL)?;
        match command {
            Command::Stat => return Ok(Answer::Status(segment.clone(), count)),
            Command::BadAddress(_) => return Err(Errno::EFAULT),
            Command::Set(extra) => segment.mode = segment.mode & !0o777 | 0o700 | extra,
            Command::Lock => segment.mode |= flag::SHM_LOCKED,
            Command::Unlock => segment.mode &= !flag::SHM_LOCKED,
            Command::Remove if count == 0 || self.flaw == Flaw::RemovedAtOnce => {
                self.segments.remove(&id);
                if self.flaw == Flaw::RemovedAtOnce {
                    self.pieces.retain(|_, piece| piece.segment != id);
                }
            }
            Command::Remove => {
                segment.mode |= flag::SHM_DEST;
                if self.flaw != Flaw::KeysOutliveRemoval {
                    segment.key = 0;
                }
            }
            Command::List | Command::Unknown(_) => unreachable!("answered above"),
        }
        Ok(Answer::Number(Ok(0)))
    }
}
