//! Finds the way between two harbours, with changes on the way and tides that close shallow ones.

pub mod graph;
pub mod tides;

pub use graph::{shortest_route, Harbour, Leg, Network};
pub use tides::{is_navigable, TideTable};
