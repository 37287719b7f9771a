//! Unwinding: from a function to its caller, by the unwind tables of exceptions (`.eh_frame`).

use std::sync::Arc;

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, CommonInformationEntry, EhFrame, EhFrameOffset, EndianSlice,
    EvaluationResult, Expression, FrameDescriptionEntry, LittleEndian, Location, Register, RegisterRule,
    UnwindContext, UnwindExpression, UnwindSection, UnwindTableRow, Value, X86_64,
};

use crate::elf::Elf;
use crate::space::AddressSpace;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// Three registers of a thread, and a copy of part of its stack.
#[derive(Clone, Copy, Debug)]
pub struct StackCopy<'a> {
    /// A return address, or the address of the next instruction.
    pub ip: u64,
    /// The stack pointer at that instruction.
    pub sp: u64,
    /// The register `rbp`, whether or not the program uses it as frame pointer.
    pub bp: u64,
    /// A copy of the memory from `sp` upwards.
    pub bytes: &'a [u8],
}

impl StackCopy<'_> {
    /// A word of the copy.
    fn read(&self, address: u64) -> Option<u64> {
        let start = usize::try_from(address.checked_sub(self.sp)?).ok()?;
        let bytes = self.bytes.get(start..start.checked_add(8)?)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }
}

/// The general registers and the return address, by their DWARF numbers; `None` if unknown.
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

/// The callee-saved registers (System V ABI for x86-64, section 3.2.1), except `rsp`.
const PRESERVED: [Register; 6] =
    [X86_64::RBX, X86_64::RBP, X86_64::R12, X86_64::R13, X86_64::R14, X86_64::R15];

/// Follows the chain of callers. `step` returns the registers of a function's caller as they are after the function has
/// returned.
pub(crate) fn chain(
    space: &AddressSpace,
    stack: &StackCopy<'_>,
    step: impl Fn(u64, &Registers, &StackCopy<'_>) -> Option<Registers>,
) -> Vec<u64> {
    let mut registers = Registers([None; 17]);
    registers.set(X86_64::RA, Some(stack.ip));
    registers.set(X86_64::RSP, Some(stack.sp));
    registers.set(X86_64::RBP, Some(stack.bp));
    let mut addresses = vec![stack.ip];
    // The rules at a return address apply after the call; the rules for the call itself are found one byte before. For
    // the first address it is unknown which kind it is; the rules at that address fit both.
    let mut lookup = stack.ip;
    loop {
        let caller = step(lookup, &registers, stack).or_else(|| by_frame_pointer(&registers, stack));
        let Some(caller) = caller else { return addresses };
        let Some(address) = caller.get(X86_64::RA).filter(|&address| space.is_code(address.wrapping_sub(1)))
        else {
            return addresses;
        };
        // A caller's stack begins above: this ends the loop for any tables.
        if caller.get(X86_64::RSP) <= registers.get(X86_64::RSP) {
            return addresses;
        }
        addresses.push(address);
        lookup = address - 1;
        registers = caller;
    }
}

/// For code without unwind tables. Such code may keep its frame address in `rbp`; the caller's frame address is stored
/// there, and the return address above it.
fn by_frame_pointer(registers: &Registers, stack: &StackCopy<'_>) -> Option<Registers> {
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
    bases: BaseAddresses,
    /// The start of each function, ascending, and the offset of its entry in the table. Files have such an index of
    /// their own (`.eh_frame_hdr`), but not all do, and a damaged one leads anywhere.
    starts: Vec<(u64, usize)>,
}

impl Rules {
    pub fn read(elf: &Elf) -> Option<Rules> {
        let (address, frames) = elf.section(".eh_frame")?;
        let mut bases = BaseAddresses::default().set_eh_frame(address);
        if let Some(address) = elf.section_address(".text") {
            bases = bases.set_text(address);
        }
        let mut rules = Rules { frames, bases, starts: Vec::new() };
        rules.starts = rules.starts();
        rules.starts.sort_unstable();
        Some(rules)
    }

    /// The start of the function that contains an address of the file.
    pub fn function_start(&self, address: u64) -> Option<u64> {
        Some(self.find(address)?.initial_address())
    }

    /// The registers of the caller of the function at `address` of the file.
    pub fn caller(&self, address: u64, registers: &Registers, stack: &StackCopy<'_>) -> Option<Registers> {
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

    fn find(&self, address: u64) -> Option<FrameDescriptionEntry<Slice<'_>>> {
        let above = self.starts.partition_point(|&(start, _)| start <= address);
        let &(_, offset) = self.starts[..above].last()?;
        let entry = self
            .frames()
            .fde_from_offset(&self.bases, EhFrameOffset(offset), EhFrame::cie_from_offset)
            .ok()?;
        entry.contains(address).then_some(entry)
    }

    /// In table order. Entries after damage are not found.
    fn starts(&self) -> Vec<(u64, usize)> {
        let frames = self.frames();
        let mut entries = frames.entries(&self.bases);
        let mut starts = Vec::new();
        // The common information entry (CIE) of several functions precedes them: it is parsed once.
        let mut common = None;
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(entry) = entry else { continue };
            let entry = entry.parse(|frames, bases, offset| match &common {
                Some((known, common)) if *known == offset => Ok(CommonInformationEntry::clone(common)),
                _ => frames
                    .cie_from_offset(bases, offset)
                    .inspect(|read| common = Some((offset, read.clone()))),
            });
            if let Ok(entry) = entry {
                starts.push((entry.initial_address(), entry.offset()));
            }
        }
        starts
    }
}

