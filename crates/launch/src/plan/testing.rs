//! Programs in which tests look locks up.

use crate::program::Program;
use unspin_e2e::Workshop;

/// Compiles a source, and returns the program. None, with a `SKIPPED` line, if there is no compiler.
pub fn compile(workshop: &Workshop, source: &str, flags: &[&str]) -> Option<Program> {
    workshop.compile(source, flags, "program").map(|path| Program::at(&path))
}
