//! IPC namespaces: which of the kernel's System V objects there are.

use crate::is_root;

/// Gives the calling thread, and whatever it starts from now on, an IPC namespace without any object, which the kernel
/// clears when its last process is gone. So tests see no foreign objects, and leave none. Returns whether that was
/// possible: it takes root.
pub fn enter_ipc_namespace() -> bool {
    // SAFETY: takes no pointer, and parts nothing but the System V objects of this thread.
    is_root() && unsafe { libc::unshare(libc::CLONE_NEWIPC) } == 0
}
