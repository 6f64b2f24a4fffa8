// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The manifest: everything about a package but its code and its constants.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{ElementType, Slot};

/// The version of the format that this build writes, and the only one it reads.
pub const FORMAT: u32 = 4;

/// The arena, the constants, arguments and results start at multiples of this many bytes.
pub const ALIGNMENT: u64 = 256;

/// Every buffer a kernel is given starts at a multiple of this many bytes: kernels may load and store vectors.
pub const OFFSETS: u64 = 16;

/// `manifest.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: u32,
    /// What wrote the package, such as `slimhlo 0.1.0`.
    pub producer: String,
    /// The program's name, such as the module's; may be empty.
    pub name: String,
    /// The chip that the kernels are for, such as `sm_90`.
    pub chip: String,
    /// What the program is given, in order.
    pub arguments: Vec<Argument>,
    /// What it gives back, in order.
    pub results: Vec<Output>,
    /// The bytes of temporary memory that the program needs while it runs, besides arguments, results and constants.
    pub arena_bytes: u64,
    /// The bytes of `constants.bin`.
    pub constants_bytes: u64,
    /// The numbers that loops count; none, none is written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<Counter>,
    /// The kernels that the steps launch.
    pub kernels: Vec<Kernel>,
    /// The buffer plan, value by value; for people and reports only, nothing is executed from it.
    pub buffers: Vec<Buffer>,
    /// What to do, in order.
    pub steps: Vec<Step>,
}

/// A tensor's type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tensor {
    /// The type of each element.
    pub element: ElementType,
    /// The extent of each dimension; none for a scalar.
    pub shape: Vec<u64>,
}

impl Tensor {
    /// The number of elements, if it can be counted in 64 bits.
    #[must_use]
    pub fn elements(&self) -> Option<u64> {
        // An empty tensor is empty, however long its other dimensions.
        if self.shape.contains(&0) {
            return Some(0);
        }
        self.shape.iter().try_fold(1_u64, |product, &extent| product.checked_mul(extent))
    }

    /// The bytes of its buffer, if they can be counted in 64 bits.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        self.elements()?.checked_mul(self.element.bytes())
    }
}

impl fmt::Display for Tensor {
    /// As MLIR spells the type, without `tensor<>`: `4x8xf32`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for extent in &self.shape {
            write!(f, "{extent}x")?;
        }
        write!(f, "{}", self.element)
    }
}

impl FromStr for Tensor {
    type Err = String;

    /// Reads a static tensor type as MLIR spells it, with or without `tensor<>` around it.
    fn from_str(text: &str) -> Result<Self, String> {
        let inner = text.strip_prefix("tensor<").and_then(|rest| rest.strip_suffix('>')).unwrap_or(text);
        let mut rest = inner;
        let mut shape = Vec::new();
        while rest.starts_with(|c: char| c.is_ascii_digit()) {
            let extent = rest.split_once('x').and_then(|(extent, after)| Some((extent.parse().ok()?, after)));
            let Some((extent, after)) = extent else {
                return Err(format!("`{text}` is no static tensor type"));
            };
            shape.push(extent);
            rest = after;
        }
        Ok(Self { element: rest.parse()?, shape })
    }
}

/// An argument of the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Argument {
    /// Its name in the source, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its type.
    #[serde(rename = "type")]
    pub tensor: Tensor,
    /// The length of its buffer.
    pub bytes: u64,
    /// Whether the program may overwrite it: the caller gave it up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub donated: bool,
}

/// A result of the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// Its name in the source, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its type.
    #[serde(rename = "type")]
    pub tensor: Tensor,
    /// The length of its buffer.
    pub bytes: u64,
    /// The donated argument in whose buffer it lies when the program has run; none: it has a buffer of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<usize>,
}

/// A kernel: one or more functions of the PTX, launched one after the other with the same buffers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// The name that steps call it by; unique among the kernels.
    pub name: String,
    /// What is launched, in order; at least one.
    pub functions: Vec<Function>,
    /// What it is given: operands, then results, then scratch buffers.
    pub parameters: Vec<Parameter>,
    /// Whether its functions take one more pointer, after all buffers, to a byte, and do nothing where that is 0.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub guarded: bool,
    /// The bytes that a launch reads and writes in device memory at least, where that is not the length of its buffers
    /// (a gather reads a part of its operand, an update in place writes a part of its result).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_moved: Option<u64>,
    /// Where in the source it comes from, as MLIR prints locations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
}

impl Kernel {
    /// The bytes that a launch reads and writes in device memory: [`Self::bytes_moved`], or else the length of what it
    /// reads plus the length of what it writes, scratch memory not counted.
    #[must_use]
    pub fn traffic(&self) -> u64 {
        let length = |parameter: &Parameter| match parameter.access {
            Access::Read | Access::Write => parameter.bytes,
            Access::ReadWrite => parameter.bytes.saturating_mul(2),
            Access::Scratch => 0,
        };
        self.bytes_moved.unwrap_or_else(|| {
            self.parameters.iter().fold(0, |sum, parameter| sum.saturating_add(length(parameter)))
        })
    }
}

/// One function of the PTX. Its block and grid have one dimension, and it is right for any grid and for any block size
/// that is a power of two: the sizes here are those it is fast with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Function {
    /// Its name in the PTX.
    pub name: String,
    /// Blocks to launch; at least 1.
    pub grid: u32,
    /// Threads per block: 1 to 1024.
    pub block: u32,
    /// Shared memory per block to ask for at launch, beyond what the function itself declares.
    #[serde(default)]
    pub shared_bytes: u32,
}

