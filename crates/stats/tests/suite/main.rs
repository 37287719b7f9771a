//! The verdicts, their calibration and the schedule of a session.

mod apart;
mod calibration;
mod common;
mod cpu;
mod fleet;
mod invariants;
mod mckenney_2003;
mod rounding;
mod session;
mod verdicts;
