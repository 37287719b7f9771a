//! A program whose recording is served, and the requests for it.

use super::{Background, compiled, unspin};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{ChildStdin, Stdio};
use std::time::Duration;

/// `served.c` under `unspin meter --serve`.
pub struct Served {
    pub run: Background,
    pub address: SocketAddr,
    input: Option<ChildStdin>,
}

/// The answer to a request.
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

/// A stack of the text form of a profile.
#[derive(Clone, PartialEq, Debug)]
pub struct TextStack {
    pub lock: String,
    pub caller: String,
    pub contentions: u64,
    pub nanoseconds: f64,
}

/// A counter or gauge: its name, and its labels as they are printed.
pub type Metrics = BTreeMap<(String, String), f64>;

impl Served {
    /// Starts the program with these options of `unspin meter`. None, with a line, without a C compiler.
    pub fn start(options: &[&str], folder: &Path) -> Option<Served> {
        let program = compiled("served.c", folder)?;
        let serve = ["meter", "--serve", "127.0.0.1:0"];
        let mut command = unspin(&[&serve, options, &[program.to_str().unwrap()]].concat());
        command.stdin(Stdio::piped());
        let mut run = Background::start(command);
        let line = run.wait_for_line("serving http://");
        let address = line.split_once("http://").unwrap().1.split('/').next().unwrap().parse().unwrap();
        let input = Some(run.take_input());
        Some(Served { run, address, input })
    }

    /// Gives the program a line, and waits until it has done that.
    pub fn tell(&mut self, line: &str) {
        self.send(line);
        self.run.wait_for_line("done");
    }

    /// Gives the program a line.
    pub fn send(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    pub fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address)
    }

    pub fn get(&self, target: &str) -> Reply {
        self.request(&format!("GET {target} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address))
    }

    /// The body of an answer that is a text.
    pub fn text(&self, target: &str) -> String {
        let reply = self.get(target);
        assert_eq!(reply.status, 200, "{target}: {}", String::from_utf8_lossy(&reply.body));
        String::from_utf8(reply.body).unwrap()
    }

    /// The stacks of the text form of a profile.
    pub fn stacks(&self, profile: &str) -> Vec<TextStack> {
        let text = self.text(&format!("/debug/pprof/{profile}?debug=1"));
        let blocks = text.split("\n\n").filter_map(|block| {
            let mut lines = block.lines().skip_while(|line| !line.contains(" @ "));
            let mut numbers = lines.next()?.split(' ');
            let nanoseconds = numbers.next()?.parse().unwrap();
            let contentions = numbers.next()?.parse().unwrap();
            let mut names = lines.map(|line| line.split('\t').nth(2).unwrap().to_owned());
            let (lock, caller) = (names.next()?, names.next()?);
            Some(TextStack { lock, caller, contentions, nanoseconds })
        });
        blocks.collect()
    }

    pub fn metrics(&self) -> Metrics {
        parse_metrics(&self.text("/metrics"))
    }

    /// Sends these bytes, and reads the answer.
    pub fn request(&self, text: &str) -> Reply {
        let mut stream = self.connect();
        // A server that refuses a request may not read all of it.
        let _ = stream.write_all(text.as_bytes());
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        let end = all.windows(4).position(|four| four == b"\r\n\r\n").expect("the answer has a head");
        let head = String::from_utf8(all[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Reply { status, head, body: all[end + 4..].to_vec() }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        stream
    }

    /// Ends the program's input. Returns the report and the exit code.
    pub fn end(mut self) -> (String, Option<i32>) {
        drop(self.input.take());
        let report = self.run.rest();
        (report, self.run.wait().code())
    }
}

/// The samples of a text of OpenMetrics.
pub fn parse_metrics(text: &str) -> Metrics {
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    let sample = |line: &str| {
        let (left, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = left.split_once('{').unwrap_or((left, ""));
        ((name.to_owned(), labels.trim_end_matches('}').to_owned()), value.parse().unwrap())
    };
    samples.map(sample).collect()
}
