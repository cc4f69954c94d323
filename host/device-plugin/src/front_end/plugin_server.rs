//! The generated server of the device plugin's side, with lists that are encoded already.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    clippy::allow_attributes_without_reason,
    reason = "generated; the kubelet's service comes with the plugin's"
)]

include!(concat!(env!("OUT_DIR"), "/v1beta1.rs"));
