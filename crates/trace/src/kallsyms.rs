//! The names of the kernel's addresses, from `/proc/kallsyms`.

use crate::error::Error;
use crate::permissions::setting;
use std::fs;

/// The kernel's symbols.
#[derive(Clone, Debug)]
pub struct KernelSymbols {
    /// Sorted by address; one of each address and section.
    symbols: Vec<Symbol>,
    variables: bool,
}

/// A symbol of the kernel or of a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// The symbol's address.
    pub address: u64,
    /// Bytes to the next symbol.
    pub size: u64,
    /// The symbol's name.
    pub name: String,
    /// The module that it belongs to; none for the kernel's own.
    pub module: Option<String>,
    /// Whether it is code or data.
    pub section: KernelSection,
    /// Whether only the file that defines it may use it.
    pub local: bool,
}

/// What a symbol names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum KernelSection {
    /// Code.
    Code,
    /// A variable.
    Data,
}

/// The file.
const FILE: &str = "/proc/kallsyms";
/// Symbols that begin or end a section, or pad a function. They are shown only where there is no other.
const MARKS: [&str; 6] = ["__pfx_", "__start_", "__stop_", "_text", "_stext", "_sdata"];

impl KernelSymbols {
    /// Reads them.
    pub fn read() -> Result<KernelSymbols, Error> {
        let text = fs::read(FILE).map_err(|e| Error::File(FILE.into(), e))?;
        let symbols = KernelSymbols::parse(&text);
        match symbols.symbols.is_empty() {
            true => Err(Error::HiddenSymbols { kptr_restrict: setting("kernel.kptr_restrict") }),
            false => Ok(symbols),
        }
    }

    /// No symbols: every address is shown as a number.
    pub fn none() -> KernelSymbols {
        KernelSymbols { symbols: Vec::new(), variables: false }
    }

    /// Parses the text of the file. Addresses that are hidden are 0; such symbols are left out.
    pub fn parse(text: &[u8]) -> KernelSymbols {
        let mut symbols: Vec<Symbol> = text.split(|&byte| byte == b'\n').filter_map(parse_line).collect();
        // Of the names of an address the first after sorting is kept: no mark, and the shortest of the others.
        let mark = |symbol: &Symbol| MARKS.iter().any(|mark| symbol.name.starts_with(mark));
        symbols.sort_by(|a, b| {
            let key = |symbol: &Symbol| (symbol.address, mark(symbol), symbol.name.len());
            key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
        });
        symbols.dedup_by_key(|symbol| symbol.address);
        let ends: Vec<u64> = symbols.iter().skip(1).map(|symbol| symbol.address).collect();
        for (symbol, end) in symbols.iter_mut().zip(ends) {
            symbol.size = end - symbol.address;
        }
        // All kernels list the marks of sections; the variables are more, and local ones are among them.
        let variables = symbols.iter().any(|symbol| symbol.section == KernelSection::Data && symbol.local);
        KernelSymbols { symbols, variables }
    }

    /// The symbol that contains an address.
    pub fn find(&self, address: u64) -> Option<&Symbol> {
        let above = self.symbols.partition_point(|symbol| symbol.address <= address);
        let symbol = self.symbols[..above].last()?;
        // The space between the last symbol of the kernel, or of a module, and the next module is empty.
        (address - symbol.address < symbol.size && symbol.size <= LARGEST).then_some(symbol)
    }

    /// The function that contains a program counter.
    pub fn function(&self, address: u64) -> Option<&Symbol> {
        self.find(address).filter(|symbol| symbol.section == KernelSection::Code)
    }

    /// The function that contains a call, by its return address: the call is before it.
    pub fn caller(&self, return_address: u64) -> Option<&Symbol> {
        self.function(return_address.wrapping_sub(1))
    }

    /// The variable that contains an address. None on a kernel that does not list its variables.
    pub fn variable(&self, address: u64) -> Option<&Symbol> {
        self.find(address).filter(|symbol| symbol.section == KernelSection::Data && self.variables)
    }

