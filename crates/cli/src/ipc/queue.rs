//! Message queues as ipcs(1) shows them.

use super::legend::Legend;
use super::size::Unit;
use super::table::{self, View, octal, size};
use unspin_sys::ipc::{Msginfo, MsqidDs};
use unspin_sys::limits::MsgLimits;

/// What stands above the list.
pub fn heading(view: View, unit: Unit) -> String {
    match view {
        View::Creators => table::heading("Message Queues Creators/Owners", &table::creator_columns("msqid")),
        View::Times => table::heading(
            "Message Queues Send/Recv/Change Times",
            &[("msqid", 8), ("owner", 10), ("send", 20), ("recv", 20), ("change", 20)],
        ),
        View::Pids => table::heading(
            "Message Queues PIDs",
            &[("msqid", 10), ("owner", 10), ("lspid", 10), ("lrpid", 10)],
        ),
        View::Objects => {
            let used = if unit == Unit::Human { "size" } else { "used-bytes" };
            let columns =
                [("key", 10), ("msqid", 10), ("owner", 10), ("perms", 10), (used, 12), ("messages", 12)];
            table::heading("Message Queues", &columns)
        }
        View::Limits | View::Summary => String::new(),
    }
}

/// A queue's line in the list.
pub fn row(view: View, unit: Unit, id: i32, queue: &MsqidDs, legend: &Legend) -> String {
    let owner = || legend.owner(queue.msg_perm.uid);
    match view {
        View::Creators => table::creator(id, &queue.msg_perm, legend),
        View::Times => {
            let [sent, received, changed] =
                [queue.msg_stime, queue.msg_rtime, queue.msg_ctime].map(|time| legend.short_time(time));
            format!("{id:<8} {} {sent:<20} {received:<20} {changed:<20}\n", owner())
        }
        View::Pids => format!("{id:<8} {}  {:>5}     {:>5}\n", owner(), queue.msg_lspid, queue.msg_lrpid),
        View::Objects => {
            let used = table::size_column(unit, queue.msg_cbytes, 12, 6);
            format!("{} {used} {:<12}\n", table::object(id, &queue.msg_perm, legend), queue.msg_qnum)
        }
        View::Limits | View::Summary => String::new(),
    }
}

/// How many there can be, and how large.
pub fn limits(limits: &MsgLimits, unit: Unit) -> String {
    let in_bytes = if unit == Unit::Human { "" } else { " (bytes)" };
    format!(
        "------ Messages Limits --------\n\
         max queues system wide = {}\n\
         max size of message{in_bytes} = {}\n\
         default max size of queue{in_bytes} = {}\n",
        limits.queues,
        size(unit, limits.message),
        size(unit, limits.queue)
    )
}

/// How many there are. `MSG_INFO` answers with counts in these fields (msgctl(2)).
pub fn summary(info: &Msginfo, unit: Unit) -> String {
    let used = size(unit, info.msgtql as u64);
    let used = match unit {
        Unit::Usual => format!("used space = {used} bytes"),
        Unit::Bytes => format!("used space (bytes) = {used}"),
        Unit::Human => format!("used space = {used}"),
    };
    format!(
        "------ Messages Status --------\nallocated queues = {}\nused headers = {}\n{used}\n",
        info.msgpool, info.msgmap
    )
}

/// All about one queue.
pub fn details(unit: Unit, id: i32, queue: &MsqidDs, legend: &Legend) -> String {
    let perm = &queue.msg_perm;
    let (used, room) = if unit == Unit::Human { ("csize", "qsize") } else { ("cbytes", "qbytes") };
    format!(
        "\nMessage Queue msqid={id}\n\
         {}\tmode={}\n\
         {used}={}\t{room}={}\tqnum={}\tlspid={}\tlrpid={}\n\
         send_time={:<26}\n\
         rcv_time={:<26}\n\
         change_time={:<26}\n\n",
        table::owners(perm, "\t"),
        octal(perm.mode),
        size(unit, queue.msg_cbytes),
        size(unit, queue.msg_qbytes),
        queue.msg_qnum,
        queue.msg_lspid,
        queue.msg_lrpid,
        legend.time(queue.msg_stime),
        legend.time(queue.msg_rtime),
        legend.time(queue.msg_ctime),
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
        let queue = MsqidDs {
            msg_perm: perm(),
            msg_cbytes: 5000,
            msg_qnum: 2,
            msg_lspid: 4321,
            msg_lrpid: 77,
            ..MsqidDs::default()
        };
        let legend = Legend::default();
        let list = |view, unit| heading(view, unit) + &row(view, unit, 5, &queue, &legend);
        assert_eq!(
            list(View::Objects, Unit::Usual),
            "------ Message Queues --------\n\
             key        msqid      owner      perms      used-bytes   messages    \n\
             0x00005eed 5          root       640        5000         2           \n"
        );
        assert_eq!(
            list(View::Objects, Unit::Human),
            "------ Message Queues --------\n\
             key        msqid      owner      perms      size         messages    \n\
             0x00005eed 5          root       640          4.9K       2           \n"
        );
        assert_eq!(
            list(View::Times, Unit::Usual),
            "------ Message Queues Send/Recv/Change Times --------\n\
             msqid    owner      send                 recv                 change              \n\
             5        root       Not set              Not set              Not set             \n"
        );
        assert_eq!(
            list(View::Pids, Unit::Usual),
            "------ Message Queues PIDs --------\n\
             msqid      owner      lspid      lrpid     \n\
             5        root         4321        77\n"
        );
    }

    #[test]
    fn totals_are_in_the_unit_that_is_asked_for() {
        let info = Msginfo { msgpool: 3, msgmap: 4, msgtql: 2048, ..Msginfo::default() };
        let head = "------ Messages Status --------\nallocated queues = 3\nused headers = 4\n";
        assert_eq!(summary(&info, Unit::Usual), format!("{head}used space = 2048 bytes\n"));
        assert_eq!(summary(&info, Unit::Bytes), format!("{head}used space (bytes) = 2048\n"));
        assert_eq!(summary(&info, Unit::Human), format!("{head}used space = 2K\n"));
        assert!(limits(&MsgLimits::DEFAULT, Unit::Usual).contains("max size of message (bytes) = 8192\n"));
        assert!(limits(&MsgLimits::DEFAULT, Unit::Human).contains("default max size of queue = 16K\n"));
    }
}
