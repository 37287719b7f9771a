//! A client of memcached that verifies the answers.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// A connection.
#[derive(Debug)]
pub struct Memcache {
    stream: BufReader<TcpStream>,
}

impl Memcache {
    /// Connects to a server at a port of this machine.
    ///
    /// # Errors
    /// If no server listens there.
    pub fn connect(port: u16) -> io::Result<Memcache> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        Ok(Memcache { stream: BufReader::new(stream) })
    }

    /// Stores `value`, and returns the answer of the server.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn set(&mut self, key: &str, value: &[u8]) -> io::Result<String> {
        let request = [format!("set {key} 0 0 {}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat();
        self.stream.get_mut().write_all(&request)?;
        self.line()
    }

    /// The value, if there is one.
    ///
    /// # Errors
    /// If the connection breaks, or the answer is none.
    pub fn get(&mut self, key: &str) -> io::Result<Option<Vec<u8>>> {
        let head = self.command(&format!("get {key}"))?;
        if head == "END" {
            return Ok(None);
        }
        let length = head.rsplit(' ').next().and_then(|length| length.parse::<usize>().ok());
        let mut value = vec![0; length.ok_or_else(|| io::Error::other(head))? + 2];
        self.stream.read_exact(&mut value)?;
        value.truncate(value.len() - 2);
        let end = self.line()?;
        if end == "END" { Ok(Some(value)) } else { Err(io::Error::other(end)) }
    }

    /// Sends a line, and returns the first line of the answer.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn command(&mut self, line: &str) -> io::Result<String> {
        self.stream.get_mut().write_all(format!("{line}\r\n").as_bytes())?;
        self.line()
    }

    /// One of the server's own counters.
    ///
    /// # Errors
    /// If the connection breaks, or there is no such counter.
    pub fn counter(&mut self, name: &str) -> io::Result<u64> {
        let mut line = self.command("stats")?;
        let mut found = None;
        while line != "END" {
            found = line.strip_prefix(&format!("STAT {name} ")).and_then(|n| n.parse().ok()).or(found);
            line = self.line()?;
        }
        found.ok_or_else(|| io::Error::other(format!("no counter {name}")))
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}
