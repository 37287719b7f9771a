//! Shared memory segments as ipcs(1) shows them.

use super::legend::Legend;
use super::size::{Unit, human};
use super::table::{self, View, octal, size};
use unspin_sys::ipc::flag::{SHM_DEST, SHM_LOCKED};
use unspin_sys::ipc::{ShmInfo, ShmidDs};
use unspin_sys::limits::ShmLimits;
use unspin_sys::page;

/// What stands above the list.
pub fn heading(view: View, unit: Unit) -> String {
    match view {
        View::Creators => {
            table::heading("Shared Memory Segment Creators/Owners", &table::creator_columns("shmid"))
        }
        View::Times => table::heading(
            "Shared Memory Attach/Detach/Change Times",
            &[("shmid", 10), ("owner", 10), ("attached", 20), ("detached", 20), ("changed", 20)],
        ),
        View::Pids => table::heading(
            "Shared Memory Creator/Last-op PIDs",
            &[("shmid", 10), ("owner", 10), ("cpid", 10), ("lpid", 10)],
        ),
        View::Objects => {
            let bytes = if unit == Unit::Human { "size" } else { "bytes" };
            let columns = [
                ("key", 10),
                ("shmid", 10),
                ("owner", 10),
                ("perms", 10),
                (bytes, 10),
                ("nattch", 10),
                ("status", 12),
            ];
            table::heading("Shared Memory Segments", &columns)
        }
        View::Limits | View::Summary => String::new(),
    }
}

/// A segment's line in the list.
pub fn row(view: View, unit: Unit, id: i32, segment: &ShmidDs, legend: &Legend) -> String {
    let perm = &segment.shm_perm;
    let owner = || legend.owner(perm.uid);
    match view {
        View::Creators => table::creator(id, perm, legend),
        View::Times => {
            let [attached, detached, changed] =
                [segment.shm_atime, segment.shm_dtime, segment.shm_ctime].map(|time| legend.short_time(time));
            format!("{id:<10} {} {attached:<20} {detached:<20} {changed:<20}\n", owner())
        }
        View::Pids => {
            format!("{id:<10} {} {:<10} {:<10}\n", owner(), segment.shm_cpid, segment.shm_lpid)
        }
        View::Objects => {
            let bytes = table::size_column(unit, segment.shm_segsz, 10, 4);
            let removed = if perm.mode & SHM_DEST == 0 { " " } else { "dest" };
            let locked = if perm.mode & SHM_LOCKED == 0 { " " } else { "locked" };
            let object = table::object(id, perm, legend);
            format!("{object} {bytes} {:<10} {removed:<6} {locked:<6}\n", segment.shm_nattch)
        }
        View::Limits | View::Summary => String::new(),
    }
}

const PAGE: u64 = page::BYTES as u64;
/// SHMMIN of `include/uapi/linux/shm.h`: not a setting.
const SMALLEST: u64 = 1;

/// How many there can be, and how large. What does not fit into 64 bits is shown as the largest whole page that does.
pub fn limits(limits: &ShmLimits, unit: Unit) -> String {
    let largest = |step: u64| u64::MAX - u64::MAX % step;
    let pages = |step: u64| limits.total.checked_mul(step).unwrap_or_else(|| largest(step));
    let [segment, total, smallest] = match unit {
        Unit::Usual => [
            format!("max seg size (kbytes) = {}", limits.segment / 1024),
            format!("max total shared memory (kbytes) = {}", pages(PAGE / 1024)),
            format!("min seg size (bytes) = {SMALLEST}"),
        ],
        Unit::Bytes => [
            format!("max seg size (bytes) = {}", limits.segment),
            format!("max total shared memory (bytes) = {}", pages(PAGE)),
            format!("min seg size (bytes) = {SMALLEST}"),
        ],
        Unit::Human => [
            format!("max seg size = {}", human(limits.segment)),
            format!("max total shared memory = {}", human(pages(PAGE))),
            format!("min seg size = {}", human(SMALLEST)),
        ],
    };
    format!(
        "------ Shared Memory Limits --------\n\
         max number of segments = {}\n{segment}\n{total}\n{smallest}\n",
        limits.segments
    )
}

