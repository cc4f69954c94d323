//! devgate
fn main() {}
