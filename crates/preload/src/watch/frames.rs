//! Stack frames: finds the return address of a function that has called another.
//!
//! The tables are those that C++ exceptions use to unwind (`.eh_frame`). They are found through glibc's
//! `_dl_find_object`, which takes no lock and works in signal handlers (glibc 2.35; without it no frame is known).
//! Nothing is allocated.

use crate::lookup;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, NativeEndian, Register, RegisterRule,
    UnwindContext, UnwindContextStorage, UnwindSection, UnwindTableRow, X86_64,
};
use unspin_sync::atomic::{AtomicUsize, Ordering::Relaxed};
use unspin_sys::{glibc, mem};

/// A function on the stack that has called another function.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The address to which the called function returns.
    pub address: usize,
    /// The position of that address on the stack.
    pub at: usize,
    /// The function's frame-base register; `None` if it cannot be determined.
    pub bp: Option<usize>,
}

/// The end of a function's frame while it calls another: directly above its own return address (the psABI's canonical
/// frame address).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// This many bytes above the stack pointer that the function has after its callee has returned.
    AboveStackPointer(usize),
    /// This many bytes above its frame-base register.
    AboveFrameBase(usize),
}

/// `struct dl_find_object` of dlfcn.h.
#[repr(C)]
struct Found {
    flags: u64,
    begin: *const u8,
    end: *const u8,
    link_map: *const c_void,
    eh_frame_header: *const u8,
    reserved: [u64; 7],
}

type Find = unsafe extern "C" fn(*const c_void, *mut Found) -> i32;

/// `_dl_find_object`; 0 before [`prepare`], and where libc has none.
static FIND: AtomicUsize = AtomicUsize::new(0);

/// Looks up the function. That takes the dynamic linker's lock, so it must not happen while the program uses a lock.
pub fn prepare() {
    // dlsym(3) would find nothing, and until 2.34 its first call takes a key of thread-specific data.
    if glibc::is_before(2, 35) {
        return;
    }
    // SAFETY: a C string.
    let address = unsafe { lookup::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) };
    // Relaxed: only the address itself is published.
    FIND.store(address as usize, Relaxed);
}

/// Room for the registers and rows of a function that a C or C++ compiler generates. Such a function can save six
/// registers (psABI) besides its return address. Room for twenty would take two more kilobytes of the program's stack.
struct Room;

impl UnwindContextStorage<usize> for Room {
    type Rules = [(Register, RegisterRule<usize>); 8];
    type Stack = [UnwindTableRow<usize, Self>; 3];
}

/// The end of the frame of the function to which this return address belongs.
#[inline(never)]
pub fn end(return_address: usize) -> Option<End> {
    unwound(return_address, end_in)
}

/// The function that called this one.
#[inline(never)]
pub fn caller(of: Frame) -> Option<Frame> {
    unwound(of.address, |row| {
        let end = match end_in(row)? {
            End::AboveStackPointer(n) => of.at.checked_add(size_of::<usize>() + n)?,
            End::AboveFrameBase(n) => of.bp?.checked_add(n)?,
        };
        let at = end.checked_sub(size_of::<usize>()).filter(|&at| at > of.at)?;
        let bp = match row.register(X86_64::RBP) {
            // Without a rule for it, the function does not change the register (psABI, "Callee Saved").
            None | Some(RegisterRule::Undefined | RegisterRule::SameValue) => of.bp,
            Some(RegisterRule::Offset(n)) => word(end.checked_add_signed(n as isize)?),
            Some(_) => None,
        };
        Some(Frame { address: word(at).filter(|&address| address != 0)?, at, bp })
    })
}

/// The start address of the loaded module that contains this address.
pub fn module(address: usize) -> Option<usize> {
    Some(mapped_around(address)?.begin as usize)
}

/// A word of the stack. The kernel reads it, so the end of the stack causes no fault.
pub fn word(at: usize) -> Option<usize> {
    let word = [unspin_sync::machine::AtomicU64::new(0)];
    // Relaxed: a local variable.
    (mem::copy_into_words(at, &word) == size_of::<usize>()).then(|| word[0].load(Relaxed) as usize)
}

fn end_in(row: &UnwindTableRow<usize, Room>) -> Option<End> {
    match *row.cfa() {
        CfaRule::RegisterAndOffset { register: X86_64::RSP, offset } => {
            Some(End::AboveStackPointer(usize::try_from(offset).ok()?))
        }
        CfaRule::RegisterAndOffset { register: X86_64::RBP, offset } => {
            Some(End::AboveFrameBase(usize::try_from(offset).ok()?))
        }
        _ => None,
    }
}

