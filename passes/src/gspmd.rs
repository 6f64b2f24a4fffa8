// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Shardings as producers wrote them before Shardy, read as shardings of the `sdy` dialect and written back.
//!
//! # What it matches
//!
//! Programs for several partitions that say how arrays are laid out by `mhlo.sharding` on arguments, results and ops, and by custom calls
//! of `Sharding`, for GSPMD:
//!
//! ```mlir
//! func.func @main(%x: tensor<64x256xf32> {mhlo.sharding = "{devices=[1,2]<=[2]}"}) -> tensor<64x256xf32> {
//!   %r = stablehlo.custom_call @Sharding(%y) {mhlo.sharding = "{devices=[1,2]<=[2]}"}
//! ```
//!
//! While the pipeline runs they are
//!
//! ```mlir
//! sdy.mesh @mesh = <["d0"=2]>
//! func.func @main(%x: tensor<64x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"d0"}]>}) -> tensor<64x256xf32> {
//!   %r = sdy.sharding_constraint %y <@mesh, [{}, {"d0"}]>
//! ```
//!
//! and what passes make of them is written back: whoever compiles the module may know nothing of Shardy. A manual computation becomes what
//! GSPMD has for it, each op in it marked as one that devices do by themselves:
//!
//! ```mlir
//! %own = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{manual}"} : (tensor<64x256xf32>) -> tensor<64x128xf32>
//! %new = stablehlo.add %own, %own {mhlo.sharding = "{manual}"}
//! %r = stablehlo.custom_call @SPMDShardToFullShape(%new) {mhlo.sharding = "{devices=[1,2]<=[2]}"}
//! ```
//!
//! # How
//!
//! A tile assignment is a number of tiles per dimension and a device for each tile. The mesh is a grid of axes of prime sizes, major to
//! minor, in the first order in which every assignment of the module is made of whole axes: the device of a tile is then the sum of its
//! coordinates times the axes' strides.
//!
//! # Why it is right
//!
//! Both forms say the same; where a partitioner chooses for itself, it is the same partitioner. A module in which no manual computation is
//! made comes out as it came. A constant that devices read, and ops outside as well, is handed to the devices like an array.
//!
//! # What it costs
//!
//! A walk each way, and a copy of the module.
//!
//! # When it must not fire
//!
//! Modules with anything of the `sdy` dialect, or with manual computations already; assignments that no grid has, devices by name
//! (`maximal`), subgroups of other kinds than replicated, dimensions left open (`backend_config` of `Sharding`).

pub(crate) mod assignment;

