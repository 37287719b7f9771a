//! Loaded objects, as the dynamic linker lists them, and their symbol tables. System V ABI, "Dynamic Linking"; the
//! GNU extensions are in the Linux Standard Base and in binutils' `elflink.c`.
//!
//! Nothing here takes a lock, allocates or calls a function. Objects that a program closes meanwhile are no libc and not
//! preloaded. Those stay, and lie in front of what is loaded later. So a walk must end at them while other threads run.

use core::arch::asm;
use core::ffi::{CStr, c_char, c_void};
use core::iter::successors;
use core::ops::Range;

/// `struct link_map` of link.h, the part that is public.
#[derive(Debug)]
#[repr(C)]
struct LinkMap {
    base: usize,
    path: *const c_char,
    dynamic: *const Dynamic,
    next: *const LinkMap,
    previous: *const LinkMap,
}

/// `struct r_debug` of link.h.
#[repr(C)]
struct Debug {
    version: i32,
    first: *const LinkMap,
}

unsafe extern "C" {
    /// The dynamic linker's list for debuggers: of the namespace in which a program, and so a preloaded library, is.
    #[link_name = "_r_debug"]
    static LIST: Debug;
}

/// `Elf64_Dyn` of elf.h.
#[derive(Debug)]
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: usize,
}

const DT_NULL: i64 = 0;
const DT_NEEDED: i64 = 1;
const DT_HASH: i64 = 4;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_SONAME: i64 = 14;
const DT_GNU_HASH: i64 = 0x6fff_fef5;
const DT_VERSYM: i64 = 0x6fff_fff0;

/// `Elf64_Sym` of elf.h.
#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: usize,
    size: u64,
}

/// What an assembler gives a function whose type the source does not state. The dynamic linker binds calls to it too.
const STT_NOTYPE: u8 = 0;
const STT_FUNC: u8 = 2;
const STT_GNU_IFUNC: u8 = 10;
/// The bit of a version index that marks a version for programs that were linked long ago.
const VERSYM_HIDDEN: u16 = 0x8000;

