// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-plan-buffers`: where each value of a formed module lies.
//!
//! # What it does
//!
//! Gives each call, loop, branch, constant and view of `@main` an attribute `slimhlo.buffers`, with one text per result and
//! then one per scratch buffer of the kernel:
//!
//! * `arg0`, `result1`: the buffer of an argument or result of the program;
//! * `arena+256`: bytes from the start of the arena, of which there are `slimhlo.arena` (an attribute of `@main`);
//! * `counter0`: what a loop counts (`slimhlo.counts`), which the schedule knows in each turn: it takes no memory of the plan;
//! * `const+0`: bytes from the start of the constants, of which there are `slimhlo.constants`.
//!
//! Offsets are multiples of 256, of less than 256 bytes of 16. Where a value has to be at two places, it inserts calls of kernels that copy
//! (`slimhlo.copy`).
//!
//! # How
//!
//! * Items are put in an order in which little is alive at once: besides the program's own, one that always runs what frees most.
//!   What changes a value in place runs after its other readers, where it can. The order with the smallest plan wins.
//! * Values that have to share memory do: views; the state of a loop (as it starts, in the condition, in the body and as it ends); what
//!   is updated in place and the result. If one is still needed as it was, or is not ours to write to, it is copied before.
//! * Results of bodies, branches and of the function are made where they have to be in the end, if that place is free from
//!   then on, else copied there at the end of the block; what would be overwritten by such a copy is saved first.
//! * Donated arguments (`tf.aliasing_output`, `jax.buffer_donor`) are memory that results lie in.
//! * Kernels write over operands that are not needed any more where they may (`slimhlo.pointwise`). What came of it is then said
//!   by `slimhlo.may_share` on the kernel: for each result the argument that it shares memory with, or -1. Calls that differ
//!   in this get kernels of their own.
//! * What is left lies in results that are not there yet, in donated arguments that have been read, or in the arena: packed by
//!   size, by size times time, by time, into the smallest gap; the best of these.
//!
//! # Why it is right
//!
//! A value is in use from the kernel that makes it to the last that reads it, both included; a loop needs what it uses from
//! outside until it ends. Two values that are in use at the same time are never in one place, but for operand and result of a
//! kernel that says so.
//!
//! # What it costs
//!
//! Time grows with the square of the number of stored values up to 6000, linearly from there on.

mod assign;
mod check;
mod model;
mod order;
mod pack;

use super::estimate;
use super::form_kernels::{attributes_at, entry, ops::size_of};
use crate::framework::{Anchor, Changed, Pass, PassContext, PassError, PassResult, Statistic};
use crate::functions::{callee, functions, name_of};
use crate::gpu::checked_target;
use crate::ir::Builder;
use crate::rewrite::{remove_attribute, set_attribute, set_discardable_attribute};
use assign::{Assign, Copy, Place, Plan};
use melior::dialect::DialectRegistry;
use melior::ir::attribute::{
    ArrayAttribute, FlatSymbolRefAttribute, IntegerAttribute, StringAttribute, TypeAttribute,
};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::FunctionType;
use melior::ir::{Attribute, BlockRef, OperationRef, RegionLike, Type, TypeLike, Value, ValueLike};
use model::{Kind, Model};
use slimhlo_dialect::ffi::{attribute_in, attribute_of, integer_value};
use std::collections::{HashMap, HashSet};

crate::pass_options! {
    /// Plan the memory of a module of kernels.
    ///
    /// Says for each value that `slimhlo-form-kernels` left in memory where it lies: in an argument, in a result, in the one arena or
    /// among the constants. Donated arguments are used again, updates happen in place, and what is alive at different times
    /// shares memory.
    ///
    /// ```sh
    /// slimhlo-opt --slimhlo-form-kernels --slimhlo-plan-buffers in.mlir
    /// ```
    pub struct PlanBuffers {
        /// Run the planned program once without computing anything, and fail where a step would read what is not there.
        check: bool = false,
    }
}

