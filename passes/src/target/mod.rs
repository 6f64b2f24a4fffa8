// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The back ends that programs are rewritten for: one file each says what it fuses, what it stores, what it copies, and what it takes
//! time for. Nothing outside of this folder names one, but for what legalizes for it alone.
//!
//! A [`Target`] is a row of [`TARGETS`]: a name, a [`Storage`] and [`Rates`]. The memory model (`memory/`) asks the first what a program
//! needs, `memory/time.rs` the second how long it takes, and `cost.rs` weighs both. docs/add-a-target.md says how to add one.

mod kernels;
mod xla_cpu;
mod xla_gpu;
mod xla_tpu;

use crate::framework::OptionValue;
pub use kernels::{CHIPS, LONGEST_ROW};
use melior::ir::{OperationRef, Type};
use std::fmt;

/// What a program is compiled by, and for which chip.
#[derive(Clone, Copy)]
pub struct Target(&'static Description);

/// A row of [`TARGETS`].
pub struct Description {
    /// What people call it: a back end's name stands for its usual chip.
    pub name: &'static str,
    /// What it fuses, stores and copies.
    pub storage: &'static Storage,
    /// What it takes time for; `None` where nobody has measured it, and time is not judged.
    pub rates: Option<&'static Rates>,
}

/// All targets, the default first, but for those of our own kernels on other chips.
pub static TARGETS: [Description; 8] = [
    Description { name: "xla-gpu", storage: &xla_gpu::STORAGE, rates: Some(&xla_gpu::H100) },
    Description { name: "h100", storage: &xla_gpu::STORAGE, rates: Some(&xla_gpu::H100) },
    Description { name: "a100", storage: &xla_gpu::AMPERE, rates: Some(&xla_gpu::A100) },
    Description { name: "b200", storage: &xla_gpu::STORAGE, rates: Some(&xla_gpu::B200) },
    Description { name: "xla-tpu", storage: &xla_tpu::STORAGE, rates: Some(&xla_tpu::V5P) },
    Description { name: "v5p", storage: &xla_tpu::STORAGE, rates: Some(&xla_tpu::V5P) },
    Description { name: "xla-cpu", storage: &xla_cpu::STORAGE, rates: None },
    Description { name: "kernels", storage: &kernels::STORAGE, rates: Some(&kernels::USUAL) },
];

/// Chips of XLA for GPUs whose kernels are merged as it merges them.
static BY_PRIORITY: [Description; 4] = [
    Description { name: "xla-gpu", storage: &xla_gpu::H100_BY_PRIORITY, rates: Some(&xla_gpu::H100) },
    Description { name: "h100", storage: &xla_gpu::H100_BY_PRIORITY, rates: Some(&xla_gpu::H100) },
    Description { name: "a100", storage: &xla_gpu::A100_BY_PRIORITY, rates: Some(&xla_gpu::A100) },
    Description { name: "b200", storage: &xla_gpu::B200_BY_PRIORITY, rates: Some(&xla_gpu::B200) },
];

/// Which values a back end stores, and in what form.
#[derive(Debug)]
pub struct Storage {
    /// Products, sums and scatters of 16-bit floats happen in 32 bits, their operands widened first.
    pub widens: bool,
    /// Who reduces.
    pub reductions: Reductions,
    /// Indices and updates of a scatter are computed within it.
    pub fuses_into_scatters: bool,
    /// A scatter of one element into each row is computed element by element: all ask for the place in their row.
    pub chooses_single: bool,
    /// What is scattered into zeros and then added to something is scattered into that.
    pub scatters_into_sums: bool,
    /// What the kernel of a product takes along.
    pub beside_products: Beside,
    /// What is made of each row of an array and a sum or extreme of that row (a softmax, a normalization) is one kernel, which reads the row
    /// once, for rows of up to so many elements.
    pub longest_row: u64,
    /// What is made of a reduction's result alone, an element of each, is made before anything is stored; else only conversions are.
    pub goes_on_after_sums: bool,
    /// Elements of other dimensions that are reduced in one stage.
    pub longest_column: u64,
    /// Whether what several kernels need is computed by each or stored is a matter of the bytes that either moves; else what is costly,
    /// or made of more than one array, is stored.
    pub weighs_copies: bool,
    /// What is made for a value that is stored is made once, however often that is read; else what is costly, and on the way to a value that
    /// is read often, is stored itself.
    pub computes_stored_once: bool,
    /// Where bytes are weighed: as many as moving which takes as long as to start a kernel, by the back end's own reckoning.
    pub launch_bytes: u64,
    /// Where bytes are weighed: elementwise operations in the time in which a byte is written and read.
    pub work_per_byte: f32,
    /// Where bytes are weighed: what the back end reckons with for an elementwise op, in the same operations, by the op's name without its
    /// dialect and the type of its operand's elements; `None` where nobody knows.
    pub reckoned: Option<fn(&str, Type<'_>) -> f64>,
    /// By what it finds which kernels to merge, one after the other; `None` where bytes are weighed for each value by itself.
    pub priorities: Option<&'static Reckoning>,
    /// Where bytes are weighed: what it takes to read what has been read; `None` where nobody knows.
    pub rereads: Option<Rereads>,
    /// A kernel reads at most this often the same op's elements at other places; more are stored.
    pub most_places: u32,
    /// Products are written in rows and columns as they come, so that one that is asked for transposed is transposed afterwards.
    pub orders_products: bool,
    /// What products batch over comes first in what they read; else it may lie between what they contract and what they keep, or last.
    pub batches_first: bool,
    /// A library convolves and multiplies complex numbers, and reads what it is given from memory. Filters are copied so that the features they make come first; all that
    /// reads them reads the copy.
    pub library_convolves: bool,
    /// Convolutions of fewer images than these are of parts of them, which are copied together and apart again.
    pub fewest_images: u64,
    /// Bytes that a library takes beside a product of complex numbers.
    pub library_workspace: u64,
    /// What is put into an array that it is made of is stored before; else the slices of the array that are read for it are.
    pub stores_updates: bool,
    /// What only products of f32 read that are multiplied as narrower floats is made of these.
    pub narrows_products: bool,
    /// Kernels that make single numbers of single numbers cost nothing: they run beside others.
    pub numbers_free: bool,
    /// A pad is a kernel of its own, which reads its operand from memory.
    pub pads_alone: bool,
    /// So is a gather, and what is joined is read from memory.
    pub gathers_alone: bool,
    /// A concatenation along rows of so many elements and more is copied, not computed within what reads it; `i64::MAX` if none is.
    pub copied_rows: i64,
    /// One of more operands is copied whatever it goes along.
    pub most_joined: usize,
    /// Running sums go in two stages, with a copy for those not along rows.
    pub stages_running_sums: bool,
    /// What goes through an optimization barrier is there before anything is made of it. Where barriers are gone before kernels are made, it
    /// takes a branch.
    pub barriers_hold: bool,
    /// Values may wait in the host's memory: custom calls `annotate_device_placement` send them there and have them back.
    pub host_memory: bool,
    /// How kernels that read the same and go over as many elements become one, and so do one that makes a value and one that reads it;
    /// `None` if they never do.
    pub joins_kernels: Option<Joins>,
    /// A splat that is in memory for one op is read there by all others.
    pub shares_splats: bool,
    /// Of what is joined, slices are made of the parts that they take, joined without the others; and what several kernels read
    /// of that is stored.
    pub takes_joined_apart: bool,
    /// What nothing waits for is done last, though it would take the place of something that is then free.
    pub puts_off_updates: bool,
    /// Where devices wait for each other, what leads to the next collective is done first, whatever is alive meanwhile.
    pub hides_collectives: bool,
    /// And all of a device's work is ordered anew for that, by its rates; if not, its order is by memory whatever is exchanged.
    pub orders_for_collectives: bool,
    /// Operations that the back end counts for an element of an op, by the op's name without its dialect and the type of its operand's
    /// elements; `None` where all count alike, but for those that are known to be costly.
    pub operations: Option<fn(&str, Type<'_>) -> f64>,
    /// Besides, what a reduction loads takes operations, and so does finding where each element lies.
    pub counts_steps: bool,
    /// A kernel's work is divided among cores, unless it ends in an update in place.
    pub divides_work: bool,
    /// Products of few results are computed in parts; `None` if never.
    pub splits_products: Option<Splits>,
    /// How many times as long a product takes as one whose tiles busy the whole chip; `None` where nobody knows.
    pub slowness: Option<fn(OperationRef<'_, '_>) -> f64>,
    /// How what a `select_and_scatter` chooses is found.
    pub selects: Selects,
    /// Of results that are made in the memory of each other's arguments one waits in memory of its own, not all.
    pub one_waits: bool,
    /// What sorts and keeps the order of equal elements takes along the place of each.
    pub sorts_places: bool,
    /// Blocks of threads that reduce columns; `None` if these are no matter.
    pub column_blocks: Option<ColumnBlocks>,
    /// In which order what is ready runs.
    pub schedule: Schedule,
    /// Elements that two dimensions of an array are rounded up to, rows and columns of a tile; (1, 1) if none. Which two is a matter of what
    /// makes and reads it (`memory/graph/lying.rs`).
    pub tile: (u64, u64),
    /// Bytes of temporaries on which no time is spent, if a program for one device has no more of them: they may lie in nearer memory.
    pub near_memory: u64,
}

/// Which kernels become one that stores several results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joins {
    /// Those of products take along who reads what they make.
    pub products: bool,
    /// Of reductions only those over the same dimensions of arrays of the same shape.
    pub alike: bool,
}

/// Who reduces, and so what is stored on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reductions {
    /// A library for sums and extremes of f32 and f64, which takes arithmetic around them along; others go in tiles of so many elements.
    Library {
        /// Elements along each dimension of a tile.
        tile: i64,
    },
    /// A kernel of its own, which computes its operand. Fewer elements than these are reduced by whoever reads the result.
    Kernels {
        /// Elements of the operand for one of the result.
        few: u64,
        /// Rows of a number of elements that `few` is a multiple of are no such: several are reduced together.
        together: bool,
    },
}

/// How a back end finds what a `select_and_scatter` chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selects {
    /// By the numbers of all places of its operand, an array for each dimension.
    Numbers,
    /// By such numbers that one kernel makes as it goes; it stores those of what it chooses.
    Places,
    /// In the kernel that adds to what is chosen.
    AsOne,
}

