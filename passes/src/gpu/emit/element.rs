// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A kernel under construction, and how one element of any value in it is computed on the fly.
//!
//! [`Kernel::element`] follows a value to what it is computed from, by index arithmetic, until it comes to buffers, constants
//! and positions. An element that has been computed in a block is not computed again there or in blocks nested in it: since
//! [`Code`] gives the same index twice as the same value, whole subgraphs are met again that way, and a graph costs what its
//! distinct elements cost.
//!
//! Where only one of several sources is needed (a pad, a concatenation), what is cheap is computed in any case, with loads
//! held within their buffers, and the result selected: no branch keeps loads from being in flight together. What is dear is
//! computed in a branch.

mod index;
mod memory;

use index::index_bits;

use super::code::{Code, Scalar};
use super::cost::own_cost;
pub use super::grids::{BLOCK, GRID, Grids};
use super::{numbers, shape};
use crate::framework::PassError;
use crate::gpu::rounds;
use crate::ir;
use crate::rewrite::{defining_op, set_attribute, set_discardable_attribute};
use melior::ir::attribute::{ArrayAttribute, DenseI32ArrayAttribute, StringAttribute, TypeAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::FunctionType;
use melior::ir::{Attribute, BlockRef, OperationRef, RegionLike, Type, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::types::Tensor;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

/// Calls of [`Kernel::element`] within each other.
const DEEPEST: usize = 400;
/// Cost up to which a source is computed whether it is needed or not, and from which on it has to be, lest its parts be
/// written once for each branch.
const CHEAP: u64 = 40;
const HUGE: u64 = 4096;
/// Cost of the dearest ops that are a few instructions.
const SIMPLE: u64 = 4;
/// Elements of one byte in the widest load.
const MOST_NEIGHBOURS: i64 = 16;
/// Stands for every index.
const EVERYWHERE: usize = usize::MAX;

/// A kernel being written: its `gpu.func` and what is known of it.
pub struct Kernel<'c, 'a> {
    /// What ops are made with.
    pub code: Code<'c, 'a>,
    /// The kernel function: what the kernel means.
    pub function: OperationRef<'c, 'a>,
    gpu_module: OperationRef<'c, 'a>,
    gpu_function: OperationRef<'c, 'a>,
    entry: BlockRef<'c, 'a>,
    /// Whether the body is done or not.
    is_guarded: bool,
    operands: Vec<Value<'c, 'a>>,
    results: Vec<Value<'c, 'a>>,
    scratch: Vec<Value<'c, 'a>>,
    /// What the kernel function returns.
    values: Vec<Value<'c, 'a>>,
    shared: RefCell<Vec<Value<'c, 'a>>>,
    /// Pointers that nothing is written through, by key.
    read_only: RefCell<HashMap<usize, bool>>,
    /// Elements computed.
    elements: RefCell<HashMap<Place, Scalar<'c, 'a>>>,
    /// Row-major positions of indices that were made from one.
    positions: RefCell<HashMap<Position, Value<'c, 'a>>>,
    /// Which call of a region's block is being inlined, by block.
    frames: RefCell<HashMap<usize, usize>>,
    next_frame: Cell<usize>,
    /// Whether indices may be out of bounds, because what comes of them may not be used.
    speculative: Cell<bool>,
    depth: Cell<usize>,
    costs: RefCell<HashMap<usize, u64>>,
    launched: Cell<bool>,
    /// Names of constants in the module, by their ops.
    tables: RefCell<HashMap<usize, String>>,
    name: String,
    pointer: Type<'c>,
}

/// Where indices were made, for which shape, and which they are.
type Position = (usize, Vec<i64>, Vec<usize>);

/// An element's place in a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Spot<'c, 'a> {
    pointer: Value<'c, 'a>,
    position: Value<'c, 'a>,
}

/// Where an element was computed, in which call of a region, of which value, whether speculatively, at which index.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Place {
    scope: usize,
    frame: usize,
    value: usize,
    speculative: bool,
    index: Vec<usize>,
}

