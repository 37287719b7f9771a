//! The *looks* that work: which system calls of a poll the seccomp filters of a process and its kernel permit.
//!
//! A process cannot ask a filter what it permits, and a call that a filter forbids may kill. So `unspin` makes the calls in a
//! child of its own before it starts a program, and passes on which of them worked, together with the number of its
//! filters. Filters are only ever added, and children inherit them. So a process with the same number of filters has the
//! same ones, and a process with more has a filter of which nothing is known.
//!
//! The text: the number of filters, and the names of the looks that work.
//!
//! ```text
//! 1:pause,poll,select,epoll,readable,receive,futex,mask,memory,membarrier
//! ```

use core::fmt;

/// What a poll, or a replaced lock, needs of the kernel beyond the calls that the program makes itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum LookKind {
    /// What every poll does between its checks: yields, and notices that another thread needs the CPU. Without it no wait polls.
    Pause,
    /// poll(2), for poll and ppoll.
    Poll,
    /// select(2) and pselect(2).
    Select,
    /// epoll_wait(2), for epoll_wait, epoll_pwait and epoll_pwait2.
    Epoll,
    /// ppoll(2) of one descriptor of which fcntl(2) and getsockopt(2) were asked, for read and accept.
    Readable,
    /// recvfrom(2) and recvmsg(2) without blocking, after the same questions, for recv, recvfrom and recvmsg.
    Receive,
    /// futex(2) with FUTEX_CMP_REQUEUE, for `syscall(SYS_futex)`.
    Futex,
    /// rt_sigprocmask(2), for the calls with a signal mask.
    Mask,
    /// process_vm_readv(2) and process_vm_writev(2), for arguments that only the kernel reads.
    Memory,
    /// membarrier(2), for writers of biased read-write locks.
    Membarrier,
}

impl LookKind {
    /// All of them.
    pub const ALL: [LookKind; 10] = [
        LookKind::Pause,
        LookKind::Poll,
        LookKind::Select,
        LookKind::Epoll,
        LookKind::Readable,
        LookKind::Receive,
        LookKind::Futex,
        LookKind::Mask,
        LookKind::Memory,
        LookKind::Membarrier,
    ];

    /// The name in the variable.
    pub const fn name(self) -> &'static str {
        match self {
            LookKind::Pause => "pause",
            LookKind::Poll => "poll",
            LookKind::Select => "select",
            LookKind::Epoll => "epoll",
            LookKind::Readable => "readable",
            LookKind::Receive => "receive",
            LookKind::Futex => "futex",
            LookKind::Mask => "mask",
            LookKind::Memory => "memory",
            LookKind::Membarrier => "membarrier",
        }
    }
}

/// A set of looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Looks(u32);

impl Looks {
    /// No look works.
    pub const NONE: Looks = Looks(0);
    /// Every look works, as where no filter is installed.
    pub const ALL: Looks = Looks((1 << LookKind::ALL.len()) - 1);

    /// The set of some looks.
    pub const fn of<const N: usize>(looks: [LookKind; N]) -> Looks {
        let (mut bits, mut i) = (0, 0);
        while i < N {
            bits |= 1 << looks[i] as u8;
            i += 1;
        }
        Looks(bits)
    }

    /// The set with one look more.
    pub const fn with(self, look: LookKind) -> Looks {
        Looks(self.0 | 1 << look as u8)
    }

    /// Whether the set contains a look.
    #[inline(always)]
    pub const fn has(self, look: LookKind) -> bool {
        self.0 >> look as u8 & 1 == 1
    }

    /// Whether the set contains all of these.
    #[inline(always)]
    pub const fn contains(self, other: Looks) -> bool {
        self.0 & other.0 == other.0
    }

    /// As a number, for an atomic word.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The set with this number.
    pub const fn from_bits(bits: u32) -> Looks {
        Looks(bits & Looks::ALL.0)
    }
}

