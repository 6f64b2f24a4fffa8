// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The CPU as a device, for kernels that were compiled for it.

use std::alloc::{self, Layout};
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::ptr::NonNull;
use std::thread;
use std::time::{Duration, Instant};

use crate::device::{Buffer, Device, DeviceError, Memory, Region, Result, Shape, Work};

/// A kernel compiled for the CPU: runs the blocks `first_block..end_block` of a grid of `grid` blocks, each with one thread.
/// `arguments` points to the addresses of the kernel's buffers.
pub type HostKernel =
    unsafe extern "C" fn(arguments: *const *mut u8, first_block: u64, end_block: u64, grid: u64);

/// Alignment of allocations.
const ALIGNMENT: usize = slimhlo_package::ALIGNMENT as usize;
/// Allocations up to this length are filled with [`POISON`]; longer ones would take long, and are left to the system, which gives
/// out pages of zeros when they are touched.
const POISONED_BYTES: usize = 64 << 20;
/// What new memory holds: NaN in every float type that has one, -1 in every integer type, so that a kernel that reads what nobody
/// wrote shows.
const POISON: u8 = 0xff;

/// The CPU: memory of this process, and kernels as function pointers.
#[derive(Debug)]
pub struct HostDevice {
    kernels: HashMap<String, HostKernel>,
    threads: NonZeroUsize,
    allocations: Vec<Option<Allocation>>,
}

impl HostDevice {
    /// A device with these kernels, by their names in the code.
    ///
    /// # Safety
    /// For as long as the device lives, each function may be called; and called with the addresses of as many buffers as a
    /// package's launches give it, each as long as the package says and aligned to 256 bytes, it touches nothing else and
    /// returns.
    #[must_use]
    pub unsafe fn new(kernels: HashMap<String, HostKernel>) -> Self {
        Self { kernels, threads: NonZeroUsize::MIN, allocations: Vec::new() }
    }

    /// Spreads blocks over so many threads. One, the default, runs them in order, so that sums that are accumulated by
    /// atomic additions are the same each time.
    ///
    /// # Safety
    /// If there is more than one thread, blocks of one launch must be safe to run at the same time.
    #[must_use]
    pub unsafe fn with_threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = threads;
        self
    }

    /// The address of a region.
    fn address(&self, region: Region) -> Result<*mut u8> {
        let allocation = self.allocations.get(region.buffer.0).and_then(Option::as_ref);
        let allocation = allocation.ok_or_else(|| DeviceError::Failed("no such allocation".into()))?;
        let inside =
            region.offset.checked_add(region.bytes).is_some_and(|end| end <= allocation.bytes as u64);
        if !inside {
            return Err(DeviceError::Failed(format!(
                "{} bytes from {} on are not inside of {}",
                region.bytes, region.offset, allocation.bytes
            )));
        }
        // SAFETY: the offset is inside of the allocation or just at its end.
        Ok(unsafe { allocation.start.as_ptr().add(region.offset as usize) })
    }

    /// The address of the first `bytes` bytes of a region.
    fn start(&self, region: Region, bytes: usize) -> Result<*mut u8> {
        if bytes as u64 > region.bytes {
            return Err(DeviceError::Failed(format!("{bytes} bytes for a region of {}", region.bytes)));
        }
        self.address(region)
    }
}

/// A launch or a copy of a graph.
pub enum Recorded {
    /// A launch.
    Launch {
        /// What is launched.
        function: HostKernel,
        /// How.
        shape: Shape,
        /// What it is given.
        regions: Vec<Region>,
    },
    /// A copy.
    Copy {
        /// What is read.
        from: Region,
        /// What is written.
        to: Region,
    },
}

impl Device for HostDevice {
    type Function = HostKernel;
    type Event = Instant;
    type Graph = Vec<Recorded>;

    fn describe(&self) -> String {
        match self.threads.get() {
            1 => "CPU, one thread".to_string(),
            threads => format!("CPU, {threads} threads"),
        }
    }

    fn function(&self, name: &str) -> Result<HostKernel> {
        let found = self.kernels.get(name).copied();
        found.ok_or_else(|| DeviceError::Failed(format!("there is no function `{name}`")))
    }

    fn allocate(&mut self, bytes: u64) -> Result<Buffer> {
        let out_of_memory = DeviceError::OutOfMemory { requested: bytes, free: None };
        let Some(allocation) = usize::try_from(bytes).ok().and_then(Allocation::new) else {
            return Err(out_of_memory);
        };
        self.allocations.push(Some(allocation));
        Ok(Buffer(self.allocations.len() - 1))
    }

    fn free(&mut self, buffer: Buffer) -> Result<()> {
        let taken = self.allocations.get_mut(buffer.0).and_then(Option::take);
        taken.map(drop).ok_or_else(|| DeviceError::Failed("no such allocation".into()))
    }

