//! What only several processes can show.

mod death;
mod oracle;
mod support;
