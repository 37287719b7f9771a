//! The system call in which another thread sleeps.

use libc::c_long;

/// Whether only another thread, the end of a child or a signal ends the call in `/proc/PID/task/TID/syscall`: no time, no device,
/// and nothing that another machine sends. `is_pipe` tells of a descriptor whether it is a pipe. None if the thread is in no call.
pub fn can_last_for_ever(line: &str, is_pipe: impl FnOnce(u32) -> bool) -> Option<bool> {
    let mut words = line.split_whitespace();
    let number: c_long = words.next()?.parse().ok()?;
    let mut arguments = [0; 6];
    for argument in &mut arguments {
        *argument = u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok()?;
    }
    Some(match number {
        libc::SYS_futex | libc::SYS_futex_waitv | libc::SYS_semtimedop => arguments[3] == 0,
        libc::SYS_semop
        | libc::SYS_msgrcv
        | libc::SYS_msgsnd
        | libc::SYS_wait4
        | libc::SYS_waitid
        | libc::SYS_pause
        | libc::SYS_rt_sigsuspend => true,
        libc::SYS_read | libc::SYS_readv | libc::SYS_write | libc::SYS_writev => is_pipe(arguments[0] as u32),
        _ => false,
    })
}

/// Whether a mask of signals as in `/proc/PID/status` has that of alarm(2).
pub fn has_alarm(mask: &str) -> bool {
    u64::from_str_radix(mask, 16).is_ok_and(|mask| mask & 1 << (libc::SIGALRM - 1) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mask_has_the_alarm_or_not() {
        assert_eq!(["0000000000002000", "0000000000001fff", ""].map(has_alarm), [true, false, false]);
    }

    #[test]
    fn times_and_what_comes_from_outside_end_a_call() {
        let lasts = |number: c_long, arguments: &str| {
            can_last_for_ever(&format!("{number} {arguments} 0x7ffd 0x7f3c\n"), |descriptor| descriptor == 7)
        };
        assert_eq!(lasts(libc::SYS_futex, "0x1 0x80 0x2 0x0 0x0 0x0"), Some(true));
        assert_eq!(lasts(libc::SYS_futex, "0x1 0x89 0x2 0x7ff0 0x0 0xffffffff"), Some(false));
        assert_eq!(lasts(libc::SYS_read, "0x7 0x1 0x64 0x1 0x1 0x0"), Some(true), "a pipe");
        assert_eq!(lasts(libc::SYS_read, "0x8 0x1 0x64 0x1 0x1 0x0"), Some(false), "a timer, or a socket");
        assert_eq!(lasts(libc::SYS_pause, "0x0 0x0 0x0 0x0 0x0 0x0"), Some(true));
        assert_eq!(lasts(libc::SYS_recvfrom, "0x7 0x1 0x64 0x0 0x0 0x0"), Some(false));
        assert_eq!(lasts(libc::SYS_epoll_wait, "0x7 0x1 0x1 0xffffffff 0x0 0x0"), Some(false));
        assert_eq!(lasts(libc::SYS_clock_nanosleep, "0x0 0x0 0x64 0x0 0x0 0x0"), Some(false));
        let of = |line| can_last_for_ever(line, |_| true);
        assert_eq!((of("running\n"), of("-1 0x7ffd 0x7f3c\n"), of("")), (None, None, None));
    }
}
