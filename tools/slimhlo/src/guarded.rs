// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The CPU as a device that catches a kernel which leaves its buffers.
//!
//! A GPU gives no sign of most accesses beyond a buffer: what lies there belongs to another value of the same allocation. Here
//! each launch works on copies of its buffers, each of which ends where a page ends that may be touched and another that may not
//! begins; reading or writing beyond the end is a segmentation fault there and then. A buffer starts at a multiple of 16 bytes, which is
//! the alignment that kernels count on, and no more. The bytes left over, fewer than 16 behind a buffer and fewer than a page before it, hold a
//! pattern that must be there after the launch.
//!
//! Blocks may run from the last to the first: a GPU promises no order, and what an element needs of a neighbour that is updated in
//! place must not depend on who comes first. Where several updates of a scatter set one element, the last one in this order stays.

use slimhlo_runner::{Buffer, Device, DeviceError, HostDevice, HostKernel, Memory, Region, Shape};
use std::collections::HashMap;
use std::convert::Infallible;
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, DeviceError>;

/// What kernels may count on, in bytes: `llvm.align` of their arguments.
const ALIGNMENT: usize = 16;
/// Around buffers. No element of any type that is read by mistake goes unnoticed: NaN, or -1.
const PATTERN: u8 = 0xff;

/// The order of the blocks of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Order {
    /// From the first to the last
    Forward,
    /// From the last to the first
    Reverse,
}

/// A device whose launches are guarded.
pub struct Guarded {
    host: HostDevice,
    order: Order,
}

/// A kernel and what it is called.
pub struct Named {
    name: String,
    kernel: HostKernel,
}

/// A copy of a region, with its surroundings.
struct Guard {
    region: Region,
    pages: region::Allocation,
    /// Where the data lies in the pages.
    start: usize,
    bytes: usize,
}

fn failed(error: impl std::fmt::Display) -> DeviceError {
    DeviceError::Failed(error.to_string())
}

impl Guarded {
    /// # Safety
    /// As [`HostDevice::new`] asks of kernels, but that they may as well leave their buffers, which ends the process.
    pub unsafe fn new(kernels: HashMap<String, HostKernel>, order: Order) -> Self {
        // SAFETY: given by the caller; this device never launches one on memory of the other.
        Self { host: unsafe { HostDevice::new(kernels) }, order }
    }
}

impl Guard {
    fn new(device: &mut HostDevice, region: Region) -> Result<Self> {
        let bytes = usize::try_from(region.bytes).map_err(failed)?;
        let page = region::page::size();
        let length = bytes.max(1).next_multiple_of(page);
        let mut pages = region::alloc(length + 2 * page, region::Protection::READ_WRITE).map_err(failed)?;
        let base = pages.as_mut_ptr::<u8>();
        for edge in [0, page + length] {
            // SAFETY: the page is of this allocation, and nothing refers to it.
            unsafe { region::protect(base.add(edge), page, region::Protection::NONE) }.map_err(failed)?;
        }
        let start = page + (length - bytes) / ALIGNMENT * ALIGNMENT;
        let mut copy = Self { region, pages, start, bytes };
        let [before, data, after] = copy.parts(page, length);
        before.fill(PATTERN);
        after.fill(PATTERN);
        device.download(region, data)?;
        Ok(copy)
    }

    /// What lies before the data, the data, what lies behind.
    fn parts(&mut self, page: usize, length: usize) -> [&mut [u8]; 3] {
        // SAFETY: these pages are of this allocation, may be read and written, and were zeros at first; the slice borrows the copy.
        let all = unsafe { std::slice::from_raw_parts_mut(self.pages.as_mut_ptr::<u8>().add(page), length) };
        let (before, rest) = all.split_at_mut(self.start - page);
        let (data, after) = rest.split_at_mut(self.bytes);
        [before, data, after]
    }

    fn address(&mut self) -> *mut u8 {
        // SAFETY: inside of the allocation, or at the page behind it.
        unsafe { self.pages.as_mut_ptr::<u8>().add(self.start) }
    }

    /// Puts the data back.
    fn finish(mut self, device: &mut HostDevice, name: &str) -> Result<()> {
        let page = region::page::size();
        let length = self.pages.len() - 2 * page;
        let [before, data, after] = self.parts(page, length);
        for (place, bytes) in [("before", before), ("behind", after)] {
            if bytes.iter().any(|byte| *byte != PATTERN) {
                return Err(failed(format!("`{name}` wrote {place} a buffer of {} bytes", data.len())));
            }
        }
        device.upload(self.region, self.parts(page, length)[1])
    }
}

impl Device for Guarded {
    type Function = Named;
    type Event = Instant;
    type Graph = Infallible;

    fn describe(&self) -> String {
        format!("{}, guarded", self.host.describe())
    }

    fn function(&self, name: &str) -> Result<Named> {
        Ok(Named { name: name.to_owned(), kernel: self.host.function(name)? })
    }

