//! What the lists of all kinds of object have in common.

use super::legend::Legend;
use super::size::{Unit, human};
use unspin_sys::ipc::IpcPerm;

/// What is shown of each object, or of all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    /// Key, owner, permissions, size.
    Objects,
    /// When it was used and changed.
    Times,
    /// Who made and used it last.
    Pids,
    /// Who made it and who owns it.
    Creators,
    /// How many there can be.
    Limits,
    /// How many there are.
    Summary,
}

/// A heading of a list and of its columns.
pub fn heading(title: &str, columns: &[(&str, usize)]) -> String {
    let columns: Vec<String> = columns.iter().map(|(name, width)| format!("{name:<width$}")).collect();
    format!("------ {title} --------\n{}\n", columns.join(" "))
}

/// The columns of [`creator`], behind that of the id.
pub fn creator_columns(id: &str) -> [(&str, usize); 6] {
    [(id, 10), ("perms", 10), ("cuid", 10), ("cgid", 10), ("uid", 10), ("gid", 10)]
}

/// A row of [`View::Creators`].
pub fn creator(id: i32, perm: &IpcPerm, legend: &Legend) -> String {
    let (cuid, cgid) = (legend.user(perm.cuid), legend.group(perm.cgid));
    let (uid, gid) = (legend.user(perm.uid), legend.group(perm.gid));
    format!("{id:<10} {:<10o} {cuid:<10} {cgid:<10} {uid:<10} {gid:<10}\n", perm.mode & 0o777)
}

/// How each row of [`View::Objects`] begins: key, id, owner, permissions.
pub fn object(id: i32, perm: &IpcPerm, legend: &Legend) -> String {
    format!("{:#010x} {id:<10} {} {:<10o}", perm.key, legend.owner(perm.uid), perm.mode & 0o777)
}

/// A size among other columns, `width` wide; one with a letter stands before the last `apart` places.
pub fn size_column(unit: Unit, bytes: u64, width: usize, apart: usize) -> String {
    match unit {
        Unit::Human => format!("{:>6}{:apart$}", human(bytes), ""),
        _ => format!("{bytes:<width$}"),
    }
}

/// A size in a text: in bytes, or with a letter.
pub fn size(unit: Unit, bytes: u64) -> String {
    if unit == Unit::Human { human(bytes) } else { bytes.to_string() }
}

/// Owner and maker in a text, with `gap` between the numbers.
pub fn owners(perm: &IpcPerm, gap: &str) -> String {
    format!("uid={}{gap}gid={}{gap}cuid={}{gap}cgid={}", perm.uid, perm.gid, perm.cuid, perm.cgid)
}

/// A mode as printf(3) writes it with `%#o`.
pub fn octal(mode: u32) -> String {
    if mode == 0 { "0".into() } else { format!("0{mode:o}") }
}