/// Which elementwise ops before and after it a product's kernel computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// None after it, and before it what widens as operands are loaded, if anything.
    Nothing,
    /// Those whose other operands are given to the computation, and before it those that read no more than they make.
    Given,
    /// All of as many bytes, and concatenations before it.
    Anything,
}

/// A chip as a back end reckons with it when it merges kernels.
#[derive(Debug)]
pub struct Reckoning {
    /// Cycles for an element of an op, by the op's name without its dialect and the type of its operand's elements.
    pub cycles: fn(&str, Type<'_>) -> f64,
    /// Bytes that memory hands over in a nanosecond.
    pub bytes: f32,
    /// The same to one block of threads.
    pub block_bytes: f32,
    /// Bytes that the second cache holds.
    pub cache: f32,
    /// Bytes that the first caches of all multiprocessors hold.
    pub near: f32,
    /// How many of these there are.
    pub multiprocessors: f32,
    /// Lanes of each.
    pub lanes: f32,
    /// Cycles of a lane in a nanosecond, two operations each counted twice.
    pub cycles_per_ns: f32,
}

/// What it takes to read something once more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rereads {
    /// Bytes that a cache holds.
    pub cache: u64,
    /// What is there takes this share of the time.
    pub share: f32,
    /// Bytes that memory hands over at least, of rows that are gathered or scattered; the cache half as many.
    pub sector: u64,
}