/// The tensor type of a value; all values in kernels are static tensors.
///
/// # Errors
/// The type is no tensor of static shape; at the op that makes the value.
pub fn tensor<'c>(value: Value<'c, '_>) -> Result<Tensor<'c>, PassError<'c>> {
    let found = Tensor::new(value.r#type()).filter(Tensor::is_static);
    found.ok_or_else(|| {
        let message = format!("has a value of type {} where a static tensor is needed", value.r#type());
        match defining_op(value) {
            Some(op) => PassError::at(op, message),
            None => PassError::new(message),
        }
    })
}

/// Number of elements of a shape; saturates.
pub fn count_of(shape: &[i64]) -> i64 {
    shape.iter().fold(1, |count, size| count.saturating_mul(*size))
}

/// What a `func.func` returns.
pub fn returned<'c: 'a, 'a>(function: OperationRef<'c, 'a>) -> Vec<Value<'c, 'a>> {
    body_of(function).and_then(|block| block.terminator()).map_or(vec![], |op| op.operands().collect())
}

/// The entry block of a function.
pub fn body_of<'c: 'a, 'a>(function: OperationRef<'c, 'a>) -> Option<BlockRef<'c, 'a>> {
    function.region(0).ok().and_then(|region| region.first_block())
}

impl<'c: 'a, 'a> Kernel<'c, 'a> {
    /// Begins the `gpu.func` of a kernel function, at the end of a `gpu.module`.
    ///
    /// # Errors
    /// The function has no body or returns what is no static tensor, the module has no block, or a dialect of
    /// kernels is not loaded.
    pub fn new(
        gpu_module: OperationRef<'c, 'a>,
        function: OperationRef<'c, 'a>,
        name: &str,
    ) -> Result<Self, PassError<'c>> {
        let location = function.location();
        let block = body_of(function).ok_or_else(|| PassError::at(function, "has no body"))?;
        let module_block =
            body_of(gpu_module).ok_or_else(|| PassError::at(gpu_module, "has no block for kernels"))?;
        let build = ir::Builder::new(gpu_module);
        build.set_insertion_point_to_end(module_block);
        let context = build.context();

        let results = returned(function);
        let scratch = ir::i64_array(function, "slimhlo.scratch").unwrap_or_default().len();
        let (operand_count, result_count) = (block.argument_count(), results.len());
        let pointer = Type::parse(context, "!llvm.ptr<1>")
            .ok_or_else(|| PassError::new("needs the llvm dialect, which is not loaded"))?;
        let is_guarded = rounds::is_guarded(function);
        let types = vec![pointer; operand_count + result_count + scratch + usize::from(is_guarded)];
        let op = build.op_with_blocks("gpu.func", &[], &[], &[&types], location);
        set_attribute(op, "sym_name", StringAttribute::new(context, name).into());
        let ty = FunctionType::new(context, &types, &[]);
        set_attribute(op, "function_type", TypeAttribute::new(ty.into()).into());
        set_discardable_attribute(op, "gpu.kernel", Attribute::unit(context));

        let entry = body_of(op).ok_or_else(|| PassError::new("cannot make a gpu.func"))?;
        let arguments: Vec<Value<'c, 'a>> = (0..entry.argument_count())
            .filter_map(|index| entry.argument(index).ok())
            .map(Value::from)
            .collect();

        // A buffer is read only if no result is written to it.
        let mut read_only = HashMap::new();
        let mut shared = vec![false; types.len()];
        for name in ["slimhlo.in_place", "slimhlo.may_share"] {
            for (result, argument) in ir::i64_array(function, name).unwrap_or_default().iter().enumerate() {
                if let Some(argument) = usize::try_from(*argument).ok().filter(|at| *at < operand_count)
                    && result < result_count
                {
                    shared[argument] = true;
                    shared[operand_count + result] = true;
                }
            }
        }
        // Whoever plans memory may still put any result into one of these.
        let pointwise = ir::i64_array(function, "slimhlo.pointwise").unwrap_or_default();
        for argument in pointwise.iter().filter_map(|argument| usize::try_from(*argument).ok()) {
            if argument < operand_count {
                shared[argument] = true;
                shared[operand_count..operand_count + result_count].fill(true);
            }
        }
        for index in 0..operand_count {
            read_only.insert(ir::key(arguments[index]), !shared[index]);
        }
        let attributes = shared.iter().map(|shared| {
            let text =
                if *shared { "{llvm.align = 16 : i64}" } else { "{llvm.align = 16 : i64, llvm.noalias}" };
            Attribute::parse(context, text).unwrap_or_else(|| Attribute::unit(context))
        });
        let attributes: Vec<_> = attributes.collect();
        set_attribute(op, "arg_attrs", ArrayAttribute::new(context, &attributes).into());
        let (operands, rest) = arguments.split_at(operand_count);
        let (results, rest) = rest.split_at(result_count);
        let (scratch, guard) = rest.split_at(scratch);
        let body = rounds::body(&build, entry, guard.first().copied(), location)?;
        Ok(Self {
            code: Code::new(gpu_module, body, location, index_bits(function)),
            function,
            gpu_module,
            gpu_function: op,
            entry,
            is_guarded,
            operands: operands.to_vec(),
            results: results.to_vec(),
            scratch: scratch.to_vec(),
            values: returned(function),
            shared: RefCell::default(),
            read_only: RefCell::new(read_only),
            elements: RefCell::default(),
            positions: RefCell::default(),
            frames: RefCell::default(),
            next_frame: Cell::new(1),
            speculative: Cell::new(false),
            depth: Cell::new(0),
            costs: RefCell::default(),
            launched: Cell::new(false),
            tables: RefCell::default(),
            name: name.into(),
            pointer,
        })
    }

    /// Ends the `gpu.func`.
    pub fn finish(&self) {
        self.code.set_location(self.function.location());
        if self.is_guarded {
            self.code.effect("scf.yield", &[]);
            self.code.go_to(self.entry);
        }
        self.code.effect("gpu.return", &[]);
        if !self.launched.get() {
            self.launch(1, 1);
        }
    }

    /// The `gpu.module` that kernels are in.
    pub fn gpu_module(&self) -> OperationRef<'c, 'a> {
        self.gpu_module
    }

    /// The block of the kernel function.
    ///
    /// # Errors
    /// The function has no body.
    pub fn block(&self) -> Result<BlockRef<'c, 'a>, PassError<'c>> {
        body_of(self.function).ok_or_else(|| PassError::at(self.function, "has no body"))
    }

    /// The values that the kernel function returns.
    pub fn returned(&self) -> &[Value<'c, 'a>] {
        &self.values
    }

    /// Pointer to the buffer of an argument of the kernel function.
    pub fn operand(&self, index: usize) -> Value<'c, 'a> {
        self.operands[index]
    }

    /// How many results the kernel function has.
    pub fn result_count(&self) -> usize {
        self.results.len()
    }

    /// The value that the kernel function returns as result `index`.
    pub fn result_value(&self, index: usize) -> Value<'c, 'a> {
        self.values[index]
    }

    /// Pointer to the buffer of a result.
    pub fn result_pointer(&self, index: usize) -> Value<'c, 'a> {
        self.results[index]
    }

    /// Pointer to a scratch buffer.
    pub fn scratch_pointer(&self, index: usize) -> Value<'c, 'a> {
        self.scratch[index]
    }

    /// How many scratch buffers there are.
    pub fn scratch_count(&self) -> usize {
        self.scratch.len()
    }

    /// Memory of a block of threads that the kernel was given: a `memref` of registers.
    pub fn shared(&self, index: usize) -> Value<'c, 'a> {
        self.shared.borrow()[index]
    }

    /// The element type's zero: all bits are.
    ///
    /// # Errors
    /// Kernels cannot compute with such elements; at the kernel function.
    pub fn zero(&self, element: Type<'c>) -> Result<Scalar<'c, 'a>, PassError<'c>> {
        let bytes =
            slimhlo_dialect::dense::element_bytes(element).ok_or_else(|| self.unsupported(element))?;
        numbers::constant_of_bytes(&self.code, &vec![0; bytes], element)
    }

    /// Lets every element of a value be a scalar, from now on to the end of the block that is being written.
    pub fn bind(&self, value: Value<'c, 'a>, element: Scalar<'c, 'a>) {
        let mut place = self.place(value, &[]);
        place.index = vec![EVERYWHERE];
        place.speculative = false;
        self.elements.borrow_mut().insert(place, element);
    }

    /// Pointer to the buffer that a value is in, if it is an argument of the kernel function.
    pub fn buffer_of(&self, value: Value<'c, 'a>) -> Option<Value<'c, 'a>> {
        let argument = ffi::as_block_argument(value)?;
        let own = body_of(self.function)?.to_raw().ptr == argument.owner().to_raw().ptr;
        own.then(|| self.operands.get(argument.argument_number()).copied())?
    }

    /// Gives a block of threads memory for so many registers of a type.
    ///
    /// # Errors
    /// There is no memory of such registers; at the kernel function.
    pub fn add_shared(&self, ty: Type<'c>, count: i64) -> Result<(), PassError<'c>> {
        let text = format!("memref<{count}x{ty}, #gpu.address_space<workgroup>>");
        let ty = Type::parse(self.code.context(), &text).ok_or_else(|| self.unsupported(ty))?;
        let name = "workgroup_attributions";
        let before = ir::constant_attribute(self.gpu_function, name).unwrap_or(0);
        set_discardable_attribute(self.gpu_function, name, self.code.i64_attribute(before + 1));
        self.shared.borrow_mut().push(self.entry.add_argument(ty, self.function.location()));
        Ok(())
    }

    /// Says how many threads of a block, and how many blocks, the kernel is best launched with.
    pub fn launch(&self, block: i64, grid: i64) {
        self.launched.set(true);
        for (name, size) in [("known_block_size", block), ("known_grid_size", grid)] {
            let size = i32::try_from(size.max(1)).unwrap_or(i32::MAX);
            let attribute = DenseI32ArrayAttribute::new(self.code.context(), &[size, 1, 1]);
            set_attribute(self.gpu_function, name, attribute.into());
        }
    }

    /// Launches as many threads as there is work for, within what fills a device.
    pub fn launch_for(&self, threads: i64) {
        let block = if threads >= BLOCK { BLOCK } else { (threads.max(1) as u64).next_power_of_two() as i64 };
        self.launch(block, threads.saturating_add(block - 1).div_euclid(block).clamp(1, GRID));
    }

    /// Number of this thread among all of the grid.
    pub fn thread(&self) -> Value<'c, 'a> {
        let code = &self.code;
        let (block, size) = (code.gpu("gpu.block_id"), code.gpu("gpu.block_dim"));
        code.add(code.mul(block, size), code.gpu("gpu.thread_id"))
    }

    /// Number of threads of the grid.
    pub fn threads(&self) -> Value<'c, 'a> {
        self.code.mul(self.code.gpu("gpu.grid_dim"), self.code.gpu("gpu.block_dim"))
    }

    /// Lets each number below `count` be met by one thread, next ones by next threads.
    ///
    /// # Errors
    /// What `body` fails with.
    pub fn grid_stride(
        &self,
        count: i64,
        body: impl FnOnce(Value<'c, 'a>) -> Result<(), PassError<'c>>,
    ) -> Result<(), PassError<'c>> {
        if !self.launched.get() {
            self.launch_for(count);
        }
        if count == 0 {
            return Ok(());
        }
        let code = &self.code;
        let (thread, threads) = (self.thread(), self.threads());
        code.for_loop(thread, code.index(count), threads, &[], |at, _| body(at).map(|()| vec![])).map(|_| ())
    }

    /// Element of a value that the kernel function computes, or is given, at an index.
    ///
    /// # Errors
    /// What of it cannot be computed within a kernel, at the op that it is: a type that there is no code for,
    /// more steps than one kernel holds.
    pub fn element(
        &self,
        value: Value<'c, 'a>,
        index: &[Value<'c, 'a>],
    ) -> Result<Scalar<'c, 'a>, PassError<'c>> {
        if let Some(known) = self.remembered(value, index) {
            return Ok(known);
        }
        let depth = self.depth.get();
        if depth >= DEEPEST {
            let message = "is computed through more steps than one kernel can hold";
            return Err(defining_op(value)
                .map_or_else(|| PassError::at(self.function, message), |op| PassError::at(op, message)));
        }
        self.depth.set(depth + 1);
        let location = self.code.location();
        let computed = self.compute(value, index);
        self.code.set_location(location);
        self.depth.set(depth);
        let computed = computed?;
        self.remember(value, index, computed);
        Ok(computed)
    }

    /// Like [`element`](Self::element), where the index may be out of bounds if what it comes to is not used.
    ///
    /// # Errors
    /// As of [`element`](Self::element).
    pub fn speculative_element(
        &self,
        value: Value<'c, 'a>,
        index: &[Value<'c, 'a>],
    ) -> Result<Scalar<'c, 'a>, PassError<'c>> {
        let before = self.speculative.replace(true);
        let element = self.element(value, index);
        self.speculative.set(before);
        element
    }

    /// Whether sources of that cost are all computed where only one of them is needed.
    pub fn is_computed_at_once(&self, cost: u64) -> bool {
        cost <= CHEAP || cost >= HUGE
    }

    /// One of two elements, by a condition: both computed if that is cheap, in branches otherwise. Neither may be out of
    /// bounds where it is the one.
    ///
    /// # Errors
    /// As of [`element`](Self::element), of either one.
    pub fn either(
        &self,
        condition: Value<'c, 'a>,
        element: Type<'c>,
        (then, then_index): (Value<'c, 'a>, &[Value<'c, 'a>]),
        (otherwise, otherwise_index): (Value<'c, 'a>, &[Value<'c, 'a>]),
    ) -> Result<Scalar<'c, 'a>, PassError<'c>> {
        let cost = self.cost(then).saturating_add(self.cost(otherwise));
        if self.is_computed_at_once(cost) {
            let then = self.speculative_element(then, then_index)?;
            let otherwise = self.speculative_element(otherwise, otherwise_index)?;
            return Ok(self.code.select_scalar(condition, then, otherwise));
        }
        let types = self.registers(element)?;
        let parts = self.code.if_else(
            condition,
            &types,
            || self.element(then, then_index).map(Scalar::parts),
            || self.element(otherwise, otherwise_index).map(Scalar::parts),
        )?;
        Ok(Scalar::from_parts(&parts))
    }

    /// The types of the registers that an element is held in.
    ///
    /// # Errors
    /// Kernels cannot compute with such elements; at the kernel function.
    pub fn registers(&self, element: Type<'c>) -> Result<Vec<Type<'c>>, PassError<'c>> {
        numbers::register_types(&self.code, element).ok_or_else(|| self.unsupported(element))
    }

    fn remembered(&self, value: Value<'c, 'a>, index: &[Value<'c, 'a>]) -> Option<Scalar<'c, 'a>> {
        let mut here = self.place(value, index);
        let mut everywhere = Place { index: vec![EVERYWHERE], ..here.clone() };
        let elements = self.elements.borrow();
        // What was computed in bounds is right in any case.
        let speculative: &[bool] = if here.speculative { &[false, true] } else { &[false] };
        for scope in self.code.scopes() {
            for place in [&mut here, &mut everywhere] {
                place.scope = scope;
                for speculative in speculative {
                    place.speculative = *speculative;
                    if let Some(element) = elements.get(place) {
                        return Some(*element);
                    }
                }
            }
        }
        None
    }

    /// Notes what an element comes to, for as long as the block being written lasts.
    pub fn remember(&self, value: Value<'c, 'a>, index: &[Value<'c, 'a>], element: Scalar<'c, 'a>) {
        let place = self.place(value, index);
        self.elements.borrow_mut().insert(place, element);
    }

    fn place(&self, value: Value<'c, 'a>, index: &[Value<'c, 'a>]) -> Place {
        let block = match defining_op(value) {
            Some(op) => op.block().map(|block| block.to_raw()),
            None => ffi::as_block_argument(value).map(|argument| argument.owner().to_raw()),
        };
        let frames = self.frames.borrow();
        let frame = block.and_then(|block| frames.get(&(block.ptr as usize)).copied()).unwrap_or(0);
        Place {
            scope: self.code.scope(),
            frame,
            value: ir::key(value),
            speculative: self.speculative.get(),
            index: index.iter().map(|index| ir::key(*index)).collect(),
        }
    }

    fn compute(
        &self,
        value: Value<'c, 'a>,
        index: &[Value<'c, 'a>],
    ) -> Result<Scalar<'c, 'a>, PassError<'c>> {
        let Some(op) = defining_op(value) else {
            let Some(pointer) = self.buffer_of(value) else {
                return Err(PassError::at(
                    self.function,
                    "has a region whose arguments are used where they are not known",
                ));
            };
            let ty = tensor(value)?;
            let mut position = self.linear(ty.shape, index);
            let count = count_of(ty.shape);
            if self.speculative.get() {
                if count == 0 {
                    return self.zero(ty.element);
                }
                position = self.held(position, count);
            }
            return self.load(pointer, ty.element, position);
        };
        self.code.set_location(op.location());
        match shape::element(self, op, value, index)? {
            Some(element) => Ok(element),
            None => self.elementwise(op, value, index),
        }
    }

    /// An element of an elementwise op. Its elementwise operands are gone through by hand rather than by recursion: chains
    /// of them may be long.
    fn elementwise(
        &self,
        op: OperationRef<'c, 'a>,
        value: Value<'c, 'a>,
        index: &[Value<'c, 'a>],
    ) -> Result<Scalar<'c, 'a>, PassError<'c>> {
        let mut pending = vec![(op, index.to_vec())];
        while let Some((op, index)) = pending.last().cloned() {
            let rank =
                op.results().next().map_or(0, |result| ffi::shape(result.r#type()).map_or(0, <[i64]>::len));
            let of = |operand: Value<'c, 'a>| -> Vec<Value<'c, 'a>> {
                let scalar = ffi::shape(operand.r#type()).is_some_and(|shape| shape.is_empty());
                if scalar && rank != 0 { vec![] } else { index.clone() }
            };
            let next = op.operands().find_map(|operand| {
                let producer = defining_op(operand).filter(|producer| !shape::handles(*producer))?;
                let index = of(operand);
                self.remembered(operand, &index).is_none().then_some((producer, index))
            });
            if let Some(next) = next {
                pending.push(next);
                continue;
            }
            for (operand, shape) in op.operands().map(|operand| (operand, ffi::shape(operand.r#type()))) {
                if shape.is_none_or(|shape| !shape.is_empty() && shape.len() != index.len()) {
                    let name = op_name(op);
                    let message = format!(
                        "cannot be part of a kernel: {name} has an operand of type {}",
                        operand.r#type()
                    );
                    return Err(PassError::at(op, message));
                }
            }
            let operands: Vec<Scalar<'c, 'a>> =
                op.operands().map(|operand| self.element(operand, &of(operand))).collect::<Result<_, _>>()?;
            self.code.set_location(op.location());
            let Some(results) = numbers::elementwise(&self.code, op, &operands)? else {
                return Err(PassError::at(op, "cannot be computed within a kernel"));
            };
            for (result, element) in op.results().zip(results) {
                self.remember(result.into(), &index, element);
            }
            pending.pop();
        }
        self.remembered(value, index).ok_or_else(|| PassError::at(op, "has a result that was not computed"))
    }

    /// Computes what elementwise ops make an element of: what is loaded for several elements is then asked for before
    /// functions of the first of them, which may branch, keep the rest waiting. Does nothing where such functions are not
    /// used.
    ///
    /// # Errors
    /// As of [`element`](Self::element), of what elementwise ops read.
    pub fn prepare(&self, value: Value<'c, 'a>, index: &[Value<'c, 'a>]) -> Result<(), PassError<'c>> {
        let mut pending = vec![value];
        let (mut sources, mut seen, mut branches) = (vec![], HashSet::new(), false);
        while let Some(value) = pending.pop() {
            let rank = ffi::shape(value.r#type()).map_or(0, <[i64]>::len);
            if rank != index.len() || !seen.insert(ir::key(value)) {
                continue;
            }
            match defining_op(value).filter(|op| numbers::is_elementwise(*op)) {
                Some(op) => {
                    branches |= own_cost(op) > SIMPLE;
                    pending.extend(op.operands());
                }
                None => sources.push(value),
            }
        }
        if branches {
            for source in sources.into_iter().rev() {
                self.element(source, index)?;
            }
        }
        Ok(())
    }

    /// Inlines a block of a region on scalars: what its terminator is given. Values from outside of the region that the
    /// block uses are scalars of the kernel.
    ///
    /// # Errors
    /// The block has no terminator, or as of [`element`](Self::element) of what that is given.
    pub fn call_region(
        &self,
        block: BlockRef<'c, 'a>,
        arguments: &[Scalar<'c, 'a>],
    ) -> Result<Vec<Scalar<'c, 'a>>, PassError<'c>> {
        let key = block.to_raw().ptr as usize;
        let frame = self.next_frame.get();
        self.next_frame.set(frame + 1);
        let before = self.frames.borrow_mut().insert(key, frame);
        let results = self.inlined(block, arguments);
        let mut frames = self.frames.borrow_mut();
        match before {
            Some(before) => frames.insert(key, before),
            None => frames.remove(&key),
        };
        results
    }

    fn inlined(
        &self,
        block: BlockRef<'c, 'a>,
        arguments: &[Scalar<'c, 'a>],
    ) -> Result<Vec<Scalar<'c, 'a>>, PassError<'c>> {
        let zeros = |value: Value<'c, 'a>| {
            let rank = ffi::shape(value.r#type()).map_or(0, <[i64]>::len);
            vec![self.code.index(0); rank]
        };
        for (index, argument) in arguments.iter().enumerate() {
            let Ok(value) = block.argument(index) else { break };
            self.remember(value.into(), &zeros(value.into()), *argument);
        }
        let Some(end) = block.terminator() else {
            return Err(PassError::at(self.function, "has a region without an end"));
        };
        end.operands().map(|value| self.element(value, &zeros(value))).collect()
    }

    /// About how much it takes to compute an element, were nothing remembered.
    pub fn cost(&self, value: Value<'c, 'a>) -> u64 {
        let mut pending = vec![value];
        while let Some(&value) = pending.last() {
            let key = ir::key(value);
            if self.costs.borrow().contains_key(&key) {
                pending.pop();
                continue;
            }
            let Some(op) = defining_op(value) else {
                self.costs.borrow_mut().insert(key, 4);
                pending.pop();
                continue;
            };
            let unknown: Vec<_> = op
                .operands()
                .filter(|operand| !self.costs.borrow().contains_key(&ir::key(*operand)))
                .collect();
            if !unknown.is_empty() {
                pending.extend(unknown);
                continue;
            }
            let own = own_cost(op);
            let cost = op
                .operands()
                .map(|operand| self.costs.borrow().get(&ir::key(operand)).copied().unwrap_or(0))
                .fold(own, u64::saturating_add);
            self.costs.borrow_mut().insert(key, cost);
            pending.pop();
        }
        self.costs.borrow().get(&ir::key(value)).copied().unwrap_or(HUGE)
    }
}