    fn upload(&mut self, to: Region, bytes: &[u8]) -> Result<()> {
        let to = self.start(to, bytes.len())?;
        // SAFETY: that many bytes are there; no reference to them exists, since allocations are touched through pointers only.
        unsafe { to.copy_from(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    fn download(&mut self, from: Region, bytes: &mut [u8]) -> Result<()> {
        let from = self.start(from, bytes.len())?;
        // SAFETY: that many bytes are there, and they were initialised when they were allocated.
        unsafe { from.copy_to(bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    fn copy(&mut self, from: Region, to: Region) -> Result<()> {
        if from.bytes != to.bytes {
            return Err(DeviceError::Failed(format!("copies {} bytes to {}", from.bytes, to.bytes)));
        }
        let (source, target) = (self.address(from)?, self.address(to)?);
        // SAFETY: both regions are inside of their allocations, which are initialised; `copy_to` allows overlaps.
        unsafe { source.copy_to(target, from.bytes as usize) };
        Ok(())
    }

    fn launch(&mut self, &function: &HostKernel, shape: Shape, regions: &[Region]) -> Result<()> {
        let addresses = regions.iter().map(|&region| self.address(region)).collect::<Result<Vec<_>>>()?;
        let arguments = Arguments(&addresses);
        let grid = u64::from(shape.grid);
        let run = |blocks: Range<u64>| {
            // SAFETY: the addresses are of regions as long as the package says, which is what `new` asks of kernels.
            unsafe { function(arguments.pointer(), blocks.start, blocks.end, grid) };
        };
        let threads = (self.threads.get() as u64).min(grid);
        if threads <= 1 {
            run(0..grid);
            return Ok(());
        }
        thread::scope(|scope| {
            for thread in 0..threads {
                let run = &run;
                // No overflow: both are below 2^32.
                scope.spawn(move || run(grid * thread / threads..grid * (thread + 1) / threads));
            }
        });
        Ok(())
    }

    fn graph(&mut self, work: &[Work<'_, HostKernel>]) -> Result<Option<Vec<Recorded>>> {
        let record = |each: &Work<'_, HostKernel>| match each {
            Work::Launch { function, shape, regions } => {
                Recorded::Launch { function: **function, shape: *shape, regions: regions.to_vec() }
            }
            Work::Copy { from, to } => Recorded::Copy { from: *from, to: *to },
        };
        Ok(Some(work.iter().map(record).collect()))
    }

    fn launch_graph(&mut self, graph: &Vec<Recorded>) -> Result<()> {
        graph.iter().try_for_each(|each| match each {
            Recorded::Launch { function, shape, regions } => self.launch(function, *shape, regions),
            &Recorded::Copy { from, to } => self.copy(from, to),
        })
    }

    fn synchronize(&mut self) -> Result<()> {
        Ok(())
    }

    fn record(&mut self) -> Result<Instant> {
        Ok(Instant::now())
    }

    fn elapsed(&mut self, from: &Instant, to: &Instant) -> Result<Duration> {
        Ok(to.saturating_duration_since(*from))
    }

    fn memory(&mut self) -> Result<Memory> {
        let used = self.allocations.iter().flatten().map(|allocation| allocation.layout.size() as u64).sum();
        Ok(Memory { used, total: None })
    }
}

/// The addresses that a kernel is given.
#[derive(Clone, Copy)]
struct Arguments<'a>(&'a [*mut u8]);

impl Arguments<'_> {
    fn pointer(self) -> *const *mut u8 {
        self.0.as_ptr()
    }
}

// SAFETY: the addresses are only read; what they point to is for kernels alone, and those run on several threads only if
// `with_threads` was told that they may.
unsafe impl Send for Arguments<'_> {}
// SAFETY: as above.
unsafe impl Sync for Arguments<'_> {}

/// Initialised memory, aligned to [`ALIGNMENT`].
#[derive(Debug)]
struct Allocation {
    /// The start of what was asked of the allocator.
    base: NonNull<u8>,
    layout: Layout,
    /// The first aligned byte.
    start: NonNull<u8>,
    bytes: usize,
}

impl Allocation {
    /// None if there is no memory left.
    fn new(bytes: usize) -> Option<Self> {
        // The allocator gives out untouched pages of zeros only for small alignments, so this aligns by itself.
        let layout = Layout::from_size_align(bytes.checked_add(ALIGNMENT)?, 1).ok()?;
        // SAFETY: the layout is not of size zero.
        let base = NonNull::new(unsafe { alloc::alloc_zeroed(layout) })?;
        let offset = base.align_offset(ALIGNMENT);
        // SAFETY: the offset is less than `ALIGNMENT`, by which the allocation is longer than `bytes`.
        let start = unsafe { base.add(offset) };
        if bytes <= POISONED_BYTES {
            // SAFETY: `bytes` bytes from `start` on are inside of the allocation.
            unsafe { start.write_bytes(POISON, bytes) };
        }
        Some(Self { base, layout, start, bytes })
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: `base` was allocated with this layout, once.
        unsafe { alloc::dealloc(self.base.as_ptr(), self.layout) };
    }
}
