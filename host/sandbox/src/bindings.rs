//! What `bindgen!` makes of `wit/`, seen from the host: all imports that this version serves, and the export that
//! every component has, and the optional ones.
#![allow(missing_docs, unreachable_pub, reason = "generated from wit/, where the documentation is")]
#![allow(clippy::all, clippy::indexing_slicing, reason = "generated")]

wasmtime::component::bindgen!({
    path: "../../wit",
    inline: "
        package devgate:host;

        world plugin-component {
            import devgate:plugin/types@0.1.0;
            import devgate:plugin/config@0.1.0;
            import devgate:plugin/log@0.1.0;
            import devgate:plugin/hardware@0.1.0;
            import devgate:plugin/host-paths@0.1.0;
            import devgate:plugin/files@0.1.0;
            import devgate:plugin/kernel-log@0.1.0;
            import devgate:plugin/control@0.1.0;
            import devgate:plugin/state@0.1.0;
            export devgate:plugin/plugin@0.1.0;
        }
    ",
    world: "devgate:host/plugin-component",
    imports: { default: trappable },
    with: {
        "devgate:plugin/types.device": devgate_types::DeviceHandle,
        "devgate:plugin/types.node": devgate_types::NodeHandle,
        "devgate:plugin/types.mount-source": devgate_types::MountHandle,
    },
    require_store_data_send: true,
});

/// Imports of a later version of the contract, with the same types.
pub mod later {
    wasmtime::component::bindgen!({
        path: ["../../wit", "../../wit/0.1.1"],
        inline: "
            package devgate:host;

            world later {
                import devgate:plugin/clock@0.1.1;
                import devgate:plugin/uevents@0.1.1;
            }
        ",
        world: "devgate:host/later",
        imports: { default: trappable },
        with: { "devgate:plugin/types@0.1.0": super::devgate::plugin::types },
        require_store_data_send: true,
    });
}

pub use devgate::plugin::{config, control, files, hardware, host_paths, kernel_log, log, state, types};
pub use later::devgate::plugin0_1_1::{clock, uevents};

/// The optional export `preference`, with the same types.
pub mod preference {
    wasmtime::component::bindgen!({
        path: "../../wit",
        inline: "
            package devgate:host;

            world with-preference {
                export devgate:plugin/preference@0.1.0;
            }
        ",
        world: "devgate:host/with-preference",
        imports: { default: trappable },
        with: { "devgate:plugin": super::devgate::plugin },
        require_store_data_send: true,
    });
}

/// The optional export `lifecycle`, with the same types.
pub mod lifecycle {
    wasmtime::component::bindgen!({
        path: "../../wit",
        inline: "
            package devgate:host;

            world with-lifecycle {
                export devgate:plugin/lifecycle@0.1.0;
            }
        ",
        world: "devgate:host/with-lifecycle",
        imports: { default: trappable },
        with: { "devgate:plugin": super::devgate::plugin },
        require_store_data_send: true,
    });
}

/// The optional export `parameters`, with the same types.
pub mod parameters {
    wasmtime::component::bindgen!({
        path: ["../../wit", "../../wit/0.1.1"],
        inline: "
            package devgate:host;

            world with-parameters {
                export devgate:plugin/parameters@0.1.1;
            }
        ",
        world: "devgate:host/with-parameters",
        imports: { default: trappable },
        with: { "devgate:plugin/types@0.1.0": super::devgate::plugin::types },
        require_store_data_send: true,
    });
}

/// The optional export `conditions`, with the same types.
pub mod conditions {
    wasmtime::component::bindgen!({
        path: ["../../wit", "../../wit/0.1.1"],
        inline: "
            package devgate:host;

            world with-conditions {
                export devgate:plugin/conditions@0.1.1;
            }
        ",
        world: "devgate:host/with-conditions",
        imports: { default: trappable },
        with: { "devgate:plugin/types@0.1.0": super::devgate::plugin::types },
        require_store_data_send: true,
    });
}
