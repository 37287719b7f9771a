//! Values of columns and parameters. Every column is a whole number or a text: amounts are in cents, dates in days and times in
//! seconds since 1970, discounts in per cent.

/// A value of a column, or a parameter of a statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// A number, `BIGINT`.
    Int(i64),
    /// A text, `TEXT`.
    Text(String),
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Int(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

/// A row of a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row(pub Vec<Value>);

impl Row {
    /// The number in a column, counted from 0. The statement fixes which columns are numbers.
    pub fn int(&self, column: usize) -> i64 {
        match &self.0[column] {
            Value::Int(number) => *number,
            Value::Text(text) => panic!("column {column} has the text {text:?}, not a number"),
        }
    }

    /// The text in a column.
    pub fn text(&self, column: usize) -> &str {
        match &self.0[column] {
            Value::Text(text) => text,
            Value::Int(number) => panic!("column {column} has the number {number}, not a text"),
        }
    }
}

/// Parameters of a statement, of numbers and texts in any order.
macro_rules! values {
    ($($value:expr),* $(,)?) => { [$($crate::value::Value::from($value)),*] };
}
pub(crate) use values;
