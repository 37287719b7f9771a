//! Cached credentials.
//!
//! Reading credentials takes four system calls; an uncontended operation takes none. So each thread caches them until
//! [`invalidate`] is called. The preload library calls it after every call that changes credentials.

use core::cell::Cell;
use unspin_sync::machine::{AtomicU32, Ordering};
use unspin_sys::creds::{CAP_IPC_OWNER, Creds};

static EPOCH: AtomicU32 = AtomicU32::new(1);

/// Makes every thread read its credentials again. To be called after a successful `setuid` or similar call.
pub fn invalidate() {
    // Relaxed: the thread that changed its credentials sees its own store. A call of another thread is concurrent with
    // the change and may use the old or the new ones, as in the kernel.
    EPOCH.fetch_add(1, Ordering::Relaxed);
}

/// A number that changes with every [`invalidate`].
#[inline(always)]
pub(crate) fn epoch() -> u32 {
    // Relaxed: see `invalidate`.
    EPOCH.load(Ordering::Relaxed)
}

/// All credentials except the supplementary groups. All-zero bytes: not read yet.
#[derive(Debug)]
pub(crate) struct Cached {
    epoch: Cell<u32>,
    uid: Cell<u32>,
    gid: Cell<u32>,
    overrides: Cell<bool>,
    capabilities: Cell<u64>,
}

impl Cached {
    /// Whether nothing has called [`invalidate`] since they were read.
    #[inline(always)]
    pub fn is_fresh(&self) -> bool {
        self.epoch.get() == epoch()
    }

    #[inline(always)]
    pub fn uid(&self) -> u32 {
        self.uid.get()
    }

    #[inline(always)]
    pub fn overrides(&self) -> bool {
        self.overrides.get()
    }

    /// All credentials, read anew if they may have changed. The supplementary groups are read whenever they are asked
    /// for.
    pub fn read(&self) -> Creds {
        if self.is_fresh() {
            return Creds::new(self.uid.get(), self.gid.get(), self.capabilities.get());
        }
        // The epoch is read before the credentials, so that a change in between is not missed.
        let epoch = epoch();
        let creds = Creds::current();
        self.uid.set(creds.uid);
        self.gid.set(creds.gid);
        self.overrides.set(creds.capable(CAP_IPC_OWNER));
        self.capabilities.set(creds.capabilities);
        self.epoch.set(epoch);
        creds
    }
}
