//! Names for the places of samples.

use super::samples::{SampledPlace, Samples};
use std::cell::RefCell;
use std::collections::HashMap;
use unspin_symbols::{AddressSpace, SymbolKind, Symbols};
use unspin_trace::{KernelSymbols, Stacks};

/// A function of the kernel or of a program.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Function {
    /// The name of the function.
    pub name: String,
    /// The program or library, or the module of the kernel; empty for the kernel itself.
    pub module: String,
    /// Whether it is the kernel's.
    pub in_kernel: bool,
}

/// Finds the functions.
pub struct Frames<'a> {
    kernel: &'a KernelSymbols,
    symbols: Symbols,
    spaces: Vec<(String, AddressSpace)>,
    known: RefCell<HashMap<(usize, u64), Function>>,
}

/// readprofile's name for addresses in no function.
const UNKNOWN: &str = "*unknown*";

impl<'a> Frames<'a> {
    /// For these samples.
    pub fn new(samples: &Samples, kernel: &'a KernelSymbols) -> Frames<'a> {
        let space = |space: super::samples::Space| (space.name, AddressSpace::parse(&space.maps));
        let spaces = samples.spaces().into_iter().map(space).collect();
        Frames { kernel, symbols: Symbols::new(), spaces, known: RefCell::default() }
    }

    /// The function of a program counter.
    pub fn function(&self, place: &SampledPlace) -> Function {
        match place.in_kernel {
            true => self.of_kernel(place.ip),
            // Not a return address.
            false => self.of_program(place.space, place.ip.wrapping_add(1)),
        }
    }

    /// The stack of a place, innermost first, with the name of the program last.
    pub fn stack(&self, place: &SampledPlace, stacks: &Stacks) -> Vec<Function> {
        let stack = stacks.get(place.stack);
        let kernel = stack.kernel.iter().enumerate().map(|(n, &address)| match n {
            0 => self.of_kernel(address),
            _ => self.of_kernel(address.wrapping_sub(1)),
        });
        let user = stack.user.iter().enumerate().map(|(n, &address)| match n {
            // The program counter, be it in a system call.
            0 => self.of_program(place.space, address.wrapping_add(1)),
            _ => self.of_program(place.space, address),
        });
        let mut frames: Vec<Function> = kernel.chain(user).collect();
        if frames.is_empty() {
            frames.push(self.function(place));
        }
        let name = self.spaces[place.space].0.clone();
        frames.push(Function { name, module: String::new(), in_kernel: false });
        frames
    }

    fn of_kernel(&self, address: u64) -> Function {
        let symbol = self.kernel.function(address);
        let name = symbol.map_or(UNKNOWN.into(), |symbol| symbol.name.clone());
        let module = symbol.and_then(|symbol| symbol.module.clone()).unwrap_or_default();
        Function { name, module, in_kernel: true }
    }

    fn of_program(&self, space: usize, return_address: u64) -> Function {
        let mut known = self.known.borrow_mut();
        let found = known.entry((space, return_address)).or_insert_with(|| {
            let frames = self.symbols.code(&self.spaces[space].1, return_address);
            let frame = frames.into_iter().next_back().expect("there is always a frame");
            // All samples of a function without a name are in one row, that of its start.
            let start = match frame.kind {
                SymbolKind::Unknown => self.symbols.function_start(&self.spaces[space].1, return_address),
                SymbolKind::Function | SymbolKind::Inlined => None,
            };
            let name = start.map_or(frame.short, |start| format!("{}+{start:#x}", frame.module));
            Function { name, module: frame.module, in_kernel: false }
        });
        found.clone()
    }
}
