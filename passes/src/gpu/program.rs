// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A planned module as plain data: what a package holds and a runner executes.
//!
//! [`program`] walks `@main` of a module after `--slimhlo-form-kernels` and `--slimhlo-plan-buffers` and translates each op
//! to a [`Step`], each buffer attribute to a [`Slot`]. Nothing is decided here.

/// Where the bytes of a value are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slot {
    /// The buffer of this argument of the program.
    Argument(usize),
    /// The buffer of this result of the program. Results that lie in donated arguments are [`Slot::Argument`].
    Result(usize),
    /// Bytes from the start of the arena.
    Arena(u64),
    /// Bytes from the start of the constants.
    Constant(u64),
}

/// An argument or result of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// What the front end called it; empty if it did not.
    pub name: String,
    /// Element type as MLIR spells it: `f32`, `bf16`, `i1`, `ui8`, `complex<f32>`, `f8E4M3FN`, ...
    pub element: String,
    /// Sizes of the dimensions, outermost first.
    pub shape: Vec<u64>,
    /// Bytes in memory.
    pub bytes: u64,
    /// Of a result: the donated argument whose buffer it lies in. Of an argument: the result that lies in it.
    pub donated: Option<usize>,
}

/// A kernel function of the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its symbol. The GPU functions made of it are called `name`, `name.1`, `name.2`, ..., launched in this order.
    pub name: String,
    /// `map`, `reduce`, `scatter`, ...
    pub kind: String,
}

/// A value that has memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// `argument 0`, `result 1`, else the name of the kernel (or op) that makes it, and which of its results it is.
    pub name: String,
    /// Its type, as MLIR spells it.
    pub ty: String,
    /// Where it is.
    pub slot: Slot,
    /// Bytes in memory.
    pub bytes: u64,
    /// The step that makes it; steps are numbered as they are written down, those of loops and branches included
    /// (see [`Program::count_steps`]).
    pub from: usize,
    /// The last step that needs it.
    pub to: usize,
    /// The user's source line, `file:line`; empty if unknown.
    pub source: String,
}

/// Something that a device does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Launches a kernel.
    Launch {
        /// Index into [`Program::kernels`].
        kernel: usize,
        /// Operands, results, then scratch buffers.
        buffers: Vec<Slot>,
    },
    /// Copies bytes from one buffer to another that does not overlap with it.
    Copy {
        /// From where.
        from: Slot,
        /// To where.
        to: Slot,
        /// How many.
        bytes: u64,
    },
    /// Runs the condition, and while its predicate (one byte, 0 or 1) is not 0, the body and the condition again.
    While {
        /// What computes the predicate.
        condition: Vec<Step>,
        /// Where the predicate is.
        predicate: Slot,
        /// What is repeated.
        body: Vec<Step>,
    },
    /// Runs one of its branches.
    Case {
        /// What decides.
        selector: Slot,
        /// The selector is a predicate of one byte: not 0 is the first branch, 0 the second. Else it is an i32, the number of the
        /// branch; one out of range is the last.
        predicate: bool,
        /// What may run.
        branches: Vec<Vec<Step>>,
    },
}

/// What a device runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// What it is given.
    pub arguments: Vec<Signature>,
    /// What it gives.
    pub results: Vec<Signature>,
    /// Bytes of its arena; to be aligned to 256.
    pub arena: u64,
    /// The constants that lie in memory, at the offsets of their slots.
    pub constants: Vec<u8>,
    /// The kernels that are launched.
    pub kernels: Vec<Kernel>,
    /// All values that have memory.
    pub buffers: Vec<Buffer>,
    /// What it does.
    pub steps: Vec<Step>,
}

impl Program {
    /// How many steps there are: loops and branches count as one each, besides the steps inside of them.
    pub fn count_steps(steps: &[Step]) -> usize {
        steps
            .iter()
            .map(|step| match step {
                Step::Launch { .. } | Step::Copy { .. } => 1,
                Step::While { condition, body, .. } => {
                    1 + Self::count_steps(condition) + Self::count_steps(body)
                }
                Step::Case { branches, .. } => {
                    1 + branches.iter().map(|branch| Self::count_steps(branch)).sum::<usize>()
                }
            })
            .sum()
    }

    /// Bytes on the device: arguments, results that do not lie in arguments, arena and constants.
    pub fn bytes(&self) -> u64 {
        let arguments: u64 = self.arguments.iter().map(|argument| argument.bytes).sum();
        let results: u64 =
            self.results.iter().filter(|result| result.donated.is_none()).map(|result| result.bytes).sum();
        arguments + results + self.arena + self.constants.len() as u64
    }
}
