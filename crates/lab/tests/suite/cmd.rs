//! Runs the examples in `tests/cmd` and in the documents on these workloads.

use crate::common::program;
use std::path::Path;

#[test]
fn examples_print_what_they_say() {
    let documents = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let cases = trycmd::TestCases::new();
    cases.register_bin("unspin", program());
    cases.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    cases.case("tests/cmd/*.md");
    for document in ["dbt1.md", "volano.md"] {
        cases.case(documents.join(document));
    }
    cases.run();
}