/// A buffer that a kernel is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Its length.
    pub bytes: u64,
    /// What the kernel does to it.
    pub access: Access,
}

/// What a kernel does to a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Reads it.
    Read,
    /// Writes all of it, and reads nothing that was there before.
    Write,
    /// Reads and writes it: updated in place.
    ReadWrite,
    /// Uses it as it likes; what was there does not matter, nor what is left there.
    Scratch,
}

impl Access {
    /// Whether the buffer's contents may change.
    #[must_use]
    pub fn writes(self) -> bool {
        self != Self::Read
    }
}

/// A value in the buffer plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// What it is, such as the operation or kernel that makes it.
    pub name: String,
    /// Where it is.
    pub slot: Slot,
    /// Its length.
    pub bytes: u64,
    /// Its type; none for scratch memory.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub tensor: Option<Tensor>,
    /// When the memory is taken; none: always, as that of an argument.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<Live>,
    /// Where in the source it comes from, as MLIR prints locations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
}

/// The first and the last step, both included, during which a buffer is taken. Steps are numbered from 0 in the order in
/// which the manifest shows them: a `while` first, then its condition's steps, then its body's; a `case`, then its
/// branches' steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Live {
    /// The step that writes it first.
    pub from: u64,
    /// The step that uses it last.
    pub to: u64,
}

/// A number that grows with each turn of a loop, without a kernel that adds to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counter {
    /// How long it is: 1, 2, 4 or 8.
    pub bytes: u64,
    /// What it is in the first turn.
    pub start: i64,
    /// By how much it grows from one turn to the next.
    pub step: i64,
}

impl Counter {
    /// What it is in a turn, counted from 0, modulo 2 to the power of its bits.
    #[must_use]
    pub fn at(&self, turn: u64) -> Vec<u8> {
        let value = self.start.wrapping_add(self.step.wrapping_mul(turn.cast_signed()));
        let bytes = usize::try_from(self.bytes).unwrap_or(usize::MAX);
        value.to_le_bytes().into_iter().take(bytes).collect()
    }
}

/// One step of the schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Launches a kernel.
    Launch {
        /// [`Kernel::name`].
        kernel: String,
        /// One for each of the kernel's parameters.
        buffers: Vec<Slot>,
    },
    /// Copies bytes from one buffer to another; they are the same or do not overlap.
    Copy {
        /// The first byte to read.
        from: Slot,
        /// The first byte to write.
        to: Slot,
        /// How many.
        bytes: u64,
    },
    /// Repeats: run the condition's steps; stop if the predicate is 0; run the body's steps.
    While {
        /// Computes the predicate.
        condition: Vec<Step>,
        /// One byte: 0 stops.
        predicate: Slot,
        /// What is repeated.
        body: Vec<Step>,
        /// Whether rounds may be asked for before it is known that there are so many: it has launches of guarded kernels and
        /// repetitions of these alone, and what these are told is the predicate.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        guarded: bool,
    },
    /// Repeats its body a number of times that was known when the program was compiled.
    Repeat {
        /// How often.
        turns: u64,
        /// The counter that it drives: [`Slot::Counter`] of this number is what that is in each turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        counter: Option<usize>,
        /// What is repeated.
        body: Vec<Step>,
    },
    /// Runs one branch.
    Case {
        /// The buffer that says which.
        selector: Slot,
        /// How to read it.
        kind: Selector,
        /// What can be run; at least one, and exactly two for a predicate.
        branches: Vec<Vec<Step>>,
    },
}

/// How the selector of a case is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Selector {
    /// One byte: anything but 0 runs branch 0 (what is done if true), 0 runs branch 1.
    Predicate,
    /// A signed 32-bit number: that branch, or the last one if there is no such.
    Index,
}

impl Selector {
    /// The bytes to read.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::Predicate => 1,
            Self::Index => 4,
        }
    }
}

impl Step {
    /// The blocks of steps inside of this one, in the order in which steps are numbered.
    pub fn blocks(&self) -> impl Iterator<Item = &[Self]> {
        let (first, second, rest): (&[Self], &[Self], &[Vec<Self>]) = match self {
            Self::Launch { .. } | Self::Copy { .. } => (&[], &[], &[]),
            Self::While { condition, body, .. } => (condition, body, &[]),
            Self::Repeat { body, .. } => (body, &[], &[]),
            Self::Case { branches, .. } => (&[], &[], branches),
        };
        [first, second].into_iter().chain(rest.iter().map(Vec::as_slice))
    }

    /// How many steps this one is, those inside of it included.
    #[must_use]
    pub fn count(&self) -> u64 {
        1 + self.blocks().flatten().map(Self::count).sum::<u64>()
    }
}

impl Manifest {
    /// The kernel of that name.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// The bytes of device memory that the program needs: arguments, results that do not lie in arguments, arena and
    /// constants.
    #[must_use]
    pub fn planned_bytes(&self) -> u64 {
        let arguments = self.arguments.iter().map(|argument| argument.bytes);
        let results =
            self.results.iter().filter(|result| result.argument.is_none()).map(|result| result.bytes);
        let all = arguments.chain(results).chain([self.arena_bytes, self.constants_bytes]);
        all.fold(0, u64::saturating_add)
    }
}
