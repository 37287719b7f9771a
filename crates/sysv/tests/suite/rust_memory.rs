//! Operations in Rust's memory are read directly: in a process without a handler for SIGSEGV the engine would read an
//! address of a C program by a system call.

use unspin_sys::ipc::{Sembuf, flag};
use unspin_sysv::{Engine, Kind, Options};

/// Makes each call of process_vm_readv(2) kill the calling process from now on.
fn forbid_process_vm_readv() {
    let load_number = libc::sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 };
    let is_forbidden = libc::sock_filter { code: 0x15, jt: 0, jf: 1, k: libc::SYS_process_vm_readv as u32 };
    let answer = |k| libc::sock_filter { code: 0x06, jt: 0, jf: 0, k };
    let mut filter =
        [load_number, is_forbidden, answer(libc::SECCOMP_RET_KILL_PROCESS), answer(libc::SECCOMP_RET_ALLOW)];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program is live during the call. The filter is for this process, which ends with the test.
    let set = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    assert!(set, "a process may restrict its own system calls");
}

/// In the child of a fork: calls of one operation, of several, and with SEM_UNDO.
fn operate(kind: Kind, path: &std::path::Path) {
    let engine = Engine::open(kind, path, &Options::default(), None).unwrap();
    let id = engine.semget(flag::IPC_PRIVATE, 3, 0o600).unwrap();
    let op = |sem_num, sem_op, sem_flg: i32| Sembuf { sem_num, sem_op, sem_flg: sem_flg as i16 };
    // Joins the arena before the system call is forbidden.
    engine.semop_ops(id, &[op(0, 1, 0)]).unwrap();
    forbid_process_vm_readv();
    engine.semop_ops(id, &[op(0, 1, 0)]).unwrap();
    engine.semop_ops(id, &[op(0, -1, 0), op(1, 1, 0), op(2, 0, 0)]).unwrap();
    engine.semop_ops(id, &[op(1, 1, flag::SEM_UNDO)]).unwrap();
}

#[test]
fn operations_in_a_slice_need_no_system_call_to_be_read() {
    for kind in Kind::IN_ARENAS {
        let dir = tempfile::tempdir().unwrap();
        // SAFETY: the child calls the engine only, and ends here.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let worked = std::panic::catch_unwind(|| operate(kind, &dir.path().join("arena"))).is_ok();
            // SAFETY: ends the child without the handlers of the test program.
            unsafe { libc::_exit(if worked { 0 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: a child of ours, and a local variable.
        assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "{kind}: status {status:#x}");
    }
}
