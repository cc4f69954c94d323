//! What a component is put together from, which its file need not show.

use crate::fake::{Fake, try_load};
use crate::guest::{Guest, text, with_inner};
use devgate_sandbox::{Contents, Grant, Refusal, inspect};
use devgate_types::Limits;
use devgate_types::component::Component;
use insta::assert_snapshot;
use proptest::prelude::*;
use std::fmt::Write;
use std::time::{Duration, Instant};

fn refused(bytes: &[u8]) -> String {
    try_load(bytes, Limits::default())
        .expect_err("must be refused")
        .to_string()
}

fn looked_at(bytes: &[u8], limits: &Limits) -> Result<Contents, Refusal> {
    inspect(bytes, limits, &|_| Grant::Granted).contents
}

/// So many components within each other, of which each instantiates the next so many times; the innermost has `what`.
fn nested(times: usize, levels: usize, what: &str) -> String {
    (0..levels).fold(format!("(component {what})"), |inner, _| {
        format!("(component {inner} {})", "(instance (instantiate 0))".repeat(times))
    })
}

#[test]
fn a_component_that_multiplies_is_refused_before_it_is_put_together() {
    let module = "(core module) (core instance (instantiate 0))";
    let instances = text(&nested(100, 3, module));
    assert!(instances.len() < 2_000, "{} bytes of file", instances.len());
    assert_snapshot!(refused(&instances), @"plugin snoop: component has 9 core instances, more than 8 (limits.instances)");
    assert_snapshot!(refused(&text(&nested(100, 3, ""))), @"plugin snoop: component has 1001 instances of components within it, more than 1000");
    let drops = format!(
        "(type $r (resource (rep i32))) {}",
        "(core func (canon resource.drop $r))".repeat(6)
    );
    assert_snapshot!(refused(&text(&nested(10, 2, &drops))), @"plugin snoop: component has 501 functions to call outside its modules, more than 500");
    let types = r#"(type $t u8) (export "t" (type $t))"#.to_owned()
        + &(0..200).fold(String::new(), |mut all, i| {
            let _ = write!(all, r#"(export "t{i}" (type $t))"#);
            all
        });
    assert_snapshot!(refused(&text(&nested(30, 2, &types))), @"plugin snoop: component has 100001 parts when it is put together, more than 100000");
}

/// Neither has a single instance of a module, nor many instances.
#[test]
fn a_component_that_copies_what_it_has_is_refused() {
    // Each of these instances has ten of the one before.
    let mut bags = "(component $none) (instance $i0 (instantiate $none))".to_owned();
    for level in 1..=5 {
        let before = level - 1;
        let _ = write!(bags, "(instance $i{level}");
        for n in 0..10 {
            let _ = write!(bags, r#" (export "e{n}" (instance $i{before}))"#);
        }
        bags += ")";
    }
    assert_snapshot!(refused(&text(&format!("(component {bags})"))), @"plugin snoop: component has 102469 parts when it is put together, more than 100000");
    // Each of these components takes the two before from outside.
    let closed = |levels: usize| {
        let mut all = "(component (component) (component)".to_owned();
        for level in 0..levels {
            let next = level + 1;
            let _ = write!(
                all,
                "(component (alias outer 1 {level} (component)) (alias outer 1 {next} (component)))"
            );
        }
        text(&(all + ")"))
    };
    assert!(refused(&closed(10)).contains("does not export"), "ten are allowed");
    assert_snapshot!(refused(&closed(40)), @"plugin snoop: component has 150025 parts when it is put together, more than 100000");
}

/// It reaches what it multiplies in every way there is: as what it imports, from outside, and out of an instance.
#[test]
fn what_is_passed_on_is_followed() {
    let module = "(core module) (core instance (instantiate 0))";
    let component = |ways: &str| {
        text(&format!(
            r#"(component
                (component $one {module})
                (component $passed (import "c" (component $c)) (instance (instantiate $c)) (instance (instantiate $c)) (instance (instantiate $c)))
                (component $exports (component $inner {module}) (export "c" (component $inner)))
                (component $outer (component (alias outer 2 0 (component $c)) (instance (instantiate $c))) (instance (instantiate 0)))
                {ways})"#
        ))
    };
    let counted = |ways: &str| {
        let limits = Limits {
            instances: 100,
            ..Limits::default()
        };
        looked_at(&component(ways), &limits).unwrap().counts.instances
    };
    assert_eq!(counted(""), 0, "nothing is instantiated");
    let passed = r#"(instance (instantiate $passed (with "c" (component $one))))"#;
    assert_eq!(counted(passed), 3);
    assert_eq!(
        counted("(instance (instantiate $outer)) (instance (instantiate $outer))"),
        2
    );
    let exported =
        r#"(instance $e (instantiate $exports)) (alias export $e "c" (component $c)) (instance (instantiate $c))"#;
    assert_eq!(counted(exported), 1);
    assert_eq!(
        counted(&format!(
            "{exported} (instance (instantiate $passed (with \"c\" (component $c))))"
        )),
        4
    );
    assert_snapshot!(refused(&component(&passed.repeat(3))), @"plugin snoop: component has 9 core instances, more than 8 (limits.instances)");
}

#[test]
fn a_modest_nesting_is_loaded() {
    let inner = nested(3, 3, "");
    let bytes = with_inner(
        &Guest::default().component(),
        &format!("{inner} (instance (instantiate 1))"),
    );
    let loaded = try_load(&bytes, Limits::default()).unwrap_or_else(|error| panic!("{error}"));
    let answer = loaded.enumerate(Box::new(Fake::default())).unwrap();
    assert!(answer.value.is_empty());
}

/// What a component within a component is written from, as a tape of bytes tells it.
struct Writer<'t> {
    tape: std::slice::Iter<'t, u8>,
}

