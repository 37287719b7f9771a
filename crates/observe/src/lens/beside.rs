//! Lenses beside the pthread lens.

use super::conditions::Conditions;
use super::lenses::{Chosen, LeftOutLens, Lenses};
use super::reports::Reports;
use crate::observed::RingReader;
use crate::settings::MeterSettings;
use std::time::Instant;
use unspin_launch::output::stderr;

/// The kernel's events, while the preload library records the same program.
pub struct LensesBeside {
    reader: Option<(RingReader<Lenses>, Instant)>,
}

impl LensesBeside {
    /// Starts observing with the requested lenses that work, and prints why the others do not. The pthread lens goes on
    /// without them. The thread that starts the program must call this before it starts the program.
    pub fn start(options: &MeterSettings) -> LensesBeside {
        let chosen = Chosen::of(options);
        LeftOutLens::say(&chosen.left_out);
        let started = chosen.lenses.and_then(|(lenses, config)| match RingReader::start(&config, lenses) {
            Ok(reader) => Some((reader, Instant::now())),
            Err(e) => {
                stderr::say(format_args!("the kernel's events are left out: {e}"));
                None
            }
        });
        LensesBeside { reader: started }
    }

    /// Stops observing.
    pub fn stop(self, options: &MeterSettings) -> Reports {
        let Some((reader, started)) = self.reader else { return Reports::default() };
        let seconds = started.elapsed().as_secs_f64();
        let (lenses, stacks, losses) = reader.stop();
        let command = &options.recorded.command;
        lenses.reports(&stacks, &Conditions::new(&options.observe, command, seconds, losses))
    }
}
