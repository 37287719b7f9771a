//! Stacks, each stored once.

use std::collections::HashMap;

/// The number of a stack in [`Stacks`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct StackId(u32);

impl StackId {
    /// The empty stack.
    pub const EMPTY: StackId = StackId(0);
}

/// A stack, innermost frame first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stack<'a> {
    /// The kernel's part: the program counter, then return addresses.
    pub kernel: &'a [u64],
    /// The program's part.
    pub user: &'a [u64],
}

/// A number from here on is no address in a call chain, but a mark: it tells whether frames of the kernel or of the
/// program follow (`enum perf_callchain_context` in perf_event.h: PERF_CONTEXT_MAX).
const CONTEXT_MAX: u64 = (-4095_i64).cast_unsigned();
/// PERF_CONTEXT_USER.
const CONTEXT_USER: u64 = (-512_i64).cast_unsigned();

/// All stacks of a tracer. The same call chain has the same number.
#[derive(Clone, Debug)]
pub struct Stacks {
    numbers: HashMap<Box<[u64]>, StackId>,
    /// Each chain without its marks, and the number of its frames in the kernel.
    stacks: Vec<(Box<[u64]>, usize)>,
}

impl Default for Stacks {
    fn default() -> Stacks {
        Stacks { numbers: HashMap::new(), stacks: vec![(Box::default(), 0)] }
    }
}

impl Stacks {
    /// The number of a call chain as the kernel writes it, with its marks.
    pub fn number(&mut self, chain: &[u64]) -> StackId {
        if chain.is_empty() {
            return StackId::EMPTY;
        }
        if let Some(&known) = self.numbers.get(chain) {
            return known;
        }
        let id = StackId(self.stacks.len() as u32);
        let user = chain.iter().position(|&word| word == CONTEXT_USER).unwrap_or(chain.len());
        let frame = |word: &&u64| **word < CONTEXT_MAX;
        let kernel = chain[..user].iter().filter(frame).count();
        self.stacks.push((chain.iter().filter(frame).copied().collect(), kernel));
        self.numbers.insert(chain.into(), id);
        id
    }

    /// The stack with a number.
    pub fn get(&self, id: StackId) -> Stack<'_> {
        let (frames, kernel) = &self.stacks[id.0 as usize];
        let (kernel, user) = frames.split_at(*kernel);
        Stack { kernel, user }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chain_is_split_at_its_marks() {
        let mut stacks = Stacks::default();
        let kernel = (-128_i64).cast_unsigned();
        let chain = [kernel, 0xFFFF_FFFF_8100_0010, 0xFFFF_FFFF_8100_0020, CONTEXT_USER, 0x4000];
        let id = stacks.number(&chain);
        let stack = stacks.get(id);
        assert_eq!(stack.kernel, [0xFFFF_FFFF_8100_0010, 0xFFFF_FFFF_8100_0020]);
        assert_eq!(stack.user, [0x4000]);
        assert_eq!(stacks.number(&chain), id, "it is stored once");
        assert_ne!(stacks.number(&chain[..3]), id);
        let only_user = stacks.number(&[CONTEXT_USER, 0x4000]);
        assert_eq!(stacks.get(only_user), Stack { kernel: &[], user: &[0x4000] });
        assert_eq!(stacks.get(StackId::EMPTY), Stack { kernel: &[], user: &[] });
    }
}