const COPIES: Statistic = Statistic::new(c"num-copies", c"copies that are needed");
const ARENA: Statistic = Statistic::new(c"arena-bytes", c"bytes of the arena");
const TIME: Statistic =
    Statistic::new(c"estimated-us", c"microseconds that the kernels take, by the estimate");

/// By result of a function: the donated argument that it lies in.
pub(crate) fn aliases<'c: 'a, 'a>(
    function: OperationRef<'c, 'a>,
    arguments: &[Value<'c, 'a>],
    results: &[Type<'c>],
) -> Vec<Option<usize>> {
    let mut aliases = vec![None; results.len()];
    let mut donors = Vec::new();
    for (index, argument) in arguments.iter().enumerate() {
        let Some(attributes) = attributes_at(function, "arg_attrs", index) else { continue };
        let wanted = attribute_in(attributes, "tf.aliasing_output")
            .and_then(|attribute| IntegerAttribute::try_from(attribute).ok())
            .and_then(|attribute| usize::try_from(integer_value(attribute)).ok());
        match wanted {
            Some(result)
                if result < results.len()
                    && aliases[result].is_none()
                    && size_of(*argument) == super::form_kernels::ops::size_of_type(results[result]) =>
            {
                aliases[result] = Some(index);
            }
            _ if attribute_in(attributes, "jax.buffer_donor").is_some() => donors.push(index),
            _ => {}
        }
    }
    // A donor goes to the first result of its type that has none, else of its size.
    for same_type in [true, false] {
        donors.retain(|&donor| {
            let ty = arguments[donor].r#type();
            let found = (0..results.len()).find(|&result| {
                aliases[result].is_none()
                    && if same_type {
                        ty.to_raw().ptr == results[result].to_raw().ptr
                    } else {
                        size_of(arguments[donor]).1
                            == super::form_kernels::ops::size_of_type(results[result]).1
                    }
            });
            if let Some(result) = found {
                aliases[result] = Some(donor);
            }
            found.is_none()
        });
    }
    aliases
}

impl Pass for PlanBuffers {
    const ARGUMENT: &'static str = "slimhlo-plan-buffers";
    const ANCHOR: Anchor = Anchor::Module;
    const STATISTICS: &'static [Statistic] = &[COPIES, ARENA, TIME];

    fn dependent_dialects(registry: &DialectRegistry) {
        melior::dialect::DialectHandle::func().insert_dialect(registry);
    }

    fn run<'c>(&self, module: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let main = entry(module)?;
        if attribute_of(main, "slimhlo.arena").is_some() {
            return Ok(Changed::No);
        }
        let kernels: Vec<_> = functions(module).collect();
        let mut model = Model::new(main, &kernels)?;
        let arguments: Vec<Value> =
            model.blocks[0].parameters.iter().filter_map(|&id| model.values[id].value).collect();
        let results: Vec<Type> = model.blocks[0].items.last().map_or_else(Vec::new, |&end| {
            model.items[end].op.operands().map(|operand| operand.r#type()).collect()
        });
        let aliases = aliases(main, &arguments, &results);
        let plan = best(&mut model, &aliases, main, &kernels)?;
        context.count(&COPIES, plan.copies.len() as u64);
        context.count(&ARENA, plan.arena);
        apply(module, main, &model, &plan)?;
        if let Some(cost) = estimate::cost(module, checked_target(module)?) {
            context.count(&TIME, (cost.seconds * 1e6) as u64);
        }
        if self.check || cfg!(debug_assertions) {
            check::check(module)?;
        }
        Ok(Changed::Yes)
    }
}

