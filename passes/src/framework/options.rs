// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Options of passes and pipelines: declared once, by [`pass_options!`](crate::pass_options), for `--help`, for
//! `pass{name=value}` in textual pipelines, for printing a pipeline back, and for the docs.

use std::fmt;

/// A type that an option can have.
pub trait OptionValue: Sized {
    /// Whether the option's name alone, without `=value`, has a meaning.
    const FLAG: bool = false;

    /// What the help shows for a value.
    fn value_name() -> String;

    /// Reads a value; the error says what was expected.
    ///
    /// # Errors
    /// What was expected.
    fn parse(text: &str) -> Result<Self, String>;

    /// Writes a value so that [`OptionValue::parse`] reads the same back.
    fn print(&self) -> String;
}

impl OptionValue for bool {
    const FLAG: bool = true;

    fn value_name() -> String {
        "bool".into()
    }

    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "" | "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err(format!("'{text}' is neither true nor false")),
        }
    }

    fn print(&self) -> String {
        self.to_string()
    }
}

impl OptionValue for i64 {
    fn value_name() -> String {
        "int".into()
    }

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| format!("'{text}' is not a 64-bit integer"))
    }

    fn print(&self) -> String {
        self.to_string()
    }
}

impl OptionValue for u64 {
    fn value_name() -> String {
        "uint".into()
    }

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| format!("'{text}' is not an unsigned 64-bit integer"))
    }

    fn print(&self) -> String {
        self.to_string()
    }
}

impl OptionValue for f64 {
    fn value_name() -> String {
        "number".into()
    }

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| format!("'{text}' is not a number"))
    }

    fn print(&self) -> String {
        self.to_string()
    }
}

impl OptionValue for String {
    fn value_name() -> String {
        "string".into()
    }

    fn parse(text: &str) -> Result<Self, String> {
        Ok(text.into())
    }

    fn print(&self) -> String {
        self.clone()
    }
}

/// An amount of memory: `512`, `64KiB`, `1.5GiB`, `2GB`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// Powers of 1,024 first: they are what sizes are printed in.
const UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("B", 1),
];

impl OptionValue for Bytes {
    fn value_name() -> String {
        "bytes".into()
    }

    fn parse(text: &str) -> Result<Self, String> {
        let error = || format!("'{text}' is not an amount of memory such as 512, 64KiB or 1.5GiB");
        let (number, unit) = UNITS
            .iter()
            .find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, *unit)))
            .unwrap_or((text, 1));
        let number = number.trim_end();
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || fraction.len() > 9 {
            return Err(error());
        }
        let whole: u128 = whole.parse().map_err(|_| error())?;
        let scale = 10u128.pow(fraction.len() as u32);
        let fraction: u128 = fraction.parse().map_err(|_| error())?;
        let scaled = whole
            .checked_mul(scale)
            .and_then(|whole| whole.checked_add(fraction))
            .and_then(|number| number.checked_mul(u128::from(unit)))
            .ok_or_else(error)?;
        if scaled % scale != 0 {
            return Err(format!("'{text}' is not a whole number of bytes"));
        }
        u64::try_from(scaled / scale).map(Bytes).map_err(|_| error())
    }

    fn print(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (suffix, unit) in &UNITS[..4] {
            if self.0 >= *unit && self.0.is_multiple_of(*unit) {
                return write!(formatter, "{}{suffix}", self.0 / unit);
            }
        }
        write!(formatter, "{}", self.0)
    }
}

/// An option that may be left out; spelled `none` where it must be said.
impl<T: OptionValue> OptionValue for Option<T> {
    fn value_name() -> String {
        format!("{}|none", T::value_name())
    }

    fn parse(text: &str) -> Result<Self, String> {
        if text == "none" { Ok(None) } else { T::parse(text).map(Some) }
    }

    fn print(&self) -> String {
        self.as_ref().map_or_else(|| "none".into(), T::print)
    }
}

/// A list: `a,b,c`. An element may hold commas inside brackets or quotes.
impl<T: OptionValue> OptionValue for Vec<T> {
    fn value_name() -> String {
        format!("{},...", T::value_name())
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut elements = Vec::new();
        let (mut start, mut depth, mut quote) = (0, 0usize, None);
        for (at, character) in text.char_indices() {
            match (quote, character) {
                (Some(open), _) if open == character => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') => quote = Some(character),
                (None, '(' | '[' | '{' | '<') => depth += 1,
                (None, ')' | ']' | '}' | '>') => depth = depth.saturating_sub(1),
                (None, ',') if depth == 0 => {
                    elements.push(T::parse(text[start..at].trim())?);
                    start = at + 1;
                }
                (None, _) => {}
            }
        }
        if !text.trim().is_empty() {
            elements.push(T::parse(text[start..].trim())?);
        }
        Ok(elements)
    }

    fn print(&self) -> String {
        self.iter().map(T::print).collect::<Vec<_>>().join(",")
    }
}

/// What is known of one option without an instance of its pass.
#[derive(Clone, Debug)]
pub struct OptionInfo {
    /// Name in pipelines and on the command line: the field's, with dashes.
    pub name: String,
    /// The field's docs.
    pub docs: String,
    /// What the help shows for a value.
    pub value_name: String,
    /// The default, as it would be written.
    pub default: String,
    /// Whether the name alone has a meaning.
    pub flag: bool,
    /// Checks a text and returns its normal spelling, or what is wrong with it.
    pub normalize: fn(&str) -> Result<String, String>,
}

