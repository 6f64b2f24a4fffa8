// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-kernels-to-host`: kernels become functions that a CPU runs, by default one thread per block.
//!
//! # What it matches
//!
//! Every `gpu.module`. It becomes a `builtin.module` of the same name, and each kernel in it
//!
//! ```mlir
//! gpu.func @K(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>) workgroup(%m: memref<32xf32, #gpu.address_space<workgroup>>) kernel {...}
//! ```
//!
//! two functions: the body, for one block, and the loop over blocks that others call
//!
//! ```mlir
//! func.func private @K.block(%a: !llvm.ptr, %b: !llvm.ptr, %block: index, %grid: index) {...}
//! func.func @K(%arguments: !llvm.ptr, %first_block: i64, %end_block: i64, %grid: i64)
//! ```
//!
//! `arguments` points to an array of the kernel's pointers. Blocks `first_block` to below `end_block` of `grid` are run, so
//! that several threads of the CPU may share a launch.
//!
//! # Why it is right
//!
//! Kernels are right for any block size that is a power of two and any grid size; here a block is one thread. With one
//! thread, a barrier waits for nobody, a shuffle hands a thread its own value, and what a block shares is a variable of its
//! own. Blocks are independent of each other but for atomic operations, which stay atomic.
//!
//! Address spaces are dropped: the CPU has one. Calls of CUDA's `__nv_` functions become calls of the C library's.
//!
//! With `threads=N` a block has N threads, as on a GPU, which shows what they do together: `@K` hands a function like the one above to
//! `slimhlo_cooperate`, which whoever compiles the result has to provide, and which runs it in N threads at once, block by block.
//! In there, what a block shares is a global variable, since one block runs at a time, and `slimhlo_thread`, `slimhlo_barrier` and
//! `slimhlo_shuffle_down` and `_idx` tell threads apart and let them meet.
//!
//! # What it costs
//!
//! One walk over the kernels.
//!
//! # When it must not fire
//!
//! An op of the gpu or nvvm dialect that is not in the lists below is an error which names it.

use crate::framework::{Changed, Pass, PassContext, PassError, PassResult};
use crate::ir::{self, Builder};
use crate::rewrite::{erase_argument, ops_named, set_attribute, take_body, walk};
use melior::dialect::DialectRegistry;
use melior::ir::attribute::{
    ArrayAttribute, DenseI32ArrayAttribute, FlatSymbolRefAttribute, IntegerAttribute, StringAttribute,
    TypeAttribute,
};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationBuilder, OperationLike, WalkResult};
use melior::ir::r#type::{FunctionType, IntegerType, MemRefType, ShapedTypeLike};
use melior::ir::{
    Attribute, BlockRef, Identifier, OperationRef, RegionLike, Type, TypeLike, Value, ValueLike,
};
use slimhlo_dialect::ffi::{attribute_of, function_type, op_name, string_value};

crate::pass_options! {
    /// Turn kernels into functions for the CPU.
    ///
    /// Every `gpu.module` becomes a `builtin.module` of functions `@K(arguments, first_block, end_block, grid)`: a pointer to
    /// the kernel's pointers, and three i64. They run blocks of one thread each, one after the other. Barriers and shuffles
    /// go, and memory of a block is on the stack.
    ///
    /// ```mlir
    /// gpu.func @double(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel
    /// // becomes
    /// func.func @double(%arguments: !llvm.ptr, %first_block: i64, %end_block: i64, %grid: i64)
    /// ```
    pub struct KernelsToHost {
        /// Threads of a block: a power of two up to 1024. More than one need a runtime in which they meet.
        pub threads: u64 = 1,
    }
}

impl Pass for KernelsToHost {
    const ARGUMENT: &'static str = "slimhlo-kernels-to-host";
    const ANCHOR: crate::Anchor = crate::Anchor::Module;

    fn dependent_dialects(registry: &DialectRegistry) {
        ir::insert_kernel_dialects(registry);
    }

    fn check(&self) -> Result<(), String> {
        let fine = self.threads.is_power_of_two() && self.threads <= 1024;
        fine.then_some(())
            .ok_or_else(|| format!("threads = {} is not a power of two up to 1024", self.threads))
    }

