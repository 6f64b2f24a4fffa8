// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! From StableHLO to kernels, and to the manifest of a package.

use crate::diagnostics::Diagnostics;
use crate::module::{Diagnosed, Input};
use anyhow::{Context as _, Result, anyhow};
use melior::Context;
use melior::ir::operation::OperationLike;
use melior::ir::{Module, OperationRef};
use melior::pass::PassManager;
use melior::utility::parse_pass_pipeline;
use slimhlo_dialect::ffi::{attribute_of, dense_i32_array, dense_i64_array, emit_op_error, function_type};
use slimhlo_nvptx::Chip;
use slimhlo_package::{
    Access, Argument, Buffer, Counter, ElementType, FORMAT, Function, Kernel, Live, Manifest, Output,
    Parameter, Selector, Slot, Step, Tensor,
};
use slimhlo_passes::cost::Limit;
use slimhlo_passes::framework::OptionValue as _;
use slimhlo_passes::functions::name_of;
use slimhlo_passes::gpu::form_kernels::ops::size_of_type;
use slimhlo_passes::gpu::program::{self, Program};
use slimhlo_passes::rewrite::ops_named;
use slimhlo_passes::sparse;
use slimhlo_passes::target::Target;
use std::collections::HashMap;

/// What kernels are made for: a chip, and how many times as long they may take for less memory, if not as usual.
#[derive(Clone, Copy)]
pub struct Wanted {
    /// The GPU.
    pub chip: Chip,
    /// How many times as long.
    pub limit: Option<Limit>,
}

impl Wanted {
    /// From what a front end writes to planned kernels. Every pass leaves alone what it has done already.
    fn passes(self) -> Result<String> {
        let chip = self.chip;
        let target =
            Target::kernels_on(chip.name()).ok_or_else(|| anyhow!("there are no rates for {chip}"))?;
        let limit = self.limit.map_or_else(String::new, |limit| format!(" max-slowdown={}", limit.print()));
        Ok(format!("builtin.module(slimhlo-to-kernels{{target={target}{limit}}},slimhlo-emit-gpu)"))
    }
}

/// As far as memory is planned.
const PLAN: &str = "builtin.module(slimhlo-to-kernels)";

/// Threads per block where a kernel does not say.
const BLOCK: u32 = 256;

/// Lowers a module, in place, to a planned schedule and kernels in the gpu dialect.
pub fn lower(
    context: &Context,
    module: &Module<'_>,
    input: &Input,
    diagnostics: &Diagnostics,
    quiet: bool,
    wanted: Wanted,
) -> Result<()> {
    let manager = PassManager::new(context);
    parse_pass_pipeline(manager.as_operation_pass_manager(), &wanted.passes()?)?;
    let done = are_dense(module) && slimhlo_report::ffi::run(&manager, module.as_operation());
    let diagnosed = diagnostics.print(input.text(), quiet);
    match done {
        true => Ok(()),
        false if diagnosed => Err(Diagnosed.into()),
        false => Err(anyhow!("{} cannot be compiled", input.name())),
    }
}

/// Plans the memory of a module, in place, and makes no code. False after a diagnostic.
pub fn plan(context: &Context, module: &Module<'_>) -> Result<bool> {
    let manager = PassManager::new(context);
    parse_pass_pipeline(manager.as_operation_pass_manager(), PLAN)?;
    Ok(are_dense(module) && slimhlo_report::ffi::run(&manager, module.as_operation()))
}

/// Whether kernels can be made of tensors as they are. False after a diagnostic.
fn are_dense(module: &Module<'_>) -> bool {
    let sparse = sparse::first(module.as_operation(), |op, ty| {
        emit_op_error(
            op,
            &format!("has a value of type {ty}, which is sparse; kernels are made of dense tensors alone"),
        );
    });
    sparse.is_none()
}

