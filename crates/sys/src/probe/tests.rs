use super::*;

/// Runs `body` in a child process under a filter that gives this answer to one system call, and returns what it returns, below
/// 256. None if no filter can be installed here.
fn under_filter(number: i64, answer: u32, body: impl FnOnce() -> u8) -> Option<u8> {
    const UNFILTERED: u8 = 77;
    let load_number = libc::sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 };
    let is_equal = libc::sock_filter { code: 0x15, jt: 0, jf: 1, k: number as u32 };
    let answers = |k| libc::sock_filter { code: 0x06, jt: 0, jf: 0, k };
    let mut rules = [load_number, is_equal, answers(answer), answers(libc::SECCOMP_RET_ALLOW)];
    let program = libc::sock_fprog { len: rules.len() as u16, filter: rules.as_mut_ptr() };
    // SAFETY: a live program of the stated length; the child makes system calls and ends.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            let is_installed = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0;
            libc::_exit(if is_installed { body() } else { UNFILTERED }.into());
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        assert!(libc::WIFEXITED(status), "{status:x}");
        let code = libc::WEXITSTATUS(status) as u8;
        if code == UNFILTERED {
            let _ = writeln!(std::io::stderr(), "SKIPPED: no seccomp filter can be installed here");
        }
        (code != UNFILTERED).then_some(code)
    }
}

const ERRNO: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
const RIGHT: u8 = 1;

/// Whether `expected` is the answer to one call, and all others work.
fn is_only(call: Call, expected: Answer) -> u8 {
    let answers = calls().unwrap();
    let right = |(at, &answer): (usize, &Answer)| {
        answer == if Call::ALL[at] == call { expected } else { Answer::Works }
    };
    u8::from(answers.iter().enumerate().all(right))
}

#[test]
fn every_call_works_without_a_filter() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    if !status.contains("\nSeccomp:\t0\n") {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED every_call_works_without_a_filter: because a seccomp filter is in force"
        );
        return;
    }
    let answers = calls().unwrap();
    let failed: Vec<_> =
        Call::ALL.iter().zip(answers).filter(|(_, answer)| *answer != Answer::Works).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn forbidden_call_fails_or_kills_and_the_others_are_made() {
    for (number, call) in [
        (libc::SYS_sched_yield, Call::Yield),
        (libc::SYS_getrusage, Call::Usage),
        (libc::SYS_epoll_wait, Call::EpollWait),
        (libc::SYS_recvmsg, Call::ReceiveMessage),
        (libc::SYS_membarrier, Call::Membarrier),
    ] {
        for (action, expected) in [
            (ERRNO, Answer::Fails),
            (libc::SECCOMP_RET_KILL_PROCESS, Answer::Kills),
            (libc::SECCOMP_RET_KILL_THREAD, Answer::Kills),
            (libc::SECCOMP_RET_TRAP, Answer::Kills),
        ] {
            let found = under_filter(number, action, || is_only(call, expected));
            assert!(found.is_none_or(|found| found == RIGHT), "{call:?} {expected:?}");
        }
    }
}

/// The preparation of the child is no call of a poll.
#[test]
fn filter_that_kills_the_preparation_forbids_nothing() {
    let works = || u8::from(calls().unwrap().iter().all(|&answer| answer == Answer::Works));
    let found = under_filter(libc::SYS_prlimit64, libc::SECCOMP_RET_KILL_PROCESS, works);
    assert!(found.is_none_or(|found| found == RIGHT));
}

#[test]
fn child_that_makes_no_progress_is_ended() {
    let sleeps = Child::start(|| {
        loop {
            sleep_us(999_999);
        }
    });
    assert_eq!(sleeps.unwrap().wait(&|| 0), Waited::Hangs);
    assert_eq!(Child::start(|| ()).unwrap().wait(&|| 0), Waited::Ended);
}

/// systemd's set of calls that change resources is often forbidden to services.
#[test]
fn switches_are_counted_where_no_process_can_be_bound() {
    for action in [ERRNO, libc::SECCOMP_RET_KILL_PROCESS] {
        let is_counted = || (0..100).find_map(|_| switches_are_counted().unwrap()) == Some(true);
        let found = under_filter(libc::SYS_sched_setaffinity, action, || u8::from(is_counted()));
        assert!(found.is_none_or(|found| found == RIGHT));
    }
}

/// Linux counts them.
#[test]
fn switches_are_counted_here() {
    // On a busy machine the two may get no CPU in time.
    let found = (0..100).find_map(|_| switches_are_counted().unwrap());
    assert_eq!(found, Some(true));
}
