//! The kernel's own list of segments, `/proc/sysvipc/shm` (proc(5)). Only this list tells how much of a segment is in
//! memory.

use core::ops::AddAssign;
use core::str::from_utf8;
use std::collections::BTreeMap;
use unspin_sys::file;
use unspin_sys::ipc::ShmidDs;

/// Columns of the list (`sysvipc_shm_proc_show` of `ipc/shm.c`): the id, and the bytes in memory. The next column has
/// the bytes swapped out.
const ID: usize = 1;
const RESIDENT: usize = 14;

/// How many bytes of segments are where.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Usage {
    /// Bytes in memory.
    pub resident: u64,
    /// Bytes swapped out.
    pub swapped: u64,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.resident += other.resident;
        self.swapped += other.swapped;
    }
}

/// The total for the segments with these ids; zero if `/proc` cannot be read.
pub(super) fn usage(ids: &[i32]) -> Usage {
    let mut sum = Usage::default();
    let all = all();
    ids.iter().filter_map(|id| all.get(id)).for_each(|usage| sum += *usage);
    sum
}

/// The bytes of each of these segments, in their order.
pub(crate) fn usage_of(segments: &[(i32, ShmidDs)]) -> impl Iterator<Item = Usage> {
    let all = all();
    segments.iter().map(move |(id, _)| all.get(id).copied().unwrap_or_default())
}

fn all() -> BTreeMap<i32, Usage> {
    let text = file::read_all(c"/proc/sysvipc/shm").unwrap_or_default();
    from_utf8(&text).unwrap_or_default().lines().filter_map(parse).collect()
}

/// Parses a line; `None` for the heading.
fn parse(line: &str) -> Option<(i32, Usage)> {
    let mut columns = line.split_ascii_whitespace();
    let id = columns.nth(ID)?.parse().ok()?;
    let mut bytes = columns.skip(RESIDENT - ID - 1).map(|word| word.parse().ok());
    Some((id, Usage { resident: bytes.next()??, swapped: bytes.next()?? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_sysvipc_shm_lines_are_parsed() {
        let lines = [
            "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime      ctime                   rss                  swap",
            "         0          6  1600                  8192     1     2      3     0     0     0     0          0          0 1795327000                  4096                 12288",
            "nothing of the kind",
        ];
        let read: Vec<_> = lines.into_iter().filter_map(parse).collect();
        assert_eq!(read, [(6, Usage { resident: 4096, swapped: 12_288 })]);
    }
}
