//! Runs a function on a stack of its own, where the limit on the main thread's stack (`ulimit -s`) is too low for it. Another
//! thread would not do: it may not be permitted (`ulimit -u`), and a process with two threads cannot fork.

use crate::mem::Mapping;
use crate::page::BYTES as PAGE;
use crate::{Errno, limits, raw};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

/// Calls `work` on a new stack of `bytes` if the main thread's stack may not grow so far. Where there is no memory for it,
/// calls `work` on the present stack. To be called by the main thread.
pub fn with_at_least<R>(bytes: usize, work: impl FnOnce() -> R) -> R {
    if limits::stack() >= bytes as u64 {
        return work();
    }
    match Mapping::stack(bytes) {
        Ok(stack) => on(&stack, work),
        Err(_) => work(),
    }
}

impl Mapping {
    /// Memory for a stack. Its lowest page is not accessible: an overflow ends the process.
    fn stack(bytes: usize) -> Result<Mapping, Errno> {
        let map = Mapping::map_private(bytes.next_multiple_of(PAGE) + PAGE)?;
        let guard = [map.start().as_ptr() as usize, PAGE, libc::PROT_NONE as usize];
        // SAFETY: the first page of the mapping just made, to which nothing refers.
        unsafe { raw::call(libc::SYS_mprotect, guard) }?;
        Ok(map)
    }
}

/// What is called on the other stack, and how it ended.
struct Call<F, R> {
    work: Option<F>,
    result: Option<thread::Result<R>>,
}

fn on<R>(stack: &Mapping, work: impl FnOnce() -> R) -> R {
    extern "C" fn enter<F: FnOnce() -> R, R>(call: *mut Call<F, R>) {
        // SAFETY: `on` passes its own `call`, and does not touch it until this returns.
        let call = unsafe { &mut *call };
        // A panic goes on in the frames of the caller's stack.
        call.result = call.work.take().map(|work| catch_unwind(AssertUnwindSafe(work)));
    }
    fn entry<F: FnOnce() -> R, R>(_: &Call<F, R>) -> extern "C" fn(*mut Call<F, R>) {
        enter::<F, R>
    }
    let mut call = Call { work: Some(work), result: None };
    let top = stack.start().as_ptr() as usize + stack.len();
    let function = entry(&call) as *const () as usize;
    // SAFETY: `function` takes the pointer and returns. `top` is the end of whole pages, so it is aligned, and the pages below it
    // are ours until this returns.
    unsafe { switch(&raw mut call as usize, top, function) };
    match call.result.expect("the function was called") {
        Ok(result) => result,
        Err(panic) => resume_unwind(panic),
    }
}

/// Calls `function` with `argument` while the stack pointer is `top`. Unwinders find the caller's frame by the frame pointer.
///
/// # Safety
/// `function` is a C function with one argument that returns, and `top` the aligned end of memory that is its stack meanwhile.
#[unsafe(naked)]
unsafe extern "C" fn switch(argument: usize, top: usize, function: usize) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rsp, rsi",
        "call rdx",
        "mov rsp, rbp",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn deep(levels: usize) -> usize {
        let frame = core::hint::black_box([levels; 128]);
        if levels == 0 { 0 } else { deep(levels - 1) + frame[levels % 128] }
    }

    #[test]
    fn deep_calls_fit_and_the_result_comes_back() {
        let stack = Mapping::stack(32 << 20).unwrap();
        // 4 MiB at least, more than a test's thread has. (A frame may have the array twice.)
        assert_eq!(on(&stack, || deep(4096)), 4096 * 4097 / 2);
        let caller = &raw const stack as usize;
        let within = on(&stack, || &raw const caller as usize);
        assert_eq!(within, &raw const caller as usize, "the closure borrows from its caller's frame");
    }

    #[test]
    fn panic_reaches_the_caller() {
        let stack = Mapping::stack(1 << 20).unwrap();
        let caught =
            catch_unwind(AssertUnwindSafe(|| on(&stack, || -> u32 { resume_unwind(Box::new("panic")) })));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"panic"));
    }

    #[test]
    fn present_stack_is_used_where_it_suffices() {
        assert_eq!(with_at_least(0, || 7), 7);
        assert_eq!(with_at_least(usize::MAX >> 1, || 7), 7, "no memory is that large");
    }
}