    fn run<'c>(&self, root: OperationRef<'c, '_>, _context: &PassContext<'_>) -> PassResult<'c> {
        let modules = ops_named(root, "gpu.module");
        for module in &modules {
            convert_module(*module, self.threads)?;
        }
        Ok(Changed::from(!modules.is_empty()))
    }
}

/// Functions that the runtime of blocks of several threads provides, with their operands' and results' widths in bits.
const RUNTIME: [(&str, &[u32], &[u32]); 4] = [
    ("slimhlo_thread", &[], &[64]),
    ("slimhlo_barrier", &[], &[]),
    ("slimhlo_shuffle_down", &[32, 32], &[32]),
    ("slimhlo_shuffle_idx", &[32, 32], &[32]),
];

/// Runs a function in all threads of each block: it, its four arguments, and the threads of a block.
const COOPERATE: &str = "slimhlo_cooperate";

/// Declares what the runtime provides.
fn declare_runtime<'c: 'a, 'a>(build: &Builder<'c, 'a>, location: melior::ir::Location<'c>) {
    let context = build.context();
    let integers = |widths: &[u32]| -> Vec<Type<'c>> {
        widths.iter().map(|width| IntegerType::new(context, *width).into()).collect()
    };
    let declare = |name: &str, inputs: &[Type<'c>], results: &[Type<'c>]| {
        let ty = FunctionType::new(context, inputs, results);
        let attributes = [
            ("sym_name", StringAttribute::new(context, name).into()),
            ("sym_visibility", StringAttribute::new(context, "private").into()),
            ("function_type", TypeAttribute::new(ty.into()).into()),
        ];
        build.op_with_empty_region("func.func", &attributes, location);
    };
    for (name, inputs, results) in RUNTIME {
        declare(name, &integers(inputs), &integers(results));
    }
    let pointer = melior::dialect::llvm::r#type::pointer(context, 0);
    let mut inputs = vec![pointer, pointer];
    inputs.extend(integers(&[64; 4]));
    declare(COOPERATE, &inputs, &[]);
}

fn convert_module<'c: 'a, 'a>(module: OperationRef<'c, 'a>, threads: u64) -> Result<(), PassError<'c>> {
    let build = Builder::new(module);
    build.set_insertion_point_before(module);
    let host = build.op_with_regions("builtin.module", &[], &[], &[], &[&[]], module.location());
    if let Some(name) = attribute_of(module, "sym_name") {
        set_attribute(host, "sym_name", name);
    }
    let (Ok(to), Ok(from)) = (host.region(0), module.region(0)) else { return Ok(()) };
    take_body(to, from);
    build.erase(module);

    // One that does not refer to the op which is gone.
    let build = Builder::new(host);
    rename_device_functions(host);
    let first = host.region(0).ok().and_then(|region| region.first_block()?.first_operation());
    if let Some(first) = first.filter(|_| threads > 1) {
        build.set_insertion_point_before(first);
        declare_runtime(&build, host.location());
    }
    for function in ops_named(host, "gpu.func") {
        convert_function(&build, function, threads)?;
    }
    drop_address_spaces(&build, host);
    Ok(())
}

/// `__nv_expf` is `expf` of the C library.
fn rename_device_functions(module: OperationRef<'_, '_>) {
    let plain = |attribute: Attribute<'_>| {
        let text = StringAttribute::try_from(attribute).map(|name| string_value(name).to_owned());
        let text =
            text.or_else(|_| FlatSymbolRefAttribute::try_from(attribute).map(|name| name.value().to_owned()));
        text.ok().and_then(|name| name.strip_prefix("__nv_").map(str::to_owned))
    };
    walk(module, |op| {
        let context = crate::rewrite::context_of(op);
        let declared = match op_name(op) {
            "func.func" | "llvm.func" => attribute_of(op, "sym_name").and_then(plain),
            _ => None,
        };
        if let Some(name) = declared {
            set_attribute(op, "sym_name", StringAttribute::new(context, &name).into());
        }
        let called = match op_name(op) {
            "func.call" | "llvm.call" => attribute_of(op, "callee").and_then(plain),
            _ => None,
        };
        if let Some(name) = called {
            set_attribute(op, "callee", FlatSymbolRefAttribute::new(context, &name).into());
        }
        WalkResult::Advance
    });
}