/// Into how many parts a product falls along what it contracts, so that all of a chip is busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Splits {
    /// Elements that the sums of all parts have at most, together.
    pub most: u64,
    /// Fewer parts than these are not worth it.
    pub fewest: u64,
    /// Elements of a result for which a part contracts as many elements, twice, as there are parts: each part takes time, and so does adding
    /// up what comes of them. Of a larger result there are fewer parts, and of a batch of products fewer of each.
    pub small: u64,
}

impl Splits {
    /// Parts of a batch of products with so many results, all together, that contract so many elements for each; a power of two.
    #[must_use]
    pub fn parts(&self, batch: u64, results: u64, contracted: u64) -> u64 {
        let (batch, results) = (batch.max(1), results.max(1));
        let share = f64::min(1.0 / batch as f64, self.small as f64 / results as f64);
        let balanced = (contracted as f64 / 2.0 * share).sqrt();
        if balanced < self.fewest as f64 {
            return 1;
        }
        let parts = (balanced as u64).min(self.most / results);
        if parts < 2 { 1 } else { 1 << parts.ilog2() }
    }
}

/// How a reduction of columns falls into blocks of threads, each with some columns and all of their rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColumnBlocks {
    /// Bytes of each row that a block takes.
    pub row_bytes: f64,
    /// How many of them keep up with memory, by the back end's own reckoning.
    pub busy: f64,
}

