//! Both sides of the boundary, in one process: what a component asks and answers is the same as without one, and what a runner says that
//! is none is not believed.

mod both_sides;
mod fake;
mod hostile;
