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

/// Makes two enums into each other that have the same variants without fields, one of them on a wire or in the
/// contract.
#[macro_export]
macro_rules! same {
    ($ours:ty, $theirs:ty: $($variant:ident)+) => {
        impl From<$ours> for $theirs {
            fn from(ours: $ours) -> Self {
                match ours {
                    $(<$ours>::$variant => Self::$variant,)+
                }
            }
        }

        impl From<$theirs> for $ours {
            fn from(theirs: $theirs) -> Self {
                match theirs {
                    $(<$theirs>::$variant => Self::$variant,)+
                }
            }
        }
    };
}
