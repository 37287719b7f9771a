//! The thread that reads the recording, and knows the names.

use super::endpoint::ProfileForm;
use super::metrics::{LockMetrics, MetricsFormat, RecordingSize};
use super::profile_name::ProfileName;
use super::response::{Response, Status};
use super::{go_text, index};
use crate::meter::known_names::{KnownFrames, KnownNames};
use crate::meter::names::Parts;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender};
use std::thread;
use unspin_launch::error::Error;
use unspin_report::MeterReport;
use unspin_report::pprof::{self, Contention, EndedWaits};
use unspin_wire::{Image, Key, Recording, Snapshot, Window};

/// What a connection asks.
pub enum Asked {
    /// The page with the list of all.
    Home,
    /// The page with the list of profiles.
    Index,
    /// A profile since the start.
    Profile(ProfileName, ProfileForm),
    /// The waits until now, for [`Asked::Since`].
    Waits,
    /// A profile of what ended after these waits.
    Since(ProfileName, EndedWaits),
    /// The command line.
    Cmdline,
    /// The counters.
    Metrics(MetricsFormat),
}

/// A question of a connection, and where it waits for the answer.
pub struct Question {
    pub asked: Asked,
    pub reply: SyncSender<Answer>,
}

/// The reader's answer.
pub enum Answer {
    Response(Response),
    Waits(EndedWaits),
}

/// Answers questions, one after another.
pub struct RecordingReader {
    recording: Recording,
    command: Vec<String>,
    names: KnownNames,
    metrics: LockMetrics,
    waits: EndedWaits,
    /// The rate at which ticks are converted, from [`RATE_IS_KNOWN`] on.
    ticks_per_second: Option<f64>,
}

/// From this time on, in seconds, the rate of the clock that was measured in the recording is exact enough. Each reading measures
/// it anew; with a rate of its own for each, the time of a row without new waits would change from profile to profile.
const RATE_IS_KNOWN: f64 = 1.0;

impl RecordingReader {
    /// Starts the thread, which ends when nothing can ask any more. `command` is that of the program.
    pub fn start(file: &Path, command: Vec<String>, questions: Receiver<Question>) -> Result<(), Error> {
        let recording = Recording::load(file).map_err(|e| Error::Environment(e.to_string()))?;
        let answer = move || {
            // Made here, because names are not sent from thread to thread.
            let names = KnownNames::new(Parts::Together, KnownFrames::Kept);
            let (metrics, waits) = Default::default();
            let mut reader =
                RecordingReader { recording, command, names, metrics, waits, ticks_per_second: None };
            for Question { asked, reply } in questions {
                // A client that has gone wants no answer.
                let _ = reply.send(reader.answer(asked));
            }
        };
        thread::Builder::new().name("serve reader".into()).spawn(answer).map_err(|e| Error::no_thread(&e))?;
        Ok(())
    }

    fn answer(&mut self, asked: Asked) -> Answer {
        if let Asked::Cmdline = asked {
            return Answer::Response(Response::text(self.command.join("\0")));
        }
        if let Asked::Home = asked {
            return Answer::Response(index::home());
        }
        let Some(snapshot) = self.read() else {
            let why = "the recording was cut short while the program ran: nothing is left of it";
            return Answer::Response(Response::error(Status::Unavailable, why));
        };
        Answer::Response(match asked {
            Asked::Waits => return Answer::Waits(self.waits.clone()),
            Asked::Index => {
                let waits = self.waits_in_all(&snapshot);
                index::profiles(&ProfileName::ALL.map(|name| (name, self.stacks(name, &waits).len())))
            }
            Asked::Profile(name, ProfileForm::Text) => {
                Response::text(go_text::write(name, &self.stacks(name, &self.waits_in_all(&snapshot))))
            }
            Asked::Profile(name, ProfileForm::Pprof) => {
                // As Go: a sum that goes on has no duration.
                let waits = self.waits_in_all(&snapshot);
                Response::attachment(name.name(), self.profile(name, &waits, taken(&snapshot), 0.0))
            }
            Asked::Since(name, before) => match self.waits.since(&before, &snapshot) {
                Some(waits) => {
                    let file = format!("{}-delta", name.name());
                    let seconds = waits.window.seconds;
                    Response::attachment(&file, self.profile(name, &waits, taken(&snapshot), seconds))
                }
                None => Response::error(Status::Unavailable, "no time has passed"),
            },
            Asked::Metrics(format) => self.metrics(&snapshot, format),
            Asked::Home | Asked::Cmdline => unreachable!("answered above"),
        })
    }

    /// The counts now, which are also added to the waits; none if the recording is lost. Names are made anew if there are new rows or modules.
    fn read(&mut self) -> Option<Snapshot> {
        // Before the counts: what comes after this is found by the next reading.
        let texts = self.recording.texts();
        let mut snapshot = self.recording.counts();
        if !self.names.has(&snapshot, texts) {
            snapshot = self.recording.snapshot();
            self.names.learn(&snapshot, texts);
            for image in &mut snapshot.images {
                (image.stacks, image.modules) = Default::default();
            }
        }
        if self.recording.is_lost() {
            return None;
        }
        let Window { seconds, ticks_per_second, .. } = &mut snapshot.window;
        if *seconds >= RATE_IS_KNOWN {
            *ticks_per_second = *self.ticks_per_second.get_or_insert(*ticks_per_second);
        }
        self.waits.raise(&snapshot);
        Some(snapshot)
    }

    /// The waits since the start, of which this is the latest snapshot.
    fn waits_in_all(&self, latest: &Snapshot) -> Snapshot {
        let all = self.waits.since(&EndedWaits::default(), latest);
        all.expect("a recording that is read has begun")
    }

    fn stacks(&self, name: ProfileName, snapshot: &Snapshot) -> Vec<Contention> {
        let names = |image: &Image, key: &Key| self.names.name(image, key);
        let frames = |image: &Image, key: &Key| self.names.frames(image, key);
        match name {
            ProfileName::Block => pprof::blocked(snapshot, &names, &frames),
            ProfileName::Mutex => pprof::holders(snapshot, &names, &frames),
        }
    }

    fn profile(&self, name: ProfileName, snapshot: &Snapshot, taken: u64, seconds: f64) -> Vec<u8> {
        pprof::encode(
            self.command.first().map_or("", String::as_str),
            &self.stacks(name, snapshot),
            taken,
            seconds,
        )
    }

    fn metrics(&mut self, snapshot: &Snapshot, format: MetricsFormat) -> Response {
        let names = |image: &Image, key: &Key| self.names.name(image, key);
        let report = MeterReport::new(snapshot, &names);
        let size = RecordingSize { used: self.recording.bytes(), capacity: self.recording.capacity() };
        self.metrics.response(&report, size, format)
    }
}

/// The time at which a snapshot was taken, in nanoseconds since the epoch. As in Go it is the time of a profile: a client that
/// compares two takes the difference of their times for the duration.
fn taken(snapshot: &Snapshot) -> u64 {
    snapshot.started.saturating_add((snapshot.window.seconds * 1e9) as u64)
}
