//! What a descriptor leads to that the program may have opened, closed or replaced, and writing to it without harm.

use crate::signal::without_write_signals;
use crate::{file, raw};

/// Device and inode number of what a descriptor leads to; `None` if it is not open.
pub fn identity(descriptor: i32) -> Option<(u64, u64)> {
    let stat = file::stat_at(descriptor, c"", libc::AT_EMPTY_PATH).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

/// Writes to a descriptor, unless that would have to wait. A reader that is gone, and a limit of the file's size, do not end the
/// process: the signals that they cause are taken back.
pub fn write_without_waiting(descriptor: i32, bytes: &[u8]) {
    let mut poll = libc::pollfd { fd: descriptor, events: libc::POLLOUT, revents: 0 };
    // SAFETY: `poll` is one live pollfd, as stated, and the timeout is 0.
    let ready = unsafe { raw::call(libc::SYS_poll, [&raw mut poll as usize, 1, 0]) };
    if ready != Ok(1) || poll.revents & libc::POLLOUT == 0 {
        return;
    }
    without_write_signals(|| {
        let arguments = [descriptor as usize, bytes.as_ptr() as usize, bytes.len()];
        // SAFETY: the kernel reads the given bytes, which are initialised.
        let _ = unsafe { raw::call(libc::SYS_write, arguments) };
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write, pipe};
    use std::os::fd::AsRawFd;

    #[test]
    fn descriptor_is_recognised_and_a_closed_one_is_not() {
        let [one, other] = ["/dev/null", "/dev/zero"].map(|path| std::fs::File::open(path).unwrap());
        let again = one.try_clone().unwrap();
        let of = |file: &std::fs::File| identity(file.as_raw_fd()).unwrap();
        assert!(of(&one) == of(&again) && of(&one) != of(&other));
        assert_eq!(identity(-1), None);
    }

    #[test]
    fn pipe_that_is_full_or_without_reader_delays_nothing_and_raises_no_signal() {
        let (mut reader, mut writer) = pipe().unwrap();
        write_without_waiting(writer.as_raw_fd(), b"line");
        let mut line = [0; 4];
        reader.read_exact(&mut line).unwrap();
        assert_eq!(&line, b"line");
        // 64 KiB: pipe(7), "Pipe capacity".
        writer.write_all(&vec![0; 1 << 16]).unwrap();
        write_without_waiting(writer.as_raw_fd(), b"line");
        drop(reader);
        // Rust's runtime ignores SIGPIPE in the process. Its default would end this test's process.
        let before = crate::signal::set_default(libc::SIGPIPE);
        write_without_waiting(writer.as_raw_fd(), b"line");
        crate::signal::restore(libc::SIGPIPE, before);
    }

    /// Of a background process, which the terminal stops for a write (`stty tostop`).
    #[test]
    fn background_process_is_not_stopped() {
        // SAFETY: plain calls with live arguments; after the forks only such that are safe there.
        unsafe {
            let terminal = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY);
            assert!(terminal >= 0 && libc::grantpt(terminal) == 0 && libc::unlockpt(terminal) == 0);
            let mut name = [0; 64];
            assert_eq!(libc::ptsname_r(terminal, name.as_mut_ptr(), name.len()), 0);
            let leader = libc::fork();
            if leader == 0 {
                libc::setsid();
                // The first terminal that the leader of a session opens is that of the session.
                let end = libc::open(name.as_ptr(), libc::O_RDWR);
                let mut settings: libc::termios = core::mem::zeroed();
                libc::tcgetattr(end, &mut settings);
                settings.c_lflag |= libc::TOSTOP;
                if libc::tcsetattr(end, libc::TCSANOW, &settings) != 0 {
                    libc::_exit(2);
                }
                let background = libc::fork();
                if background == 0 {
                    libc::setpgid(0, 0);
                    write_without_waiting(end, b"line");
                    libc::_exit(0);
                }
                let mut status = 0;
                libc::waitpid(background, &mut status, libc::WUNTRACED);
                libc::kill(background, libc::SIGKILL);
                libc::_exit(i32::from(!libc::WIFEXITED(status)));
            }
            let (mut status, mut line) = (0, [0u8; 4]);
            assert_eq!(libc::waitpid(leader, &mut status, 0), leader);
            assert_eq!(status, 0, "it was stopped");
            assert_eq!(libc::read(terminal, line.as_mut_ptr().cast(), 4), 4);
            assert_eq!(&line, b"line");
            libc::close(terminal);
        }
    }
}