use crate::ir::{self, Builder};
use crate::rewrite::{
    carry_attributes, copy_of, defining_op, ops_in, ops_named, remove_attribute, set_attribute,
    set_discardable_attribute, uses, walk,
};
use crate::shards::partitions;
use assignment::{Assignment, Grid};
use melior::Context;
use melior::ir::attribute::{ArrayAttribute, DictionaryAttribute, FlatSymbolRefAttribute, StringAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{
    Attribute, Identifier, Location, Operation, OperationRef, RegionLike, Type, Value, ValueLike,
};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::sdy::attrs::{
    AxisRef, DimensionSharding, Mesh, MeshAxis, TensorSharding, TensorShardingPerValue, View,
};
use slimhlo_dialect::types::Tensor;

/// Shardings for GSPMD.
const OLD: &str = "mhlo.sharding";
/// Shardings for Shardy.
const NEW: &str = "sdy.sharding";
/// Custom calls.
const SHARDING: &str = "Sharding";
const FULL_TO_SHARD: &str = "SPMDFullToShardShape";
const SHARD_TO_FULL: &str = "SPMDShardToFullShape";
/// What a function says of its arguments and results.
const BOUNDARY: [&str; 2] = ["arg_attrs", "res_attrs"];

/// Makes the shardings of a module those of Shardy, and gives the module as it was; `None` if they are not GSPMD's, or not understood: nothing
/// is changed then.
pub(crate) fn import<'c>(module: OperationRef<'c, '_>) -> Option<Operation<'c>> {
    let partitions = partitions(module).filter(|&partitions| partitions > 1)?;
    let said = Said::of(module, partitions)?;
    let grid = Grid::of(&said.all, partitions)?;
    let original = copy_of(module);
    let build = Builder::new(module);
    let mesh = Meshed { name: said.free_name(), grid, context: build.context() };
    // All there is to be said, before anything is changed.
    let per_op: Vec<_> = said.ops.iter().map(|op| mesh.of_op(*op)).collect::<Option<_>>()?;
    let at_boundary: Vec<_> = said
        .functions
        .iter()
        .map(|function| {
            let [arguments, results] = BOUNDARY.map(|name| mesh.at_boundary(*function, name));
            Some((*function, [arguments?, results?]))
        })
        .collect::<Option<_>>()?;
    mesh.declare(&build, module)?;
    for (function, lists) in at_boundary {
        for (name, list) in BOUNDARY.iter().zip(lists) {
            if let Some(list) = list {
                set_attribute(function, name, list);
            }
        }
    }
    for (op, shardings) in said.ops.into_iter().zip(per_op) {
        if op_name(op) == "stablehlo.custom_call"
            && ir::string_attribute(op, "call_target_name") == Some(SHARDING)
        {
            mesh.constrain(&build, op, shardings[0]);
        } else if let Some(all) = TensorShardingPerValue::new(mesh.context, &shardings) {
            remove_attribute(op, OLD);
            set_discardable_attribute(op, NEW, all.attribute());
        }
    }
    Some(original)
}

/// Writes what was [imported](import) back, with what was made of it; false if no manual computation was made.
pub(crate) fn export<'c: 'a, 'a>(module: OperationRef<'c, 'a>) -> bool {
    let computations = ops_named(module, "sdy.manual_computation");
    let meshes = ops_named(module, "sdy.mesh");
    let [mesh] = meshes.as_slice() else { return false };
    let axes = ffi::attribute_of(*mesh, "mesh").and_then(Mesh::view);
    let Some(axes) = axes.filter(|_| !computations.is_empty()) else { return false };
    let axes: Vec<(&str, i64)> = axes.axes().iter().map(|axis| (axis.name(), axis.size())).collect();
    let build = Builder::new(module);
    let written = Written { build: &build, axes };
    let mut ops = Vec::new();
    walk(module, |op| {
        ops.push(op);
        WalkResult::Advance
    });
    for op in ops {
        match op_name(op) {
            "func.func" => written.boundary(op),
            "sdy.sharding_constraint" => written.constraint(op),
            _ => written.annotation(op),
        }
    }
    computations.into_iter().for_each(|computation| written.inline(computation));
    build.erase(*mesh);
    true
}

/// Has devices take constants that a partitioner reads as well as they take other arrays. Simplifications, also those on the way
/// to a partitioner, make equal constants one whatever is said of them, and partitioners end at an op that is not cut
/// and reads what devices have by themselves.
pub(crate) fn separate_constants<'c: 'a, 'a>(module: OperationRef<'c, 'a>) {
    let build = Builder::new(module);
    let attribute = |text: &str| StringAttribute::new(build.context(), text).into();
    for constant in ops_named(module, "stablehlo.constant") {
        let Some(result) = ir::first_result(constant) else { continue };
        let (inside, outside): (Vec<_>, Vec<_>) = uses(result).partition(|used| is_by_device(used.user));
        if inside.is_empty() || outside.is_empty() {
            continue;
        }
        remove_attribute(constant, OLD);
        // Behind all that begin the block: that is where simplifications put constants.
        let mut last = constant;
        while let Some(next) = last.next_in_block().filter(|next| op_name(*next) == "stablehlo.constant") {
            last = next;
        }
        build.set_insertion_point_after(last);
        let mut own = result;
        for (target, text) in [(SHARDING, "{replicated}"), (FULL_TO_SHARD, MANUAL)] {
            let attributes = [("call_target_name", attribute(target)), (OLD, attribute(text))];
            own = build.insert(
                "stablehlo.custom_call",
                &[own],
                &attributes,
                result.r#type(),
                constant.location(),
            );
        }
        inside.into_iter().for_each(|used| build.set_operand(used.user, used.operand, own));
    }
}

/// Whether devices do an op by themselves; what says nothing belongs to what it is in.
fn is_by_device(op: OperationRef<'_, '_>) -> bool {
    if ir::string_attribute(op, "call_target_name") == Some(FULL_TO_SHARD) {
        return false;
    }
    match ffi::attribute_of(op, OLD).and_then(text_of) {
        Some(text) => texts_of(text).iter().all(|text| text.trim() == MANUAL),
        None => op.parent_operation().is_some_and(is_by_device),
    }
}

/// What a module says.
struct Said<'c, 'a> {
    /// All tile assignments.
    all: Vec<Assignment>,
    /// Ops with shardings.
    ops: Vec<OperationRef<'c, 'a>>,
    functions: Vec<OperationRef<'c, 'a>>,
    symbols: Vec<&'c str>,
}

