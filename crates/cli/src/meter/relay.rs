//! Signals that come to us while the program runs.
//!
//! The program stands in the foreground beside us, so what the keyboard sends reaches both: we stay, to report. What
//! somebody sends to us alone is meant for the program and passed on. So is SIGHUP when the terminal goes away: the kernel
//! sends it to the session's leader only, which we may be in the program's place.

use crate::error::Error;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::flag;
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use unspin_sys::child::{self, Signal};

/// Takes signals in the program's stead.
pub struct Relay {
    signals: SignalsInfo<WithOrigin>,
    /// Set once the program has ended: signals are for us again.
    over: Arc<AtomicBool>,
}

impl Relay {
    /// From now on. To be called right before the program is started. A signal that is ignored stays so: the program
    /// inherits that, as from nohup(1), and would not if we caught it.
    pub fn install() -> Result<Relay, Error> {
        let ignored = ignored();
        let caught: Vec<i32> = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2]
            .into_iter()
            .filter(|signal| ignored >> (signal - 1) & 1 == 0)
            .collect();
        let failed = |e| Error::Environment(format!("signals cannot be caught: {e}"));
        let over = Arc::new(AtomicBool::new(false));
        for &signal in &caught {
            flag::register_conditional_default(signal, Arc::clone(&over)).map_err(failed)?;
        }
        let signals = SignalsInfo::new(caught).map_err(failed)?;
        Ok(Relay { signals, over })
    }

    /// Passes on what has come. A signal of the kernel's came from the keyboard, to the program as well, unless it is
    /// SIGHUP; one of the program's own came from its process group, which it shares with us.
    pub fn pass_on(&mut self, program: u32) {
        for origin in self.signals.pending() {
            let meant_for_it = match origin.process {
                Some(sender) => sender.pid != program as i32,
                None => origin.signal == SIGHUP,
            };
            if meant_for_it {
                // It may have ended meanwhile, and then there is nobody to tell.
                let _ = child::signal(program, Signal::PassedOn(origin.signal));
            }
        }
    }

    /// The program has ended: from now on signals do to us what they do to any program.
    pub fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
    }
}

/// The signals that we have been told to ignore, bit n - 1 for signal n: proc_pid_status(5).
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
