//! Where the names in reports come from.

use unspin_symbols::Symbols;
use unspin_trace::KernelSymbols;

/// Where the names in reports come from. Keeps what was read, for the next report.
pub struct Naming {
    /// The kernel's.
    pub kernel: KernelSymbols,
    /// Those of programs and libraries.
    pub programs: Symbols,
}
