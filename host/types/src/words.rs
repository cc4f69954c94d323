//! Enums that are written as words.

/// Gives an enum `ALL`, its variants in the order of this list, and `as_str`, the word that each is written as.
#[macro_export]
macro_rules! words {
    ($name:ident: $($variant:ident $word:literal),+ $(,)?) => {
        impl $name {
            /// All of them.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// As it is written.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }
    };
}
