//! The engines by name.

pub use unspin_sysv::Kind as Engine;
