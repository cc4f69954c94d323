//! What `wit-bindgen` makes of the contract. One world for each export, because a world's exports are all or nothing and
//! a component may leave the optional ones out; the imports and types are made once.

wit_bindgen::generate!({
    path: "../../wit",
    inline: "
        package devgate:sdk;

        world vendor {
            include devgate:plugin/component@0.1.0;
            include devgate:plugin/capabilities@0.1.0;
        }
    ",
    world: "vendor",
    generate_all,
    generate_unused_types: true,
    export_macro_name: "export_plugin",
    pub_export_macro: true,
});

/// Imports of a later version of the contract.
pub mod later {
    wit_bindgen::generate!({
        path: ["../../wit", "../../wit/0.1.1"],
        inline: "
            package devgate:sdk;

            world later {
                import devgate:plugin/clock@0.1.1;
                import devgate:plugin/uevents@0.1.1;
            }
        ",
        world: "later",
        with: { "devgate:plugin/types@0.1.0": crate::bindings::devgate::plugin::types },
        generate_all,
    });
}

/// The optional export `preference`.
pub mod with_preference {
    wit_bindgen::generate!({
        path: "../../wit",
        inline: "
            package devgate:sdk;

            world with-preference {
                export devgate:plugin/preference@0.1.0;
            }
        ",
        world: "with-preference",
        with: { "devgate:plugin/types@0.1.0": crate::bindings::devgate::plugin::types },
        generate_all,
        export_macro_name: "export_preference",
        pub_export_macro: true,
    });
}

/// The optional export `lifecycle`.
pub mod with_lifecycle {
    wit_bindgen::generate!({
        path: "../../wit",
        inline: "
            package devgate:sdk;

            world with-lifecycle {
                export devgate:plugin/lifecycle@0.1.0;
            }
        ",
        world: "with-lifecycle",
        with: { "devgate:plugin/types@0.1.0": crate::bindings::devgate::plugin::types },
        generate_all,
        export_macro_name: "export_lifecycle",
        pub_export_macro: true,
    });
}

/// The optional export `parameters`, of a later version of the contract.
pub mod with_parameters {
    wit_bindgen::generate!({
        path: ["../../wit", "../../wit/0.1.1"],
        inline: "
            package devgate:sdk;

            world with-parameters {
                export devgate:plugin/parameters@0.1.1;
            }
        ",
        world: "with-parameters",
        with: { "devgate:plugin/types@0.1.0": crate::bindings::devgate::plugin::types },
        generate_all,
        export_macro_name: "export_parameters",
        pub_export_macro: true,
    });
}

/// The optional export `conditions`, of a later version of the contract.
pub mod with_conditions {
    wit_bindgen::generate!({
        path: ["../../wit", "../../wit/0.1.1"],
        inline: "
            package devgate:sdk;

            world with-conditions {
                export devgate:plugin/conditions@0.1.1;
            }
        ",
        world: "with-conditions",
        with: { "devgate:plugin/types@0.1.0": crate::bindings::devgate::plugin::types },
        generate_all,
        export_macro_name: "export_conditions",
        pub_export_macro: true,
    });
}
