//! A call in a component's own process, without the kubelet's socket, gate or node: to it, a fresh instance, `allocate` of one unit, the
//! drop, and back.

use crate::table::{Table, median_and_p99};
use anyhow::anyhow;
use devgate_runner::{LoadRequest, Programs, Runners};
use devgate_types::component::{
    Answered, Call, CallKind, Capabilities, Component, LogBatch, LogLevel, NodeInfo, Uevent,
};
use devgate_types::{DeviceHandle, Failure, FailureKind, Grant, Limits, MountHandle, NodeHandle, Unit};
use std::sync::Arc;
use std::time::Instant;

/// Calls that are not counted.
const WARM_UP: usize = 200;

/// Measures it as the host does it.
pub(crate) fn measure(table: &mut Table, calls: usize) -> anyhow::Result<()> {
    let bytes = std::fs::read(devgate_tests::components()?.join("generic.wasm"))?;
    let (median, p99) = time(&bytes, calls)?;
    table.figure("fresh instance + allocate in its process, median", median, "µs");
    table.figure("the same, p99", p99, "µs");
    Ok(())
}

fn time(bytes: &[u8], calls: usize) -> anyhow::Result<(f64, f64)> {
    let limits = Limits::default();
    let grants = &|_: &str| Grant::Granted;
    let component = Runners::new(Programs::beside()?, None)?.load(&LoadRequest {
        plugin: "bench",
        bytes,
        sha256: None,
        limits: limits.clone(),
        grants,
    })?;
    let mut nowhere = Nowhere { limits: Arc::new(limits), config: CONFIG.into() };
    let unit = Unit { id: "bench0-0".into(), backing: vec![], nodes: vec![], properties: vec![] };
    let units = std::slice::from_ref(&unit);
    let mut samples = Vec::with_capacity(calls);
    for n in 0..calls + WARM_UP {
        let begun = Instant::now();
        let answer = component.call(&Call::about(CallKind::Allocate, "devgate.dev/bench0", units), &mut nowhere);
        let took = begun.elapsed().as_secs_f64() * 1e6;
        answer.map_err(|error| anyhow!("{error}"))?;
        if n >= WARM_UP {
            samples.push(took);
        }
    }
    Ok(median_and_p99(&mut samples))
}

const CONFIG: &str = r#"{"devices":[{"resource":"devgate.dev/bench0","subsystem":"bench0"}]}"#;

/// A host with a configuration and no hardware.
struct Nowhere {
    limits: Arc<Limits>,
    config: Arc<str>,
}

fn nothing<T>() -> Answered<T> {
    Err(Failure::new(FailureKind::NotFound, "there is no hardware here").into())
}

impl Capabilities for Nowhere {
    fn limits(&self) -> &Limits {
        &self.limits
    }
    fn devices(&mut self, _: &str) -> Answered<Vec<DeviceHandle>> {
        Ok(Vec::new())
    }
    fn device_by_name(&mut self, _: &str, _: &str) -> Answered<DeviceHandle> {
        nothing()
    }
    fn device_name(&mut self, _: DeviceHandle) -> Answered<String> {
        nothing()
    }
    fn device_subsystem(&mut self, _: DeviceHandle) -> Answered<String> {
        nothing()
    }
    fn device_driver(&mut self, _: DeviceHandle) -> Answered<Option<String>> {
        nothing()
    }
    fn device_location(&mut self, _: DeviceHandle) -> Answered<String> {
        nothing()
    }
    fn device_numa_node(&mut self, _: DeviceHandle) -> Answered<Option<u32>> {
        nothing()
    }
    fn attribute(&mut self, _: DeviceHandle, _: &str) -> Answered<String> {
        nothing()
    }
    fn attribute_bytes(&mut self, _: DeviceHandle, _: &str, _: u64, _: u32) -> Answered<Vec<u8>> {
        nothing()
    }
    fn entries(&mut self, _: DeviceHandle, _: &str) -> Answered<Vec<String>> {
        nothing()
    }
    fn link(&mut self, _: DeviceHandle, _: &str) -> Answered<String> {
        nothing()
    }
    fn related(&mut self, _: DeviceHandle, _: &str) -> Answered<DeviceHandle> {
        nothing()
    }
    fn parent(&mut self, _: DeviceHandle) -> Answered<Option<DeviceHandle>> {
        nothing()
    }
    fn children(&mut self, _: DeviceHandle, _: &str) -> Answered<Vec<DeviceHandle>> {
        nothing()
    }
    fn nodes(&mut self, _: DeviceHandle) -> Answered<Vec<NodeHandle>> {
        nothing()
    }
    fn node_at(&mut self, _: &str) -> Answered<NodeHandle> {
        nothing()
    }
    fn mount(&mut self, _: &str) -> Answered<MountHandle> {
        nothing()
    }
    fn file_text(&mut self, _: &str) -> Answered<String> {
        nothing()
    }
    fn file_read(&mut self, _: &str, _: u64, _: u32) -> Answered<Vec<u8>> {
        nothing()
    }
    fn file_entries(&mut self, _: &str) -> Answered<Vec<String>> {
        nothing()
    }
    fn node(&mut self, _: NodeHandle) -> Answered<NodeInfo> {
        nothing()
    }
    fn mount_source(&mut self, _: MountHandle) -> Answered<(String, bool)> {
        nothing()
    }
    fn kernel_log_since(&mut self, _: &str, _: u32) -> Answered<LogBatch> {
        nothing()
    }
    fn control_write(&mut self, _: DeviceHandle, _: &str, _: &str) -> Answered<()> {
        nothing()
    }
    fn clock_now(&mut self) -> Answered<u64> {
        Ok(0)
    }
    fn uevents_recent(&mut self, _: DeviceHandle) -> Answered<Vec<Uevent>> {
        nothing()
    }
    fn state_load(&mut self) -> Answered<Vec<u8>> {
        nothing()
    }
    fn state_store(&mut self, _: &[u8]) -> Answered<()> {
        nothing()
    }
    fn config(&mut self) -> Arc<str> {
        Arc::clone(&self.config)
    }
    fn log(&mut self, _: LogLevel, _: &str) {}
    fn bytes_read(&self) -> u64 {
        0
    }
}
