//! How a user enters its room: it sends its name, and the server confirms.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;

/// What a user tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The run, from 0.
    pub run: u32,
    /// The room.
    pub room: u32,
    /// The number of the user in the room.
    pub user: u32,
}

/// The first bytes on each connection, so that another program that connects by mistake is recognised.
const MAGIC: u32 = u32::from_le_bytes(*b"vlno");

/// Length of an entry and of its confirmation.
const LENGTH: usize = 16;

impl Entry {
    /// On the client's side: enters, and waits for the confirmation.
    pub fn enter(self, mut stream: &TcpStream) -> Result<()> {
        let entry = self.bytes();
        stream.write_all(&entry)?;
        let mut confirmed = [0; LENGTH];
        stream.read_exact(&mut confirmed)?;
        match confirmed == entry {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::InvalidData, "another program than the server answers")),
        }
    }

    /// On the server's side: what the user tells. None if it is not a user of this benchmark.
    pub fn receive(mut stream: &TcpStream) -> Option<Entry> {
        let mut told = [0; LENGTH];
        stream.read_exact(&mut told).ok()?;
        let mut fields =
            told.chunks_exact(4).map(|field| u32::from_le_bytes(field.try_into().expect("four bytes")));
        let mut next = || fields.next().expect("four fields");
        (next() == MAGIC).then(|| Entry { run: next(), room: next(), user: next() })
    }

    /// On the server's side: the user is in its room.
    pub fn confirm(self, mut stream: &TcpStream) -> Result<()> {
        stream.write_all(&self.bytes())
    }

    fn bytes(self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        for (field, value) in bytes.chunks_exact_mut(4).zip([MAGIC, self.run, self.room, self.user]) {
            field.copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }
}