/// The looks that work under a number of filters: the contents of the variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PermittedLooks {
    /// Number of seccomp filters under which that was found.
    pub filters: u32,
    /// The looks that work.
    pub looks: Looks,
}

impl PermittedLooks {
    /// Reads the text of the variable. Names that this version does not know count for nothing; none if there is no number.
    pub fn parse(text: &[u8]) -> Option<PermittedLooks> {
        let (filters, names) = core::str::from_utf8(text).ok()?.split_once(':')?;
        let of_name = |name: &str| LookKind::ALL.into_iter().find(|look| look.name() == name);
        let looks = names.split(',').filter_map(of_name).fold(Looks::NONE, Looks::with);
        Some(PermittedLooks { filters: filters.parse().ok()?, looks })
    }

    /// The looks that work in a process with as many filters, of which `stated` is what the variable states. `filters` is none
    /// where the kernel does not tell the number.
    ///
    /// Without the variable a process without filters may make every call, and another one none. With it, a process with
    /// another number of filters may make none.
    pub fn in_process(stated: Option<PermittedLooks>, filters: Option<u32>) -> Looks {
        match (stated, filters) {
            (Some(stated), Some(filters)) if stated.filters == filters => stated.looks,
            (None, Some(0)) => Looks::ALL,
            _ => Looks::NONE,
        }
    }
}

impl fmt::Display for PermittedLooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.filters)?;
        let known = LookKind::ALL.into_iter().filter(|&look| self.looks.has(look));
        known.enumerate().try_for_each(|(at, look)| {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{}", look.name())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_is_read_as_it_was_written() {
        let all = PermittedLooks { filters: 3, looks: Looks::ALL };
        let text = "3:pause,poll,select,epoll,readable,receive,futex,mask,memory,membarrier";
        assert_eq!(all.to_string(), text);
        assert_eq!(PermittedLooks::parse(text.as_bytes()), Some(all));
        let some = PermittedLooks { filters: 0, looks: Looks::of([LookKind::Epoll, LookKind::Pause]) };
        assert_eq!(PermittedLooks::parse(some.to_string().as_bytes()), Some(some));
        let none = PermittedLooks { filters: 1, looks: Looks::NONE };
        assert_eq!((PermittedLooks::parse(b"1:"), PermittedLooks::parse(b"1:tea")), (Some(none), Some(none)));
        for text in ["", "1", "x:poll", "-1:poll", "99999999999:poll"] {
            assert_eq!(PermittedLooks::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(PermittedLooks::parse(b"1:\xff"), None);
    }

    #[test]
    fn set_says_what_is_in_it() {
        for look in LookKind::ALL {
            let set = Looks::of([look]);
            assert!(LookKind::ALL.iter().all(|&other| set.has(other) == (other == look)), "{look:?}");
            assert!(Looks::ALL.contains(set) && !Looks::NONE.contains(set) && set.contains(Looks::NONE));
            assert_eq!(Looks::from_bits(set.bits()), set);
        }
        assert!(!Looks::of([LookKind::Poll]).contains(Looks::of([LookKind::Poll, LookKind::Mask])));
        assert_eq!(Looks::from_bits(!0), Looks::ALL);
    }

    #[test]
    fn only_the_same_number_of_filters_permits_a_look() {
        let stated = Some(PermittedLooks { filters: 1, looks: Looks::of([LookKind::Poll]) });
        let cases = [
            (stated, Some(1), Looks::of([LookKind::Poll])),
            (stated, Some(2), Looks::NONE),
            (stated, Some(0), Looks::NONE),
            (stated, None, Looks::NONE),
            (None, Some(0), Looks::ALL),
            (None, Some(1), Looks::NONE),
            (None, None, Looks::NONE),
        ];
        for (stated, filters, expected) in cases {
            assert_eq!(PermittedLooks::in_process(stated, filters), expected, "{stated:?} {filters:?}");
        }
    }
}
