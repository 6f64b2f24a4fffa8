// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! How device memory is asked for, as JAX's users say it.
//!
//! With none of the variables set each buffer is an allocation of its own, so that what the driver counts is what was planned. Otherwise
//! they mean what they mean to JAX (its page on GPU memory allocation):
//!
//! | variable | effect |
//! |---|---|
//! | `XLA_PYTHON_CLIENT_PREALLOCATE` | `true`: a share of the GPU's memory is taken at the start; `false`: up to that share, as it is needed |
//! | `XLA_CLIENT_MEM_FRACTION`, `XLA_PYTHON_CLIENT_MEM_FRACTION` | that share, 0.75 if not set; set alone, it is taken at the start |
//! | `XLA_PYTHON_CLIENT_ALLOCATOR` | `platform`: as with none set; `bfc`, `default`: a share, as above; `cuda_async`: the driver's pool |
//! | `TF_GPU_ALLOCATOR` | `cuda_malloc_async`: the driver's pool, which grows |
//! | `TF_CUDA_MALLOC_ASYNC_SUPPORTED_PREALLOC` | bytes that the driver's pool has at the start; -1: the share above |

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};

use crate::text::bytes;

/// JAX's share of a GPU's memory.
const SHARE: f64 = 0.75;

/// Where buffers start: what kernels may expect.
const ALIGNMENT: u64 = 256;

/// How memory is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// Each buffer by itself.
    Exact,
    /// Buffers are parts of one allocation of this share of the device's memory.
    Ahead(f64),
    /// Each buffer by itself, up to this share of the device's memory.
    Within(f64),
    /// From the driver's pool, which is this large to begin with.
    Pool(Start),
}

/// What the driver's pool has to begin with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// So many bytes.
    Bytes(u64),
    /// A share of the device's memory.
    Share(f64),
}

impl Policy {
    /// What the environment says; `variable` looks one up.
    ///
    /// # Errors
    /// If a variable says nothing that can be done.
    pub fn from(variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let set = |name: &str| variable(name).filter(|text| !text.is_empty());
        let preallocate = set("XLA_PYTHON_CLIENT_PREALLOCATE")
            .map(|text| !matches!(text.as_str(), "false" | "False" | "0"));
        let (new, old) = (set("XLA_CLIENT_MEM_FRACTION"), set("XLA_PYTHON_CLIENT_MEM_FRACTION"));
        ensure!(
            new.is_none() || old.is_none(),
            "XLA_CLIENT_MEM_FRACTION and XLA_PYTHON_CLIENT_MEM_FRACTION are both set; they are one setting"
        );
        let share = new.or(old).map(|text| fraction(&text)).transpose()?;
        let ahead = |share: Option<f64>| share.unwrap_or(SHARE);
        let from_share = match preallocate {
            Some(false) => Self::Within(ahead(share)),
            Some(true) => Self::Ahead(ahead(share)),
            None => share.map_or(Self::Exact, Self::Ahead),
        };
        let pool = || -> Result<Self> {
            const NAME: &str = "TF_CUDA_MALLOC_ASYNC_SUPPORTED_PREALLOC";
            let start = match set(NAME) {
                None if preallocate == Some(true) => Start::Share(ahead(share)),
                None => Start::Bytes(0),
                Some(text) if text.trim() == "-1" => Start::Share(ahead(share)),
                Some(text) => Start::Bytes(
                    text.trim().parse().with_context(|| format!("{NAME}={text} is neither -1 nor bytes"))?,
                ),
            };
            Ok(Self::Pool(start))
        };
        match set("XLA_PYTHON_CLIENT_ALLOCATOR").map(|text| text.to_lowercase()).as_deref() {
            Some("platform") => return Ok(Self::Exact),
            Some("cuda_async") => return pool(),
            Some("bfc" | "default") | None => {}
            Some(other) => {
                bail!("XLA_PYTHON_CLIENT_ALLOCATOR={other}: there are default, bfc, platform and cuda_async")
            }
        }
        match set("TF_GPU_ALLOCATOR").as_deref() {
            Some("cuda_malloc_async") => pool(),
            // What else TensorFlow knows by this name says nothing to JAX, either.
            _ => Ok(from_share),
        }
    }

    /// What the environment of this process says.
    ///
    /// # Errors
    /// If a variable says nothing that can be done.
    pub fn from_environment() -> Result<Self> {
        Self::from(|name| std::env::var(name).ok())
    }

    /// In words, on a device with so many bytes.
    #[must_use]
    pub fn describe(self, total: u64) -> String {
        let part = |share: f64| bytes(share_of(share, total));
        match self {
            Self::Exact => "each buffer by itself".into(),
            Self::Ahead(share) => format!("{} taken at the start", part(share)),
            Self::Within(share) => format!("each buffer by itself, up to {}", part(share)),
            Self::Pool(Start::Bytes(0)) => "the driver's pool".into(),
            Self::Pool(Start::Bytes(start)) => format!("the driver's pool, {} at the start", bytes(start)),
            Self::Pool(Start::Share(share)) => format!("the driver's pool, {} at the start", part(share)),
        }
    }
}

/// A share of some bytes.
#[must_use]
pub fn share_of(share: f64, total: u64) -> u64 {
    ((total as f64 * share) as u64).min(total)
}

