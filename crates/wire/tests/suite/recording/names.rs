//! What names are made from later: lists of modules, pieces of stack.

use super::{SPUN, Scratch, key, only, small};
use unspin_wire::{FirstUse, Key, Level, Registers};

#[test]
fn modules_are_listed_by_generation() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(Level::Full));
    let mut code = Vec::new();
    let table = recording.claim().unwrap();
    recording.note_modules(&table, &mut |range| code.push(range));
    let here = modules_are_listed_by_generation as fn() as usize as u64;
    assert!(code.iter().any(|range| range.contains(&here)), "{here:#x} {code:x?}");

    table.record(key(1), &SPUN);
    recording.note_modules(&table, &mut |_| ());
    table.record(key(2), &SPUN);

    let end = recording.snapshot();
    let image = only(&end);
    assert_eq!(image.modules.len(), 2);
    for text in &image.modules {
        let text = std::str::from_utf8(text).unwrap();
        let program = std::env::current_exe().unwrap();
        assert!(text.ends_with('\n') && text.contains(program.to_str().unwrap()), "{text}");
        let is_build = |line: &str| line.starts_with("id ") || line.starts_with("stamp ");
        assert!(text.lines().any(is_build), "{text}");
        assert!(
            text.lines().all(|line| line.contains('/') || line.contains('[') || is_build(line)),
            "{text}"
        );
    }
    let first_use = |lock| image.rows[&key(lock)].first_use;
    assert_eq!((first_use(1).generation, first_use(2).generation), (1, 2));
    assert!(
        first_use(1) <= FirstUse { generation: 0, ..first_use(2) },
        "{:?} {:?}",
        first_use(1),
        first_use(2)
    );
}

#[test]
fn stack_is_kept_once_per_lock_and_caller() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(Level::Full));
    let secret: [u8; 64] = core::array::from_fn(|n| n as u8 ^ 0x5A);
    let registers = Registers { ip: 1, sp: std::hint::black_box(&secret).as_ptr() as u64, bp: 77 };
    let table = recording.claim().unwrap();
    let (lock, other_caller) = (key(1), Key { caller: 9, ..key(1) });
    for key in [lock, lock, other_caller, other_caller] {
        recording.keep_stack(&table, key, registers);
    }
    let end = recording.snapshot();
    let stacks = &only(&end).stacks;
    assert_eq!(stacks.iter().map(|stack| stack.key).collect::<Vec<_>>(), [lock, other_caller]);
    for stack in stacks {
        assert_eq!((stack.sp, stack.bp, &stack.bytes[..64]), (registers.sp, 77, &secret[..]));
        assert!(stack.bytes.len() <= 4096);
    }
}
