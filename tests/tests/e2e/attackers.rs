//! Hostile components against the real programs: `tests/attackers/format.txt` says what each file of `tests/attackers` holds and how one is run.

mod asks;
mod host;
mod open_node;
mod seen;
mod table;
mod trial;
mod unchecked;

use trial::class;

macro_rules! classes {
    ($($test:ident: $class:literal,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $test() -> anyhow::Result<()> {
                class($class).await
            }
        )*

        #[test]
        fn each_class_is_tried() {
            assert_eq!([$($class),*], devgate_tests::attackers::CLASSES);
        }
    };
}

classes! {
    cpu: "cpu",
    memory: "memory",
    stack_and_tables: "stack-and-tables",
    handles: "handles",
    host_calls: "host-calls",
    logs: "logs",
    shapes_and_sizes: "shapes-and-sizes",
    names: "names",
    compile: "compile",
    sections: "sections",
    wasi: "wasi",
    state: "state",
    time: "time",
    deputies: "deputies",
    replay: "replay",
    reload: "reload",
    policy_edges: "policy-edges",
    native: "native",
}
