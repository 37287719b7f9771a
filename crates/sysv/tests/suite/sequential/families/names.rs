//! How a program names objects with ids that it cannot know.

/// How a program names an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Name {
    /// The n-th that was made, modulo how many there are; it may have been removed since.
    Made(u8),
    /// A number that was never an id.
    Number(i32),
}

/// Ids of the objects that a program has made, in order.
#[derive(Debug, Default)]
pub struct Names(Vec<i32>);

impl Names {
    /// The id behind a name.
    pub fn id(&self, name: Name) -> i32 {
        match name {
            Name::Made(_) if self.0.is_empty() => i32::MAX,
            Name::Made(n) => self.0[n as usize % self.0.len()],
            Name::Number(n) => n,
        }
    }

    /// Notes which id a new object got; `false` if it cannot have got that one.
    pub fn note(&mut self, id: i32) -> bool {
        let fresh = id >= 0 && !self.0.contains(&id);
        self.0.push(id);
        fresh
    }
}
