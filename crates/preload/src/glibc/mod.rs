//! glibc's objects, as the hooks use them.
//!
//! A hook turns the program's pointer into a reference to one of these types, once. The methods of the types are safe:
//! a reference exists only while the program's object is live.
//!
//! | module | contents |
//! |---|---|
//! | [`mutex`], [`rwlock`], [`spin`], [`semaphore`], [`condition`] | the words of the object, and libc's operations on it |

pub mod condition;
pub mod mutex;
pub mod rwlock;
pub mod semaphore;
pub mod spin;
