// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What the interpreter asks of a device.

use std::borrow::Cow;
use std::time::Duration;

/// What a device can fail with.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// There is not enough memory left.
    #[error("out of memory: {requested} bytes asked for{}", free_text(*.free))]
    OutOfMemory {
        /// The bytes asked for.
        requested: u64,
        /// The bytes that were free, if the device can tell.
        free: Option<u64>,
    },
    /// Anything else, in words.
    #[error("{0}")]
    Failed(String),
}

fn free_text(free: Option<u64>) -> String {
    free.map_or_else(String::new, |free| format!(", {free} free"))
}

/// [`std::result::Result`] with a [`DeviceError`].
pub type Result<T, E = DeviceError> = std::result::Result<T, E>;

/// An allocation of one device, until it is freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Buffer(pub usize);

/// Bytes of an allocation. Devices refuse regions that do not lie inside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The allocation.
    pub buffer: Buffer,
    /// The first byte.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
}

/// The shape of a launch: one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks.
    pub grid: u32,
    /// Threads per block.
    pub block: u32,
    /// Shared memory per block asked for at launch.
    pub shared_bytes: u32,
}

/// Memory of a device as its driver counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bytes in use, by everybody.
    pub used: u64,
    /// All there are, if that is known.
    pub total: Option<u64>,
}

/// A launch, or a copy: what can be put into a graph.
#[derive(Debug)]
pub enum Work<'w, F> {
    /// As [`Device::launch`].
    Launch {
        /// What is launched.
        function: &'w F,
        /// How.
        shape: Shape,
        /// What it is given.
        regions: Cow<'w, [Region]>,
    },
    /// As [`Device::copy`].
    Copy {
        /// What is read.
        from: Region,
        /// What is written.
        to: Region,
    },
}

/// Something that runs kernels. Work is done in the order in which it is asked for; launches and copies may return before they
/// are done, uploads and downloads do not.
pub trait Device {
    /// A function that can be launched.
    type Function;
    /// A point in the order of work.
    type Event;
    /// Work that is asked for as one.
    type Graph;

    /// Its name and, if it has one, its chip, for people.
    fn describe(&self) -> String;

    /// Finds a function by its name in the code.
    ///
    /// # Errors
    /// If there is none.
    fn function(&self, name: &str) -> Result<Self::Function>;

    /// Allocates `bytes` bytes at a multiple of 256. Zero bytes are an allocation, too.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`] if there are not that many.
    fn allocate(&mut self, bytes: u64) -> Result<Buffer>;

    /// Frees an allocation. What is not freed is when the device is dropped.
    ///
    /// # Errors
    /// If it is none, or work done before failed.
    fn free(&mut self, buffer: Buffer) -> Result<()>;

    /// Writes `bytes` to the start of the region, which is at least as long.
    ///
    /// # Errors
    /// If the region does not exist or is shorter, or work done before failed.
    fn upload(&mut self, to: Region, bytes: &[u8]) -> Result<()>;

    /// As [`Self::upload`], but may return before it is done; `bytes` are read by then.
    ///
    /// # Errors
    /// As for [`Self::upload`].
    fn send(&mut self, to: Region, bytes: &[u8]) -> Result<()> {
        self.upload(to, bytes)
    }

    /// Reads all of `bytes` from the start of the region, once all work asked for before is done.
    ///
    /// # Errors
    /// If the region does not exist or is shorter, or work done before failed.
    fn download(&mut self, from: Region, bytes: &mut [u8]) -> Result<()>;

    /// Copies `from` to `to`: as many bytes, the same or not overlapping.
    ///
    /// # Errors
    /// If a region does not exist, or they are not of the same length.
    fn copy(&mut self, from: Region, to: Region) -> Result<()>;

    /// Launches a function with the addresses of these regions.
    ///
    /// # Errors
    /// If a region does not exist, or the device refuses the launch.
    fn launch(&mut self, function: &Self::Function, shape: Shape, regions: &[Region]) -> Result<()>;

    /// Makes a graph of some work, to be done in this order. `None` where the device knows none.
    ///
    /// # Errors
    /// If a region does not exist, or the device refuses a launch.
    fn graph(&mut self, _work: &[Work<'_, Self::Function>]) -> Result<Option<Self::Graph>> {
        Ok(None)
    }

    /// Asks for all work of a graph.
    ///
    /// # Errors
    /// If the device refuses it.
    fn launch_graph(&mut self, graph: &Self::Graph) -> Result<()>;

    /// How it asks for memory, in words.
    fn allocator(&self) -> String {
        "each buffer by itself".into()
    }

    /// Bytes that the driver has set aside for this process and that nothing is in.
    fn unused(&self) -> u64 {
        0
    }

    /// Waits until all work asked for is done.
    ///
    /// # Errors
    /// If any of it failed.
    fn synchronize(&mut self) -> Result<()>;

    /// Marks this point in the order of work.
    ///
    /// # Errors
    /// If the device refuses.
    fn record(&mut self) -> Result<Self::Event>;

    /// The time between two points, once both are reached.
    ///
    /// # Errors
    /// If work up to there failed.
    fn elapsed(&mut self, from: &Self::Event, to: &Self::Event) -> Result<Duration>;

    /// The memory in use now.
    ///
    /// # Errors
    /// If the device does not say.
    fn memory(&mut self) -> Result<Memory>;
}