/// What is there so far on one level.
#[derive(Default)]
struct Level {
    components: Vec<Shape>,
    instances: Vec<Shape>,
    exports: Shape,
}

/// The instances that an instance exports, by number.
#[derive(Clone, Default)]
struct Shape(Vec<Shape>);

impl Writer<'_> {
    fn pick(&mut self, among: usize) -> Option<usize> {
        (among > 0).then(|| usize::from(*self.tape.next().unwrap_or(&0)) % among)
    }

    fn component(&mut self, outer: &mut Vec<Level>) -> String {
        outer.push(Level::default());
        let depth = outer.len();
        let mut text = "(component (core module (memory 1))".to_owned();
        while let Some(byte) = self.tape.next() {
            match byte % 9 {
                0 => text += "(core instance (instantiate 0))",
                1 if depth < 6 => {
                    text += &self.component(outer);
                    let inner = outer.pop().unwrap();
                    outer.last_mut().unwrap().components.push(inner.exports);
                }
                2 => {
                    let levels = self.pick(depth).unwrap();
                    let of = &outer[depth - 1 - levels].components;
                    let Some(index) = self.pick(of.len()) else { continue };
                    let shape = of[index].clone();
                    let _ = write!(text, "(alias outer {levels} {index} (component))");
                    outer.last_mut().unwrap().components.push(shape);
                }
                3 | 4 => {
                    let level = outer.last_mut().unwrap();
                    let Some(index) = self.pick(level.components.len()) else {
                        continue;
                    };
                    let _ = write!(text, "(instance (instantiate {index}))");
                    level.instances.push(level.components[index].clone());
                }
                5 => {
                    let level = outer.last_mut().unwrap();
                    let Some(index) = self.pick(level.instances.len()) else {
                        continue;
                    };
                    let shape = Shape(vec![level.instances[index].clone(); 2]);
                    let _ = write!(
                        text,
                        r#"(instance (export "e0" (instance {index})) (export "e1" (instance {index})))"#
                    );
                    level.instances.push(shape);
                }
                6 => {
                    let level = outer.last_mut().unwrap();
                    let Some(index) = self.pick(level.instances.len()) else {
                        continue;
                    };
                    let Some(name) = self.pick(level.instances[index].0.len()) else {
                        continue;
                    };
                    let _ = write!(text, r#"(alias export {index} "e{name}" (instance))"#);
                    level.instances.push(level.instances[index].0[name].clone());
                }
                7 => {
                    let level = outer.last_mut().unwrap();
                    let Some(index) = self.pick(level.instances.len()) else {
                        continue;
                    };
                    let _ = write!(text, r#"(export "e{}" (instance {index}))"#, level.exports.0.len());
                    let shape = level.instances[index].clone();
                    level.instances.push(shape.clone());
                    level.exports.0.push(shape);
                }
                8 if depth > 1 => break,
                _ => {}
            }
        }
        text + ")"
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// wasmtime counts the memories of what it made, one for each instance.
    #[test]
    fn as_many_instances_are_counted_as_wasmtime_makes(tape in proptest::collection::vec(any::<u8>(), 0..300)) {
        let component = Writer { tape: tape.iter() }.component(&mut Vec::new());
        let bytes = text(&component);
        let limits = Limits { instances: 200, memories: 1_000, memory: devgate_types::ByteSize::mib(1024), ..Limits::default() };
        let start = Instant::now();
        let looked = looked_at(&bytes, &limits);
        prop_assert!(start.elapsed() < Duration::from_secs(10));
        match looked {
            Ok(contents) => {
                let made = wasmtime::component::Component::new(&wasmtime::Engine::default(), &bytes).unwrap();
                let memories = made.resources_required().unwrap().num_memories;
                prop_assert_eq!(contents.counts.instances, memories);
            }
            Err(Refusal::Limit { .. }) => {}
            Err(other) => prop_assert!(false, "{other}: {component}"),
        }
    }

    /// Also where it is damaged.
    #[test]
    fn looking_never_panics(tape in proptest::collection::vec(any::<u8>(), 0..300), at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let mut bytes = text(&Writer { tape: tape.iter() }.component(&mut Vec::new()));
        *at.get_mut(&mut bytes) = to;
        let start = Instant::now();
        let _ = looked_at(&bytes, &Limits::default());
        prop_assert!(start.elapsed() < Duration::from_secs(10));
    }
}
