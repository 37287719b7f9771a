//! Semaphore sets as ipcs(1) shows them.

use super::legend::Legend;
use super::table::{self, View, octal};
use std::fmt::Write;
use unspin_sys::ipc::{SEMVMX, SemidDs, Seminfo};
use unspin_sys::limits::SemLimits;
use unspin_sysv::Semaphore;

/// What stands above the list. util-linux shows no pids of sets, and no heading for them.
pub fn heading(view: View) -> String {
    match view {
        View::Creators => {
            table::heading("Semaphore Arrays Creators/Owners", &table::creator_columns("semid"))
        }
        View::Times => table::heading(
            "Semaphore Operation/Change Times",
            &[("semid", 8), ("owner", 10), ("last-op", 26), ("last-changed", 26)],
        ),
        View::Objects => table::heading(
            "Semaphore Arrays",
            &[("key", 10), ("semid", 10), ("owner", 10), ("perms", 10), ("nsems", 10)],
        ),
        View::Pids | View::Limits | View::Summary => String::new(),
    }
}

/// A set's line in the list.
pub fn row(view: View, id: i32, set: &SemidDs, legend: &Legend) -> String {
    match view {
        View::Creators => table::creator(id, &set.sem_perm, legend),
        View::Times => {
            let (operated, changed) = (legend.time(set.sem_otime), legend.time(set.sem_ctime));
            format!("{id:<8} {}  {operated:<26} {changed:<26}\n", legend.owner(set.sem_perm.uid))
        }
        View::Objects => {
            format!("{} {:<10}\n", table::object(id, &set.sem_perm, legend), set.sem_nsems)
        }
        View::Pids | View::Limits | View::Summary => String::new(),
    }
}

/// How many there can be.
pub fn limits(limits: &SemLimits) -> String {
    format!(
        "------ Semaphore Limits --------\n\
         max number of arrays = {}\n\
         max semaphores per array = {}\n\
         max semaphores system wide = {}\n\
         max ops per semop call = {}\n\
         semaphore max value = {SEMVMX}\n",
        limits.sets, limits.per_set, limits.total, limits.ops
    )
}

/// How many there are. `SEM_INFO` answers with counts in these fields (semctl(2)).
pub fn summary(info: &Seminfo) -> String {
    format!(
        "------ Semaphore Status --------\nused arrays = {}\nallocated semaphores = {}\n",
        info.semusz, info.semaem
    )
}

/// All about one set.
pub fn details(id: i32, set: &SemidDs, semaphores: &[Semaphore], legend: &Legend) -> String {
    let perm = &set.sem_perm;
    let mut text = format!(
        "\nSemaphore Array semid={id}\n\
         {}\n\
         mode={}, access_perms={}\n\
         nsems = {}\n\
         otime = {:<26}\n\
         ctime = {:<26}\n\
         {:<10} {:<10} {:<10} {:<10} {:<10}\n",
        table::owners(perm, "\t "),
        octal(perm.mode),
        octal(perm.mode & 0o777),
        set.sem_nsems,
        legend.time(set.sem_otime),
        legend.time(set.sem_ctime),
        "semnum",
        "value",
        "ncount",
        "zcount",
        "pid",
    );
    for (number, semaphore) in semaphores.iter().enumerate() {
        let Semaphore { value, ncount, zcount, pid } = semaphore;
        writeln!(text, "{number:<10} {value:<10} {ncount:<10} {zcount:<10} {pid:<10}")
            .expect("a String takes everything");
    }
    text + "\n"
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
        let set = SemidDs { sem_perm: perm(), sem_nsems: 3, ..SemidDs::default() };
        let legend = Legend::default();
        let list = |view| heading(view) + &row(view, 32768, &set, &legend);
        assert_eq!(
            list(View::Objects),
            "------ Semaphore Arrays --------\n\
             key        semid      owner      perms      nsems     \n\
             0x00005eed 32768      root       640        3         \n"
        );
        assert_eq!(
            list(View::Times),
            "------ Semaphore Operation/Change Times --------\n\
             semid    owner      last-op                    last-changed              \n\
             32768    root        Not set                    Not set                   \n"
        );
        assert_eq!(
            list(View::Creators),
            "------ Semaphore Arrays Creators/Owners --------\n\
             semid      perms      cuid       cgid       uid        gid       \n\
             32768      640        root       root       root       root      \n"
        );
        assert_eq!(list(View::Pids), "");
    }

    #[test]
    fn each_semaphore_has_a_line() {
        let set = SemidDs { sem_perm: perm(), sem_nsems: 1, ..SemidDs::default() };
        let semaphore = Semaphore { value: 32767, ncount: 2, zcount: 1, pid: 4321 };
        assert_eq!(
            details(7, &set, &[semaphore], &Legend::default()),
            "\nSemaphore Array semid=7\n\
             uid=0\t gid=0\t cuid=0\t cgid=0\n\
             mode=0640, access_perms=0640\n\
             nsems = 1\n\
             otime = Not set                   \n\
             ctime = Not set                   \n\
             semnum     value      ncount     zcount     pid       \n\
             0          32767      2          1          4321      \n\n"
        );
    }
}
