//! Programs of one process for each of the three mechanisms, read from any bytes, and models that say what they do.
//!
//! The tests beside and the fuzz targets of `fuzz/` perform the same programs.

pub mod bytes;
pub mod child;
pub mod messages;
pub mod names;
pub mod segments;
pub mod semaphores;

use bytes::Bytes;
use std::fmt::Debug;
use unspin_sys::ipc::flag;
use unspin_sysv::Engine;

/// No memory is mapped in the first page.
pub const BAD_ADDRESS: usize = 64;

/// One of the mechanisms: its calls, and the deliberate mistakes of its model. The comparison must find each of them.
pub trait Family {
    /// One call of a program.
    type Call: Debug;
    /// A mistake of the model; the default is none.
    type Flaw: Copy + Debug + Default + PartialEq + 'static;
    /// All mistakes that show in what calls answer.
    const FLAWS: &'static [Self::Flaw];
    /// Calls of a program at most.
    const LONGEST: usize;

    /// Reads a call from the next bytes.
    fn call(bytes: &mut Bytes<'_>) -> Self::Call;

    /// Whether the call names an object by its index: the kernel has other programs' objects too, at whatever indices.
    fn names_object_by_index(call: &Self::Call) -> bool;

    /// Performs `calls` with the engine and the model, and says where they first differ. Afterwards the engine has no
    /// object of the program's.
    ///
    /// `first_key` is added to the program's keys.
    fn compare(engine: &Engine, first_key: i32, calls: &[Self::Call], flaw: Self::Flaw)
    -> Result<(), String>;
}

/// Any bytes are a program.
pub fn decode<F: Family>(bytes: &[u8]) -> Vec<F::Call> {
    let mut bytes = Bytes::new(bytes);
    let mut calls = vec![];
    while !bytes.is_empty() && calls.len() < F::LONGEST {
        calls.push(F::call(&mut bytes));
    }
    calls
}

/// The key that a program means: 0 is `IPC_PRIVATE`.
fn key(first_key: i32, key: u8) -> i32 {
    if key == 0 { flag::IPC_PRIVATE } else { first_key + i32::from(key) }
}
