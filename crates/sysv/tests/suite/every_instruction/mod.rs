//! A process is killed after each single instruction of an operation, and all other processes continue.
//!
//! A kill at a random moment seldom hits the few hundred instructions that matter. So a test single-steps the operation
//! by ptrace(2), kills the process after n steps, and checks the state that it leaves. With `UNSPIN_STEPS=all`, n takes
//! every value from the first instruction to the last (a system call is one step). The default takes an evenly spread
//! sample of these values for each script, and `UNSPIN_STEPS=NUMBER` a sample of that size.

mod messages;
mod segments;
mod semaphores;
mod served;
mod sets;
mod stepping;
mod undo;
