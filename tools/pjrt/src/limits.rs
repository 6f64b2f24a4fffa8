// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! How much memory a program may take on a device.
//!
//! In this order: what the user states; what the allocator of a client's devices hands out, of which JAX's
//! fraction has been taken already; that fraction of the memory that a topology's description states.

use crate::config::Config;
use crate::inner::{Compiler, Inner};

/// In bytes; nothing if nobody says.
pub fn of(config: &Config, inner: &Inner, compiler: Compiler) -> Option<u64> {
    config.limit.or_else(|| inner.limit(compiler)).or_else(|| {
        let description = inner.topology_text(compiler, "target_config")?;
        let memory = device_memory(&description)?;
        // Both are far from where a float would be off by a byte that matters.
        Some((memory as f64 * config.fraction) as u64)
    })
}

/// `device_memory_size` of a GPU's description, a protocol buffer in text form.
fn device_memory(description: &str) -> Option<u64> {
    let (_, after) = description.split_once("device_memory_size:")?;
    let digits = after.trim_start();
    let end = digits.find(|character: char| !character.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok().filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::device_memory;

    #[test]
    fn memory_of_a_description() {
        let description = "gpu_device_info {\n  clock_rate_ghz: 1.98\n  device_memory_size: 84929347584\n}";
        assert_eq!(device_memory(description), Some(84_929_347_584));
        assert_eq!(device_memory("gpu_device_info { device_memory_size: }"), None);
        assert_eq!(device_memory("gpu_device_info {}"), None);
        assert_eq!(device_memory("device_memory_size:0"), None);
    }
}
