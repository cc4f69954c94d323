//! Attributes that are another one a moment later.

/// Why an attribute is left out of every recording: the kernel's own bookkeeping, which says nothing of the device.
pub(super) fn bookkeeping(path: &str) -> Result<(), &'static str> {
    const WHY: &str = "is the kernel's bookkeeping, another one each time";
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let power = directory == "power" || directory.ends_with("/power");
    let kept = ["control", "runtime_status", "wakeup", "async", "runtime_enabled"];
    let counted = directory.split('/').any(|part| part == "statistics") || ["stat", "inflight"].contains(&name);
    let wakeup = path.split('/').any(|part| part.starts_with("wakeup") && part.len() > 6 && path.contains('/'));
    if counted || wakeup || (power && !kept.contains(&name)) {
        return Err(WHY);
    }
    Ok(())
}

/// The same for what `--stable` leaves out: what a device measures and counts.
pub(super) fn measured(path: &str) -> Result<(), &'static str> {
    const WHY: &str = "is measured or counted, another value each time (--stable)";
    let parts: Vec<_> = path.split('/').collect();
    let name = parts.last().copied().unwrap_or_default();
    let within = |of: &[&str]| parts.iter().any(|part| of.contains(part));
    let ends = [
        "_input",
        "_average",
        "_lowest",
        "_highest",
        "cur_freq",
        "_cur_freq",
        "_busy_percent",
        "_used",
        "_cnt",
        "_count",
        "_counter",
        "_time",
        "_usage",
        "_avail",
        "_errors",
    ];
    let names = [
        "temp",
        "time",
        "date",
        "since_epoch",
        "hctosys",
        "uptime",
        "meminfo",
        "numastat",
        "max_bytes",
        "min_bytes",
        "vmstat",
        "duty_cycle",
        "current_device",
        "state_time",
        "residency",
        "usage",
        "rejected",
        "above",
        "below",
        "current_value",
        "mem_used_total",
        "mm_stat",
        "io_stat",
        "bd_stat",
        "entropy_avail",
        "carrier_changes",
        "carrier_up_count",
        "carrier_down_count",
        "count",
        "nr_tags",
        "in_flight",
        "read_bytes",
        "write_bytes",
        "urbnum",
        "interrupts",
        "per_cpu_count",
        "total",
        "cpuidle",
    ];
    if within(&["counters", "hw_counters", "cpuidle", "stats", "mem_stat"])
        || names.contains(&name)
        || ends.iter().any(|end| name.ends_with(end))
    {
        return Err(WHY);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_device_is_stays() {
        for path in [
            "vendor",
            "power/control",
            "power/runtime_status",
            "ras/umc_err_count_x",
            "numa_node",
            "state",
            "net/x/address",
            "wakeup",
        ] {
            assert_eq!(bookkeeping(path), Ok(()), "{path}");
        }
        for path in [
            "power/runtime_active_time",
            "statistics/rx_bytes",
            "net/x/statistics/rx_bytes",
            "stat",
            "wakeup/wakeup3/active_count",
        ] {
            assert!(bookkeeping(path).is_err(), "{path}");
        }
        for path in ["hwmon/hwmon0/temp1_input", "ports/1/counters/x", "aer_count"] {
            assert!(bookkeeping(path).is_ok() && measured(path).is_err(), "{path}");
        }
    }
}
