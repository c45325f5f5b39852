//! Enums whose variants are words: each word is written once, for files, output and the API.

/// Declares such an enum. The word is its form in JSON too.
macro_rules! word_enum {
    ($(#[$meta:meta])* $name:ident { $( $(#[$variant_meta:meta])* $variant:ident = $word:tt, )+ }) => {
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord,
            serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        $(#[$meta])*
        pub enum $name { $( $(#[$variant_meta])* #[serde(rename = $word)] $variant, )+ }

        impl $name {
            /// All variants in the order of their declaration.
            pub const ALL: [Self; Self::WORDS.len()] = [$( Self::$variant, )+];
            /// Words of all variants in the order of their declaration.
            pub const WORDS: &'static [&'static str] = &[$( $word, )+];

            /// Return the word that stands for the variant.
            pub fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $word, )+ }
            }

            /// Return the variant of a word, or `None` for an unknown word.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $( $word => Some(Self::$variant), )+ _ => None }
            }
        }
    };
}
pub(crate) use word_enum;
