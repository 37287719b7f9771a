//! `unspin ipcs`, `ipcrm` and `ipcmk`: the objects of the engines, by hand.
//!
//! *source* is the engine whose objects are meant. *show*, *remove* and *make* are the commands; *set*, *queue* and
//! *segment* write what util-linux's ipcs(1) writes of each kind of object; *arenas* shows and removes the files they
//! lie in.

mod arenas;
mod legend;
mod make;
mod queue;
mod remove;
mod segment;
mod set;
mod show;
pub mod size;
mod source;
mod table;

pub use make::make;
pub use remove::remove;
pub use show::show;

use crate::error::Error;
use unspin_sys::Errno;
use unspin_sysv::Class;

/// A kind of object in words.
fn name(class: Class) -> &'static str {
    match class {
        Class::Msg => "message queue",
        Class::Shm => "shared memory segment",
        Class::Sem => "semaphore set",
    }
}

/// What an engine refused.
fn refused(what: &str, errno: Errno) -> Error {
    Error::Environment(format!("{what}: {}", reason(errno)))
}

/// An error number in words.
fn reason(errno: Errno) -> String {
    let text = std::io::Error::from_raw_os_error(errno.0).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
