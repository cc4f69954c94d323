//! devgate-node