/// How many there are, and how much of them is in memory.
pub fn summary(info: &ShmInfo) -> String {
    format!(
        "------ Shared Memory Status --------\n\
         segments allocated {}\n\
         pages allocated {}\n\
         pages resident  {}\n\
         pages swapped   {}\n\
         Swap performance: {} attempts\t {} successes\n",
        info.used_ids, info.shm_tot, info.shm_rss, info.shm_swp, info.swap_attempts, info.swap_successes
    )
}

/// All about one segment.
pub fn details(unit: Unit, id: i32, segment: &ShmidDs, legend: &Legend) -> String {
    let perm = &segment.shm_perm;
    format!(
        "\nShared memory Segment shmid={id}\n\
         {}\n\
         mode={}\taccess_perms={}\n\
         {}={}\tlpid={}\tcpid={}\tnattch={}\n\
         att_time={:<26}\n\
         det_time={:<26}\n\
         change_time={:<26}\n\n",
        table::owners(perm, "\t"),
        octal(perm.mode),
        octal(perm.mode & 0o777),
        if unit == Unit::Human { "size" } else { "bytes" },
        size(unit, segment.shm_segsz),
        segment.shm_lpid,
        segment.shm_cpid,
        segment.shm_nattch,
        legend.time(segment.shm_atime),
        legend.time(segment.shm_dtime),
        legend.time(segment.shm_ctime),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_sys::ipc::IpcPerm;

    fn perm() -> IpcPerm {
        IpcPerm { key: 0x5eed, mode: 0o640, ..IpcPerm::default() }
    }

    /// All texts: what util-linux 2.38 prints for root's objects.
    #[test]
    fn lists_are_those_of_util_linux() {
        let mode = perm().mode | SHM_DEST | SHM_LOCKED;
        let segment = ShmidDs {
            shm_perm: IpcPerm { mode, ..perm() },
            shm_segsz: 1536,
            shm_cpid: 4321,
            shm_lpid: 77,
            shm_nattch: 2,
            ..ShmidDs::default()
        };
        let legend = Legend::default();
        let list = |view, unit| heading(view, unit) + &row(view, unit, 5, &segment, &legend);
        assert_eq!(
            list(View::Objects, Unit::Usual),
            "------ Shared Memory Segments --------\n\
             key        shmid      owner      perms      bytes      nattch     status      \n\
             0x00005eed 5          root       640        1536       2          dest   locked\n"
        );
        assert_eq!(
            list(View::Objects, Unit::Human),
            "------ Shared Memory Segments --------\n\
             key        shmid      owner      perms      size       nattch     status      \n\
             0x00005eed 5          root       640          1.5K     2          dest   locked\n"
        );
        assert_eq!(
            list(View::Times, Unit::Usual),
            "------ Shared Memory Attach/Detach/Change Times --------\n\
             shmid      owner      attached             detached             changed             \n\
             5          root       Not set              Not set              Not set             \n"
        );
        assert_eq!(
            list(View::Pids, Unit::Usual),
            "------ Shared Memory Creator/Last-op PIDs --------\n\
             shmid      owner      cpid       lpid      \n\
             5          root       4321       77        \n"
        );
    }

    #[test]
    fn limits_beyond_64_bits_are_whole_pages() {
        let text = |unit| limits(&ShmLimits::DEFAULT, unit);
        assert!(text(Unit::Usual).contains("max seg size (kbytes) = 18014398509465599\n"));
        assert!(text(Unit::Usual).contains("max total shared memory (kbytes) = 18446744073709551612\n"));
        assert!(text(Unit::Bytes).contains("max total shared memory (bytes) = 18446744073709547520\n"));
        assert!(text(Unit::Human).ends_with("= 16E\nmax total shared memory = 16E\nmin seg size = 1B\n"));
    }
}
