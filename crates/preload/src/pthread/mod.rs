//! Hooks of the pthread functions. libc's functions do the work, or the locks of [`swap`](crate::swap) that replace
//! them; the meter is told.
//!
//! Either all of these functions are hooked or none: if two of them had different implementations, a lock would have
//! two. The behaviour is libc's in every respect. A hook adds a `trylock` before each blocking call. It succeeds where
//! that call would not have blocked. If it fails, the hook measures the time of the blocking call.
//!
//! | module | exports |
//! |---|---|
//! | `mutex` | `pthread_mutex_*` |
//! | `rwlock` | `pthread_rwlock_*` |
//! | `spin` | `pthread_spin_*` |
//! | `cond` | `pthread_cond_*` |
//! | `barrier` | `pthread_barrier_*` |
//! | `semaphore` | `sem_init`, `sem_wait` and its variants, `sem_post` |
//! | `c11` | `mtx_*`, `cnd_*`: the same objects under the names of C11 |
//!
//! While the program holds the lock, the hooks only read a clock and note that the thread holds it. (Exception: at the
//! end of a wait for a condition, the wait is recorded at once. Such a wait takes a thousand times as long.)
//!
//! A thread may leave every function by cancellation, so none has anything to drop while libc's function runs.

mod attempt;
pub mod barrier;
mod busy;
mod c11;
mod cond;
mod holder;
mod inversion;
pub mod mutex;
mod property;
mod rwlock;
pub mod semaphore;
mod signalled;
mod spin;