fn convert_function<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    function: OperationRef<'c, 'a>,
    threads: u64,
) -> Result<(), PassError<'c>> {
    let context = build.context();
    let location = function.location();
    let index = Type::index(context);
    let name = attribute_of(function, "sym_name")
        .and_then(|name| StringAttribute::try_from(name).ok())
        .map(|name| string_value(name).to_owned())
        .ok_or_else(|| PassError::at(function, "has no name"))?;
    let (inputs, results) = attribute_of(function, "function_type")
        .and_then(function_type)
        .ok_or_else(|| PassError::at(function, "has no function type"))?;
    let is_kernel = function.has_attribute("gpu.kernel") || function.has_attribute("kernel");
    let pointer = melior::dialect::llvm::r#type::pointer(context, 0);
    let mut all: Vec<Type<'c>> = inputs.iter().map(|ty| plain_type(context, *ty).unwrap_or(*ty)).collect();
    if is_kernel && all.iter().any(|ty| *ty != pointer) {
        return Err(PassError::at(function, "has an argument that is not a pointer"));
    }
    let region = function.region(0).map_err(|_| PassError::at(function, "has no body"))?;
    let entry = region.first_block().ok_or_else(|| PassError::at(function, "has no body"))?;

    give_memory(build, function, entry, inputs.len(), threads)?;

    // Only kernels know of blocks.
    let ids = is_kernel.then(|| (entry.add_argument(index, location), entry.add_argument(index, location)));
    convert_body(build, function, ids, threads)?;

    if is_kernel {
        all.extend([index, index]);
    }
    build.set_insertion_point_before(function);
    let body_name = if is_kernel { format!("{name}.block") } else { name.clone() };
    let string = |text: &str| -> Attribute<'c> { StringAttribute::new(context, text).into() };
    let mut attributes = vec![
        ("sym_name", string(&body_name)),
        ("function_type", TypeAttribute::new(FunctionType::new(context, &all, &results).into()).into()),
    ];
    if is_kernel {
        attributes.push(("sym_visibility", string("private")));
    }
    if let Some(known) =
        attribute_of(function, "arg_attrs").and_then(|known| ArrayAttribute::try_from(known).ok())
    {
        let none = Attribute::parse(context, "{}").expect("an empty dictionary");
        let known: Vec<_> = (0..all.len()).map(|i| known.element(i).unwrap_or(none)).collect();
        attributes.push(("arg_attrs", ArrayAttribute::new(context, &known).into()));
    }
    let body = build.op_with_regions("func.func", &[], &attributes, &[], &[&[]], location);
    take_body(body.region(0)?, region);
    if is_kernel {
        let i64_type: Type<'c> = IntegerType::new(context, 64).into();
        let inputs_of_loop = [pointer, i64_type, i64_type, i64_type];
        let signature = FunctionType::new(context, &inputs_of_loop, &[]);
        let define = |name: &str| -> Result<BlockRef<'c, 'a>, PassError<'c>> {
            let attributes =
                [("sym_name", string(name)), ("function_type", TypeAttribute::new(signature.into()).into())];
            let made =
                build.op_with_regions("func.func", &[], &attributes, &[], &[&inputs_of_loop], location);
            made.region(0)?.first_block().ok_or_else(|| PassError::at(function, "has no body"))
        };
        let loop_name = if threads > 1 { format!("{name}.thread") } else { name.clone() };
        let block = define(&loop_name)?;
        if threads > 1 {
            build.set_insertion_point_before(function);
            write_cooperation(build, define(&name)?, &loop_name, signature.into(), threads, location)?;
        }
        write_loop(build, block, &body_name, inputs.len(), location)?;
    }
    build.erase(function);
    Ok(())
}

