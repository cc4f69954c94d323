//! What a project is made of.

use super::names::Names;
use super::{lock, sdk};
use crate::cli::Lang;
use std::path::Path;

/// How the example's name stands in a file.
#[derive(Clone, Copy)]
enum Form {
    /// As a part of code, where hyphens cannot be: `acme_npu`.
    Code,
    /// Elsewhere: `acme-npu`.
    Words,
    /// As it is: the contract.
    Same,
}

type File = (&'static str, &'static str, Form);

/// The example of `guests/languages`.
macro_rules! example {
    ($path:literal) => {
        include_str!(concat!("../../../../guests/languages/", $path))
    };
}

macro_rules! template {
    ($path:literal) => {
        include_str!(concat!("../../templates/", $path))
    };
}

/// What a language needs and is to be known of it, then what is the same in all.
macro_rules! readme {
    ($lang:literal) => {
        concat!(
            include_str!(concat!("../../templates/", $lang, "/README.md")),
            include_str!("../../templates/README.md")
        )
    };
}

macro_rules! contract {
    ($path:literal) => {
        include_str!(concat!("../../../../wit/", $path))
    };
}

macro_rules! c {
    ($path:literal) => {
        include_str!(concat!("../../../../guests/c/", $path))
    };
}

macro_rules! go {
    ($path:literal) => {
        (concat!("devgate/", $path), include_str!(concat!("../../../../guests/go/", $path)), Form::Same)
    };
}

const COMMON: [File; 3] = [
    ("config.schema.json", example!("config.schema.json"), Form::Code),
    ("nodes/widget.umockdev", example!("nodes/widgets.umockdev"), Form::Code),
    ("scenarios/a-day.yaml", example!("scenarios/a-day.yaml"), Form::Code),
];

const RUST: [File; 11] = [
    (".cargo/config.toml", template!("rust/cargo-config.toml"), Form::Same),
    (".github/workflows/test.yaml", template!("rust/test.yaml"), Form::Words),
    (".gitignore", template!("rust/gitignore"), Form::Words),
    ("Cargo.toml", template!("rust/Cargo.toml"), Form::Words),
    ("README.md", readme!("rust"), Form::Words),
    ("devgate/README.md", template!("rust/devgate.md"), Form::Same),
    ("policy.yaml", example!("policy.yaml"), Form::Code),
    ("src/config.rs", example!("rust/src/config.rs"), Form::Code),
    ("src/lib.rs", example!("rust/src/lib.rs"), Form::Code),
    ("src/tests.rs", example!("rust/src/tests.rs"), Form::Code),
    ("tests/call.rs", template!("rust/call.rs"), Form::Words),
];

const C: [File; 20] = [
    (".github/workflows/test.yaml", template!("c/test.yaml"), Form::Words),
    (".gitignore", template!("c/gitignore"), Form::Words),
    ("Makefile", template!("c/Makefile"), Form::Words),
    ("README.md", readme!("c"), Form::Words),
    ("devgate/devgate.c", c!("devgate.c"), Form::Same),
    ("devgate/devgate.h", c!("devgate.h"), Form::Same),
    ("devgate/devgate_bindings.c", c!("devgate_bindings.c"), Form::Same),
    ("devgate/devgate_bindings.h", c!("devgate_bindings.h"), Form::Same),
    ("devgate/devgate_config.c", c!("devgate_config.c"), Form::Same),
    ("devgate/devgate_memory.c", c!("devgate_memory.c"), Form::Same),
    ("devgate/exports/bindings/conditions.c", c!("exports/bindings/conditions.c"), Form::Same),
    ("devgate/exports/bindings/lifecycle.c", c!("exports/bindings/lifecycle.c"), Form::Same),
    ("devgate/exports/bindings/parameters.c", c!("exports/bindings/parameters.c"), Form::Same),
    ("devgate/exports/bindings/preference.c", c!("exports/bindings/preference.c"), Form::Same),
    ("devgate/exports/conditions.c", c!("exports/conditions.c"), Form::Same),
    ("devgate/exports/lifecycle.c", c!("exports/lifecycle.c"), Form::Same),
    ("devgate/exports/parameters.c", c!("exports/parameters.c"), Form::Same),
    ("devgate/exports/preference.c", c!("exports/preference.c"), Form::Same),
    ("policy.yaml", example!("policy.yaml"), Form::Code),
    ("tests/call.sh", template!("c/call.sh"), Form::Words),
];
/// Beside them, under the name of the component.
const C_SOURCE: File = ("src/widget.c", example!("c/widget.c"), Form::Code);

