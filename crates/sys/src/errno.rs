use core::fmt;

/// An error number as the kernel returns it: positive, as in `errno(3)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Errno(pub i32);

macro_rules! names {
    ($($name:ident)*) => {
        impl Errno {
            $(#[doc = concat!("`", stringify!($name), "` of `errno(3)`.")]
            pub const $name: Errno = Errno(libc::$name);)*

            /// The symbolic name, for the numbers that unspin's own code can return.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $(libc::$name => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

names! {
    E2BIG EACCES EAGAIN EBADF EBUSY ECHILD EDEADLK EEXIST EFAULT EFBIG EIDRM EINTR EINVAL EIO EMFILE ENFILE ENOENT ENOEXEC ENOMEM
    ENOMSG ENOSPC ENOSYS ENOTDIR EPERM ERANGE ESRCH ETIMEDOUT EOPNOTSUPP EOVERFLOW
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "errno {}", self.0),
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", std::io::Error::from_raw_os_error(self.0))
    }
}

impl std::error::Error for Errno {}

impl From<Errno> for std::io::Error {
    fn from(errno: Errno) -> std::io::Error {
        std::io::Error::from_raw_os_error(errno.0)
    }
}
