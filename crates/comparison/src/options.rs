//! What a comparison may do.

/// What is compared, and what may differ.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompareOptions {
    /// Names of the configurations; all if empty.
    pub configurations: Vec<String>,
    /// Compare figures though the machines differ.
    pub across_machines: bool,
    /// Compare though the commands differ.
    pub different_commands: bool,
    /// The gate: the share by which a figure may become worse.
    pub fail_if_slower: Option<f64>,
    /// The gate also fails if it cannot tell.
    pub fail_if_unsure: bool,
}