impl ColumnBlocks {
    /// Blocks of a reduction that takes so many bytes of each row, in all of its parts.
    #[must_use]
    pub fn count(self, bytes: f64) -> f64 {
        f64::max(1.0, bytes / self.row_bytes)
    }
}

/// In which order kernels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// As their operands become ready.
    FirstReady,
    /// Whichever of the program's own order and a walk from the results keeps less alive.
    OwnOrWalk,
    /// Whichever of a greedy list, two walks from the results and the program's own order keeps least alive.
    ListOrWalk,
}

/// What a back end takes time for on one chip, and how much memory that has.
#[derive(Debug)]
pub struct Rates {
    /// Bytes of memory, by the vendor's data sheet.
    pub memory: u64,
    /// Bytes per second to and from the device's memory.
    pub bytes: f64,
    /// Multiplications and additions per second in products of 16-bit floats and narrower,
    pub narrow_products: f64,
    /// in those of f32,
    pub products: f64,
    /// in those of f32 that ask for more than the usual precision, which takes them to other units or to several passes,
    pub exact_products: f64,
    /// and in those of f64.
    pub wide_products: f64,
    /// Seconds that a product of matrices takes besides, until its first tiles are there and its last ones stored.
    pub product: f64,
    /// How much of the shorter of a product's bytes and its operations happens during the longer.
    pub product_overlap: f64,
    /// The share of `products` that is reached if neither operand lies along what is contracted: of [`SHORT`] elements and more, and of fewer.
    pub across: (f64, f64),
    /// Elementwise operations per second, where one that is known to be costly counts as twenty,
    pub elementwise: f64,
    /// and as [`Storage::operations`] counts them, if it does.
    pub operations: f64,
    /// How much of the shorter of moving bytes and elementwise operations happens during the longer.
    pub overlap: f64,
    /// Seconds to start a kernel that is one of a few, which are started one by one,
    pub launch: f64,
    /// and one of at least [`GRAPH`], which are started at once.
    pub launch_in_graph: f64,
    /// Seconds that an iteration of a loop takes beside its kernels.
    pub iteration: f64,
    /// Seconds to choose a branch.
    pub branch: f64,
    /// Bytes per second that a device is handed by others: of NVLink in one direction, by NVIDIA's data sheets.
    pub link: f64,
    /// Seconds to start what devices exchange: taken to be what nccl-tests print for a few bytes.
    pub exchange: f64,
    /// Bytes per second to the host's memory, in one direction.
    pub host_link: f64,
    /// Updates of a scatter per second, of `run` neighbours each, and updates of one place; infinite where their bytes decide.
    pub updates: f64,
    /// Neighbours of 32 bits and more that one update is of; of narrower ones half as many, and at least one.
    pub run: u64,
    /// See [`Rates::updates`].
    pub place: f64,
    /// Bytes of the cache that all cores share.
    pub cache: u64,
    /// Bytes per second from it, of what has been read before; infinite where that costs nothing.
    pub cached: f64,
    /// Reductions of columns, whose blocks of threads take some columns each and all of their rows; `None` if these are no matter.
    pub columns: Option<Columns>,
    /// Processors that blocks of threads run on; 1 where a kernel has the whole chip to itself.
    pub multiprocessors: i64,
}

/// What a block of threads takes in a second of the rows whose columns it reduces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Columns {
    /// Bytes from memory,
    pub far: f64,
    /// and from the second cache.
    pub near: f64,
}

/// Elements that a product contracts and that are no longer few.
pub const SHORT: f64 = 1024.0;

/// Kernels of a program or of a loop's body that are started at once, as a graph (`--xla_gpu_graph_min_graph_size` of XLA).
pub const GRAPH: f64 = 5.0;

impl Rates {
    /// Seconds to start one of so many kernels that follow on each other and work for so many seconds together. One by one, a kernel
    /// waits for whoever starts it, or he for those before it.
    #[must_use]
    pub fn launch_of(&self, kernels: f64, seconds: f64) -> f64 {
        if kernels >= GRAPH {
            return self.launch_in_graph;
        }
        (self.launch - seconds / kernels.max(1.0)).max(self.launch_in_graph)
    }

    /// The share of a product's rate that is reached if it contracts so many elements, and neither operand lies along these.
    #[must_use]
    pub fn across(&self, contracted: f64, is_across: bool) -> f64 {
        let (long, short) = self.across;
        if !is_across {
            1.0
        } else if contracted >= SHORT {
            long
        } else {
            short
        }
    }
}

