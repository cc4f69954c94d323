//! The mistakes: how each is made, by the real programs, and what of the message the page shows.

use super::place::Place;

/// One mistake.
pub(super) struct Mistake {
    /// In the page's words.
    pub(super) what: &'static str,
    /// Makes it; the message.
    pub(super) make: fn(&Place) -> anyhow::Result<String>,
    /// Three parts of the message, in this order: what it is about, what is wrong with that, and what to do.
    pub(super) object: &'static str,
    pub(super) cause: &'static str,
    pub(super) to_do: &'static str,
}

const fn mistake(
    what: &'static str,
    make: fn(&Place) -> anyhow::Result<String>,
    [object, cause, to_do]: [&'static str; 3],
) -> Mistake {
    Mistake { what, make, object, cause, to_do }
}

/// A unit of the recorded node.
const UNIT: &str = "SN000000A1";

pub(super) const MISTAKES: [Mistake; 31] = [
    mistake(
        "panic (in Go `failed: panic:`)",
        |at| at.fault("panics")?.call("enumerate", &[]),
        ["enumerate", "trapped: panicked at", "return an error instead"],
    ),
    mistake(
        "odd id",
        |at| at.fault("ids-with-a-space")?.call("enumerate", &[]),
        [
            "id rack SN000000A0 of example.com/rack",
            "must consist of letters, digits and -_.:+@!",
            "write - for all else",
        ],
    ),
    mistake(
        "long id",
        |at| at.fault("ids-too-long")?.call("enumerate", &[]),
        ["id SN000000A0xxx", "must have 1 to 63 bytes", "take a serial number"],
    ),
    mistake(
        "id twice",
        |at| at.fault("ids-twice")?.call("enumerate", &[]),
        ["id rack of example.com/rack", "the same id was listed before", "take what no other unit has"],
    ),
    mistake(
        "ungranted resource",
        |at| at.with("example.com/rack", "example.com/shelf")?.call("enumerate", &[]),
        ["resource example.com/rack", "the policy does not grant this name", "add it there"],
    ),
    mistake(
        "ungranted node",
        |at| at.fault("asks-for-another-node")?.call("enumerate", &[]),
        ["node \"/dev/rack-control\"", "no entry of the policy's host-nodes", "grant it in the policy"],
    ),
    mistake(
        "wrong node",
        |at| at.fault("asks-for-another-node")?.with("/dev/rackctl", "/dev/rack*")?.call("enumerate", &[]),
        ["node \"/dev/rack-control\"", "not found", "look for it in the recorded node"],
    ),
    mistake(
        "two units, one node",
        |at| at.fault("lists-twice")?.call("enumerate", &[]),
        ["id again", "is already given to", "list one unit for both"],
    ),
    mistake(
        "too many units",
        |at| {
            at.fault("lists-too-many")?
                .limits("memory: 64MiB, transfer: 8MiB, cpu: 20s, deadline: 20s")?
                .call("enumerate", &[])
        },
        ["a pool's list of units", "at most 16384 are allowed", "answer no more"],
    ),
    mistake(
        "verdicts missing",
        |at| at.fault("judges-too-few")?.call("health", &[]),
        ["health", "3 verdicts for 4 units", "give one for each"],
    ),
    mistake(
        "long reason",
        |at| at.fault("reasons-too-long")?.conform("errors.reasons"),
        ["health said", "was cut off", "say what was found and where"],
    ),
    mistake(
        "slow call",
        |at| {
            let long = "cpu: 300ms, deadline: 300ms, host-calls: 10000000, transfer: 64MiB, read: 64MiB";
            at.fault("asks-until-its-deadline")?.limits(long)?.call("enumerate", &[])
        },
        ["enumerate", "deadline (limits.deadline)", "do less in one call"],
    ),
    mistake(
        "memory",
        |at| at.fault("wastes-memory")?.limits("memory: 8MiB")?.call("enumerate", &[]),
        ["enumerate", "of memory (limits.memory)", "do less in one call"],
    ),
    mistake(
        "foreign path",
        |at| at.fault("reads-beside-its-device")?.call("enumerate", &[]),
        ["attribute \"../rack1/serial\" of rack0", "path has a . or .. component", "ask for what lies beneath"],
    ),
    mistake(
        "large file",
        |at| at.fault("reads-a-large-file")?.call("enumerate", &[]),
        ["file \"/proc/misfit/blob/information\"", "longer than 65536 bytes", "take it in parts"],
    ),
    mistake(
        "attribute not recorded",
        |at| at.fault("gives-up")?.without("A: serial=SN000000A0\\n")?.call("enumerate", &[]),
        ["attribute \"serial\" of rack0", "not found", "`if_present()` makes it none"],
    ),
    mistake(
        "ungranted variable",
        |at| at.fault("sets-what-is-not-granted")?.call("allocate", &[UNIT]),
        ["environment variable LD_PRELOAD", "is not granted (containers.env)", "answer what the policy expects"],
    ),
    mistake(
        "CDI name",
        |at| at.fault("names-cdi-by-number")?.call("allocate", &[UNIT]),
        ["CDI device \"rack0\"", "is not a name such as vendor.com/class=name", "answer what the policy expects"],
    ),
    mistake(
        "ungranted mount",
        |at| at.fault("mounts-what-is-not-named")?.call("allocate", &[UNIT]),
        ["mount \"models\"", "no entry of the policy's containers.mounts", "grant it in the policy"],
    ),
    mistake(
        "unlisted unit",
        |at| at.call("allocate", &["SN000000A9"]),
        ["id SN000000A9", "enumerate does not list it", "call enumerate"],
    ),
    mistake(
        "`pack` forgotten",
        |at| at.text("(module)")?.check(),
        ["vendor.wasm", "is a core module", "run `devgatectl pack`"],
    ),
    mistake(
        "WASI preview 1",
        |at| {
            let module =
                r#"(module (import "wasi_snapshot_preview1" "proc_exit" (func (param i32))) (func (export "_start")))"#;
            at.text(module)?.says(&["pack", "vendor.wasm", "-o", "out.wasm"])
        },
        ["vendor.wasm", "for WASI preview 1", "build it with the contract's bindings"],
    ),
    mistake(
        "export missing",
        |at| at.text("(component)")?.check(),
        ["vendor.wasm", "does not export devgate:plugin/plugin@0.1.0", "build it for the world `component`"],
    ),
    mistake(
        "another contract",
        |at| at.text("(component (import \"devgate:plugin/hardware@0.2.0\" (instance)))")?.check(),
        ["devgate:plugin/hardware@0.2.0", "is another version of the contract", "build it against that"],
    ),
    mistake(
        "ungranted import",
        |at| at.with("    state: true\n", "")?.check(),
        ["component", "imports devgate:plugin/state@0.1.0", "needs \"state:\" in the policy"],
    ),
    mistake(
        "debug build",
        |at| at.with_debug_information()?.check(),
        ["component vendor.wasm", "is larger than 4MiB", "`devgatectl pack` leaves debug information out"],
    ),
    mistake(
        "other file",
        |at| at.with("vendor.wasm}", &format!("vendor.wasm, sha256: \"{}\"}}", "ab".repeat(32)))?.check(),
        ["component vendor.wasm", "the policy pins", "update the pin"],
    ),
    mistake(
        "unfit config",
        |at| at.with_schema()?.with("fault: none", "naming: double")?.check(),
        ["config at /naming", "is not one of", "`devgatectl inspect FILE --output config-schema`"],
    ),
    mistake(
        "config missing",
        |at| at.with_schema()?.with("    config: {fault: none}\n", "")?.check(),
        ["config", "is a required property", "`devgatectl inspect FILE --output config-schema`"],
    ),
    mistake(
        "no signature",
        |at| at.with_key()?.check(),
        ["component ./vendor.wasm", "has no signature", "make it with `cosign sign-blob`"],
    ),
    mistake(
        "push without login",
        |at| at.push(),
        ["/vendor/racks", "refuses pushing without credentials", "give it some (--registry-config)"],
    ),
];
