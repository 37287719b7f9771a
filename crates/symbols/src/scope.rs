//! The full names of functions without a symbol. For a function that is local to a file and inlined everywhere, such as
//! the `operator()` of a lambda, compilers record only the last part of the name.

use gimli::constants as dw;

use crate::die::{Debug, EntryPosition};
use crate::name::{demangle, is_mangled};

/// Maximum nesting of scopes; only functions count.
const MOST_NESTED: usize = 16;

/// The full name of a function, with its scopes: `app::run::{lambda}::operator()`.
pub(crate) fn full_name(debug: &Debug<'_>, function: EntryPosition) -> Option<String> {
    within(debug, function, MOST_NESTED)
}

fn within(debug: &Debug<'_>, function: EntryPosition, depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    let name = debug.linkage_name(function)?;
    if is_mangled(&name) {
        return Some(demangle(&name).short);
    }
    // The first declaration lies in the right scope; the definition may lie elsewhere.
    let declaration = debug.with_origins(function).last()?.position();
    let mut parts = vec![name];
    for scope in debug.scopes(declaration).into_iter().rev() {
        let entry = debug.entry(scope)?;
        let name = entry.text(debug, dw::DW_AT_name);
        match entry.tag() {
            dw::DW_TAG_subprogram => {
                parts.extend(within(debug, scope, depth));
                break;
            }
            dw::DW_TAG_namespace => parts.push(name.unwrap_or_else(|| "(anonymous namespace)".to_owned())),
            dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type => {
                // An unnamed type with an `operator()` is a lambda.
                let unnamed = if parts[0] == "operator()" { "{lambda}" } else { "{unnamed}" };
                parts.push(name.unwrap_or_else(|| unnamed.to_owned()));
            }
            _ => {}
        }
    }
    parts.reverse();
    Some(parts.join("::"))
}