const PYTHON: [File; 6] = [
    (".github/workflows/test.yaml", template!("python/test.yaml"), Form::Words),
    (".gitignore", template!("python/gitignore"), Form::Words),
    ("README.md", readme!("python"), Form::Words),
    ("app.py", example!("python/app.py"), Form::Code),
    ("policy.yaml", example!("python/policy.yaml"), Form::Code),
    ("tests/test_call.py", template!("python/test_call.py"), Form::Words),
];

const JS: [File; 7] = [
    (".github/workflows/test.yaml", template!("js/test.yaml"), Form::Words),
    (".gitignore", template!("js/gitignore"), Form::Words),
    ("README.md", readme!("js"), Form::Words),
    ("package.json", template!("js/package.json"), Form::Words),
    ("plugin.js", example!("js/widget.js"), Form::Code),
    ("policy.yaml", example!("js/policy.yaml"), Form::Code),
    ("tests/call.test.js", template!("js/call.test.js"), Form::Words),
];

const GO: [File; 8] = [
    (".github/workflows/test.yaml", template!("go/test.yaml"), Form::Words),
    (".gitignore", template!("go/gitignore"), Form::Words),
    ("Makefile", template!("go/Makefile"), Form::Words),
    ("README.md", readme!("go"), Form::Words),
    ("go.mod", template!("go/go.mod"), Form::Words),
    ("policy.yaml", example!("go/policy.yaml"), Form::Code),
    ("tests/call_test.go", template!("go/call_test.go"), Form::Words),
    ("widget.go", example!("go/widget.go"), Form::Code),
];
/// Beside them, all that a component in Go is built of.
const GO_MODULE: [File; 47] = [
    go!("bindings/devgate_plugin_clock/empty.s"),
    go!("bindings/devgate_plugin_clock/wit_bindings.go"),
    go!("bindings/devgate_plugin_config/empty.s"),
    go!("bindings/devgate_plugin_config/wit_bindings.go"),
    go!("bindings/devgate_plugin_control/empty.s"),
    go!("bindings/devgate_plugin_control/wit_bindings.go"),
    go!("bindings/devgate_plugin_files/empty.s"),
    go!("bindings/devgate_plugin_files/wit_bindings.go"),
    go!("bindings/devgate_plugin_hardware/empty.s"),
    go!("bindings/devgate_plugin_hardware/wit_bindings.go"),
    go!("bindings/devgate_plugin_host_paths/empty.s"),
    go!("bindings/devgate_plugin_host_paths/wit_bindings.go"),
    go!("bindings/devgate_plugin_kernel_log/empty.s"),
    go!("bindings/devgate_plugin_kernel_log/wit_bindings.go"),
    go!("bindings/devgate_plugin_log/empty.s"),
    go!("bindings/devgate_plugin_log/wit_bindings.go"),
    go!("bindings/devgate_plugin_plugin/empty.s"),
    go!("bindings/devgate_plugin_plugin/wit_bindings.go"),
    go!("bindings/devgate_plugin_state/empty.s"),
    go!("bindings/devgate_plugin_state/wit_bindings.go"),
    go!("bindings/devgate_plugin_types/empty.s"),
    go!("bindings/devgate_plugin_types/wit_bindings.go"),
    go!("bindings/devgate_plugin_uevents/empty.s"),
    go!("bindings/devgate_plugin_uevents/wit_bindings.go"),
    go!("bindings/export_devgate_plugin_plugin/component.go"),
    go!("bindings/wit_exports/wit_exports.go"),
    go!("conditions/conditions.go"),
    go!("conditions/wit_bindings.go"),
    go!("conditions/wit_exports.go"),
    go!("go.mod"),
    go!("lifecycle/lifecycle.go"),
    go!("lifecycle/wit_bindings.go"),
    go!("lifecycle/wit_exports.go"),
    go!("parameters/parameters.go"),
    go!("parameters/wit_bindings.go"),
    go!("parameters/wit_exports.go"),
    go!("plugin.go"),
    go!("preference/preference.go"),
    go!("preference/wit_bindings.go"),
    go!("preference/wit_exports.go"),
    go!("wit/runtime/empty.s"),
    go!("wit/runtime/memory.go"),
    go!("wit/runtime/runtime.go"),
    go!("wit/types/option.go"),
    go!("wit/types/result.go"),
    go!("wit/types/tuple.go"),
    go!("wit/types/unit.go"),
];