/// Replaces the arguments after `inputs`, which are memory of a thread or of a block. That of a thread is on the stack;
/// that of a block as well if it is one thread, else for all to see.
fn give_memory<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    function: OperationRef<'c, 'a>,
    entry: BlockRef<'c, 'a>,
    inputs: usize,
    threads: u64,
) -> Result<(), PassError<'c>> {
    let (context, location) = (build.context(), function.location());
    let name = crate::functions::name_of(function);
    let of_block = attribute_of(function, "workgroup_attributions")
        .and_then(|count| IntegerAttribute::try_from(count).ok())
        .map_or(0, |count| usize::try_from(slimhlo_dialect::ffi::integer_value(count)).unwrap_or(0));
    let first = entry.first_operation().ok_or_else(|| PassError::at(function, "has an empty block"))?;
    build.set_insertion_point_before(first);
    for position in inputs..entry.argument_count() {
        let argument: Value<'c, 'a> = entry.argument(position)?.into();
        let ty = argument.r#type();
        let ty = plain_type(context, ty).unwrap_or(ty);
        let segments = DenseI32ArrayAttribute::new(context, &[0, 0]).into();
        // What is read and written 16 bytes at a time has to lie like that.
        let alignment = IntegerAttribute::new(IntegerType::new(context, 64).into(), 16).into();
        let memory = if threads > 1 && position < inputs + of_block {
            let global = format!("{name}.shared{}", position - inputs);
            build.set_insertion_point_before(function);
            let attributes = [
                ("sym_name", StringAttribute::new(context, &global).into()),
                ("sym_visibility", StringAttribute::new(context, "private").into()),
                ("type", TypeAttribute::new(ty).into()),
                ("initial_value", Attribute::unit(context)),
                ("alignment", alignment),
            ];
            build.op_with_regions("memref.global", &[], &attributes, &[], &[], location);
            build.set_insertion_point_before(first);
            let symbol = FlatSymbolRefAttribute::new(context, &global).into();
            build.insert("memref.get_global", &[], &[("name", symbol)], ty, location)
        } else {
            let attributes = [("operandSegmentSizes", segments), ("alignment", alignment)];
            build.insert("memref.alloca", &[], &attributes, ty, location)
        };
        build.replace_all_uses_with(argument, memory);
    }
    while entry.argument_count() > inputs {
        erase_argument(entry, entry.argument_count() - 1);
    }
    Ok(())
}

/// The function that has threads run another one together.
fn write_cooperation<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    block: BlockRef<'c, 'a>,
    of: &str,
    signature: Type<'c>,
    threads: u64,
    location: melior::ir::Location<'c>,
) -> Result<(), PassError<'c>> {
    let context = build.context();
    let symbol = |name: &str| -> Attribute<'c> { FlatSymbolRefAttribute::new(context, name).into() };
    build.set_insertion_point_to_end(block);
    let function = build.insert("func.constant", &[], &[("value", symbol(of))], signature, location);
    let pointer = melior::dialect::llvm::r#type::pointer(context, 0);
    let mut operands =
        vec![build.insert("builtin.unrealized_conversion_cast", &[function], &[], pointer, location)];
    for position in 0..block.argument_count() {
        operands.push(block.argument(position)?.into());
    }
    let i64_type: Type<'c> = IntegerType::new(context, 64).into();
    let count = IntegerAttribute::new(i64_type, threads as i64).into();
    operands.push(build.insert("arith.constant", &[], &[("value", count)], i64_type, location));
    build.op_with_regions("func.call", &operands, &[("callee", symbol(COOPERATE))], &[], &[], location);
    build.terminator("func.return", &[], location);
    Ok(())
}

