//! Runs the examples in `tests/cmd`.

use crate::common::compiled;

#[test]
fn examples_in_tests_cmd_print_what_they_say() {
    let folder = tempfile::tempdir().unwrap();
    for source in
        ["static_locks.c", "nothing.c", "elsewhere.c", "named_unused.c", "named_rwlocks.c", "named_spins.c"]
    {
        if compiled(source, folder.path()).is_none() {
            return;
        }
    }
    let mut path = vec![folder.path().to_owned()];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let path = std::env::join_paths(path).unwrap();
    let cases = trycmd::TestCases::new();
    cases.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR")).env("PATH", path.to_str().unwrap());
    cases.case("tests/cmd/*.md");
    cases.run();
}