/// Reads the row of the unwind tables for the call that returns to this address.
fn unwound<T>(
    return_address: usize,
    read: impl FnOnce(&UnwindTableRow<usize, Room>) -> Option<T>,
) -> Option<T> {
    let object = tables_of(return_address)?;
    let slice = |from: *const u8| {
        let len = (object.end as usize).checked_sub(from as usize)?;
        // SAFETY: the dynamic linker says that `begin` to `end` is mapped. `from` lies in between: the header of the
        // unwind tables does (`tables_of`), the section does (checked below), and `checked_sub` found that `end` is not
        // below it. No code writes there.
        Some(EndianSlice::new(unsafe { core::slice::from_raw_parts(from, len) }, NativeEndian))
    };
    let header_at = object.eh_frame_header;
    let bases = BaseAddresses::default().set_eh_frame_hdr(header_at as u64);
    let header = EhFrameHdr::from(slice(header_at)?).parse(&bases, 8).ok()?;
    let gimli::Pointer::Direct(section_at) = header.eh_frame_ptr() else { return None };
    if !(object.begin as u64..object.end as u64).contains(&section_at) {
        return None;
    }
    let bases = bases.set_eh_frame(section_at);
    let section = EhFrame::from(slice(section_at as *const u8)?);
    // The call ends before its return address: it may be the last instruction of its function.
    let code = return_address as u64 - 1;
    let entry = header
        .table()?
        .fde_for_address(&section, &bases, code, |section, bases, offset| {
            section.cie_from_offset(bases, offset)
        })
        .ok()?;
    let mut context = UnwindContext::<usize, Room>::new_in();
    read(entry.unwind_info_for_address(&section, &bases, &mut context, code).ok()?)
}

/// The mapping that contains the unwind tables of the code at this address. glibc describes an object as one mapping, but
/// an object with gaps between its segments as one mapping for each segment: code and tables lie in different ones.
fn tables_of(address: usize) -> Option<Found> {
    let has_tables = |found: &Found| (found.begin..found.end).contains(&found.eh_frame_header);
    let code = mapped_around(address)?;
    if has_tables(&code) {
        return Some(code);
    }
    let tables = mapped_around(code.eh_frame_header as usize)?;
    (tables.link_map == code.link_map && has_tables(&tables)).then_some(tables)
}

fn mapped_around(address: usize) -> Option<Found> {
    // Relaxed: as in `prepare`.
    let find = FIND.load(Relaxed);
    if find == 0 {
        return None;
    }
    let mut found = MaybeUninit::<Found>::uninit();
    // SAFETY: 1. libc's function has this type; 2. it writes the whole structure if it answers 0.
    unsafe {
        let find = core::mem::transmute::<usize, Find>(find);
        if find(address as *const c_void, found.as_mut_ptr()) != 0 {
            return None;
        }
        Some(found.assume_init())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The registers that `entry` passed, and the return address.
    #[repr(C)]
    #[derive(Default)]
    struct Told {
        sp: usize,
        bp: usize,
        address: usize,
        /// The return address of the caller's caller, its position, and the number of further frames.
        outer: usize,
        at: usize,
        further: usize,
    }

    unspin_sys::entry! {
        /// Returns data about the caller.
        fn unspin_test_frames(1) = told;
    }

    unsafe extern "C-unwind" fn told(out: *mut Told, sp: usize, bp: usize) -> i32 {
        // SAFETY: at its entry the stack pointer points to the return address.
        let address = unsafe { *(sp as *const usize) };
        let outer = super::caller(Frame { address, at: sp, bp: Some(bp) });
        let further = core::iter::successors(outer, |&frame| super::caller(frame)).count();
        let (outer, at) = outer.map_or((0, 0), |frame| (frame.address, frame.at));
        // SAFETY: the test's own variable.
        unsafe { *out = Told { sp, bp, address, outer, at, further } };
        0
    }

    unsafe extern "C-unwind" {
        #[link_name = "unspin_test_frames"]
        fn ask(out: *mut Told) -> i32;
    }

    #[inline(never)]
    fn caller(out: &mut Told, filler: &mut [usize; 9]) {
        // SAFETY: writes to `out`.
        unsafe { ask(out) };
        filler[3] += 1;
    }

    #[test]
    fn the_return_address_of_a_caller_is_found() {
        prepare();
        let mut out = Told::default();
        caller(&mut out, &mut [0; 9]);
        let end = match end(out.address)
            .expect("glibc 2.35 or later, and tables, as every Rust program has them")
        {
            End::AboveStackPointer(n) => out.sp + size_of::<usize>() + n,
            End::AboveFrameBase(n) => out.bp + n,
        };
        // The return address lies directly below the end of the frame.
        assert_eq!(out.at, end - size_of::<usize>());
        assert!(super::end(out.outer).is_some());
        assert_ne!(out.outer, out.address);
        assert!(out.further > 5, "a test runs {} calls deep", out.further);
        assert_eq!(super::end(0x1000), None);
    }
}
