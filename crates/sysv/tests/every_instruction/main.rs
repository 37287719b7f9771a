//! A process is killed after each single instruction of an operation, and all other processes continue.
//!
//! A kill at a random moment hardly ever meets the few hundred instructions that matter. So the operation is
//! single-stepped by ptrace(2), the process killed after n steps, and what it leaves behind checked, for every n from
//! its first instruction to its last (a system call is one step). `UNSPIN_STEPS=all` does that; the default takes a
//! sample of values of n, evenly spread, of each script, and `UNSPIN_STEPS=NUMBER` one of that size.

mod messages;
mod segments;
mod semaphores;
mod served;
mod sets;
mod stepping;
mod undo;
