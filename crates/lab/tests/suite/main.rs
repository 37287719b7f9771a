//! The workloads and reports that need `unspin-lab`, as users see them: each test runs `unspin`, which finds it.

mod bad_input;
mod cmd;
#[path = "../../../cli/tests/suite/common/mod.rs"]
#[expect(dead_code, reason = "the tests of unspin use the rest")]
mod common;
mod dbt1;
mod prepared;
mod reproduce;
mod run_queues;
mod vm;
mod volano;
