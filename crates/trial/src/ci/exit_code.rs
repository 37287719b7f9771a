//! What an exit code of `unspin prove` means, in words. See docs/exit-codes.md.

/// The meaning, as the end of a sentence.
pub fn meaning(code: u8) -> &'static str {
    match code {
        0 => "at least one candidate is proven better",
        1 => "no candidate is proven better, and at least one is proven worse",
        2 => "the command line is wrong",
        3 => "no difference is proven",
        4 => "the control failed, or all candidates did, or there was nothing to judge",
        5 => "what is proven better may use more CPU time than --cpu-limit allows",
        126 => "the program cannot be executed, or has nothing to replace",
        127 => "the program does not exist",
        130 => "interrupted; the results are those until then",
        _ => "unspin itself failed",
    }
}
