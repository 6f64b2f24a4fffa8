// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What JAX's allocator leaves of a GPU's memory, by the environment that JAX reads, and which of its settings would
//! help a program that does not fit.
//!
//! What the variables mean is jaxlib's (`generate_pjrt_gpu_plugin_options` of jaxlib/xla_client.py, 0.10.2):
//! XLA_PYTHON_CLIENT_ALLOCATOR is `default`, `bfc`, `cuda_async`, `platform` or `vmm`; XLA_CLIENT_MEM_FRACTION, or
//! XLA_PYTHON_CLIENT_MEM_FRACTION, is the share that a pool may take, three quarters unless it is set;
//! XLA_PYTHON_CLIENT_PREALLOCATE takes all of the pool at the beginning, unless it is `false`, `False` or `0`.
//! TF_GPU_ALLOCATOR=cuda_malloc_async is the older name of `cuda_async`, by JAX's page on GPU memory.

use anyhow::{Result, bail};
use slimhlo_passes::target::Target;
use slimhlo_report::profile::Footprint;
use slimhlo_report::text::bytes;
use std::env;

/// The variables that are read.
const FRACTIONS: [&str; 2] = ["XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION"];
const PREALLOCATE: &str = "XLA_PYTHON_CLIENT_PREALLOCATE";
const ALLOCATOR: &str = "XLA_PYTHON_CLIENT_ALLOCATOR";
const TF_ALLOCATOR: &str = "TF_GPU_ALLOCATOR";
/// JAX's switch of the pass of XLA's that computes again what does not fit the device; it is on unless somebody says `false`.
const REMATERIALIZATION: &str = "JAX_COMPILER_ENABLE_REMAT_PASS";

/// The share that JAX's pool may take unless somebody says another.
const USUAL_SHARE: f64 = 0.75;
/// The most that is left when CUDA's context and libraries have theirs, about: 80 GiB less 2 or 3.
const MOST_SHARE: f64 = 0.95;

/// Where programs' memory comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A pool of JAX's own.
    Pool,
    /// CUDA's pool, whose pages need not lie side by side.
    Async,
    /// CUDA, buffer by buffer: no share of it is anybody's.
    Platform,
}

/// JAX's settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocator {
    kind: Kind,
    /// The share that was set, and by which variable.
    share: Option<(f64, &'static str)>,
    preallocates: bool,
}

