//! What only several processes can show.
#![cfg(not(loom))]

mod death;
mod oracle;
mod steps;
mod support;