/// One step from a function to its caller.
struct Step<'a> {
    frames: &'a EhFrame<Slice<'a>>,
    encoding: gimli::Encoding,
    registers: &'a Registers,
    stack: &'a StackCopy<'a>,
}

impl Step<'_> {
    fn caller(&self, row: &UnwindTableRow<usize>, return_register: Register) -> Option<Registers> {
        // The canonical frame address: the value of `rsp` after the return.
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
        // The outermost function of a thread has no rule for the return address, so it has no caller.
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

    /// Functions that align their stack, and the linker's stubs, define their frame by a DWARF expression.
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

/// More operations than any valid expression has.
const MOST_OPERATIONS: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: u64 = 0x40_0000;
    const STACK: u64 = 0x7000;

    fn space() -> AddressSpace {
        AddressSpace::parse(b"400000-401000 r-xp 00000000 fe:00 1 /bin/nothing\n")
    }

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// The chain if no file has unwind tables.
    fn by_frame_pointers(bp: u64, words: &[u64]) -> Vec<u64> {
        let bytes = bytes(words);
        chain(&space(), &StackCopy { ip: CODE + 1, sp: STACK, bp, bytes: &bytes }, |_, _, _| None)
    }

    #[test]
    fn frame_pointers_are_used_without_unwind_tables() {
        let words = [0, STACK + 24, CODE + 2, STACK + 40, CODE + 3, 0, 0];
        assert_eq!(by_frame_pointers(STACK + 8, &words), [CODE + 1, CODE + 2, CODE + 3]);
    }

    #[test]
    fn return_address_outside_code_is_no_caller() {
        assert_eq!(by_frame_pointers(STACK, &[0, 0x1234]), [CODE + 1]);
        assert_eq!(by_frame_pointers(STACK, &[0, CODE]), [CODE + 1], "the call would be before the code");
        assert_eq!(by_frame_pointers(STACK - 8, &[0, CODE + 2]), [CODE + 1], "below the copy");
        assert_eq!(by_frame_pointers(STACK + 8, &[0, 0]), [CODE + 1], "half beyond the copy");
        assert_eq!(by_frame_pointers(u64::MAX - 3, &[0, 0]), [CODE + 1]);
    }

    #[test]
    fn cyclic_frame_chain_ends() {
        assert_eq!(by_frame_pointers(STACK, &[STACK, CODE + 2]), [CODE + 1, CODE + 2]);
        let bytes = bytes(&[0; 8]);
        let stays = |_, registers: &Registers, _: &StackCopy<'_>| {
            let mut caller = *registers;
            caller.set(X86_64::RA, Some(CODE + 2));
            Some(caller)
        };
        assert_eq!(chain(&space(), &StackCopy { ip: CODE, sp: STACK, bp: 0, bytes: &bytes }, stays), [CODE]);
    }

    #[test]
    fn stack_words_are_read_only_inside_the_copy() {
        let bytes = bytes(&[1, 2]);
        let stack = StackCopy { ip: 0, sp: STACK, bp: 0, bytes: &bytes };
        let read =
            [STACK - 1, STACK, STACK + 8, STACK + 9, STACK + 16, u64::MAX].map(|address| stack.read(address));
        assert_eq!(read, [None, Some(1), Some(2), None, None, None]);
    }
}