impl<'c: 'a, 'a> Said<'c, 'a> {
    fn of(module: OperationRef<'c, 'a>, partitions: i64) -> Option<Self> {
        let mut said = Self { all: Vec::new(), ops: Vec::new(), functions: Vec::new(), symbols: Vec::new() };
        let mut understood = true;
        walk(module, |op| {
            understood = understood && said.add(op, partitions).is_some();
            if understood { WalkResult::Advance } else { WalkResult::Interrupt }
        });
        (understood && !(said.ops.is_empty() && said.all.is_empty())).then_some(said)
    }

    /// Notes what an op says; `None` if that is not understood.
    fn add(&mut self, op: OperationRef<'c, 'a>, partitions: i64) -> Option<()> {
        let name = op_name(op);
        self.symbols.extend(ir::string_attribute(op, "sym_name"));
        if name.starts_with("sdy.") || ffi::attribute_of(op, NEW).is_some() {
            return None;
        }
        let target = ir::string_attribute(op, "call_target_name").unwrap_or_default();
        if target == FULL_TO_SHARD || target == SHARD_TO_FULL {
            return None;
        }
        if name == "func.func" {
            for dictionary in BOUNDARY.iter().flat_map(|name| dictionaries(op, name)) {
                ffi::attribute_in(dictionary, NEW).is_none().then_some(())?;
                if let Some(text) = ffi::attribute_in(dictionary, OLD) {
                    self.all.extend(Assignment::parse(text_of(text)?, partitions)?);
                }
            }
            self.functions.push(op);
        }
        if let Some(text) = ffi::attribute_of(op, OLD) {
            let each = texts_of(text_of(text)?);
            (name.starts_with("stablehlo.") && each.len() == op.result_count()).then_some(())?;
            for text in each {
                self.all.extend(Assignment::parse(text, partitions)?);
            }
            self.ops.push(op);
        }
        // Dimensions that a constraint leaves open stand in there.
        let config = ir::string_attribute(op, "backend_config").unwrap_or_default();
        let is_plain = config.is_empty() && op.operand_count() == 1 && ffi::attribute_of(op, OLD).is_some();
        (target != SHARDING || is_plain).then_some(())
    }

    /// A name that no symbol has.
    fn free_name(&self) -> String {
        let mut name = "mesh".to_owned();
        while self.symbols.contains(&name.as_str()) {
            name.push('_');
        }
        name
    }
}

/// Shardings on a mesh of the grid's axes.
struct Meshed<'c> {
    name: String,
    grid: Grid,
    context: &'c Context,
}

impl<'c> Meshed<'c> {
    fn axis(number: usize) -> String {
        format!("d{number}")
    }

    fn declare<'a>(&self, build: &Builder<'c, 'a>, module: OperationRef<'c, 'a>) -> Option<()>
    where
        'c: 'a,
    {
        let location = Location::unknown(self.context);
        let axes = self.grid.sizes().iter().enumerate();
        let axes: Vec<_> = axes
            .map(|(number, size)| MeshAxis::new(location, &Self::axis(number), *size))
            .collect::<Option<_>>()?;
        let mesh = Mesh::new(location, &axes, &[])?;
        build.set_insertion_point_before(module.region(0).ok()?.first_block()?.first_operation()?);
        let attributes =
            [("sym_name", StringAttribute::new(self.context, &self.name).into()), ("mesh", mesh.attribute())];
        build.op_with("sdy.mesh", &[], &attributes, &[], location);
        Some(())
    }