impl Allocator {
    /// What this process's environment says.
    ///
    /// # Errors
    /// A variable has a value that JAX does not take.
    pub fn from_env() -> Result<Self> {
        Self::from(&|name| env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn from(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let mut share = None;
        for name in FRACTIONS {
            let Some(value) = variable(name) else { continue };
            match value.parse::<f64>() {
                _ if share.is_some() => bail!("{} and {name} are both set; JAX takes one", FRACTIONS[0]),
                Ok(number) if number > 0.0 && number <= 1.0 => share = Some((number, name)),
                _ => bail!("{name}: '{value}' is not a share of the memory, more than 0 and at most 1"),
            }
        }
        let asked = variable(ALLOCATOR).unwrap_or_else(|| "default".into()).to_lowercase();
        let kind = match (asked.as_str(), variable(TF_ALLOCATOR).as_deref()) {
            ("default", Some("cuda_malloc_async")) | ("cuda_async" | "vmm", _) => Kind::Async,
            ("default" | "bfc", _) => Kind::Pool,
            ("platform", _) => Kind::Platform,
            _ => bail!("{ALLOCATOR}: '{asked}' is none of default, bfc, cuda_async, platform, vmm"),
        };
        let off =
            variable(PREALLOCATE).is_some_and(|value| matches!(value.as_str(), "false" | "False" | "0"));
        Ok(Self { kind, share, preallocates: !off })
    }

    /// What programs may need, if somebody has said so, and who did.
    pub fn limit(&self, target: Target) -> Option<(u64, &'static str)> {
        let (share, name) = self.share.filter(|_| self.kind != Kind::Platform)?;
        target.memory().map(|memory| ((memory as f64 * share) as u64, name))
    }

    /// Which setting would help a program of this size.
    pub fn advice(&self, footprint: &Footprint, target: Target) -> Option<String> {
        let memory = target.memory().filter(|_| target.is_gpu())? as f64;
        let share = self.share.map_or(USUAL_SHARE, |(share, _)| share);
        let there = if self.kind == Kind::Platform { memory } else { memory * share };
        let peak = footprint.peak as f64;
        if peak > there {
            let would = format!("{}={MOST_SHARE}", FRACTIONS[0]);
            let (needs, whole) = (bytes(footprint.peak), bytes(memory as u64));
            return Some(if peak > memory * MOST_SHARE {
                format!(
                    "this needs {needs} of {target}'s {whole}: leave XLA's own rematerialization on, which computes again what does not \
                     fit there ({REMATERIALIZATION} is not to be false)"
                )
            } else if self.kind == Kind::Platform {
                return None;
            } else {
                format!(
                    "JAX's pool is {} of {target}'s {whole}, less than the {needs} that this needs: {would} leaves it {}",
                    bytes(there as u64),
                    bytes((memory * MOST_SHARE) as u64)
                )
            });
        }
        // All temporaries are one block to XLA, and have to find a gap of that size between other arrays.
        let free = there - footprint.floor as f64;
        let tight = footprint.temporaries as f64 > free / 2.0;
        (tight && self.kind == Kind::Pool).then(|| {
            let grows = if self.preallocates { "" } else { ", more so where the pool grows bit by bit" };
            format!(
                "its temporaries are one block of {}, more than half of what is free then: where other arrays have left no such gap{grows}, \
                 {ALLOCATOR}=cuda_async finds one",
                bytes(footprint.temporaries)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allocator(settings: &[(&str, &str)]) -> Result<Allocator> {
        let find = |name: &str| settings.iter().find(|(known, _)| *known == name);
        Allocator::from(&|name| find(name).map(|(_, value)| (*value).to_owned()))
    }

    fn footprint(floor: u64, temporaries: u64) -> Footprint {
        let peak = floor + temporaries;
        Footprint {
            arguments: floor,
            results: 0,
            aliased: 0,
            temporaries,
            peak,
            floor,
            ratio: None,
            collectives: None,
            received: None,
        }
    }

    #[test]
    fn a_share_is_a_limit_and_others_are_not() {
        let limit = |settings| allocator(settings).expect("JAX takes them").limit(Target::default());
        assert_eq!(limit(&[]), None);
        assert_eq!(limit(&[(PREALLOCATE, "false"), (TF_ALLOCATOR, "cuda_malloc_async")]), None);
        assert_eq!(limit(&[(FRACTIONS[1], "0.5")]), Some((40 << 30, FRACTIONS[1])));
        assert_eq!(limit(&[(FRACTIONS[0], "0.5"), (ALLOCATOR, "platform")]), None);
    }

    #[test]
    fn what_jax_refuses_is_refused() {
        for settings in [
            &[(FRACTIONS[0], "0.5"), (FRACTIONS[1], "0.5")][..],
            &[(FRACTIONS[1], "1.5")],
            &[(FRACTIONS[1], "half")],
            &[(ALLOCATOR, "malloc")],
        ] {
            let error = allocator(settings).expect_err("JAX does not take them").to_string();
            assert!(settings.iter().any(|(name, _)| error.contains(name)), "{error}");
        }
    }

    #[test]
    fn advice_names_the_setting_that_helps() {
        let advice = |settings, floor: u64, temporaries: u64| {
            let known = allocator(settings).expect("JAX takes them");
            known.advice(&footprint(floor << 30, temporaries << 30), Target::default())
        };
        // 60 GiB are there, 76 could be.
        assert!(advice(&[], 30, 40).expect("it would fit").contains("XLA_CLIENT_MEM_FRACTION=0.95"));
        assert!(advice(&[], 30, 60).expect("XLA may help").contains(REMATERIALIZATION));
        assert_eq!(advice(&[], 30, 10), None);
        assert!(advice(&[], 30, 20).expect("it is tight").contains("cuda_async"));
        assert_eq!(advice(&[(TF_ALLOCATOR, "cuda_malloc_async")], 30, 20), None);
        assert_eq!(advice(&[(ALLOCATOR, "platform")], 30, 45), None);
    }
}
