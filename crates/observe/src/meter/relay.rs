//! Signals that unspin gets while the program runs.
//!
//! The program runs in the same foreground process group, so it gets the keyboard's signals itself; unspin survives
//! them to report. A signal that is sent only to unspin is meant for the program and is relayed. So is SIGHUP when the
//! terminal hangs up, because the kernel sends it only to the session leader, which may be unspin.

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::Builder;
use unspin_launch::command::ignored_signals::without_ignored;
use unspin_launch::error::Error;
use unspin_sys::child::{self, Signal};
use unspin_sys::signal;

/// The signals that are relayed.
const CAUGHT: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];
/// The signals that ask a program to end.
const ENDING: [i32; 2] = [SIGINT, SIGTERM];

/// Relays signals to the program.
pub struct Relay {
    signals: SignalsInfo<WithOrigin>,
    /// Whether SIGINT (^C) or SIGTERM came.
    pub asked_to_end: bool,
}

impl Relay {
    /// Installs the handlers. Call it directly before the program is started. An ignored signal stays ignored: the
    /// program inherits that, for example from nohup(1), and would not if unspin handled it.
    pub fn install() -> Result<Relay, Error> {
        let caught = without_ignored(&CAUGHT);
        let failed = |e| Error::failed("signals cannot be caught", &e);
        let signals = SignalsInfo::new(caught).map_err(failed)?;
        Ok(Relay { signals, asked_to_end: false })
    }

    /// Whether a signal has come that asks unspin to end. It is taken, and not relayed.
    pub fn takes_request_to_end(&mut self) -> bool {
        self.signals.pending().filter(|origin| ENDING.contains(&origin.signal)).count() > 0
    }

    /// Gives the relayed signals their default actions. For a child of this process that becomes the program.
    pub fn let_go() {
        // An ignored signal has no handler.
        for signal in without_ignored(&CAUGHT) {
            signal::set_default(signal);
        }
    }

    /// Relays pending signals. A signal from the kernel came from the keyboard and reached the program as well, unless
    /// it is SIGHUP. A signal that the program itself sent was sent to its process group, to which unspin belongs; it
    /// is not relayed.
    pub fn pass_on(&mut self, program: u32) {
        for origin in self.signals.pending() {
            self.asked_to_end |= ENDING.contains(&origin.signal);
            let meant_for_it = match origin.process {
                Some(sender) => sender.pid != program as i32,
                None => origin.signal == SIGHUP,
            };
            if meant_for_it {
                // Fails if the program has ended meanwhile.
                let _ = child::signal(program, Signal::PassedOn(origin.signal));
            }
        }
    }

    /// Calls `ended_by` for the first signal from now on that asks a program to end, from a thread of its own.
    pub fn watch(mut self, ended_by: impl FnOnce(i32) + Send + 'static) {
        // The signals that came until now were meant for the program.
        for _ in self.signals.pending() {}
        let asks = |signal: &i32| ![SIGUSR1, SIGUSR2].contains(signal);
        let watch = move || {
            if let Some(signal) = self.signals.forever().map(|origin| origin.signal).find(asks) {
                ended_by(signal);
            }
        };
        if Builder::new().spawn(watch).is_err() {
            // No thread is permitted (ulimit -u). A signal ends unspin without a message, as it ends other programs.
            let always = Arc::new(AtomicBool::new(true));
            for signal in without_ignored(&CAUGHT).into_iter().filter(asks) {
                let _ = signal_hook::flag::register_conditional_default(signal, Arc::clone(&always));
            }
        }
    }
}