/// The smallest plan of some orders; `model` is left in that order.
fn best<'c: 'a, 'a>(
    model: &mut Model<'c, 'a>,
    aliases: &[Option<usize>],
    main: OperationRef<'c, 'a>,
    kernels: &[OperationRef<'c, 'a>],
) -> Result<Plan, PassError<'c>> {
    let mut best: Option<(u64, Model<'c, 'a>, Plan)> = None;
    for strategy in order::STRATEGIES {
        let mut next = Model::new(main, kernels)?;
        order::order(&mut next, *strategy, aliases);
        next.number();
        let plan = Assign::run(&mut next, aliases);
        // A copy costs time: a little memory is worth it.
        let copied: u64 = plan.copies.iter().map(|copy| next.values[copy.from].bytes).sum();
        let cost = plan.arena + copied / 16;
        if best.as_ref().is_none_or(|(least, ..)| cost < *least) {
            best = Some((cost, next, plan));
        }
    }
    let (_, found, plan) = best.ok_or_else(|| PassError::at(main, "has no order to run in"))?;
    *model = found;
    Ok(plan)
}

fn text(place: Place) -> String {
    match place {
        Place::Argument(index) => format!("arg{index}"),
        Place::Result(index) => format!("result{index}"),
        Place::Arena(offset) => format!("arena+{offset}"),
        Place::Constant(offset) => format!("const+{offset}"),
        Place::Counter(index) => format!("counter{index}"),
    }
}

/// Writes a plan into the module.
fn apply<'c: 'a, 'a>(
    module: OperationRef<'c, 'a>,
    main: OperationRef<'c, 'a>,
    model: &Model<'c, 'a>,
    plan: &Plan,
) -> Result<(), PassError<'c>> {
    let builder = Builder::new(module);
    let context = builder.context();
    let buffers = |places: &[Place]| -> Attribute<'c> {
        let texts: Vec<Attribute> =
            places.iter().map(|place| StringAttribute::new(context, &text(*place)).into()).collect();
        ArrayAttribute::new(context, &texts).into()
    };
    for block in &model.blocks {
        // Each before the one that comes next, from the back.
        for pair in block.items.windows(2).rev() {
            builder.move_before(model.items[pair[0]].op, model.items[pair[1]].op);
        }
    }
    for item in &model.items {
        if item.kind != Kind::End && item.op.result_count() + item.scratch.len() > 0 {
            let places: Vec<Place> =
                item.results.iter().chain(&item.scratch).map(|&id| plan.places[id]).collect();
            set_attribute(item.op, "slimhlo.buffers", buffers(&places));
        }
    }
    let block = module
        .region(0)
        .ok()
        .and_then(|region| region.first_block())
        .ok_or_else(|| PassError::at(module, "has no body"))?;
    say_what_is_shared(module, block, model, plan, &builder);
    let mut names: HashSet<String> = functions(module).map(name_of).collect();
    let mut kernels: HashMap<usize, String> = HashMap::new();
    let mut made: HashMap<usize, Value> = HashMap::new();
    // Those that save what others write over come first.
    let (saves, others): (Vec<&Copy>, Vec<&Copy>) =
        plan.copies.iter().partition(|copy| copy.operand.is_none());
    for copy in saves.into_iter().chain(others) {
        let item = &model.items[copy.item];
        let Some(source) = model.values[copy.from].value.or_else(|| made.get(&copy.from).copied()) else {
            return Err(PassError::at(item.op, "needs a copy of what is no value; please report it"));
        };
        let ty = source.r#type();
        let name = match kernels.get(&(ty.to_raw().ptr as usize)) {
            Some(name) => name.clone(),
            None => {
                let name = (kernels.len()..)
                    .map(|number| format!("copy_{number}"))
                    .find(|name| !names.contains(name))
                    .unwrap_or_default();
                names.insert(name.clone());
                builder.set_insertion_point_to_end(block);
                let unit = Attribute::unit(context);
                let attributes: [(&str, Attribute); 6] = [
                    ("sym_name", StringAttribute::new(context, &name).into()),
                    (
                        "function_type",
                        TypeAttribute::new(FunctionType::new(context, &[ty], &[ty]).into()).into(),
                    ),
                    ("sym_visibility", StringAttribute::new(context, "private").into()),
                    ("slimhlo.kernel", StringAttribute::new(context, "map").into()),
                    ("slimhlo.may_share", builder.i64_array(&[0])),
                    ("slimhlo.copy", unit),
                ];
                let location = item.op.location();
                let function =
                    builder.op_with_regions("func.func", &[], &attributes, &[], &[&[ty]], location);
                let body = function
                    .region(0)
                    .ok()
                    .and_then(|region| region.first_block())
                    .ok_or_else(|| PassError::new("a function was made without a block"))?;
                builder.set_insertion_point_to_end(body);
                builder.terminator("func.return", &[body.argument(0)?.into()], location);
                kernels.insert(ty.to_raw().ptr as usize, name.clone());
                name
            }
        };
        builder.set_insertion_point_before(item.op);
        let callee = FlatSymbolRefAttribute::new(context, &name);
        let call =
            builder.op_with("func.call", &[source], &[("callee", callee.into())], &[ty], item.op.location());
        set_attribute(call, "slimhlo.buffers", buffers(&[plan.places[copy.to]]));
        let result: Value = call.result(0)?.into();
        made.insert(copy.to, result);
        if let Some(operand) = copy.operand {
            builder.set_operand(item.op, operand, result);
        }
    }
    let number = |value: u64| -> Attribute<'c> {
        IntegerAttribute::new(builder.i64_type(), i64::try_from(value).unwrap_or(i64::MAX)).into()
    };
    set_attribute(main, "slimhlo.arena", number(plan.arena));
    set_attribute(main, "slimhlo.constants", number(plan.constants));
    Ok(())
}

