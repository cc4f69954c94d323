//! Turning a type into a component's exports.

/// Exports a type as this crate's component: `export!(Gpu)`, or with the optional interfaces `export!(Gpu: preference)`,
/// `export!(Gpu: lifecycle)`, `export!(Gpu: preference, lifecycle, parameters, conditions)`.
///
/// The type implements [`Plugin`](crate::Plugin), and [`Preference`](crate::Preference), [`Lifecycle`](crate::Lifecycle),
/// [`Parameters`](crate::Parameters) or [`Conditions`](crate::Conditions) where it names them; what it does not name, the host does for it (closeness in the
/// device tree) or leaves out. Call it once, in a crate with `crate-type = ["cdylib"]`. On any other target than
/// WebAssembly it notes what the type exports ([`native::Exported`](crate::native::Exported)), so that `devgate-testing` can
/// call it as a host does.
#[macro_export]
macro_rules! export {
    ($component:ident $(: $($optional:ident),+ $(,)?)?) => {
        $crate::__export_one!(plugin $component);
        $($($crate::__export_one!($optional $component);)+)?
        #[cfg(not(target_family = "wasm"))]
        impl $crate::native::Exported for $component {
            $($($crate::__exported!($optional $component);)+)?
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __export_one {
    (plugin $component:ident) => {
        const _: fn() = $crate::export::implements_plugin::<$component>;
        #[cfg(target_family = "wasm")]
        const _: () = {
            type Told = $crate::panic::Told<$component>;
    $crate::bindings::export_plugin!(Told with_types_in $crate::bindings);
        };
    };
    (preference $component:ident) => {
        const _: fn() = $crate::export::implements_preference::<$component>;
        #[cfg(target_family = "wasm")]
        const _: () = {
            type Told = $crate::panic::Told<$component>;
    $crate::bindings::with_preference::export_preference!(Told with_types_in $crate::bindings::with_preference);
        };
    };
    (lifecycle $component:ident) => {
        const _: fn() = $crate::export::implements_lifecycle::<$component>;
        #[cfg(target_family = "wasm")]
        const _: () = {
            type Told = $crate::panic::Told<$component>;
    $crate::bindings::with_lifecycle::export_lifecycle!(Told with_types_in $crate::bindings::with_lifecycle);
        };
    };
    (parameters $component:ident) => {
        const _: fn() = $crate::export::implements_parameters::<$component>;
        #[cfg(target_family = "wasm")]
        const _: () = {
            type Told = $crate::panic::Told<$component>;
    $crate::bindings::with_parameters::export_parameters!(Told with_types_in $crate::bindings::with_parameters);
        };
    };
    (conditions $component:ident) => {
        const _: fn() = $crate::export::implements_conditions::<$component>;
        #[cfg(target_family = "wasm")]
        const _: () = {
            type Told = $crate::panic::Told<$component>;
    $crate::bindings::with_conditions::export_conditions!(Told with_types_in $crate::bindings::with_conditions);
        };
    };
    ($other:ident $component:ident) => {
        compile_error!(concat!(
            "export!: no interface `",
            stringify!($other),
            "`; there are preference, lifecycle, parameters and conditions"
        ));
    };
}

/// What the type is known to export natively. What is misspelt has its message from the macro above.
#[doc(hidden)]
#[macro_export]
macro_rules! __exported {
    (preference $component:ident) => {
        const CHOOSE: Option<$crate::native::Choose> = Some(<$component as $crate::Preference>::choose);
    };
    (lifecycle $component:ident) => {
        const LIFECYCLE: Option<($crate::native::Work, $crate::native::Work)> =
            Some((<$component as $crate::Lifecycle>::prepare, <$component as $crate::Lifecycle>::release));
    };
    (parameters $component:ident) => {
        const ALLOCATE_WITH: Option<$crate::native::AllocateWith> =
            Some(<$component as $crate::Parameters>::allocate_with);
    };
    (conditions $component:ident) => {
        const EXAMINE: Option<$crate::native::Examine> = Some(<$component as $crate::Conditions>::examine);
    };
    ($other:ident $component:ident) => {};
}

#[doc(hidden)]
pub fn implements_plugin<T: crate::Plugin>() {}

#[doc(hidden)]
pub fn implements_preference<T: crate::Preference>() {}

#[doc(hidden)]
pub fn implements_lifecycle<T: crate::Lifecycle>() {}

#[doc(hidden)]
pub fn implements_parameters<T: crate::Parameters>() {}

#[doc(hidden)]
pub fn implements_conditions<T: crate::Conditions>() {}