    /// The sharding of a value of this type.
    fn of_text(&self, text: &str, ty: Type<'c>) -> Option<TensorSharding<'c>> {
        let rank = Tensor::new(ty).map_or(0, |tensor| tensor.rank());
        let assignment = Assignment::parse(text, self.grid.devices())?;
        let cut = match assignment {
            Some(assignment) => self.grid.axes_of(&assignment).filter(|dims| dims.len() == rank)?,
            None => vec![Vec::new(); rank],
        };
        let axis = |number: &usize| AxisRef::new(self.context, &Self::axis(*number), None);
        let dim = |axes: &Vec<usize>| {
            let axes: Vec<_> = axes.iter().map(axis).collect::<Option<_>>()?;
            DimensionSharding::new(self.context, &axes, true, None)
        };
        let dims: Vec<_> = cut.iter().map(dim).collect::<Option<_>>()?;
        let reference = FlatSymbolRefAttribute::new(self.context, &self.name).into();
        TensorSharding::new(self.context, reference, &dims, &[], &[])
    }

    /// The shardings of an op's results.
    fn of_op(&self, op: OperationRef<'c, '_>) -> Option<Vec<TensorSharding<'c>>> {
        let texts = texts_of(text_of(ffi::attribute_of(op, OLD)?)?);
        texts.iter().zip(op.results()).map(|(text, result)| self.of_text(text, result.r#type())).collect()
    }

    /// What a function says of its arguments or results.
    fn at_boundary(&self, function: OperationRef<'c, '_>, name: &str) -> Option<Option<Attribute<'c>>> {
        let (arguments, results) = ffi::function_type(ffi::attribute_of(function, "function_type")?)?;
        let types = if name == BOUNDARY[0] { arguments } else { results };
        renamed(self.context, function, name, (OLD, NEW), |index, text| {
            Some(self.of_text(text_of(text)?, *types.get(index)?)?.attribute())
        })
    }

    /// Puts a constraint in the place of a custom call.
    fn constrain<'a>(&self, build: &Builder<'c, 'a>, call: OperationRef<'c, 'a>, sharding: TensorSharding<'c>)
    where
        'c: 'a,
    {
        let (Some(operand), Some(result)) = (call.operands().next(), ir::first_result(call)) else { return };
        build.set_insertion_point_before(call);
        let attributes = [("sharding", sharding.attribute())];
        let value = build.insert(
            "sdy.sharding_constraint",
            &[operand],
            &attributes,
            result.r#type(),
            call.location(),
        );
        if let Some(made) = defining_op(value) {
            carry_attributes(call, made, &[(OLD, "")]);
        }
        build.replace_all_uses_with(result, value);
        build.erase(call);
    }
}

/// Shardings as GSPMD reads them.
struct Written<'b, 'c, 'a> {
    build: &'b Builder<'c, 'a>,
    axes: Vec<(&'c str, i64)>,
}

impl<'c: 'a, 'a> Written<'_, 'c, 'a> {
    fn text(&self, sharding: TensorSharding<'c>) -> String {
        let number = |axis: AxisRef<'c>| self.axes.iter().position(|(name, _)| *name == axis.name());
        let dims = sharding.dims();
        let cut = dims.iter().map(|dim| dim.axes().iter().filter_map(number).collect()).collect::<Vec<_>>();
        let sizes: Vec<i64> = self.axes.iter().map(|(_, size)| *size).collect();
        assignment::written(&cut, &sizes)
    }

