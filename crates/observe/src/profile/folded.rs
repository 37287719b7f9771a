//! Samples with their stacks, for pprof and as a flame graph.

use super::frames::{Frames, Function};
use super::samples::Samples;
use inferno::flamegraph::{self, Options};
use std::collections::BTreeMap;
use unspin_meter::pprof::{Frame, Sampled};
use unspin_trace::Stacks;

/// Each stack with its ticks, innermost frame first.
pub fn sampled(samples: &Samples, frames: &Frames<'_>, stacks: &Stacks) -> Vec<Sampled> {
    let mut folded = BTreeMap::<Vec<Frame>, u64>::new();
    for (place, count) in samples.counts() {
        let stack = frames.stack(place, stacks).into_iter().map(frame).collect();
        *folded.entry(stack).or_insert(0) += count;
    }
    folded.into_iter().map(|(stack, count)| Sampled { stack, count }).collect()
}

/// The place of a kernel's function in pprof, where a program's is its file.
const KERNEL: &str = "[kernel]";

fn frame(function: Function) -> Frame {
    let file = match function {
        Function { in_kernel: true, ref module, .. } if module.is_empty() => KERNEL.into(),
        Function { module, .. } => module,
    };
    Frame { function: function.name, file, line: 0 }
}

/// The flame graph as SVG. Functions of the kernel end in `_[k]`, as perf's do.
pub fn flamegraph(stacks: &[Sampled]) -> std::io::Result<Vec<u8>> {
    let name = |frame: &Frame| {
        let mark = if frame.file == KERNEL { "_[k]" } else { "" };
        format!("{}{mark}", frame.function.replace(';', ":"))
    };
    let lines: Vec<String> = stacks
        .iter()
        .map(|sampled| {
            let stack: Vec<String> = sampled.stack.iter().rev().map(name).collect();
            format!("{} {}", stack.join(";"), sampled.count)
        })
        .collect();
    let mut options = Options::default();
    options.title = "unspin profile".into();
    options.count_name = "ticks".into();
    let mut svg = Vec::new();
    // Without stacks there is nothing to draw, which is an error there.
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut svg)?;
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flame_graph_has_the_functions_of_all_stacks() {
        let frame =
            |function: &str, file: &str| Frame { function: function.into(), file: file.into(), line: 0 };
        let stacks = [
            Sampled {
                stack: vec![frame("vfs_read", KERNEL), frame("read", "libc.so.6"), frame("dd", "")],
                count: 3,
            },
            Sampled { stack: vec![frame("a;b", "dd"), frame("dd", "")], count: 1 },
        ];
        let svg = String::from_utf8(flamegraph(&stacks).unwrap()).unwrap();
        for expected in
            ["<svg", "vfs_read (3 ticks, 75.00%)", "dd (4 ticks, 100.00%)", "a:b (1 ticks, 25.00%)"]
        {
            assert!(svg.contains(expected), "{expected}");
        }
    }

    #[test]
    fn file_of_a_frame_is_its_module() {
        let function = |name: &str, module: &str, in_kernel| Function {
            name: name.into(),
            module: module.into(),
            in_kernel,
        };
        assert_eq!(frame(function("vfs_read", "", true)).file, KERNEL);
        assert_eq!(frame(function("ext4_read", "ext4", true)).file, "ext4");
        assert_eq!(frame(function("read", "libc.so.6", false)).file, "libc.so.6");
    }
}