/// The function that runs blocks one after the other.
fn write_loop<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    block: BlockRef<'c, 'a>,
    body: &str,
    count: usize,
    location: melior::ir::Location<'c>,
) -> Result<(), PassError<'c>> {
    let context = build.context();
    let index = Type::index(context);
    let pointer = melior::dialect::llvm::r#type::pointer(context, 0);
    build.set_insertion_point_to_end(block);
    let argument =
        |position| -> Result<Value<'c, 'a>, PassError<'c>> { Ok(block.argument(position)?.into()) };
    let mut operands = Vec::with_capacity(count + 2);
    for position in 0..count {
        let place = build.insert(
            "llvm.getelementptr",
            &[argument(0)?],
            &[
                ("rawConstantIndices", DenseI32ArrayAttribute::new(context, &[position as i32]).into()),
                ("elem_type", TypeAttribute::new(pointer).into()),
            ],
            pointer,
            location,
        );
        operands.push(build.insert("llvm.load", &[place], &[], pointer, location));
    }
    let cast = |value| build.insert("arith.index_cast", &[value], &[], index, location);
    let (first, end, grid) = (cast(argument(1)?), cast(argument(2)?), cast(argument(3)?));
    let one = IntegerAttribute::new(index, 1).into();
    let one = build.insert("arith.constant", &[], &[("value", one)], index, location);
    let over = build.op_with_blocks("scf.for", &[first, end, one], &[], &[&[index]], location);
    build.terminator("func.return", &[], location);
    let inner = over.region(0)?.first_block().ok_or_else(|| PassError::at(over, "has no body"))?;
    operands.extend([inner.argument(0)?.into(), grid]);
    build.set_insertion_point_to_end(inner);
    let call = OperationBuilder::new("func.call", location)
        .add_operands(&operands)
        .add_attributes(&[(
            Identifier::new(context, "callee"),
            FlatSymbolRefAttribute::new(context, body).into(),
        )])
        .build()?;
    inner.append_operation(call);
    build.terminator("scf.yield", &[], location);
    Ok(())
}

/// Replaces what only a GPU has. `ids` are the number of the block, and how many there are.
fn convert_body<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    function: OperationRef<'c, 'a>,
    ids: Option<(Value<'c, 'a>, Value<'c, 'a>)>,
    threads: u64,
) -> Result<(), PassError<'c>> {
    let mut found = Vec::new();
    walk(function, |op| {
        let name = op_name(op);
        if op != function
            && (name.starts_with("gpu.") || name.starts_with("nvvm.") || name == "llvm.addrspacecast")
        {
            found.push(op);
        }
        WalkResult::Advance
    });
    for op in found {
        build.set_insertion_point_before(op);
        let location = op.location();
        let number = |value: i64| {
            let index = Type::index(build.context());
            let attribute = IntegerAttribute::new(index, value).into();
            build.insert("arith.constant", &[], &[("value", attribute)], index, location)
        };
        let along_x =
            || attribute_of(op, "dimension").is_none_or(|dimension| dimension.to_string().contains("dim x"));
        let outside = || PassError::at(op, "is used outside of a kernel, where blocks are not known");
        let call = |name: &str, operands: &[Value<'c, 'a>], results: &[Type<'c>]| {
            let callee = FlatSymbolRefAttribute::new(build.context(), name).into();
            build.op_with_regions("func.call", operands, &[("callee", callee)], results, &[], location)
        };
        let integer = |width: u32| -> Type<'c> { IntegerType::new(build.context(), width).into() };
        let together = threads > 1;
        let replacement: Option<Value<'c, 'a>> = match op_name(op) {
            "gpu.thread_id" if together && along_x() => {
                let thread = call("slimhlo_thread", &[], &[integer(64)]).result(0)?.into();
                Some(build.insert("arith.index_cast", &[thread], &[], Type::index(build.context()), location))
            }
            "gpu.block_dim" if together && along_x() => Some(number(threads as i64)),
            "gpu.barrier" if together => {
                call("slimhlo_barrier", &[], &[]);
                None
            }
            "gpu.shuffle" if together => {
                let mode = attribute_of(op, "mode").map_or_else(String::new, |mode| mode.to_string());
                let modes = [("down", "slimhlo_shuffle_down"), ("idx", "slimhlo_shuffle_idx")];
                let value: Value<'c, 'a> = op.operand(0)?;
                let found =
                    modes.iter().find(|(name, _)| mode.contains(name) && value.r#type() == integer(32));
                let Some((_, callee)) = found else {
                    return Err(PassError::at(
                        op,
                        "is not one that hands 32 bits down, or those of one thread",
                    ));
                };
                Some(call(callee, &[value, op.operand(1)?], &[integer(32)]).result(0)?.into())
            }
            "gpu.lane_id"
            | "gpu.subgroup_id"
            | "gpu.subgroup_size"
            | "gpu.num_subgroups"
            | "gpu.subgroup_broadcast"
            | "gpu.all_reduce"
            | "gpu.subgroup_reduce"
            | "nvvm.barrier0"
            | "nvvm.bar.warp.sync"
                if together =>
            {
                return Err(PassError::at(op, "has no form for the CPU with several threads in a block"));
            }
            "gpu.thread_id" | "gpu.lane_id" | "gpu.subgroup_id" | "gpu.cluster_id" => Some(number(0)),
            "gpu.block_dim" | "gpu.subgroup_size" | "gpu.num_subgroups" | "gpu.cluster_dim" => {
                Some(number(1))
            }
            "gpu.block_id" | "gpu.global_id" if along_x() => Some(ids.ok_or_else(outside)?.0),
            "gpu.grid_dim" if along_x() => Some(ids.ok_or_else(outside)?.1),
            "gpu.block_id" | "gpu.global_id" => Some(number(0)),
            "gpu.grid_dim" => Some(number(1)),
            "gpu.shuffle" | "gpu.subgroup_broadcast" | "llvm.addrspacecast" => Some(op.operand(0)?),
            "gpu.all_reduce" | "gpu.subgroup_reduce" => Some(op.operand(0)?),
            "gpu.barrier" | "nvvm.barrier0" | "nvvm.bar.warp.sync" => None,
            "gpu.return" => {
                let operands: Vec<_> = op.operands().collect();
                build.terminator("func.return", &operands, location);
                None
            }
            name => return Err(PassError::at(op, format!("has no form for the CPU: {name}"))),
        };
        if let Some(value) = replacement {
            build.replace_all_uses_with(op.result(0)?.into(), value);
        }
        if op_name(op) == "gpu.shuffle" {
            let valid = truth(build, location);
            build.replace_all_uses_with(op.result(1)?.into(), valid);
        }
        build.erase(op);
    }
    Ok(())
}

