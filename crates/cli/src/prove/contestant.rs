//! Who is measured: the program under one engine or another.

use crate::engine::Engine;
use unspin_stats::{Candidate, Role};

/// One way to run the program.
#[derive(Clone, Debug)]
pub struct Contestant {
    /// Its name in tables and sentences, and its role.
    pub candidate: Candidate,
    /// The engine; none is the program as it is, without the preload library.
    pub engine: Option<Engine>,
}

/// The name of the control's twin.
pub const TWIN: &str = "kernel (again)";
/// The name of the program as it is.
pub const BARE: &str = "no preload";

/// The control first: the kernel's semaphores through the same interposition as every engine's, so that a gain
/// is the engine's and not the interposition's. Its twin shows the noise; the bare program shows what the
/// interposition costs.
pub fn contestants(engines: &[Engine]) -> Vec<Contestant> {
    let control = Contestant { candidate: Candidate::control("kernel"), engine: Some(Engine::Kernel) };
    let twin = Contestant { candidate: Candidate::control_again(TWIN), engine: Some(Engine::Kernel) };
    let bare = Contestant { candidate: Candidate::new(BARE), engine: None };
    let judged = engines
        .iter()
        .map(|&engine| Contestant { candidate: Candidate::new(engine.name()), engine: Some(engine) });
    [control, twin, bare].into_iter().chain(judged).collect()
}

impl Contestant {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.candidate.name
    }

    /// Whether it is one of the engines that were asked about.
    pub fn is_judged(&self) -> bool {
        self.candidate.role == Role::Candidate && self.engine.is_some()
    }
}