/// What a package says of a lowered module.
pub fn manifest(module: &Module<'_>, name: String, chip: &str) -> Result<(Manifest, Vec<u8>)> {
    let module = module.as_operation();
    let program = program::program(module).map_err(|error| anyhow!("{error}"))?;
    let launches = launches(module);
    let functions: HashMap<_, _> =
        ops_named(module, "func.func").into_iter().map(|function| (name_of(function), function)).collect();
    let kernels = program
        .kernels
        .iter()
        .map(|kernel| self::kernel(kernel, &functions, &launches))
        .collect::<Result<Vec<_>>>()?;
    let arguments = program
        .arguments
        .iter()
        .map(|argument| {
            Ok(Argument {
                name: named(&argument.name),
                tensor: tensor(argument)?,
                bytes: argument.bytes,
                donated: argument.donated.is_some(),
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let results = program
        .results
        .iter()
        .map(|result| {
            Ok(Output {
                name: named(&result.name),
                tensor: tensor(result)?,
                bytes: result.bytes,
                argument: result.donated,
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let manifest = Manifest {
        format: FORMAT,
        producer: concat!("slimhlo ", env!("CARGO_PKG_VERSION")).into(),
        name,
        chip: chip.into(),
        arguments,
        results,
        arena_bytes: program.arena,
        constants_bytes: program.constants.len() as u64,
        counters: program.counters.iter().map(counter).collect(),
        kernels,
        buffers: program.buffers.iter().map(buffer).collect(),
        steps: steps(&program, &program.steps),
    };
    Ok((manifest, program.constants))
}

fn named(name: &str) -> Option<String> {
    (!name.is_empty()).then(|| name.to_owned())
}

fn tensor(signature: &program::Signature) -> Result<Tensor> {
    let element = signature.element.parse().map_err(|error: String| anyhow!(error))?;
    Ok(Tensor { element, shape: signature.shape.clone() })
}

fn slot(slot: program::Slot) -> Slot {
    match slot {
        program::Slot::Argument(index) => Slot::Argument(index),
        program::Slot::Result(index) => Slot::Result(index),
        program::Slot::Arena(offset) => Slot::Arena(offset),
        program::Slot::Constant(offset) => Slot::Constant(offset),
        program::Slot::Counter(number) => Slot::Counter(number),
    }
}

fn counter(counter: &program::Counter) -> Counter {
    let &program::Counter { bytes, start, step } = counter;
    Counter { bytes, start, step }
}

fn buffer(buffer: &program::Buffer) -> Buffer {
    let always = matches!(buffer.slot, program::Slot::Argument(_) | program::Slot::Constant(_));
    Buffer {
        name: buffer.name.clone(),
        slot: slot(buffer.slot),
        bytes: buffer.bytes,
        tensor: tensor_of(&buffer.ty),
        live: (!always).then_some(Live { from: buffer.from as u64, to: buffer.to.max(buffer.from) as u64 }),
        location: named(&buffer.source),
    }
}

/// Reads `tensor<2x3xf32>`.
fn tensor_of(text: &str) -> Option<Tensor> {
    let mut rest = text.strip_prefix("tensor<")?.strip_suffix('>')?;
    let mut shape = Vec::new();
    while let Some((extent, after)) = rest.split_once('x')
        && let Ok(extent) = extent.parse()
    {
        shape.push(extent);
        rest = after;
    }
    Some(Tensor { element: rest.parse::<ElementType>().ok()?, shape })
}

fn steps(program: &Program, all: &[program::Step]) -> Vec<Step> {
    let step = |step: &program::Step| match step {
        program::Step::Launch { kernel, buffers } => Step::Launch {
            kernel: program.kernels[*kernel].name.clone(),
            buffers: buffers.iter().map(|buffer| slot(*buffer)).collect(),
        },
        program::Step::Copy { from, to, bytes } => {
            Step::Copy { from: slot(*from), to: slot(*to), bytes: *bytes }
        }
        program::Step::While { condition, predicate, body, guarded } => Step::While {
            guarded: *guarded,
            condition: steps(program, condition),
            predicate: slot(*predicate),
            body: steps(program, body),
        },
        program::Step::Repeat { turns, counter, body } => {
            Step::Repeat { turns: *turns, counter: *counter, body: steps(program, body) }
        }
        program::Step::Case { selector, predicate, branches } => Step::Case {
            selector: slot(*selector),
            kind: if *predicate { Selector::Predicate } else { Selector::Index },
            branches: branches.iter().map(|branch| steps(program, branch)).collect(),
        },
    };
    all.iter().map(step).collect()
}

/// Grid and block of every GPU function, by its name.
fn launches(module: OperationRef<'_, '_>) -> HashMap<String, (u32, u32)> {
    let first = |op, names: [&str; 2]| -> Option<u32> {
        let attribute = names.into_iter().find_map(|name| attribute_of(op, name))?;
        u32::try_from(*dense_i32_array(attribute)?.first()?).ok()
    };
    ops_named(module, "gpu.func")
        .into_iter()
        .map(|function| {
            let grid = first(function, ["known_grid_size", "gpu.known_grid_size"]).unwrap_or(1);
            let block = first(function, ["known_block_size", "gpu.known_block_size"]).unwrap_or(BLOCK);
            (name_of(function), (grid, block))
        })
        .collect()
}

/// A kernel as the package has it: its stages, and what it does to each buffer.
fn kernel(
    kernel: &program::Kernel,
    functions: &HashMap<String, OperationRef<'_, '_>>,
    launches: &HashMap<String, (u32, u32)>,
) -> Result<Kernel> {
    let name = &kernel.name;
    let mut stages = Vec::new();
    let mut stage = name.clone();
    while let Some((grid, block)) = launches.get(&stage) {
        stages.push(Function {
            name: slimhlo_nvptx::symbol(&stage),
            grid: *grid,
            block: *block,
            shared_bytes: 0,
        });
        stage = format!("{name}.{}", stages.len());
    }
    let function = *functions.get(name).with_context(|| format!("there is no function @{name}"))?;
    let (inputs, outputs) = attribute_of(function, "function_type")
        .and_then(function_type)
        .with_context(|| format!("@{name} has no type"))?;
    let numbers = |name| attribute_of(function, name).and_then(dense_i64_array).unwrap_or(&[]);
    let in_place = numbers("slimhlo.in_place");
    let updated = |index: usize| in_place.iter().any(|argument| usize::try_from(*argument) == Ok(index));
    let operands = inputs.iter().enumerate().map(|(index, ty)| Parameter {
        bytes: size_of_type(*ty).1,
        access: if updated(index) { Access::ReadWrite } else { Access::Read },
    });
    let results = outputs.iter().enumerate().map(|(index, ty)| Parameter {
        bytes: size_of_type(*ty).1,
        // What is updated in place has been counted as the operand.
        access: if in_place.get(index).is_some_and(|argument| *argument >= 0) {
            Access::Scratch
        } else {
            Access::Write
        },
    });
    let scratch = numbers("slimhlo.scratch")
        .iter()
        .map(|bytes| Parameter { bytes: u64::try_from(*bytes).unwrap_or(0), access: Access::Scratch });
    let location = slimhlo_report::source::of(function.location()).map(|source| source.to_string());
    Ok(Kernel {
        name: name.clone(),
        functions: stages,
        parameters: operands.chain(results).chain(scratch).collect(),
        guarded: kernel.guarded,
        bytes_moved: slimhlo_passes::gpu::traffic::traffic(function),
        location,
    })
}
