//! From a function to its caller, by the unwind tables that exceptions use (`.eh_frame`).

use std::sync::Arc;

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EhFrameHdr, EndianSlice, EvaluationResult, Expression,
    LittleEndian, Location, Register, RegisterRule, UnwindContext, UnwindExpression, UnwindSection,
    UnwindTableRow, Value, X86_64,
};

use crate::elf::Elf;
use crate::space::Space;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// Three registers of a thread, and what lay on its stack.
#[derive(Clone, Copy, Debug)]
pub struct Stack<'a> {
    /// A return address, or the address of the instruction that was about to be executed.
    pub ip: u64,
    /// The stack pointer at that instruction.
    pub sp: u64,
    /// The register `rbp`, whether or not the program keeps its frame pointer there.
    pub bp: u64,
    /// A copy of the memory from `sp` upwards.
    pub bytes: &'a [u8],
}

impl Stack<'_> {
    /// A word of the copy.
    fn read(&self, address: u64) -> Option<u64> {
        let start = usize::try_from(address.checked_sub(self.sp)?).ok()?;
        let bytes = self.bytes.get(start..start.checked_add(8)?)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }
}

/// The general registers and the return address, by DWARF's numbers; `None` where no longer known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registers([Option<u64>; 17]);

impl Registers {
    fn get(&self, register: Register) -> Option<u64> {
        *self.0.get(usize::from(register.0))?
    }

    fn set(&mut self, register: Register, value: Option<u64>) {
        self.0[usize::from(register.0)] = value;
    }
}

/// The registers that a function leaves as it found them (System V ABI for x86-64, section 3.2.1), but for `rsp`.
const PRESERVED: [Register; 6] =
    [X86_64::RBX, X86_64::RBP, X86_64::R12, X86_64::R13, X86_64::R14, X86_64::R15];

/// Follows the chain of callers. `step` is asked for the registers that a function's caller has, once that function
/// has returned.
pub(crate) fn chain(
    space: &Space,
    stack: &Stack<'_>,
    step: impl Fn(u64, &Registers, &Stack<'_>) -> Option<Registers>,
) -> Vec<u64> {
    let mut registers = Registers([None; 17]);
    registers.set(X86_64::RA, Some(stack.ip));
    registers.set(X86_64::RSP, Some(stack.sp));
    registers.set(X86_64::RBP, Some(stack.bp));
    let mut addresses = vec![stack.ip];
    // The rules at a return address hold after the call; those for the call itself are one byte before. For the first
    // address nobody knows which it is: its own rules fit both.
    let mut lookup = stack.ip;
    loop {
        let caller = step(lookup, &registers, stack).or_else(|| by_frame_pointer(&registers, stack));
        let Some(caller) = caller else { return addresses };
        let Some(address) = caller.get(X86_64::RA).filter(|&address| space.is_code(address.wrapping_sub(1)))
        else {
            return addresses;
        };
        // A caller's stack begins above: this ends the loop, whatever the tables say.
        if caller.get(X86_64::RSP) <= registers.get(X86_64::RSP) {
            return addresses;
        }
        addresses.push(address);
        lookup = address - 1;
        registers = caller;
    }
}

/// For code without unwind tables: it may keep the address of its frame in `rbp`, with the caller's there and the
/// return address above.
fn by_frame_pointer(registers: &Registers, stack: &Stack<'_>) -> Option<Registers> {
    let frame = registers.get(X86_64::RBP)?;
    let above = frame.checked_add(8)?;
    let mut caller = Registers([None; 17]);
    caller.set(X86_64::RA, Some(stack.read(above)?));
    caller.set(X86_64::RBP, Some(stack.read(frame)?));
    caller.set(X86_64::RSP, Some(above.checked_add(8)?));
    Some(caller)
}

/// The unwind tables of a file.
pub(crate) struct Rules {
    frames: Arc<[u8]>,
    /// An index, sorted by address.
    index: Option<Arc<[u8]>>,
    bases: BaseAddresses,
}

impl Rules {
    pub fn read(elf: &Elf) -> Option<Rules> {
        let (address, frames) = elf.section(".eh_frame")?;
        let mut bases = BaseAddresses::default().set_eh_frame(address);
        let index = elf.section(".eh_frame_hdr").map(|(address, index)| {
            bases = bases.clone().set_eh_frame_hdr(address);
            index
        });
        if let Some(address) = elf.section_address(".text") {
            bases = bases.set_text(address);
        }
        Some(Rules { frames, index, bases })
    }

    /// Where the function begins that an address of the file lies in.
    pub fn function_start(&self, address: u64) -> Option<u64> {
        Some(self.find(address)?.initial_address())
    }

    /// The registers of the caller, of whom `address` of the file is the callee's.
    pub fn caller(&self, address: u64, registers: &Registers, stack: &Stack<'_>) -> Option<Registers> {
        let frames = self.frames();
        let entry = self.find(address)?;
        let mut context = UnwindContext::new();
        let row = entry.unwind_info_for_address(&frames, &self.bases, &mut context, address).ok()?;
        let step = Step { frames: &frames, encoding: entry.cie().encoding(), registers, stack };
        step.caller(row, entry.cie().return_address_register())
    }

    fn frames(&self) -> EhFrame<Slice<'_>> {
        EhFrame::new(&self.frames, LittleEndian)
    }

    fn find(&self, address: u64) -> Option<gimli::FrameDescriptionEntry<Slice<'_>>> {
        let frames = self.frames();
        let header = self.index.as_ref().and_then(|index| {
            EhFrameHdr::new(index, LittleEndian).parse(&self.bases, size_of::<u64>() as u8).ok()
        });
        match header.as_ref().and_then(|header| header.table()) {
            Some(table) => {
                table.fde_for_address(&frames, &self.bases, address, EhFrame::cie_from_offset).ok()
            }
            None => self.search(&frames, address),
        }
    }

    /// Without an index: static programs of some linkers have none.
    fn search<'a>(
        &self,
        frames: &EhFrame<Slice<'a>>,
        address: u64,
    ) -> Option<gimli::FrameDescriptionEntry<Slice<'a>>> {
        let mut entries = frames.entries(&self.bases);
        while let Some(entry) = entries.next().ok()? {
            if let CieOrFde::Fde(partial) = entry
                && let Ok(entry) = partial.parse(EhFrame::cie_from_offset)
                && entry.contains(address)
            {
                return Some(entry);
            }
        }
        None
    }
}