    /// Whether the kernel lists its variables (CONFIG_KALLSYMS_ALL).
    pub fn has_variables(&self) -> bool {
        self.variables
    }

    /// Number of bytes of the kernel's code, without modules; 0 if unknown.
    pub fn code_bytes(&self) -> u64 {
        let of_kernel = |symbol: &&Symbol| symbol.section == KernelSection::Code && symbol.module.is_none();
        self.symbols.iter().filter(of_kernel).map(|symbol| symbol.size).filter(|&size| size <= LARGEST).sum()
    }
}

/// No function or variable is longer: a longer one is followed by a gap.
const LARGEST: u64 = 64 << 20;

/// `ffffffff81000000 T _stext`, and for a module its name in brackets after it.
fn parse_line(line: &[u8]) -> Option<Symbol> {
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok().filter(|&address| address != 0)?;
    let kind = words.next()?;
    let section = match kind {
        "t" | "T" | "w" | "W" => KernelSection::Code,
        _ => KernelSection::Data,
    };
    let name = words.next()?.to_owned();
    let module = words.next().map(|module| module.trim_matches(['[', ']']).to_owned());
    Some(Symbol { address, size: 0, name, module, section, local: kind.starts_with(char::is_lowercase) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
0000000000000000 A hidden
ffffffff81000000 T _stext
ffffffff81000000 T first
ffffffff81000040 t __pfx_second
ffffffff81000050 T second
ffffffff81000090 T third
ffffffff81000100 D tasklist_lock
ffffffff81000140 d other_lock
ffffffffc0000000 t module_function\t[ext4]
ffffffffc0000080 t module_end\t[ext4]
";

    #[test]
    fn addresses_are_found_in_symbols() {
        let symbols = KernelSymbols::parse(TEXT.as_bytes());
        let name = |symbol: Option<&Symbol>| symbol.map(|symbol| symbol.name.clone());
        assert_eq!(name(symbols.function(0xffff_ffff_8100_0010)).as_deref(), Some("first"));
        assert_eq!(name(symbols.function(0xffff_ffff_8100_0050)).as_deref(), Some("second"));
        assert_eq!(name(symbols.caller(0xffff_ffff_8100_0090)).as_deref(), Some("second"));
        assert_eq!(symbols.function(0xffff_ffff_8100_0050).unwrap().size, 0x40);
        assert_eq!(name(symbols.variable(0xffff_ffff_8100_0108)).as_deref(), Some("tasklist_lock"));
        assert_eq!(symbols.function(0xffff_ffff_8100_0108), None, "a variable is no function");
        assert_eq!(symbols.find(0xffff_ffff_9000_0000), None, "the gap before the modules");
        assert_eq!(symbols.find(0), None);
        let of_module = symbols.function(0xffff_ffff_c000_0000).unwrap();
        assert_eq!(of_module.module.as_deref(), Some("ext4"));
        assert_eq!(symbols.code_bytes(), 0x100);
    }

    /// Without CONFIG_KALLSYMS_ALL the only data are marks of sections: the mark before a variable would name it wrongly.
    #[test]
    fn marks_of_sections_are_no_variables() {
        let text = b"ffffffff82000000 D __start_init_stack\nffffffff82001000 D __start_once\n";
        let symbols = KernelSymbols::parse(text);
        assert!(!symbols.has_variables());
        assert_eq!(symbols.variable(0xffff_ffff_8200_0800), None);
        assert!(KernelSymbols::parse(TEXT.as_bytes()).has_variables());
    }

    #[test]
    fn hidden_addresses_are_no_symbols() {
        assert!(KernelSymbols::parse(b"0000000000000000 T schedule\n").symbols.is_empty());
        assert!(KernelSymbols::parse(b"damaged\n\xff\xfe\n12 \n").symbols.is_empty());
    }
}
