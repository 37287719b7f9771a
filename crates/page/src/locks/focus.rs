//! What the reader of a section asks: what the verdict beside it is about.

use unspin_report::Wait;

/// What a section about locks and waits begins with, and what it leaves out.
#[derive(Default)]
pub struct Focus<'f> {
    /// The call sites whose waits are judged. If there are any, the waits come first, and these first among them.
    pub waits: Vec<&'f str>,
    /// Whether the second run is of a candidate that is proven worse.
    pub is_worse: bool,
    /// Whether locks that cost next to nothing are one sentence.
    pub is_brief: bool,
}

impl Focus<'_> {
    /// Whether the verdict is about this wait.
    pub fn is_judged(&self, wait: &Wait) -> bool {
        self.waits
            .iter()
            .any(|site| wait.row.name == *site || wait.callers.iter().any(|caller| caller.row.name == *site))
    }
}
