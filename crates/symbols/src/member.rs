//! The part of a variable at an offset, as written in source code: `[3].lock`.

use std::ops::Range;

use gimli::constants as dw;

use crate::die::{Debug, Entry, EntryPosition};

/// Maximum nesting of types. Deeper nesting means damage or a self-reference.
const MOST_NESTED: usize = 32;

/// Maximum number of parts that a path may denote: one in each element of an array.
const MOST_PARTS: u64 = 65_536;

/// Prefixes of member names inside the locks of glibc and libc++ (`__data`, `__m_`), and of libstdc++ (`_M_mutex`).
const INNARDS: [&str; 2] = ["__", "_M_"];

/// The size of a pointer, for pointer types without a size attribute.
const POINTER: u64 = 8;

/// The path from a variable of type `of` to the byte at `offset`. It stops before member names inside the libraries'
/// locks: the last name is the one that the program gives its lock.
pub(crate) fn path(debug: &Debug<'_>, of: EntryPosition, offset: u64) -> String {
    let mut path = String::new();
    let mut next = Some((of, offset));
    for _ in 0..MOST_NESTED {
        let Some((position, offset)) = next else { break };
        next = step(debug, position, offset, &mut path);
    }
    path
}

/// The ranges of the parts that a path denotes, in bytes from the start of a variable of type `of`: the inverse of
/// [`path`]. If the path names no element of an array that it goes through, it denotes all elements.
pub(crate) fn parts(debug: &Debug<'_>, of: EntryPosition, path: &str) -> Vec<Range<u64>> {
    parts_of(debug, of, path, MOST_NESTED).unwrap_or_default()
}

fn parts_of(debug: &Debug<'_>, position: EntryPosition, path: &str, depth: usize) -> Option<Vec<Range<u64>>> {
    let depth = depth.checked_sub(1)?;
    if path.is_empty() {
        let whole = 0..size(debug, position, MOST_NESTED)?;
        return Some(vec![whole]);
    }
    let of = debug.entry(position)?;
    match of.tag() {
        tag if is_transparent(tag) => parts_of(debug, debug.type_of(position)?, path, depth),
        dw::DW_TAG_array_type => {
            let element = debug.type_of(position)?;
            let size = size(debug, element, MOST_NESTED)?;
            let lengths = lengths(debug, &of);
            let (elements, path) = match path.starts_with('[') {
                true => {
                    let (index, path) = index(&lengths, path)?;
                    (index..index.checked_add(1)?, path)
                }
                false => (0..lengths.iter().try_fold(1_u64, |all, &length| all.checked_mul(length))?, path),
            };
            let within = parts_of(debug, element, path, depth)?;
            let count = (elements.end - elements.start).checked_mul(within.len() as u64)?;
            if count > MOST_PARTS {
                return None;
            }
            elements
                .map(|element| shift_all(&within, element.checked_mul(size)?))
                .collect::<Option<Vec<_>>>()
                .map(|all| all.concat())
        }
        dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type => {
            of.children(debug).into_iter().find_map(|member| parts_of_member(debug, &member, path, depth))
        }
        _ => None,
    }
}

/// The parts of one member, or of the members of a base class or of an unnamed member.
fn parts_of_member<'a>(
    debug: &Debug<'a>,
    member: &Entry<'a>,
    path: &str,
    depth: usize,
) -> Option<Vec<Range<u64>>> {
    if !matches!(member.tag(), dw::DW_TAG_member | dw::DW_TAG_inheritance) || member.has(dw::DW_AT_external) {
        return None;
    }
    let name = match member.tag() {
        dw::DW_TAG_member => member.text(debug, dw::DW_AT_name),
        _ => None,
    };
    let rest = match &name {
        Some(name) => path.strip_prefix('.')?.strip_prefix(name.as_str())?,
        None => path,
    };
    if !rest.is_empty() && !rest.starts_with(['.', '[']) {
        return None;
    }
    let start = match member.has(dw::DW_AT_data_member_location) {
        true => member.number(dw::DW_AT_data_member_location)?,
        false => 0,
    };
    shift_all(&parts_of(debug, debug.type_of(member.position())?, rest, depth)?, start)
}

/// The flat index of the element `[1][7]`, and the rest of the path.
fn index<'p>(lengths: &[u64], mut path: &'p str) -> Option<(u64, &'p str)> {
    let mut index = 0_u64;
    for &length in lengths {
        let (number, rest) = path.strip_prefix('[')?.split_once(']')?;
        let number = number.parse().ok().filter(|&number| number < length)?;
        index = index.checked_mul(length)?.checked_add(number)?;
        path = rest;
    }
    Some((index, path))
}

