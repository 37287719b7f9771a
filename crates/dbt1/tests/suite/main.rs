//! The web shop on SQLite and on PostgreSQL.

mod common;
mod postgres;
mod sqlite;
