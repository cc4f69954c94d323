//! The sandbox against components of every kind, most of them hostile, written as text.

mod fake;
mod guest;

mod calls;
mod hostile;
mod limits;
mod loading;
mod wasi;
