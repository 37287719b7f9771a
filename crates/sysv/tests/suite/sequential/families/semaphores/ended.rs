//! A program, performed by a process of its own, and what it leaves behind when it has ended.

use super::compare::{perform_all, remove, values};
use super::model::Flaw;
use super::program::Call;
use crate::families::child::in_a_child;
use unspin_sysv::Engine;

/// As [`super::compare::compare()`] in a child; and when that has ended, and its operations with SEM_UNDO are undone,
/// the values of its sets.
pub fn compare(engine: &Engine, first_key: i32, calls: &[Call], flaw: Flaw) -> Result<(), String> {
    let report = in_a_child(|| {
        let (result, model, stray) = perform_all(engine, first_key, calls, flaw);
        let mut lines = vec![result.err().unwrap_or_default().replace('\n', "\r")];
        lines.extend(model.end().into_iter().map(|(id, values)| format!("{id} {values:?}")));
        remove(engine, stray.into_iter().filter(|&id| model.set(id).is_none()));
        lines.join("\n")
    });
    let mut lines = report.lines();
    let difference = lines.next().unwrap_or_default().replace('\r', "\n");
    let mut result = if difference.is_empty() { Ok(()) } else { Err(difference) };
    for line in lines {
        let (id, meant) = line.split_once(' ').expect("an id and values");
        let id = id.parse().expect("an id is a number");
        let got = format!("{:?}", values(engine, id));
        if result.is_ok() && got != meant {
            result = Err(format!("after {calls:#?}\nand the end\nengine: {got}\nmodel:  {meant}"));
        }
        remove(engine, [id].into_iter());
    }
    result
}
