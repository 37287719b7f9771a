//! The full names of functions that have no symbol: compilers write down only the last part for what is inlined
//! everywhere and local to a file, such as the `operator()` of a lambda.

use gimli::constants as dw;

use crate::die::{Debug, Place};
use crate::name::{demangle, is_mangled};

/// How deep scopes may lie in one another, counting functions only.
const MOST_NESTED: usize = 16;

/// The name of a function as the source would call it from outside: `app::run::{lambda}::operator()`.
pub(crate) fn full_name(debug: &Debug<'_>, function: Place) -> Option<String> {
    within(debug, function, MOST_NESTED)
}

fn within(debug: &Debug<'_>, function: Place, depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    let name = debug.linkage_name(function)?;
    if is_mangled(&name) {
        return Some(demangle(&name).short);
    }
    // The first declaration lies where it belongs, the definition may lie elsewhere.
    let declaration = debug.with_origins(function).last()?.place();
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
                // Types without a name that can be called are lambdas.
                let unnamed = if parts[0] == "operator()" { "{lambda}" } else { "{unnamed}" };
                parts.push(name.unwrap_or_else(|| unnamed.to_owned()));
            }
            _ => {}
        }
    }
    parts.reverse();
    Some(parts.join("::"))
}
