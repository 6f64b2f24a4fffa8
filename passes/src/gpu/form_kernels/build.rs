// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Makes the kernel functions of a partition, and puts calls in the place of what they compute.

use super::ops::{Class, is_plain_operand, size_of};
use super::partition::Partition;
use super::unset::UNSET;
use crate::framework::{PassError, fingerprint};
use crate::gpu::emit::roots;
use crate::ir::{Builder, key, op_key};
use crate::rewrite::{defining_op, set_discardable_attribute, uses, walk};
use melior::ir::attribute::{FlatSymbolRefAttribute, StringAttribute, TypeAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::r#type::FunctionType;
use melior::ir::{
    Attribute, AttributeLike, BlockRef, OperationRef, RegionLike, Type, TypeLike, Value, ValueLike,
};
use slimhlo_dialect::ffi::{attribute_of, op_name};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// Writes kernels at the end of a module, and calls of them.
pub struct Build<'c, 'a, 'p> {
    partition: &'p Partition<'c, 'a>,
    builder: Builder<'c, 'a>,
    module: BlockRef<'c, 'a>,
    /// Kernels by all that tells two apart.
    known: HashMap<Vec<usize>, String>,
    /// Names that are taken.
    names: HashSet<String>,
    /// How many kernels have been named after an op.
    numbers: HashMap<String, usize>,
    /// What stored values have become.
    values: HashMap<usize, Value<'c, 'a>>,
}