/// One step from a function to its caller.
struct Step<'a> {
    frames: &'a EhFrame<Slice<'a>>,
    encoding: gimli::Encoding,
    registers: &'a Registers,
    stack: &'a Stack<'a>,
}

impl Step<'_> {
    fn caller(&self, row: &UnwindTableRow<usize>, return_register: Register) -> Option<Registers> {
        // The canonical frame address: what `rsp` is after the return.
        let frame = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                self.registers.get(*register)?.checked_add_signed(*offset)?
            }
            CfaRule::Expression(expression) => self.evaluate(expression, None)?,
        };
        let mut caller = Registers([None; 17]);
        for register in PRESERVED {
            caller.set(register, self.value(row.register(register), register, frame));
        }
        caller.set(X86_64::RSP, Some(frame));
        // Without a rule there is no caller: so the outermost function of a thread is marked.
        let rule = row.register(return_register);
        if matches!(rule, None | Some(RegisterRule::Undefined)) {
            return Some(caller);
        }
        caller.set(X86_64::RA, self.value(rule, return_register, frame));
        Some(caller)
    }

    fn value(&self, rule: Option<RegisterRule<usize>>, register: Register, frame: u64) -> Option<u64> {
        match rule {
            None | Some(RegisterRule::SameValue) => self.registers.get(register),
            Some(RegisterRule::Offset(offset)) => self.stack.read(frame.checked_add_signed(offset)?),
            Some(RegisterRule::ValOffset(offset)) => frame.checked_add_signed(offset),
            Some(RegisterRule::Register(other)) => self.registers.get(other),
            Some(RegisterRule::Expression(expression)) => {
                self.stack.read(self.evaluate(&expression, Some(frame))?)
            }
            Some(RegisterRule::ValExpression(expression)) => self.evaluate(&expression, Some(frame)),
            _ => None,
        }
    }

    /// Functions that align their stack, and the linker's stubs, state their frame by a small program.
    fn evaluate(&self, expression: &UnwindExpression<usize>, initial: Option<u64>) -> Option<u64> {
        let Expression(code) = expression.get(self.frames).ok()?;
        let mut evaluation = gimli::Evaluation::new(code, self.encoding);
        evaluation.set_max_iterations(MOST_OPERATIONS);
        if let Some(initial) = initial {
            evaluation.set_initial_value(initial);
        }
        let mut result = evaluation.evaluate().ok()?;
        loop {
            result = match result {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = self.registers.get(register)?;
                    evaluation.resume_with_register(Value::Generic(value)).ok()?
                }
                EvaluationResult::RequiresMemory { address, size: 8, .. } => {
                    evaluation.resume_with_memory(Value::Generic(self.stack.read(address)?)).ok()?
                }
                _ => return None,
            };
        }
        match evaluation.as_result().last()?.location {
            Location::Address { address } => Some(address),
            _ => None,
        }
    }
}

/// More than any honest expression has.
const MOST_OPERATIONS: u32 = 1000;
