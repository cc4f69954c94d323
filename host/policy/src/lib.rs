//! devgate-policy