    fn allocate(&mut self, bytes: u64) -> Result<Buffer> {
        self.host.allocate(bytes)
    }

    fn free(&mut self, buffer: Buffer) -> Result<()> {
        self.host.free(buffer)
    }

    fn upload(&mut self, to: Region, bytes: &[u8]) -> Result<()> {
        self.host.upload(to, bytes)
    }

    fn download(&mut self, from: Region, bytes: &mut [u8]) -> Result<()> {
        self.host.download(from, bytes)
    }

    fn copy(&mut self, from: Region, to: Region) -> Result<()> {
        self.host.copy(from, to)
    }

    fn launch(&mut self, function: &Named, shape: Shape, regions: &[Region]) -> Result<()> {
        let mut copies: Vec<Guard> = Vec::with_capacity(regions.len());
        let mut addresses = Vec::with_capacity(regions.len());
        for &region in regions {
            let found = match copies.iter().position(|copy| copy.region == region) {
                Some(found) => found,
                None => {
                    let overlaps = |copy: &Guard| {
                        let (one, other) = (copy.region, region);
                        one.buffer == other.buffer
                            && one.offset < other.offset + other.bytes
                            && other.offset < one.offset + one.bytes
                    };
                    if copies.iter().any(overlaps) {
                        return Err(failed(format!("`{}` is given parts of one buffer", function.name)));
                    }
                    copies.push(Guard::new(&mut self.host, region)?);
                    copies.len() - 1
                }
            };
            addresses.push(copies[found].address());
        }
        let grid = u64::from(shape.grid);
        // SAFETY: a kernel that keeps to its buffers finds them there; one that does not meets a page that ends the process.
        let run = |from, to| unsafe { (function.kernel)(addresses.as_ptr(), from, to, grid) };
        match self.order {
            Order::Forward => run(0, grid),
            Order::Reverse => (0..grid).rev().for_each(|block| run(block, block + 1)),
        }
        copies.into_iter().try_for_each(|copy| copy.finish(&mut self.host, &function.name))
    }

    fn launch_graph(&mut self, graph: &Infallible) -> Result<()> {
        match *graph {}
    }

    fn synchronize(&mut self) -> Result<()> {
        self.host.synchronize()
    }

    fn record(&mut self) -> Result<Instant> {
        self.host.record()
    }

    fn elapsed(&mut self, from: &Instant, to: &Instant) -> Result<Duration> {
        self.host.elapsed(from, to)
    }

    fn memory(&mut self) -> Result<Memory> {
        self.host.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds 1 to the byte `K` places from the start of its buffer.
    unsafe extern "C" fn touch<const K: isize>(arguments: *const *mut u8, _: u64, _: u64, _: u64) {
        // SAFETY: given one buffer; the byte beside it is of the same page.
        unsafe {
            let byte = (*arguments).offset(K);
            byte.write(byte.read().wrapping_add(1));
        }
    }

    fn launch(kernel: HostKernel) -> Result<Vec<u8>> {
        // SAFETY: `touch` goes no further than the pages that its buffer lies in.
        let mut device =
            unsafe { Guarded::new(HashMap::from([("touch".to_owned(), kernel)]), Order::Reverse) };
        let buffer = device.allocate(100)?;
        // Of which it is given the middle.
        let region = Region { buffer, offset: 50, bytes: 5 };
        device.upload(Region { buffer, offset: 0, bytes: 100 }, &[7; 100])?;
        let function = device.function("touch")?;
        device.launch(&function, Shape { grid: 1, block: 1, shared_bytes: 0 }, &[region, region])?;
        let mut bytes = vec![0; 100];
        device.download(Region { buffer, offset: 0, bytes: 100 }, &mut bytes)?;
        Ok(bytes)
    }

    #[test]
    fn what_is_inside_is_kept() {
        let bytes = launch(touch::<4>).unwrap();
        assert_eq!(bytes[54], 8);
        assert_eq!(bytes.iter().filter(|byte| **byte == 7).count(), 99);
    }

    #[test]
    fn what_is_outside_is_told() {
        let text = |kernel| launch(kernel).unwrap_err().to_string();
        assert_eq!(text(touch::<5>), "`touch` wrote behind a buffer of 5 bytes");
        assert_eq!(text(touch::<-1>), "`touch` wrote before a buffer of 5 bytes");
    }

    #[test]
    fn parts_of_a_buffer_are_refused() {
        // SAFETY: never called.
        let mut device = unsafe {
            Guarded::new(HashMap::from([("touch".to_owned(), touch::<0> as HostKernel)]), Order::Forward)
        };
        let buffer = device.allocate(8).unwrap();
        let function = device.function("touch").unwrap();
        let regions = [Region { buffer, offset: 0, bytes: 8 }, Region { buffer, offset: 4, bytes: 4 }];
        let shape = Shape { grid: 1, block: 1, shared_bytes: 0 };
        assert!(device.launch(&function, shape, &regions).is_err());
    }
}
