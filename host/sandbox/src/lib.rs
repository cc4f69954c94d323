//! devgate-sandbox