impl<'c: 'a, 'a, 'p> Build<'c, 'a, 'p> {
    /// Writes to `module`, in which `names` are taken.
    pub fn new(
        module: OperationRef<'c, 'a>,
        block: BlockRef<'c, 'a>,
        partition: &'p Partition<'c, 'a>,
        names: HashSet<String>,
    ) -> Self {
        Self {
            partition,
            builder: Builder::new(module),
            module: block,
            known: HashMap::new(),
            names,
            numbers: HashMap::new(),
            values: HashMap::new(),
        }
    }

    /// Replaces all that is computed by calls, and erases it. Gives how many kernels there are.
    pub fn run(mut self) -> Result<usize, PassError<'c>> {
        let count = self.partition.nodes.len();
        let mut at: HashMap<usize, usize> = HashMap::new();
        for (kernel, made) in self.partition.kernels.iter().enumerate() {
            if let Some(root) = made.called_at() {
                at.insert(root, kernel);
            }
        }
        for node in 0..count {
            let entry = &self.partition.nodes[node];
            if let Some(&kernel) = at.get(&node) {
                self.call(kernel)?;
                continue;
            }
            match entry.class {
                Class::Control | Class::Terminator => self.renew_operands(entry.op),
                Class::View if entry.stored => self.renew_operands(entry.op),
                _ => {}
            }
        }
        for node in (0..count).rev() {
            let entry = &self.partition.nodes[node];
            let stays = match entry.class {
                Class::Control | Class::Terminator => true,
                Class::View | Class::Table => entry.stored,
                _ => false,
            };
            if !stays {
                self.builder.erase(entry.op);
            }
        }
        Ok(self.known.len())
    }

    fn renew(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        self.values.get(&key(value)).copied().unwrap_or(value)
    }

    fn renew_operands(&self, op: OperationRef<'c, 'a>) {
        let operands: Vec<_> = op.operands().collect();
        for (index, operand) in operands.into_iter().enumerate() {
            let renewed = self.renew(operand);
            if key(renewed) != key(operand) {
                self.builder.set_operand(op, index, renewed);
            }
        }
    }

    fn call(&mut self, kernel: usize) -> Result<(), PassError<'c>> {
        let (nodes, mut given) = self.partition.body(kernel);
        // What is changed, if it is read elsewhere as it was: whoever plans memory sees it twice.
        let again: Vec<Value> = given
            .iter()
            .copied()
            .filter(|value| {
                self.is_changed(kernel, *value) && self.partition.reads_what_it_writes(kernel, &nodes, *value)
            })
            .collect();
        given.extend(again);
        let root = self.partition.kernels[kernel].called_at().unwrap_or(0);
        let op = self.partition.nodes[root].op;
        let signature = self.signature(kernel, &nodes, &given);
        let name = match self.known.get(&signature) {
            Some(name) => name.clone(),
            None => {
                let name = self.name(kernel);
                self.function(kernel, &name, &nodes, &given)?;
                self.known.insert(signature, name.clone());
                name
            }
        };
        self.builder.set_insertion_point_before(op);
        let operands: Vec<_> = given.iter().map(|value| self.renew(*value)).collect();
        let old: Vec<Value> = self.results(kernel);
        let types: Vec<Type> = old.iter().map(|value| value.r#type()).collect();
        let callee = FlatSymbolRefAttribute::new(self.builder.context(), &name);
        let call =
            self.builder.op_with("func.call", &operands, &[("callee", callee.into())], &types, op.location());
        for (old, new) in old.iter().zip(call.results()) {
            self.values.insert(key(*old), new.into());
        }
        Ok(())
    }

    /// Whether a kernel writes over a value.
    fn is_changed(&self, kernel: usize, value: Value<'c, 'a>) -> bool {
        let roots = self.partition.kernels[kernel].roots.iter();
        let mut over = roots.flat_map(|&root| self.written_over(root)).flatten();
        over.any(|operand| key(operand) == key(value))
    }

    /// By result of a node: the operand whose memory it takes.
    fn written_over(&self, node: usize) -> Vec<Option<Value<'c, 'a>>> {
        let op = self.partition.nodes[node].op;
        let Class::Root(kind @ ("update" | "scatter")) = self.partition.nodes[node].class else {
            return vec![None; op.result_count()];
        };
        let operands = op.operands().enumerate().take(op.result_count());
        operands.map(|(index, operand)| is_plain_operand(op, kind, index).then_some(operand)).collect()
    }

    /// What a kernel stores: the results of its roots, but those that nobody needs and the kernel can do without.
    fn results(&self, kernel: usize) -> Vec<Value<'c, 'a>> {
        let roots = &self.partition.kernels[kernel].roots;
        let mut stored: Vec<Value> = Vec::new();
        for &root in roots {
            let op = self.partition.nodes[root].op;
            let drops = roots::drops_results(op);
            let results = op.results().map(Value::from);
            stored.extend(results.filter(|result| !drops || uses(*result).next().is_some()));
        }
        stored
    }

    /// Named after what it is rooted at; a sort of which slices are stored after itself.
    fn name(&mut self, kernel: usize) -> String {
        let made = &self.partition.kernels[kernel];
        let root = if made.kind == "sort" {
            Some(self.partition.base_of(kernel))
        } else {
            made.roots.last().copied()
        };
        let root = root.map_or("", |root| op_name(self.partition.nodes[root].op));
        let local = root.split_once('.').map_or(root, |(_, local)| local);
        loop {
            let number = self.numbers.entry(local.to_owned()).or_default();
            let name = format!("{local}_{number}");
            *number += 1;
            if self.names.insert(name.clone()) {
                return name;
            }
        }
    }

    /// All that tells a kernel from others: ops, how they hang together, attributes and types.
    fn signature(&self, kernel: usize, nodes: &[usize], given: &[Value<'c, 'a>]) -> Vec<usize> {
        let mut numbers = HashMap::new();
        let mut signature = vec![self.partition.kernels[kernel].kind.as_ptr() as usize, given.len()];
        for value in given {
            let next = numbers.len();
            let number = *numbers.entry(key(*value)).or_insert(next);
            signature.extend([number, value.r#type().to_raw().ptr as usize]);
        }
        for &node in nodes {
            let op = self.partition.nodes[node].op;
            signature.push(op_name(op).as_ptr() as usize);
            for operand in self.partition.operands(node) {
                signature.push(numbers.get(&key(operand)).copied().unwrap_or(usize::MAX));
            }
            for (name, attribute) in op.attributes() {
                signature.push(name.to_raw().ptr as usize);
                signature.push(attribute.to_raw().ptr as usize);
            }
            if op.region_count() > 0 {
                // Values captured from outside are printed as part of it, so those that differ tell ops apart, at worst too often.
                signature.push(fingerprint(op) as usize);
            }
            for result in op.results() {
                numbers.insert(key(result.into()), numbers.len());
                signature.push(result.r#type().to_raw().ptr as usize);
            }
        }
        signature.push(usize::MAX);
        for result in self.results(kernel) {
            signature.push(numbers.get(&key(result)).copied().unwrap_or(usize::MAX));
        }
        signature
    }

    fn function(
        &mut self,
        kernel: usize,
        name: &str,
        nodes: &[usize],
        given: &[Value<'c, 'a>],
    ) -> Result<(), PassError<'c>> {
        let context = self.builder.context();
        let partition = self.partition;
        let made = &partition.kernels[kernel];
        let inputs: Vec<Type> = given.iter().map(|value| value.r#type()).collect();
        let results = self.results(kernel);
        let outputs: Vec<Type> = results.iter().map(|value| value.r#type()).collect();
        let location = partition.nodes[*made.roots.last().unwrap_or(&0)].op.location();
        self.builder.set_insertion_point_to_end(self.module);
        let (in_place, pointwise) = self.sharing(kernel, nodes, given);
        let mut attributes: Vec<(&str, Attribute)> = vec![
            ("sym_name", StringAttribute::new(context, name).into()),
            (
                "function_type",
                TypeAttribute::new(FunctionType::new(context, &inputs, &outputs).into()).into(),
            ),
            ("sym_visibility", StringAttribute::new(context, "private").into()),
            ("slimhlo.kernel", StringAttribute::new(context, made.kind).into()),
        ];
        if in_place.iter().any(|&argument| argument >= 0) {
            attributes.push(("slimhlo.in_place", self.builder.i64_array(&in_place)));
        }
        if !pointwise.is_empty() {
            attributes.push(("slimhlo.pointwise", self.builder.i64_array(&pointwise)));
        }
        let function = self.builder.op_with_regions("func.func", &[], &attributes, &[], &[&inputs], location);
        let block = function
            .region(0)
            .ok()
            .and_then(|region| region.first_block())
            .ok_or_else(|| PassError::new("a function was made without a block"))?;
        let mut values: HashMap<usize, Value<'c, 'a>> = HashMap::new();
        // Those that are given a second time are what the root changes.
        let mut changed: HashMap<usize, Value<'c, 'a>> = HashMap::new();
        for (index, value) in given.iter().enumerate() {
            let argument: Value = block.argument(index)?.into();
            match values.entry(key(*value)) {
                Entry::Occupied(_) => {
                    changed.insert(key(*value), argument);
                }
                Entry::Vacant(place) => {
                    place.insert(argument);
                }
            }
        }
        let map = |values: &HashMap<usize, Value<'c, 'a>>, value: Value<'c, 'a>| {
            values.get(&key(value)).copied().unwrap_or(value)
        };
        for &node in nodes {
            let op = partition.nodes[node].op;
            self.builder.set_insertion_point_to_end(block);
            let operands: Vec<_> = op
                .operands()
                .enumerate()
                .map(|(index, operand)| {
                    let plain = match partition.nodes[node].class {
                        Class::Root(kind) => made.roots.contains(&node) && is_plain_operand(op, kind, index),
                        _ => false,
                    };
                    changed
                        .get(&key(operand))
                        .copied()
                        .filter(|_| plain)
                        .unwrap_or_else(|| map(&values, operand))
                })
                .collect();
            let types: Vec<_> = op.results().map(|result| result.r#type()).collect();
            let copy = self.builder.copy_with(op, &operands, &[], &types);
            self.renew_captures(copy, &values);
            for (old, new) in op.results().zip(copy.results()) {
                values.insert(key(old.into()), new.into());
            }
        }
        self.builder.set_insertion_point_to_end(block);
        let returned: Vec<_> = results.iter().map(|result| map(&values, *result)).collect();
        self.builder.terminator("func.return", &returned, location);
        let makes_nothing = |node: &usize| attribute_of(partition.nodes[*node].op, UNSET).is_some();
        if nodes.iter().all(makes_nothing) {
            set_discardable_attribute(function, UNSET, Attribute::unit(context));
        }
        if !matches!(made.kind, "map" | "update" | "rows") {
            let root = partition.nodes[partition.base_of(kernel)].op.results().next();
            let root = root.and_then(|result| defining_op(map(&values, result.into())));
            let scratch: Vec<i64> =
                root.map_or(Ok(vec![]), roots::scratch)?.into_iter().map(|bytes| bytes as i64).collect();
            if !scratch.is_empty() {
                set_discardable_attribute(function, "slimhlo.scratch", self.builder.i64_array(&scratch));
            }
        }
        Ok(())
    }

    /// Lets regions of a copy use what is in the kernel; constants are put into the region.
    fn renew_captures(&self, copy: OperationRef<'c, 'a>, values: &HashMap<usize, Value<'c, 'a>>) {
        if copy.region_count() == 0 {
            return;
        }
        let mut nested = Vec::new();
        walk(copy, |op| {
            if op_key(op) != op_key(copy) {
                nested.push(op);
            }
            WalkResult::Advance
        });
        let mut own: HashMap<(usize, usize), Value<'c, 'a>> = HashMap::new();
        // By block: its first op.
        let mut first: HashMap<usize, OperationRef<'c, 'a>> = HashMap::new();
        for op in nested {
            if let Some(block) = op.block() {
                first.entry(block.to_raw().ptr as usize).or_insert(op);
            }
            let operands: Vec<_> = op.operands().collect();
            for (index, operand) in operands.into_iter().enumerate() {
                let Some(&inside) = values.get(&key(operand)) else { continue };
                let constant = defining_op(inside).filter(|op| op_name(*op) == "stablehlo.constant");
                let renewed = match (constant, op.block()) {
                    (Some(constant), Some(block)) => {
                        let place = (block.to_raw().ptr as usize, key(inside));
                        *own.entry(place).or_insert_with(|| {
                            self.builder.set_insertion_point_before(first[&place.0]);
                            let types = [inside.r#type()];
                            let copy = self.builder.copy_with(constant, &[], &[], &types);
                            copy.result(0).map_or(inside, Value::from)
                        })
                    }
                    _ => inside,
                };
                self.builder.set_operand(op, index, renewed);
            }
        }
    }

    /// By result: the argument it must lie in, -1 for none; and the arguments that are read only where results are written.
    fn sharing(&self, kernel: usize, nodes: &[usize], given: &[Value<'c, 'a>]) -> (Vec<i64>, Vec<i64>) {
        let made = &self.partition.kernels[kernel];
        let results = self.results(kernel);
        let position = |value: Value<'c, 'a>| {
            given.iter().rposition(|other| key(*other) == key(value)).map_or(-1, |at| at as i64)
        };
        let over: Vec<_> = made.roots.iter().flat_map(|&root| self.written_over(root)).collect();
        if over.iter().any(Option::is_some) {
            let places = over.into_iter().map(|operand| operand.map_or(-1, &position));
            return (places.collect(), Vec::new());
        }
        let root = self.partition.nodes[made.roots[0]].op;
        let is_dealt_out = matches!(made.kind, "map" | "reduce" | "dot" | "convolution")
            || made.kind == "rows" && self.partition.nodes[made.roots[0]].class != Class::Root("reduce");
        if !is_dealt_out && !roots::reads_once(root) {
            return (vec![-1; results.len()], Vec::new());
        }
        // An argument that is read only where its own element is written: its users are elementwise, and so on.
        let inside: HashSet<usize> = nodes.iter().copied().collect();
        let mut elsewhere: HashSet<usize> = HashSet::new();
        for &node in nodes.iter().rev() {
            let entry = &self.partition.nodes[node];
            // Who has an element of a row reads it for all that the row is reduced to before storing anything.
            let is_of_row = made.kind == "rows" && entry.class == Class::Root("reduce");
            let moved = elsewhere.contains(&node);
            for operand in self.partition.operands(node) {
                if is_of_row && size_of(operand).0 == made.elements {
                    continue;
                }
                let pointwise = match entry.class {
                    Class::Pointwise => size_of(operand).0 == made.elements,
                    Class::View => true,
                    Class::Root(_) => roots::reads_once(entry.op) && size_of(operand).0 == made.elements,
                    _ => false,
                };
                if moved || !pointwise || entry.elements != made.elements {
                    match self.partition.node_of(operand).filter(|node| inside.contains(node)) {
                        Some(inner) => {
                            elsewhere.insert(inner);
                        }
                        None => {
                            elsewhere.insert(usize::MAX - position(operand).unsigned_abs() as usize);
                        }
                    }
                }
            }
        }
        let pointwise = (0..given.len())
            .filter(|index| {
                size_of(given[*index]).0 == made.elements && !elsewhere.contains(&(usize::MAX - index))
            })
            .map(|index| index as i64)
            .collect();
        (vec![-1; results.len()], pointwise)
    }
}