fn shift_all(ranges: &[Range<u64>], by: u64) -> Option<Vec<Range<u64>>> {
    let shift = |range: &Range<u64>| Some(range.start.checked_add(by)?..range.end.checked_add(by)?);
    ranges.iter().map(shift).collect()
}

/// Descends by one type, if there is one.
fn step(
    debug: &Debug<'_>,
    position: EntryPosition,
    offset: u64,
    path: &mut String,
) -> Option<(EntryPosition, u64)> {
    let of = debug.entry(position)?;
    match of.tag() {
        tag if is_transparent(tag) => Some((debug.type_of(position)?, offset)),
        dw::DW_TAG_array_type => {
            let element = debug.type_of(position)?;
            let size = size(debug, element, MOST_NESTED)?;
            indices(&lengths(debug, &of), offset.checked_div(size)?, path)?;
            Some((element, offset % size))
        }
        dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type => {
            let (member, within) = member_at(debug, &of, offset)?;
            if member.tag() == dw::DW_TAG_member
                && let Some(name) = member.text(debug, dw::DW_AT_name)
            {
                if INNARDS.iter().any(|start| name.starts_with(start)) {
                    return None;
                }
                path.push('.');
                path.push_str(&name);
            }
            Some((debug.type_of(member.position())?, within))
        }
        _ => None,
    }
}

/// `[1][7]`, from the flat index of the element. The last dimension varies fastest.
fn indices(lengths: &[u64], mut index: u64, path: &mut String) -> Option<()> {
    for dimension in 1..=lengths.len() {
        let stride =
            lengths[dimension..].iter().try_fold(1_u64, |stride, &length| stride.checked_mul(length))?;
        path.push_str(&format!("[{}]", index.checked_div(stride)?));
        index %= stride;
    }
    Some(())
}

/// The member or base class at an offset, and the offset within it.
fn member_at<'a>(debug: &Debug<'a>, of: &Entry<'a>, offset: u64) -> Option<(Entry<'a>, u64)> {
    of.children(debug).into_iter().find_map(|member| {
        if !matches!(member.tag(), dw::DW_TAG_member | dw::DW_TAG_inheritance) {
            return None;
        }
        // Static members are declared here, but lie elsewhere.
        if member.has(dw::DW_AT_external) {
            return None;
        }
        // The members of a union all lie at its start and have no location. Old DWARF gives a location expression:
        // unknown.
        let start = match member.has(dw::DW_AT_data_member_location) {
            true => member.number(dw::DW_AT_data_member_location)?,
            false => 0,
        };
        let within = offset.checked_sub(start)?;
        let size = size(debug, debug.type_of(member.position())?, MOST_NESTED)?;
        (within < size).then_some((member, within))
    })
}

/// Size of a type in bytes.
fn size(debug: &Debug<'_>, position: EntryPosition, depth: usize) -> Option<u64> {
    let of = debug.entry(position)?;
    let depth = depth.checked_sub(1)?;
    match of.tag() {
        tag if is_transparent(tag) => size(debug, debug.type_of(position)?, depth),
        dw::DW_TAG_array_type => {
            let element = size(debug, debug.type_of(position)?, depth)?;
            lengths(debug, &of).into_iter().try_fold(element, u64::checked_mul)
        }
        tag => of.number(dw::DW_AT_byte_size).or((tag == dw::DW_TAG_pointer_type).then_some(POINTER)),
    }
}

/// The number of elements in each dimension of an array. An unknown number counts as one.
fn lengths<'a>(debug: &Debug<'a>, array: &Entry<'a>) -> Vec<u64> {
    let ranges = array.children(debug).into_iter().filter(|child| child.tag() == dw::DW_TAG_subrange_type);
    let length = |range: Entry<'a>| {
        let last = || range.number(dw::DW_AT_upper_bound)?.checked_add(1);
        range.number(dw::DW_AT_count).or_else(last).unwrap_or(1)
    };
    ranges.map(length).collect()
}

/// Types that only name or qualify another type.
fn is_transparent(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        dw::DW_TAG_typedef
            | dw::DW_TAG_const_type
            | dw::DW_TAG_volatile_type
            | dw::DW_TAG_restrict_type
            | dw::DW_TAG_atomic_type
    )
}