/// Tells kernels which of their arguments results lie in; calls that differ in this get copies of the kernel.
fn say_what_is_shared<'c: 'a, 'a>(
    module: OperationRef<'c, 'a>,
    block: BlockRef<'c, 'a>,
    model: &Model<'c, 'a>,
    plan: &Plan,
    builder: &Builder<'c, 'a>,
) {
    let kernels: HashMap<String, OperationRef<'c, 'a>> =
        functions(module).map(|function| (name_of(function), function)).collect();
    let mut names: HashSet<String> = kernels.keys().cloned().collect();
    let mut known: HashMap<(String, Vec<i64>), String> = HashMap::new();
    let mut seen: HashSet<String> = HashSet::new();
    for item in model.items.iter().filter(|item| item.kind == Kind::Call) {
        let Some(name) = callee(item.op).map(str::to_owned) else { continue };
        let Some(&kernel) = kernels.get(&name) else { continue };
        let shared: Vec<i64> = item
            .results
            .iter()
            .zip(&item.may_share)
            .map(|(&result, candidates)| {
                let found = candidates.iter().find(|&&operand| {
                    model.values[result].bytes > 0
                        && plan.places[item.operands[operand]] == plan.places[result]
                });
                found.map_or(-1, |&operand| operand as i64)
            })
            .collect();
        let first = seen.insert(name.clone());
        let used = known.entry((name.clone(), shared.clone())).or_insert_with(|| {
            let (function, own) = if first {
                (kernel, name.clone())
            } else {
                let own = (1..)
                    .map(|number| format!("{name}_{number}"))
                    .find(|own| !names.contains(own))
                    .unwrap_or_default();
                builder.set_insertion_point_to_end(block);
                let copy = builder.copy_with(kernel, &[], &[], &[]);
                set_attribute(copy, "sym_name", StringAttribute::new(builder.context(), &own).into());
                (copy, own)
            };
            names.insert(own.clone());
            if shared.iter().any(|&argument| argument >= 0) {
                set_discardable_attribute(function, "slimhlo.may_share", builder.i64_array(&shared));
            } else {
                remove_attribute(function, "slimhlo.may_share");
            }
            remove_attribute(function, "slimhlo.pointwise");
            own
        });
        if *used != name {
            let callee = FlatSymbolRefAttribute::new(builder.context(), used);
            set_attribute(item.op, "callee", callee.into());
        }
    }
}