fn fraction(text: &str) -> Result<f64> {
    let share: f64 = text
        .trim()
        .parse()
        .with_context(|| format!("XLA_CLIENT_MEM_FRACTION={text} is no number, such as .75"))?;
    ensure!(share > 0.0 && share <= 1.0, "XLA_CLIENT_MEM_FRACTION={text}: more than 0 and at most 1");
    Ok(share)
}

/// Parts of one allocation: what is free, in places that begin at multiples of [`ALIGNMENT`].
#[derive(Debug)]
pub struct Parts {
    /// Length by start; neighbours are joined.
    free: BTreeMap<u64, u64>,
    /// Length by start of what has been given out.
    taken: BTreeMap<u64, u64>,
}

impl Parts {
    /// All of so many bytes, free.
    #[must_use]
    pub fn new(length: u64) -> Self {
        Self { free: BTreeMap::from([(0, length - length % ALIGNMENT)]), taken: BTreeMap::new() }
    }

    /// A part of at least so many bytes: where it starts. The smallest that is free and long enough is cut.
    pub fn take(&mut self, bytes: u64) -> Option<u64> {
        let length = bytes.max(1).checked_next_multiple_of(ALIGNMENT)?;
        let fitting = self.free.iter().filter(|(_, free)| **free >= length);
        let (&start, &found) = fitting.min_by_key(|(_, free)| **free)?;
        self.free.remove(&start);
        if found > length {
            self.free.insert(start + length, found - length);
        }
        self.taken.insert(start, length);
        Some(start)
    }

    /// Gives a part back; false if there is none that starts there.
    pub fn give_back(&mut self, start: u64) -> bool {
        let Some(mut length) = self.taken.remove(&start) else { return false };
        let mut start = start;
        if let Some(after) = self.free.remove(&(start + length)) {
            length += after;
        }
        if let Some((&before, &free)) = self.free.range(..start).next_back()
            && before + free == start
        {
            start = before;
            length += free;
        }
        self.free.insert(start, length);
        true
    }

    /// Bytes that are free, in all.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.free.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(settings: &[(&str, &str)]) -> Result<Policy> {
        Policy::from(|name| {
            settings.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_string())
        })
    }

    #[test]
    fn settings_mean_what_they_mean_to_jax() {
        let ahead = "XLA_PYTHON_CLIENT_PREALLOCATE";
        let share = "XLA_PYTHON_CLIENT_MEM_FRACTION";
        let kind = "XLA_PYTHON_CLIENT_ALLOCATOR";
        let pool = ("TF_GPU_ALLOCATOR", "cuda_malloc_async");
        let start = "TF_CUDA_MALLOC_ASYNC_SUPPORTED_PREALLOC";
        let is = |settings: &[(&str, &str)], expected: Policy| {
            assert_eq!(policy(settings).unwrap(), expected, "{settings:?}");
        };
        is(&[], Policy::Exact);
        is(&[(ahead, "true")], Policy::Ahead(0.75));
        is(&[(share, ".5")], Policy::Ahead(0.5));
        is(&[("XLA_CLIENT_MEM_FRACTION", ".5"), (ahead, "false")], Policy::Within(0.5));
        is(&[(ahead, "False")], Policy::Within(0.75));
        is(&[(kind, "platform"), (ahead, "true")], Policy::Exact);
        is(&[(kind, "BFC"), (ahead, "1")], Policy::Ahead(0.75));
        is(&[(kind, "cuda_async")], Policy::Pool(Start::Bytes(0)));
        is(&[pool], Policy::Pool(Start::Bytes(0)));
        is(&[pool, (start, "4096")], Policy::Pool(Start::Bytes(4096)));
        is(&[pool, (start, "-1"), (share, "0.25")], Policy::Pool(Start::Share(0.25)));
    }

    #[test]
    fn what_cannot_be_done_is_named() {
        let refused = |settings: &[(&str, &str)], words: &str| {
            let error = format!("{:#}", policy(settings).unwrap_err());
            assert!(error.contains(words), "{error}");
        };
        refused(&[("XLA_PYTHON_CLIENT_MEM_FRACTION", "75%")], "75% is no number");
        refused(&[("XLA_CLIENT_MEM_FRACTION", "1.5")], "at most 1");
        refused(&[("XLA_CLIENT_MEM_FRACTION", "nan")], "at most 1");
        refused(&[("XLA_CLIENT_MEM_FRACTION", ".5"), ("XLA_PYTHON_CLIENT_MEM_FRACTION", ".5")], "both set");
        refused(&[("XLA_PYTHON_CLIENT_ALLOCATOR", "vmm")], "vmm: there are");
        let start = ("TF_CUDA_MALLOC_ASYNC_SUPPORTED_PREALLOC", "-2");
        refused(&[("TF_GPU_ALLOCATOR", "cuda_malloc_async"), start], "neither -1 nor bytes");
    }

    #[test]
    fn parts_do_not_overlap_and_come_back() {
        let mut parts = Parts::new(1024 + 100);
        assert_eq!(parts.left(), 1024);
        let starts = [300, 1, 256].map(|bytes| parts.take(bytes).unwrap());
        assert_eq!((starts, parts.left()), ([0, 512, 768], 0));
        assert_eq!(parts.take(1), None);
        assert!(parts.give_back(512));
        assert!(!parts.give_back(512));
        assert_eq!(parts.take(257), None);
        assert!(parts.give_back(0));
        assert_eq!(parts.take(768), Some(0));
        assert!(parts.give_back(768) && parts.give_back(0));
        assert_eq!(parts.take(1024), Some(0));
    }
}
