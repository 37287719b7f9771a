//! This test program itself: Rust code, while it runs.

use std::sync::Mutex;

use unspin_symbols::{AddressSpace, Frame, StackCopy, SymbolKind, Symbols};

static TOP: Mutex<u64> = Mutex::new(0);
static MANY: [Mutex<u64>; 4] = [const { Mutex::new(0) }; 4];

fn own_space() -> AddressSpace {
    AddressSpace::parse(&std::fs::read("/proc/self/maps").unwrap())
}

/// What a hook would copy, and the address of its call. A separate function, so that its caller is the first frame.
#[inline(never)]
fn copy_stack() -> ([u64; 3], Vec<u8>) {
    let (ip, sp, bp): (u64, u64, u64);
    // SAFETY: only reads registers.
    unsafe {
        core::arch::asm!(
            "lea {ip}, [rip]", "mov {sp}, rsp", "mov {bp}, rbp",
            ip = out(reg) ip, sp = out(reg) sp, bp = out(reg) bp, options(nomem, nostack, preserves_flags)
        );
    }
    // SAFETY: the 3800 bytes above `sp` lie in the stack mapping of the test's thread, which has two megabytes: above
    // `sp` are the frames of these functions and of the harness, and above those the thread's own data.
    let bytes = unsafe { std::slice::from_raw_parts(sp as *const u8, 3800) }.to_vec();
    ([ip, sp, bp], bytes)
}

trait Work {
    fn work(&self, depth: u32) -> ([u64; 3], Vec<u8>);
}

struct Job;

impl Work for Job {
    #[inline(never)]
    fn work(&self, depth: u32) -> ([u64; 3], Vec<u8>) {
        let copied = if depth > 0 { self.work(depth - 1) } else { copy_stack() };
        std::hint::black_box(copied)
    }
}

#[inline(never)]
fn generic<W: Work>(work: W) -> ([u64; 3], Vec<u8>) {
    let closure = || std::hint::black_box(work.work(2));
    std::hint::black_box(closure())
}

#[test]
fn functions_of_rust_and_their_callers() {
    let ([ip, sp, bp], bytes) = generic(Job);
    let (space, symbols) = (own_space(), Symbols::new());
    let chain = symbols.unwind(&space, &StackCopy { ip, sp, bp, bytes: &bytes });
    let frames: Vec<Frame> = chain.iter().flat_map(|&address| symbols.code(&space, address)).collect();
    let names: Vec<&str> =
        frames.iter().filter(|frame| frame.short.contains("own::")).map(|f| f.short.as_str()).collect();
    assert!(names[0].ends_with("own::copy_stack"), "{names:?}");
    assert!(
        names[1..4].iter().all(|name| name.contains("own::Job as ") && name.ends_with("::work")),
        "{names:?}"
    );
    let generic = |name: &&str| name.contains("own::generic");
    let test = |name: &&str| name.ends_with("own::functions_of_rust_and_their_callers");
    assert!(names[4..].iter().any(generic) && names[5..].iter().any(test), "{names:?}");
    // The hash that distinguishes the symbols of different builds is not shown.
    assert!(!frames.iter().any(|frame| frame.short.contains("17h")), "{frames:?}");
    let own = frames.iter().find(|frame| frame.short.ends_with("own::copy_stack")).unwrap();
    assert!(own.location.as_ref().unwrap().file.ends_with("tests/names/own.rs"), "{own:?}");
    assert_eq!(own.kind, SymbolKind::Function);
}

#[test]
fn static_variables_of_rust() {
    static LOCAL: Mutex<u64> = Mutex::new(0);
    let (space, symbols) = (own_space(), Symbols::new());
    let variable = |lock: &Mutex<u64>| symbols.variable(&space, std::ptr::from_ref(lock) as u64);
    for (lock, name) in
        [(&TOP, "own::TOP"), (&MANY[0], "own::MANY"), (&LOCAL, "own::static_variables_of_rust::LOCAL")]
    {
        let found = variable(lock).unwrap();
        assert!(found.name.ends_with(name), "{found:?}");
        assert_eq!(found.offset, 0, "{found:?}");
    }
    let many = variable(&MANY[3]).unwrap();
    assert!(many.name.ends_with("own::MANY"), "{many:?}");
    assert_eq!(many.offset, 3 * size_of::<Mutex<u64>>() as u64);
    assert!(variable(&Mutex::new(0)).is_none(), "on the stack");
    assert!(variable(&Box::new(Mutex::new(0))).is_none(), "on the heap");
}
