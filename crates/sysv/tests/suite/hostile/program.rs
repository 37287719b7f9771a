//! A program: a sequence of words to overwrite in an arena and of calls by the threads that use it, read from any
//! bytes.

use unspin_sysv::Class;

/// One of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// A foreign write to the arena.
    Poke(Poke),
    /// A thread calls the engine.
    Call(Calling, Call),
}

/// A word that is overwritten: the n-th of a part of the arena, of which there are as many as there happen to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Poke {
    pub aim: Aim,
    pub part: u16,
    pub word: u8,
    pub width: Width,
    pub value: Value,
}

/// Among which parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aim {
    /// All.
    Any,
    /// Those that are one word: a lock, a link, a length, an id.
    Words,
}

/// Bytes of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    Four,
    Eight,
}

/// The value that is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// A small number: an index, a status, a count.
    Number(u8),
    /// So many bits that are set.
    Ones(u8),
    /// The offset of the same part: a list that leads to itself.
    Itself,
    /// The offset of another part, and so many bytes behind it.
    Part(u16, u8),
    /// An offset right before or behind the end of the arena.
    End(i8),
    /// The lock word of a participant that holds the lock.
    Name(Calling),
    /// The same but for a bit.
    Flip(u8),
    /// The contents of another part.
    Copy(u16, u8),
    /// The id of a kernel segment that belongs to no arena.
    Stranger,
}

/// The calling thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Calling {
    Main,
    Partner,
}

/// A call. Numbers choose among what there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// One operation that does not wait.
    Operate { set: u8, sem: u8, delta: i8, undo: bool },
    /// Three of them.
    Vector { set: u8, sem: u8 },
    /// One that waits a millisecond.
    Wait { set: u8, sem: u8 },
    /// semctl, msgctl, shmctl.
    Control { class: Class, object: u8, command: u8, number: u8 },
    /// semget, msgget, shmget.
    Get { class: Class, key: u8 },
    /// A message of this type and length.
    Send { queue: u8, kind: u8, size: u8 },
    /// One of this type.
    Receive { queue: u8, kind: i8, size: u8, flags: u8 },
    /// The text for `/proc/sysvipc`.
    Show { class: Class },
    /// Looks for the dead.
    RecoverDead,
    /// Leaves the engine, and joins it again with the next call.
    Leave,
}

/// Most steps of a program.
const MOST: usize = 80;

/// Bytes of a step.
const STEP: usize = 6;

/// A program from any bytes.
pub fn decode(bytes: &[u8]) -> Vec<Step> {
    bytes.chunks_exact(STEP).take(MOST).map(step).collect()
}

fn step(bytes: &[u8]) -> Step {
    let &[choice, a, b, c, d, e] = bytes else { unreachable!("chunks of this size") };
    if choice < 128 {
        let width = if choice.is_multiple_of(2) { Width::Eight } else { Width::Four };
        let part = u16::from_ne_bytes([a, b]);
        let aim = if choice < 40 { Aim::Words } else { Aim::Any };
        return Step::Poke(Poke { aim, part, word: c, width, value: value(choice / 2, d, e) });
    }
    let who = if choice.is_multiple_of(4) { Calling::Partner } else { Calling::Main };
    Step::Call(who, call(choice / 4, [a, b, c, d]))
}

fn value(choice: u8, c: u8, d: u8) -> Value {
    match choice % 10 {
        0 => Value::Number(c % 8),
        1 => Value::Ones(c % 65),
        2 => Value::Itself,
        3 => Value::Part(u16::from(c) + 128, d % 64),
        4 => Value::Part(c.into(), d % 128),
        5 => Value::End(c as i8),
        6 => Value::Name(if c.is_multiple_of(2) { Calling::Main } else { Calling::Partner }),
        7 => Value::Flip(c % 64),
        8 => Value::Copy(c.into(), d),
        _ => Value::Stranger,
    }
}

fn call(choice: u8, [a, b, c, d]: [u8; 4]) -> Call {
    let class = [Class::Sem, Class::Msg, Class::Shm][b as usize % 3];
    match choice % 16 {
        0..4 => Call::Operate { set: a, sem: b, delta: c as i8 % 3, undo: d.is_multiple_of(2) },
        4 => Call::Vector { set: a, sem: b },
        5 => Call::Wait { set: a, sem: b },
        6..9 => Call::Control { class, object: a, command: c, number: d },
        9 => Call::Get { class, key: a },
        10 | 11 => Call::Send { queue: a, kind: b, size: c },
        12 | 13 => Call::Receive { queue: a, kind: b as i8 % 4, size: c, flags: d },
        14 if a.is_multiple_of(2) => Call::Show { class },
        14 => Call::RecoverDead,
        _ => Call::Leave,
    }
}
