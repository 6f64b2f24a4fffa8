// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Memory of an NVIDIA GPU, asked for in the way that the environment says ([`Policy`]).

use std::ffi::c_void;

use anyhow::{Context, Result, ensure};
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUresult};

use super::failed;
use crate::allocation::{Parts, Policy, Start, share_of};
use crate::device::{DeviceError, Result as DeviceResult};

/// Gives out device memory. Everything is given back before it is dropped with [`Allocator::close`].
pub(super) struct Allocator {
    policy: Policy,
    /// What was taken at the start, and which parts of it are free.
    block: Option<(sys::CUdeviceptr, Parts)>,
    /// The driver's pool.
    pool: Option<sys::CUmemoryPool>,
    /// Bytes given out as allocations of their own, and how many there may be.
    given: u64,
    limit: u64,
}

impl Allocator {
    /// Takes what the policy wants at the start. The device's context is bound.
    pub(super) fn new(policy: Policy, device: sys::CUdevice) -> Result<Self> {
        let (_, total) = result::mem_get_info().map_err(failed)?;
        let total = total as u64;
        let mut this = Self { policy, block: None, pool: None, given: 0, limit: u64::MAX };
        match policy {
            Policy::Exact => {}
            Policy::Within(share) => this.limit = share_of(share, total),
            Policy::Ahead(share) => {
                let length = share_of(share, total);
                let start = this.own(length).with_context(|| {
                    format!("{length} bytes are to be taken at the start (XLA_PYTHON_CLIENT_PREALLOCATE=false takes none)")
                })?;
                this.block = Some((start, Parts::new(length)));
            }
            Policy::Pool(start) => {
                this.pool = Some(default_pool(device)?);
                let length = match start {
                    Start::Bytes(bytes) => bytes,
                    Start::Share(share) => share_of(share, total),
                };
                if length > 0 {
                    // What is freed stays with the pool.
                    let taken = this.allocate(length).context("filling the driver's pool")?;
                    this.free(taken, length)?;
                }
            }
        }
        Ok(this)
    }

    /// In words.
    pub(super) fn describe(&self) -> String {
        let total = result::mem_get_info().map_or(0, |(_, total)| total as u64);
        self.policy.describe(total)
    }

    /// At least `bytes` bytes.
    pub(super) fn allocate(&mut self, bytes: u64) -> DeviceResult<sys::CUdeviceptr> {
        if let Some((start, parts)) = &mut self.block {
            let free = Some(parts.left());
            let offset = parts.take(bytes).ok_or(DeviceError::OutOfMemory { requested: bytes, free })?;
            return Ok(*start + offset);
        }
        if bytes > self.limit - self.given {
            return Err(DeviceError::OutOfMemory { requested: bytes, free: Some(self.limit - self.given) });
        }
        let start = self.own(bytes)?;
        self.given += bytes;
        Ok(start)
    }

    /// An allocation of its own.
    fn own(&self, bytes: u64) -> DeviceResult<sys::CUdeviceptr> {
        let out_of_memory = |free: Option<usize>| DeviceError::OutOfMemory {
            requested: bytes,
            free: free.map(|free| free as u64),
        };
        // The driver gives out no empty allocations.
        let length = usize::try_from(bytes.max(1)).map_err(|_| out_of_memory(None))?;
        // SAFETY: nothing is read from it before it is written, but by kernels. The null stream is always there.
        let made = unsafe {
            match self.pool {
                Some(_) => result::malloc_async(std::ptr::null_mut(), length),
                None => result::malloc_sync(length),
            }
        };
        match made {
            Ok(start) => Ok(start),
            Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                Err(out_of_memory(result::mem_get_info().ok().map(|(free, _)| free)))
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Gives back what [`Self::allocate`] gave for as many bytes, once.
    pub(super) fn free(&mut self, start: sys::CUdeviceptr, bytes: u64) -> DeviceResult<()> {
        if let Some((first, parts)) = &mut self.block {
            // The driver would wait for work that uses it; here the next to get it works in the same order.
            return match parts.give_back(start - *first) {
                true => Ok(()),
                false => Err(DeviceError::Failed("no such allocation".into())),
            };
        }
        self.given -= bytes;
        // SAFETY: it was allocated by `own` from the same source, and is given back once.
        let freed = unsafe {
            match self.pool {
                Some(_) => result::free_async(start, std::ptr::null_mut()),
                None => result::free_sync(start),
            }
        };
        freed.map_err(failed)
    }

    /// Bytes that the driver has set aside for us and that are not given out.
    pub(super) fn unused(&self) -> u64 {
        match (&self.block, self.pool) {
            (Some((_, parts)), _) => parts.left(),
            (None, Some(pool)) => {
                use sys::CUmemPool_attribute::{
                    CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
                };
                let [reserved, used] =
                    [CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, CU_MEMPOOL_ATTR_USED_MEM_CURRENT].map(
                        |attribute| {
                            let mut value = 0_u64;
                            // SAFETY: both attributes are 64-bit numbers.
                            let read = unsafe {
                                sys::cuMemPoolGetAttribute(pool, attribute, (&raw mut value).cast::<c_void>())
                            };
                            read.result().map_or(0, |()| value)
                        },
                    );
                reserved.saturating_sub(used)
            }
            (None, None) => 0,
        }
    }

    /// Gives back what was taken at the start.
    pub(super) fn close(&mut self) {
        if let Some((start, _)) = self.block.take() {
            // SAFETY: it was allocated by `own`, and all who had parts of it are gone. Errors have no taker here.
            let _ = unsafe { result::free_sync(start) };
        }
    }
}

/// The driver's own pool for a device, told to keep what is freed.
fn default_pool(device: sys::CUdevice) -> Result<sys::CUmemoryPool> {
    let supported = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
    // SAFETY: the device was opened.
    let pools = unsafe { result::device::get_attribute(device, supported) }.map_err(failed)?;
    ensure!(pools != 0, "this driver has no memory pools, which TF_GPU_ALLOCATOR=cuda_malloc_async wants");
    let mut pool = std::ptr::null_mut();
    // SAFETY: the device was opened, and has a pool.
    unsafe { sys::cuDeviceGetDefaultMemPool(&raw mut pool, device) }.result().map_err(failed)?;
    let mut kept = u64::MAX;
    let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    // SAFETY: the attribute is a 64-bit number, which the driver copies.
    unsafe { sys::cuMemPoolSetAttribute(pool, attribute, (&raw mut kept).cast::<c_void>()) }
        .result()
        .map_err(failed)?;
    Ok(pool)
}
