//! Tests that need several processes.
#![cfg(not(loom))]

mod death;
mod oracle;
mod steps;
mod support;