impl Storage {
    /// Whether a library reduces, and takes arithmetic and products along.
    pub fn is_library(&self) -> bool {
        matches!(self.reductions, Reductions::Library { .. })
    }

    /// Whether an array of this shape that is joined along `dim` is copied because of its rows: those go along the innermost dimension.
    pub fn copies_rows_of(&self, shape: &[i64], dim: usize) -> bool {
        shape.len() > 1 && dim + 1 == shape.len() && shape[dim] >= self.copied_rows
    }

    /// Whether a shard of this shape is copied when it is joined along `dim` with what neighbours send: as anything that is joined
    /// along rows, and where rows lie in tiles. Of the stencil in `test/print-memory/gpu-halos.mlir` two slices of four go along rows:
    /// 63.3 MiB for XLA for CPU, 105.5 for a v5p, 0.3 for an H100 (`test/oracle/referee.py --target`).
    pub fn copies_halos_of(&self, shape: &[i64], dim: usize) -> bool {
        self.copies_rows_of(shape, dim) || (self.is_tiled() && dim + 1 == shape.len())
    }

    /// Whether arrays lie in tiles.
    pub fn is_tiled(&self) -> bool {
        self.tile != (1, 1)
    }
}

impl Target {
    /// The name it was asked for by.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// What it stores.
    pub fn storage(self) -> &'static Storage {
        self.0.storage
    }

    /// What it takes time for; `None` where time is not judged.
    pub fn rates(self) -> Option<&'static Rates> {
        self.0.rates
    }

    /// The rates by which it orders anew what devices do between exchanges; `None` if it does not.
    pub fn hiding(self) -> Option<&'static Rates> {
        self.0.rates.filter(|_| self.0.storage.orders_for_collectives)
    }

    /// Bytes of the chip's memory; `None` where that is the machine's.
    pub fn memory(self) -> Option<u64> {
        self.rates().map(|rates| rates.memory)
    }

    /// Whether it is XLA for CPU, whose legalizations some passes exist for.
    pub fn is_xla_cpu(self) -> bool {
        std::ptr::eq(self.0.storage, &xla_cpu::STORAGE)
    }

    /// Whether it is XLA for GPUs, whose memory JAX's allocators hand out.
    pub fn is_gpu(self) -> bool {
        let chips = [&xla_gpu::STORAGE, &xla_gpu::AMPERE];
        chips.iter().any(|storage| std::ptr::eq(self.0.storage, *storage))
            || self.0.storage.priorities.is_some()
    }

    /// The same chip with kernels merged one after the other as its back end merges them, where that is followed; else itself.
    #[must_use]
    pub fn by_priority(self) -> Self {
        BY_PRIORITY.iter().find(|known| known.name == self.name()).map_or(self, Self)
    }

    /// Whether it is slimhlo's own kernels, on any chip.
    pub fn is_kernels(self) -> bool {
        std::ptr::eq(self.0.storage, &kernels::STORAGE)
    }

    /// slimhlo's own kernels, for an H100.
    pub fn kernels() -> Self {
        Self(&TARGETS[7])
    }

    /// slimhlo's own kernels for a GPU of that architecture, `sm_80` or `sm_90a` say; `None` for one that nothing is known of.
    pub fn kernels_on(chip: &str) -> Option<Self> {
        let number = chip.strip_prefix("sm_")?.trim_end_matches('a');
        let name = format!("{}sm_{number}", kernels::PREFIX);
        kernels::CHIPS.iter().find(|target| target.name == name).map(Self)
    }

    /// XLA for CPU.
    pub fn xla_cpu() -> Self {
        Self(&TARGETS[6])
    }
}

impl Default for Target {
    fn default() -> Self {
        Self(&TARGETS[0])
    }
}

impl PartialEq for Target {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Target {}

impl fmt::Debug for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl OptionValue for Target {
    fn value_name() -> String {
        format!("{}|{}CHIP", TARGETS.each_ref().map(|target| target.name).join("|"), kernels::PREFIX)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let known = TARGETS.iter().chain(&kernels::CHIPS).find(|target| target.name == text);
        let names =
            || TARGETS.iter().chain(&kernels::CHIPS).map(|target| target.name).collect::<Vec<_>>().join(", ");
        known.map(Self).ok_or_else(|| format!("'{text}' is none of the targets {}", names()))
    }

    fn print(&self) -> String {
        self.name().into()
    }
}