/// A bit that is set: a lane asks of itself, or of another that is there.
fn truth<'c: 'a, 'a>(build: &Builder<'c, 'a>, location: melior::ir::Location<'c>) -> Value<'c, 'a> {
    let bit = IntegerType::new(build.context(), 1).into();
    let set = IntegerAttribute::new(bit, 1).into();
    build.insert("arith.constant", &[], &[("value", set)], bit, location)
}

/// The type of what lies in no special place, for one that says where.
fn plain_type<'c>(context: &'c melior::Context, ty: Type<'c>) -> Option<Type<'c>> {
    if ty.is_llvm_pointer_type() {
        let plain = melior::dialect::llvm::r#type::pointer(context, 0);
        return (ty != plain).then_some(plain);
    }
    let memory = MemRefType::try_from(ty).ok()?;
    memory.memory_space()?;
    let shape = slimhlo_dialect::ffi::shape(ty)?;
    Some(MemRefType::new(memory.element(), shape, Some(memory.layout()), None).into())
}

/// Gives everything in `module` the type of what lies in no special place.
fn drop_address_spaces<'c: 'a, 'a>(build: &Builder<'c, 'a>, module: OperationRef<'c, 'a>) {
    let context = build.context();
    let retype = |value: Value<'c, 'a>| {
        if let Some(ty) = plain_type(context, value.r#type()) {
            build.set_type(value, ty);
        }
    };
    walk(module, |op| {
        op.results().for_each(|result| retype(result.into()));
        for index in 0..op.region_count() {
            let mut block = op.region(index).ok().and_then(|region| region.first_block());
            while let Some(current) = block {
                for position in 0..current.argument_count() {
                    if let Ok(argument) = current.argument(position) {
                        retype(argument.into());
                    }
                }
                block = current.next_in_region();
            }
        }
        if op_name(op) == "llvm.mlir.global" {
            set_attribute(
                op,
                "addr_space",
                IntegerAttribute::new(IntegerType::new(context, 32).into(), 0).into(),
            );
        }
        WalkResult::Advance
    });
}