/// For languages whose tools read it.
const WIT: [File; 10] = [
    ("wit/deps/devgate/hardware.wit", contract!("hardware.wit"), Form::Same),
    ("wit/deps/devgate/host.wit", contract!("host.wit"), Form::Same),
    ("wit/deps/devgate/plugin.wit", contract!("plugin.wit"), Form::Same),
    ("wit/deps/devgate/types.wit", contract!("types.wit"), Form::Same),
    ("wit/deps/devgate/world.wit", contract!("world.wit"), Form::Same),
    ("wit/deps/devgate-0.1.1/clock.wit", contract!("0.1.1/clock.wit"), Form::Same),
    ("wit/deps/devgate-0.1.1/conditions.wit", contract!("0.1.1/conditions.wit"), Form::Same),
    ("wit/deps/devgate-0.1.1/parameters.wit", contract!("0.1.1/parameters.wit"), Form::Same),
    ("wit/deps/devgate-0.1.1/uevents.wit", contract!("0.1.1/uevents.wit"), Form::Same),
    ("wit/world.wit", example!("wit/world.wit"), Form::Words),
];

/// Paths in the project and what is there, in order. `guests` is that folder of a checkout, in place of the SDK that this program has.
///
/// # Errors
/// As [`sdk::files`].
pub(super) fn of(lang: Lang, names: &Names, guests: Option<&Path>) -> anyhow::Result<Vec<(String, String)>> {
    let parts: &[&[File]] = match lang {
        Lang::Rust => &[&RUST, &COMMON],
        Lang::C => &[&C, &[C_SOURCE], &COMMON],
        Lang::Python => &[&PYTHON, &WIT, &COMMON],
        Lang::Js => &[&JS, &WIT, &COMMON],
        Lang::Go => &[&GO, &GO_MODULE, &WIT, &COMMON],
    };
    let file = |(path, text, form): &File| {
        let text = match *path {
            "Cargo.toml" => with_sdk(text, guests.unwrap_or(Path::new("devgate/guests"))),
            "policy.yaml" => policy(text),
            "src/tests.rs" => text.replace("\"../../", "\"../"),
            _ => (*text).to_owned(),
        };
        (fill(path, names, lang, Form::Words), fill(&text, names, lang, *form))
    };
    let mut files: Vec<_> = parts.iter().copied().flatten().map(file).collect();
    if lang == Lang::Rust {
        files.push(("Cargo.lock".to_owned(), lock::of(&names.kebab)));
        if guests.is_none() {
            files.extend(sdk::files()?);
        }
    }
    files.sort();
    Ok(files)
}

/// Puts the project's names in the place of the example's.
fn fill(text: &str, names: &Names, lang: Lang, form: Form) -> String {
    let word = match form {
        Form::Same => return text.to_owned(),
        Form::Code => &names.snake,
        Form::Words => &names.kebab,
    };
    let kebab = &names.kebab;
    // Rust's compiler makes no hyphens.
    let file = if lang == Lang::Rust { &names.snake } else { kebab };
    // What is longer or stands in one place only comes first.
    let replacements = [
        ("example.com/widget", names.resource.clone()),
        ("example.com", names.vendor.clone()),
        ("widget.wasm", format!("{file}.wasm")),
        ("nodes/widgets.umockdev", format!("nodes/{kebab}.umockdev")),
        // The plugin's name in the policy, in a scenario and in a test.
        ("\n  widgets:", format!("\n  {kebab}:")),
        ("{widgets:", format!("{{{kebab}:")),
        ("\"widgets\"", format!("\"{kebab}\"")),
        ("WIDGET", names.upper.clone()),
        ("Widget", names.camel.clone()),
        ("widget", word.clone()),
    ];
    replacements.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// The example's policy, which has other files around it.
fn policy(text: &str) -> String {
    let (_, rules) = text.split_once("apiVersion:").unwrap_or(("", text));
    let rules = rules
        .replace("widget-python.wasm", "widget.wasm")
        .replace("widget-js.wasm", "widget.wasm")
        .replace("widget-go.wasm", "widget.wasm");
    format!(
        "# What example.com/widget may see, offer and say. `devgate check` tells what it means on a node.\napiVersion:{rules}"
    )
}

/// Names the SDK and the rig in the folder of both.
fn with_sdk(manifest: &str, guests: &Path) -> String {
    let source = |name: &str| format!("{{ path = {:?} }}", guests.join(name).to_string_lossy());
    manifest.replace("{ sdk }", &source("sdk")).replace("{ testing }", &source("testing"))
}