/// An object that is loaded.
#[derive(Clone, Copy)]
pub(super) struct Object(&'static LinkMap);

/// All objects, the program first.
pub(super) fn all() -> impl Iterator<Item = Object> {
    // SAFETY: the dynamic linker keeps the list, and has made it before it called any code of an object.
    let first = unsafe { LIST.first.as_ref() }.map(Object);
    successors(first, Object::next)
}

/// The libraries that were preloaded behind the one of this code: those before the first that the program needs.
pub(super) fn preloaded_behind_this() -> impl Iterator<Item = Object> {
    let program = all().next();
    let is_needed = move |object: &Object| program.is_some_and(|program| program.needs(object));
    behind_this().take_while(move |object| !is_needed(object))
}

/// The object of this code.
pub(super) fn this() -> Option<Object> {
    all().find(Object::is_this)
}

/// The object of this code, and those in front of it.
pub(super) fn up_to_this() -> impl Iterator<Item = Object> {
    all().scan(false, |is_behind, object| {
        let before = core::mem::replace(is_behind, *is_behind || object.is_this());
        (!before).then_some(object)
    })
}

/// All objects behind the one of this code, in the order in which names are looked up.
pub(super) fn behind_this() -> impl Iterator<Item = Object> {
    all().skip_while(|object| !object.is_this()).skip(1)
}

/// The dynamic section of the object that contains this code.
fn own_dynamic() -> *const Dynamic {
    let at: *const Dynamic;
    // SAFETY: an address, which the linker knows. In an object without a dynamic section, which no loaded one is, the
    // result is null.
    unsafe {
        asm!(
            ".weak _DYNAMIC",
            ".hidden _DYNAMIC",
            "lea {at}, [rip + _DYNAMIC]",
            at = out(reg) at,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    at
}

fn last_part(path: &'static [u8]) -> &'static [u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}

impl Object {
    /// The object with this `link_map`; `None` for null.
    ///
    /// # Safety
    /// The object stays loaded while the result is used.
    pub(super) unsafe fn at(map: *const c_void) -> Option<Object> {
        // SAFETY: the caller's promise.
        unsafe { map.cast::<LinkMap>().as_ref() }.map(Object)
    }

    fn is_this(&self) -> bool {
        core::ptr::eq(self.0.dynamic, own_dynamic())
    }

    /// The object's `link_map`, by which libc identifies it.
    pub(super) fn map(&self) -> *const c_void {
        (&raw const *self.0).cast()
    }

    /// What contains its code: the linker places it in front of the dynamic section, which the dynamic linker writes.
    pub(super) fn code(&self) -> Range<usize> {
        self.0.base..self.0.dynamic as usize
    }

    fn next(&self) -> Option<Object> {
        // SAFETY: null or the next entry of the list.
        unsafe { self.0.next.as_ref() }.map(Object)
    }

    /// The entries of the dynamic section.
    fn dynamic(&self) -> impl Iterator<Item = &'static Dynamic> {
        let first = self.0.dynamic;
        // SAFETY: each object that is listed has a dynamic section, which ends with DT_NULL.
        (0..).map(move |at| unsafe { &*first.add(at) }).take_while(|entry| entry.tag != DT_NULL)
    }

    fn value(&self, tag: i64) -> Option<usize> {
        self.dynamic().find(|entry| entry.tag == tag).map(|entry| entry.value)
    }

    /// The address of a table. The dynamic linker has replaced most offsets by addresses. gVisor's vDSO is linked at an address in the
    /// kernel's half, and has not been changed.
    fn table<T>(&self, tag: i64) -> Option<*const T> {
        let value = self.value(tag)?;
        let is_link_time = value < self.0.base || value > isize::MAX as usize;
        let address = if is_link_time { value.wrapping_add(self.0.base) } else { value };
        Some(address as *const T)
    }

    fn text(&self, offset: usize) -> Option<&'static [u8]> {
        let strings = self.table::<c_char>(DT_STRTAB)?;
        // SAFETY: the tables of an object refer to C strings in its string table.
        Some(unsafe { CStr::from_ptr(strings.add(offset)) }.to_bytes())
    }

    /// The name by which other objects need it.
    pub(super) fn soname(&self) -> Option<&'static [u8]> {
        self.text(self.value(DT_SONAME)?)
    }

    /// Whether the object names the other one among those that it needs: by its name for that, or by its file.
    fn needs(&self, other: &Object) -> bool {
        let mut needed = self.dynamic().filter(|entry| entry.tag == DT_NEEDED);
        needed.any(|entry| {
            let name = self.text(entry.value);
            name == other.soname() || name.map(last_part) == Some(last_part(other.path()))
        })
    }

    /// The path of its file; empty for the program.
    fn path(&self) -> &'static [u8] {
        // SAFETY: the dynamic linker keeps a C string for each object.
        unsafe { CStr::from_ptr(self.0.path) }.to_bytes()
    }

    /// Whether the object defines one of these functions.
    pub(super) fn defines_any(&self, names: &[&CStr]) -> bool {
        names.iter().any(|name| {
            let name = name.to_bytes();
            self.with_gnu_hash(name).or_else(|| self.with_hash(name)).is_some()
        })
    }

    /// The address of a function that the object defines, in the version that a new program is linked with.
    pub(super) fn function(&self, name: &[u8]) -> Option<usize> {
        let symbol = self.with_gnu_hash(name).or_else(|| self.with_hash(name))?;
        let address = self.0.base.wrapping_add(symbol.value);
        if symbol.info & 0xF == STT_GNU_IFUNC {
            // SAFETY: the address of such a symbol is that of a function without arguments that chooses the
            // implementation. The dynamic linker has relocated libc before any code of an object runs.
            return Some(unsafe { core::mem::transmute::<usize, extern "C" fn() -> usize>(address)() });
        }
        Some(address)
    }

    /// The symbol with this index, if it is the definition of `name`.
    fn symbol(&self, index: usize, name: &[u8]) -> Option<&'static Symbol> {
        let symbols = self.table::<Symbol>(DT_SYMTAB)?;
        // SAFETY: the callers take the index from a hash table of the same object.
        let symbol = unsafe { &*symbols.add(index) };
        // SAFETY: as above; the table of versions has an entry for each symbol.
        let version = self.table::<u16>(DT_VERSYM).map_or(0, |versions| unsafe { *versions.add(index) });
        let is_function =
            matches!(symbol.info & 0xF, STT_NOTYPE | STT_FUNC | STT_GNU_IFUNC) && symbol.section != 0;
        let is_default = version & VERSYM_HIDDEN == 0;
        (is_function && is_default && self.text(symbol.name as usize) == Some(name)).then_some(symbol)
    }

    /// Header: numbers of buckets, of the first symbol, and of words of the Bloom filter; then these words, the buckets,
    /// and a chain of hashes, the last of each bucket with an odd number.
    fn with_gnu_hash(&self, name: &[u8]) -> Option<&'static Symbol> {
        let table = self.table::<u32>(DT_GNU_HASH)?;
        let hash = name.iter().fold(5381u32, |hash, &byte| hash.wrapping_mul(33).wrapping_add(byte.into()));
        // SAFETY: the linker that made the object filled the table as stated.
        unsafe {
            let (buckets, first, words) = (*table, *table.add(1), *table.add(2));
            let bucket = table.add(4 + 2 * words as usize);
            let chain = bucket.add(buckets as usize);
            let mut index = *bucket.add((hash % buckets.max(1)) as usize);
            while index >= first {
                let found = *chain.add((index - first) as usize);
                if found | 1 == hash | 1
                    && let Some(symbol) = self.symbol(index as usize, name)
                {
                    return Some(symbol);
                }
                if found & 1 == 1 {
                    break;
                }
                index += 1;
            }
        }
        None
    }

    /// The number of the chain's entries, the second word of the table, is that of all symbols.
    fn with_hash(&self, name: &[u8]) -> Option<&'static Symbol> {
        let table = self.table::<u32>(DT_HASH)?;
        // SAFETY: the linker that made the object filled the table as stated.
        let symbols = unsafe { *table.add(1) };
        (0..symbols as usize).find_map(|index| self.symbol(index, name))
    }
}
