//! Why a task has no output.

use core::any::Any;
use core::fmt;
use std::panic;

/// A task ended without an output.
pub enum JoinError {
    /// It was cancelled, or its executor ended before it did.
    Cancelled,
    /// It panicked, with this payload.
    Panicked(Box<dyn Any + Send>),
}

impl JoinError {
    /// Whether the task was cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, JoinError::Cancelled)
    }

    /// Whether the task panicked.
    pub fn is_panic(&self) -> bool {
        matches!(self, JoinError::Panicked(_))
    }

    /// The message of the panic, if it is a text.
    pub fn panic_message(&self) -> Option<&str> {
        let JoinError::Panicked(payload) = self else { return None };
        payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
    }

    /// Continues the task's panic in the calling thread.
    ///
    /// # Panics
    /// Always: with the task's payload, or with a message that the task was cancelled.
    pub fn resume(self) -> ! {
        match self {
            JoinError::Cancelled => panic!("the task was cancelled"),
            JoinError::Panicked(payload) => panic::resume_unwind(payload),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::Cancelled => f.write_str("Cancelled"),
            JoinError::Panicked(_) => f.debug_tuple("Panicked").field(&self.panic_message()).finish(),
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.panic_message()) {
            (JoinError::Cancelled, _) => f.write_str("the task was cancelled"),
            (_, Some(message)) => write!(f, "the task panicked: {message}"),
            _ => f.write_str("the task panicked"),
        }
    }
}

impl std::error::Error for JoinError {}
