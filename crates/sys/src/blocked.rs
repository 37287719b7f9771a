//! The system call in which another thread sleeps.

use libc::c_long;

/// Whether the call in `/proc/PID/task/TID/syscall` also ends at a time, without an event. None if the thread is in no call.
pub fn waits_for_time(line: &str) -> Option<bool> {
    let mut words = line.split_whitespace();
    let number: c_long = words.next()?.parse().ok()?;
    let mut arguments = [0; 6];
    for argument in &mut arguments {
        *argument = u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok()?;
    }
    Some(match end(number) {
        End::Event => false,
        End::Time => true,
        End::Pointer(index) => arguments[index] != 0,
        // An `int`: the upper half of the register means nothing.
        End::Milliseconds(index) => arguments[index] as i32 >= 0,
    })
}

/// What ends a call.
enum End {
    /// An event only.
    Event,
    /// A time in any case.
    Time,
    /// A time, if this argument is no null pointer.
    Pointer(usize),
    /// A time, if this argument is not negative.
    Milliseconds(usize),
}

fn end(number: c_long) -> End {
    match number {
        // A call that is restarted after a signal has a time: the others are restarted as themselves.
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep | libc::SYS_restart_syscall => End::Time,
        libc::SYS_poll => End::Milliseconds(2),
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait => End::Milliseconds(3),
        libc::SYS_ppoll | libc::SYS_rt_sigtimedwait => End::Pointer(2),
        libc::SYS_futex | libc::SYS_futex_waitv | libc::SYS_semtimedop | libc::SYS_epoll_pwait2 => {
            End::Pointer(3)
        }
        libc::SYS_select
        | libc::SYS_pselect6
        | libc::SYS_recvmmsg
        | libc::SYS_mq_timedsend
        | libc::SYS_mq_timedreceive
        | libc::SYS_io_getevents => End::Pointer(4),
        _ => End::Event,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_timeout_ends_a_wait_at_a_time() {
        let waits = |number: c_long, arguments: &str| {
            waits_for_time(&format!("{number} {arguments} 0x7ffd 0x7f3c\n"))
        };
        assert_eq!(waits(libc::SYS_futex, "0x1 0x80 0x2 0x0 0x0 0x0"), Some(false));
        assert_eq!(waits(libc::SYS_futex, "0x1 0x89 0x2 0x7ff0 0x0 0xffffffff"), Some(true));
        assert_eq!(waits(libc::SYS_poll, "0x1 0x1 0xffffffff 0x0 0x0 0x0"), Some(false));
        assert_eq!(waits(libc::SYS_poll, "0x1 0x1 0x64 0x0 0x0 0x0"), Some(true));
        assert_eq!(waits(libc::SYS_read, "0x0 0x1 0x64 0x1 0x1 0x0"), Some(false));
        assert_eq!(waits(libc::SYS_clock_nanosleep, "0x0 0x0 0x64 0x0 0x0 0x0"), Some(true));
        assert_eq!(
            (waits_for_time("running\n"), waits_for_time("-1 0x7ffd 0x7f3c\n"), waits_for_time("")),
            (None, None, None)
        );
    }
}
