//! Reads a figure in a test.

use super::Expression;

/// The value, the unit and the surroundings of the last figure in an output, which has one.
pub fn read(expression: &str, output: &str) -> Result<(f64, String, Vec<String>), String> {
    let reading = Expression::compile(expression).unwrap().last(output).expect("a figure")?;
    Ok((reading.value, reading.unit.to_string(), reading.surroundings))
}