impl OptionInfo {
    /// Describes the option of type `T` that `field` holds.
    pub fn of<T: OptionValue>(field: &str, docs: &str, default: &T) -> Self {
        Self {
            name: field.trim_start_matches("r#").replace('_', "-"),
            docs: paragraph(docs),
            value_name: T::value_name(),
            default: default.print(),
            flag: T::FLAG,
            normalize: |text| T::parse(text).map(|value| value.print()),
        }
    }
}

/// A struct whose fields are options; made by [`pass_options!`](crate::pass_options).
pub trait Options: Default + Clone + Send + Sync + 'static {
    /// Name of the struct.
    const NAME: &'static str;

    /// Docs of the struct: the first paragraph is the summary that `--help` shows, all of it goes to docs/passes.md.
    const DOCS: &'static str;

    /// All options, in the order of the fields.
    fn infos() -> Vec<OptionInfo>;

    /// Reads the struct from one text per option.
    ///
    /// # Errors
    /// What was expected of the first that cannot be read.
    fn parse(texts: &[&str]) -> Result<Self, String>;

    /// The texts that [`Options::parse`] reads this struct back from.
    fn print(&self) -> Vec<String>;
}

/// `  First line\n second line` of a doc comment as one paragraph.
pub(crate) fn paragraph(docs: &str) -> String {
    docs.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Declares a pass or pipeline and its options. Doc comments become the help and the docs:
///
/// ```
/// slimhlo_passes::pass_options! {
///     /// Moves bytes.
///     ///
///     /// More about how, for the docs only.
///     pub struct MoveBytes {
///         /// Leaves smaller values alone.
///         pub min_bytes: slimhlo_passes::Bytes = slimhlo_passes::Bytes(1 << 20),
///     }
/// }
///
/// slimhlo_passes::pass_options! {
///     /// Has no options.
///     pub struct Plain;
/// }
/// ```
#[macro_export]
macro_rules! pass_options {
    ($(#[doc = $docs:literal])* $visibility:vis struct $name:ident;) => {
        $crate::pass_options! { $(#[doc = $docs])* $visibility struct $name {} }
    };
    ($(#[doc = $docs:literal])* $visibility:vis struct $name:ident {
        $($(#[doc = $field_docs:literal])* $field_visibility:vis $field:ident: $type:ty = $default:expr),* $(,)?
    }) => {
        $(#[doc = $docs])*
        #[derive(Clone, Debug)]
        $visibility struct $name {
            $($(#[doc = $field_docs])* $field_visibility $field: $type),*
        }

        impl ::std::default::Default for $name {
            fn default() -> Self {
                Self { $($field: $default),* }
            }
        }

        impl $crate::framework::Options for $name {
            const NAME: &'static str = ::std::stringify!($name);
            const DOCS: &'static str = ::std::concat!($($docs, "\n"),*);

            fn infos() -> ::std::vec::Vec<$crate::framework::OptionInfo> {
                #[allow(unused_variables)]
                let default = Self::default();
                ::std::vec![$($crate::framework::OptionInfo::of::<$type>(
                    ::std::stringify!($field),
                    ::std::concat!($($field_docs, "\n"),*),
                    &default.$field,
                )),*]
            }

            fn parse(texts: &[&str]) -> ::std::result::Result<Self, ::std::string::String> {
                #[allow(unused_mut, unused_variables)]
                let mut texts = texts.iter();
                ::std::result::Result::Ok(Self {
                    $($field: <$type as $crate::framework::OptionValue>::parse(
                        texts.next().ok_or("an option is missing")?,
                    )?),*
                })
            }

            fn print(&self) -> ::std::vec::Vec<::std::string::String> {
                ::std::vec![$($crate::framework::OptionValue::print(&self.$field)),*]
            }
        }
    };
}

/// Declares an enum that can be the type of an option, with the word for each variant:
///
/// ```
/// slimhlo_passes::option_enum! {
///     /// What to prefer.
///     pub enum Goal {
///         /// Less memory.
///         Memory = "memory",
///         /// Less time.
///         Time = "time",
///     }
/// }
/// ```
#[macro_export]
macro_rules! option_enum {
    ($(#[$meta:meta])* $visibility:vis enum $name:ident {
        $($(#[$variant_meta:meta])* $variant:ident = $word:literal),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $name {
            $($(#[$variant_meta])* $variant),+
        }

        impl $crate::framework::OptionValue for $name {
            fn value_name() -> ::std::string::String {
                [$($word),+].join("|")
            }

            fn parse(text: &str) -> ::std::result::Result<Self, ::std::string::String> {
                match text {
                    $($word => ::std::result::Result::Ok(Self::$variant),)+
                    _ => ::std::result::Result::Err(::std::format!(
                        "'{text}' is none of {}",
                        [$($word),+].join(", "),
                    )),
                }
            }

            fn print(&self) -> ::std::string::String {
                match self {
                    $(Self::$variant => $word.into()),+
                }
            }
        }
    };
}
