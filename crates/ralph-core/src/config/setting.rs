//! The bridge between checked values and the Rust types that the rest of ralph reads.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

use super::value::{ConfigValue, ValueKind};

/// A Rust type that a key can have.
pub trait SettingType: Sized {
    /// Kind of the values that the key accepts.
    const KIND: ValueKind;

    /// The typed value. `None` only when `value` did not come from a check by `KIND`.
    fn from_value(value: &ConfigValue) -> Option<Self>;

    /// The value as the table shows it; `None` is a key that is absent.
    fn to_value(&self) -> Option<ConfigValue>;
}

macro_rules! setting {
    ($type:ty, $kind:expr, $pattern:pat => $read:expr, |$this:ident| $write:expr) => {
        impl SettingType for $type {
            const KIND: ValueKind = $kind;

            fn from_value(value: &ConfigValue) -> Option<Self> {
                match value {
                    $pattern => $read,
                    _ => None,
                }
            }

            fn to_value(&self) -> Option<ConfigValue> {
                let $this = self;
                Some($write)
            }
        }
    };
}
pub(super) use setting;

setting!(bool, ValueKind::Bool, ConfigValue::Bool(yes) => Some(*yes), |this| ConfigValue::Bool(*this));
setting!(u32, ValueKind::Whole { min: 0 }, ConfigValue::Whole(n) => (*n).try_into().ok(), |this| ConfigValue::Whole((*this).into()));
setting!(NonZeroU32, ValueKind::Whole { min: 1 },
    ConfigValue::Whole(n) => u32::try_from(*n).ok().and_then(Self::new), |this| ConfigValue::Whole(this.get().into()));
setting!(String, ValueKind::Text, ConfigValue::Text(text) => Some(text.clone()), |this| ConfigValue::Text(this.clone()));
setting!(Vec<String>, ValueKind::List, ConfigValue::List(list) => Some(list.clone()), |this| ConfigValue::List(this.clone()));
setting!(Duration, ValueKind::Duration { min: Duration::ZERO },
    ConfigValue::Duration(d) => Some(*d), |this| ConfigValue::Duration(*this));

impl<T: SettingType> SettingType for Option<T> {
    const KIND: ValueKind = T::KIND;

    fn from_value(value: &ConfigValue) -> Option<Self> {
        T::from_value(value).map(Some)
    }

    fn to_value(&self) -> Option<ConfigValue> {
        self.as_ref().and_then(SettingType::to_value)
    }
}

/// A share: from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Ratio(f64);

impl Ratio {
    /// A hundredth part each; more than 100 is the whole.
    pub const fn percent(hundredths: u8) -> Self {
        Self(if hundredths > 100 { 1.0 } else { hundredths as f64 / 100.0 })
    }

    /// Return the share as a number from 0 to 1.
    pub fn get(self) -> f64 {
        self.0
    }
}

/// An amount of money: finite, not negative.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Dollars(f64);

impl Dollars {
    /// Return the amount in dollars.
    pub fn get(self) -> f64 {
        self.0
    }
}

/// A limit of time: never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timeout(Duration);

impl Timeout {
    /// This many minutes; none counts as one.
    pub const fn minutes(minutes: u16) -> Self {
        Self(Duration::from_secs(if minutes == 0 { 60 } else { minutes as u64 * 60 }))
    }

    /// Return the limit as a duration.
    pub fn get(self) -> Duration {
        self.0
    }
}

/// A number of bytes, written as `64MB`: units of 1024 each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(u64);

impl ByteSize {
    const UNITS: [(&str, u32); 4] = [("GB", 30), ("MB", 20), ("KB", 10), ("B", 0)];

    /// Create a size of this many megabytes (1024 * 1024 bytes each).
    pub const fn megabytes(number: u16) -> Self {
        Self((number as u64) << 20)
    }

    /// Return the size as a number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The size that a word stands for: a number with its unit, at least 64 KB.
    pub fn from_word(word: &str) -> Option<Self> {
        let digits = word.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit) = word.split_at(digits);
        let (_, shift) = Self::UNITS.into_iter().find(|(name, _)| *name == unit)?;
        let bytes = number.parse::<u64>().ok()?.checked_mul(1 << shift)?;
        (bytes >= 64 << 10).then_some(Self(bytes))
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |(_, shift): &(&str, u32)| self.0.is_multiple_of(1 << shift);
        let (unit, shift) = Self::UNITS.into_iter().find(fits).unwrap_or(("B", 0));
        write!(f, "{}{unit}", self.0 >> shift)
    }
}

setting!(ByteSize, ValueKind::Size, ConfigValue::Text(word) => Self::from_word(word), |this| ConfigValue::Text(this.to_string()));
setting!(Ratio, ValueKind::Ratio, ConfigValue::Number(n) => Some(Self(*n)), |this| ConfigValue::Number(this.0));
setting!(Dollars, ValueKind::Dollars, ConfigValue::Number(n) => Some(Self(*n)), |this| ConfigValue::Number(this.0));
setting!(Timeout, ValueKind::Duration { min: Duration::from_millis(1) },
    ConfigValue::Duration(d) => Some(Self(*d)), |this| ConfigValue::Duration(this.0));

/// Condition under which an agent pass runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassTrigger {
    /// The pass runs after every iteration.
    Always,
    /// The pass runs when the gates were green.
    OnSuccess,
    /// The pass runs when a gate failed.
    OnFailure,
    /// The pass runs after every n-th iteration.
    Periodic(NonZeroU32),
}

impl PassTrigger {
    /// The trigger that a word stands for.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "always" => Some(Self::Always),
            "on_success" => Some(Self::OnSuccess),
            "on_failure" => Some(Self::OnFailure),
            _ => word.strip_prefix("periodic:")?.parse().ok().map(Self::Periodic),
        }
    }
}

impl fmt::Display for PassTrigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Always => f.pad("always"),
            Self::OnSuccess => f.pad("on_success"),
            Self::OnFailure => f.pad("on_failure"),
            Self::Periodic(n) => write!(f, "periodic:{n}"),
        }
    }
}

setting!(PassTrigger, ValueKind::Trigger, ConfigValue::Text(word) => Self::from_word(word), |this| ConfigValue::Text(this.to_string()));