    fn attribute(&self, text: &str) -> Attribute<'c> {
        StringAttribute::new(self.build.context(), text).into()
    }

    fn boundary(&self, function: OperationRef<'c, 'a>) {
        for name in BOUNDARY {
            let list = renamed(self.build.context(), function, name, (NEW, OLD), |_, sharding| {
                Some(self.attribute(&self.text(TensorSharding::view(sharding)?)))
            });
            if let Some(Some(list)) = list {
                set_attribute(function, name, list);
            }
        }
    }

    fn annotation(&self, op: OperationRef<'c, 'a>) {
        let Some(all) = ffi::attribute_of(op, NEW).and_then(TensorShardingPerValue::view) else { return };
        let texts: Vec<String> = all.shardings().iter().map(|sharding| self.text(sharding)).collect();
        remove_attribute(op, NEW);
        set_discardable_attribute(op, OLD, self.attribute(&joined(&texts)));
    }

    fn constraint(&self, op: OperationRef<'c, 'a>) {
        let sharding = ffi::attribute_of(op, "sharding").and_then(TensorSharding::view);
        let (Some(sharding), Some(operand), Some(result)) =
            (sharding, op.operands().next(), ir::first_result(op))
        else {
            return;
        };
        self.build.set_insertion_point_before(op);
        let call = self.call(SHARDING, operand, &self.text(sharding), result.r#type(), op.location());
        if let Some(made) = defining_op(call) {
            carry_attributes(op, made, &[]);
        }
        self.build.replace_all_uses_with(result, call);
        self.build.erase(op);
    }

    fn call(
        &self,
        target: &str,
        operand: Value<'c, 'a>,
        text: &str,
        ty: Type<'c>,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        let attributes = [("call_target_name", self.attribute(target)), (OLD, self.attribute(text))];
        self.build.insert("stablehlo.custom_call", &[operand], &attributes, ty, location)
    }

    /// Puts what a manual computation does in its place.
    fn inline(&self, computation: OperationRef<'c, 'a>) {
        let shardings = |name: &str| -> Vec<TensorSharding<'c>> {
            let all = ffi::attribute_of(computation, name).and_then(TensorShardingPerValue::view);
            all.map(|all| all.shardings().iter().collect()).unwrap_or_default()
        };
        let Some(block) = computation.region(0).ok().and_then(|region| region.first_block()) else { return };
        let location = computation.location();
        self.build.set_insertion_point_before(computation);
        for (index, (operand, sharding)) in computation.operands().zip(shardings("in_shardings")).enumerate()
        {
            let Ok(argument) = block.argument(index).map(Value::from) else { continue };
            let text = self.text(sharding);
            let whole = self.call(SHARDING, operand, &text, operand.r#type(), location);
            let own = self.call(FULL_TO_SHARD, whole, MANUAL, argument.r#type(), location);
            self.build.replace_all_uses_with(argument, own);
        }
        let mut ops: Vec<_> = ops_in(block).collect();
        let Some(end) = ops.pop() else { return };
        for op in ops {
            self.by_device(op);
            self.build.move_before(op, computation);
        }
        self.build.set_insertion_point_before(computation);
        let results = computation.results().zip(shardings("out_shardings"));
        for (own, (result, sharding)) in end.operands().zip(results) {
            let own = self.call(SHARDING, own, MANUAL, own.r#type(), location);
            let whole = self.call(SHARD_TO_FULL, own, &self.text(sharding), result.r#type(), location);
            self.build.replace_all_uses_with(result.into(), whole);
        }
        self.build.erase(computation);
    }

    /// Marks an op, and what is in its branches or its loop, as one that devices do by themselves.
    fn by_device(&self, op: OperationRef<'c, 'a>) {
        let mut pending = vec![op];
        while let Some(op) = pending.pop() {
            if op.result_count() > 0 {
                let texts = vec![MANUAL.to_owned(); op.result_count()];
                set_discardable_attribute(op, OLD, self.attribute(&joined(&texts)));
            }
            if !matches!(op_name(op), "stablehlo.while" | "stablehlo.if" | "stablehlo.case") {
                continue;
            }
            for block in op.regions().filter_map(|region| region.first_block()) {
                pending.extend(ops_in(block));
            }
        }
    }
}

/// What devices do by themselves.
const MANUAL: &str = "{manual}";

/// The sharding of an op with so many results.
fn joined(texts: &[String]) -> String {
    match texts {
        [one] => one.clone(),
        _ => format!("{{{}}}", texts.join(", ")),
    }
}

fn text_of(attribute: Attribute<'_>) -> Option<&str> {
    Some(ffi::string_value(StringAttribute::try_from(attribute).ok()?))
}

/// One sharding per result: `{{replicated}, {manual}}` are two.
fn texts_of(text: &str) -> Vec<&str> {
    let inner = text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}')).map(str::trim);
    let Some(inner) = inner.filter(|inner| inner.starts_with('{')) else { return vec![text] };
    let (mut depth, mut start, mut all) = (0, 0, Vec::new());
    for (at, letter) in inner.char_indices() {
        match letter {
            '{' => {
                start = if depth == 0 { at } else { start };
                depth += 1;
            }
            '}' => {
                depth -= 1;
                if depth == 0 {
                    all.push(&inner[start..=at]);
                }
            }
            _ => {}
        }
    }
    all
}

fn dictionaries<'c>(function: OperationRef<'c, '_>, name: &str) -> Vec<DictionaryAttribute<'c>> {
    let list = ffi::attribute_of(function, name).and_then(|list| ArrayAttribute::try_from(list).ok());
    let Some(list) = list else { return Vec::new() };
    (0..list.len())
        .filter_map(|index| DictionaryAttribute::try_from(list.element(index).ok()?).ok())
        .collect()
}

/// What a function says of its arguments or results, with one attribute under another name and with another value, if there is any;
/// `None` if a value has no other.
fn renamed<'c>(
    context: &'c Context,
    function: OperationRef<'c, '_>,
    list: &str,
    (from, to): (&str, &str),
    mut value: impl FnMut(usize, Attribute<'c>) -> Option<Attribute<'c>>,
) -> Option<Option<Attribute<'c>>> {
    let mut made: Vec<Attribute<'c>> = Vec::new();
    let mut any = false;
    for (index, dictionary) in dictionaries(function, list).into_iter().enumerate() {
        let mut named = Vec::with_capacity(dictionary.len());
        for at in 0..dictionary.len() {
            let (name, own) = dictionary.element(at).ok()?;
            if name.as_string_ref().as_str() == Ok(from) {
                any = true;
                named.push((Identifier::new(context, to), value(index, own)?));
            } else {
                named.push((name, own));
            }
        }
        made.push(DictionaryAttribute::new(context, &named).into());
    }
    Some(any.then(|| ArrayAttribute::new(context, &made).into()))
}
