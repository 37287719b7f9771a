//! Lenses beside the pthread lens.

use super::conditions::Conditions;
use super::lenses::{Chosen, LeftOutLens, Lenses};
use super::reports::Reports;
use super::timeline::file::Timeline;
use crate::observed::RingReader;
use crate::settings::MeterSettings;
use std::time::Instant;
use unspin_launch::error::Error;
use unspin_launch::output::stderr;

/// The kernel's events, while the preload library records the same program.
pub struct LensesBeside {
    reader: Option<(RingReader<Lenses>, Instant)>,
}

impl LensesBeside {
    /// Starts observing with the requested lenses that work, and prints why the others do not. The pthread lens goes on
    /// without them, unless a timeline is requested, which they would give. The thread that starts the program must call this
    /// before it starts the program.
    pub fn start(options: &MeterSettings) -> Result<LensesBeside, Error> {
        let mut chosen = Chosen::of(options);
        if options.firefox.is_some()
            && chosen.lenses.is_none()
            && let Some(last) = chosen.left_out.pop()
        {
            return Err(last.error);
        }
        LeftOutLens::say(&chosen.left_out);
        let mut failed = None;
        let started = chosen.lenses.and_then(|(lenses, config)| match RingReader::start(&config, lenses) {
            Ok(reader) => Some((reader, Instant::now())),
            Err(e) => {
                failed = Some(e);
                None
            }
        });
        match failed {
            Some(e) if options.firefox.is_some() => return Err(e),
            Some(e) => stderr::say(format_args!("the kernel's events are left out: {e}")),
            None => {}
        }
        Ok(LensesBeside { reader: started })
    }

    /// Stops observing.
    pub fn stop(self, options: &MeterSettings) -> SeenBeside {
        let Some((reader, started)) = self.reader else { return SeenBeside::default() };
        let seconds = started.elapsed().as_secs_f64();
        let (mut lenses, stacks, losses) = reader.stop();
        let conditions = Conditions::new(&options.observe, &options.recorded.command, seconds, losses);
        let (reports, timeline) = lenses.reports(&stacks, &conditions);
        SeenBeside { reports, timeline: timeline.map(|timeline| (timeline, conditions)) }
    }
}

/// What the lenses have seen.
#[derive(Default)]
pub struct SeenBeside {
    /// The reports.
    pub reports: Reports,
    timeline: Option<(Timeline, Conditions)>,
}

impl SeenBeside {
    /// Writes the timeline, if it is requested, and says what opens it.
    pub fn write_timeline(&self, options: &MeterSettings) -> Result<(), Error> {
        match (&options.firefox, &self.timeline) {
            (Some(file), Some((timeline, conditions))) => timeline.write(file, conditions),
            _ => Ok(()),
        }
    }
}
