//! The pthread family: libc's functions do the work, or what [`swap`](crate::swap) has put in their place, and the meter is
//! told.
//!
//! All of it, or none: two of these functions that had different owners would be a lock with two owners. The behaviour stays
//! libc's in every respect. What is added is a `trylock` before each blocking call, which succeeds where that call would not
//! have blocked, and else the time of the blocking call.
//!
//! | module | exports |
//! |---|---|
//! | `mutex` | `pthread_mutex_*` |
//! | `rwlock` | `pthread_rwlock_*` |
//! | `spin` | `pthread_spin_*` |
//! | `cond` | `pthread_cond_*` |
//! | `barrier` | `pthread_barrier_*` |
//! | `semaphore` | `sem_init`, `sem_wait` and its kin, `sem_post` |
//! | `c11` | `mtx_*`, `cnd_*`: the same objects under other names |
//!
//! Nothing is recorded while the program's lock is held, beyond a clock and that the thread holds it. (At the end of a wait
//! for a condition, which takes a thousand times as long, what was waited for is written down at once.)
//!
//! Every function may be left by cancellation, so none has anything to drop while libc's function runs.

mod acquire;
pub mod barrier;
mod busy;
mod c11;
mod cond;
pub mod layout;
mod mutex;
pub mod real;
mod rwlock;
mod semaphore;
mod signalled;
mod spin;
