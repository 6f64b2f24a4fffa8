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

use super::code::{Code, Int, Scalar, common_divisor};
use super::{map, numbers, shape};
use crate::framework::PassError;
use crate::ir;
use crate::rewrite::{defining_op, set_attribute, set_discardable_attribute};
use melior::ir::attribute::{
    ArrayAttribute, DenseI32ArrayAttribute, FlatSymbolRefAttribute, IntegerAttribute, StringAttribute,
    TypeAttribute,
};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::{FunctionType, IntegerType};
use melior::ir::{Attribute, BlockRef, OperationRef, RegionLike, Type, Value, ValueLike};
use slimhlo_dialect::dense::Dense;
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::types::Tensor;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

/// Threads of a block, unless a kernel says otherwise.
pub const BLOCK: i64 = 256;
/// Most blocks of a grid whose threads go on to further elements: enough to fill the largest devices several times over.
pub const GRID: i64 = 132 * 16;
/// Elements of a tensor up to which indices have 32 bits: the rest of 2^31 is what a thread's last step may overshoot by.
const MOST_NARROW: i64 = (1 << 31) - (1 << 26);
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

/// Bits of indices that every tensor in a function can be indexed with.
fn index_bits(function: OperationRef<'_, '_>) -> u32 {
    let mut most = 0;
    let mut note = |ty: Type<'_>| {
        if let Some(tensor) = Tensor::new(ty) {
            most = most.max(count_of(tensor.shape));
        }
    };
    crate::rewrite::walk(function, |op| {
        op.operands().for_each(|value| note(value.r#type()));
        op.results().for_each(|value| note(value.r#type()));
        melior::ir::operation::WalkResult::Advance
    });
    if most <= MOST_NARROW { 32 } else { 64 }
}

impl<'c: 'a, 'a> Kernel<'c, 'a> {
    /// Begins the `gpu.func` of a kernel function, at the end of a `gpu.module`.
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
        let types = vec![pointer; operand_count + result_count + scratch];
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
        let (results, scratch) = rest.split_at(result_count);
        Ok(Self {
            code: Code::new(gpu_module, entry, location, index_bits(function)),
            function,
            gpu_module,
            gpu_function: op,
            entry,
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

    /// Row-major position of an element.
    pub fn linear(&self, shape: &[i64], index: &[Value<'c, 'a>]) -> Value<'c, 'a> {
        if let Some(position) = self.known_position(shape, index) {
            return position;
        }
        let code = &self.code;
        let keys: Vec<usize> = index.iter().map(|index| ir::key(*index)).collect();
        let mut position = code.index(0);
        for (&size, &at) in shape.iter().zip(index) {
            position = if size == 1 { position } else { code.add(code.mul(position, code.index(size)), at) };
        }
        self.positions.borrow_mut().insert((code.scope(), shape.to_vec(), keys), position);
        position
    }

    /// The row-major position that an index was made from, if it was.
    pub fn known_position(&self, shape: &[i64], index: &[Value<'c, 'a>]) -> Option<Value<'c, 'a>> {
        let keys: Vec<usize> = index.iter().map(|index| ir::key(*index)).collect();
        let mut place = (0, shape.to_vec(), keys);
        let positions = self.positions.borrow();
        self.code.scopes().into_iter().find_map(|scope| {
            place.0 = scope;
            positions.get(&place).copied()
        })
    }

    /// A position that may be out of bounds as one that is not. Neighbours within a run whose length divides the count stay
    /// neighbours.
    fn held(&self, position: Value<'c, 'a>, count: i64) -> Value<'c, 'a> {
        let code = &self.code;
        let (Some(base), number) = code.parts(position) else {
            let known = code.known(position).unwrap_or(0);
            return code.index(known.clamp(0, count - 1));
        };
        let mut run = common_divisor(code.multiple(base), count);
        if !(1..=MOST_NEIGHBOURS).contains(&run) {
            run = common_divisor(run, MOST_NEIGHBOURS).max(1);
        }
        let place = number.rem_euclid(run);
        let first = code.sum(Some(base), number - place);
        let held = code.binary("arith.minui", first, code.index(count - run));
        code.assume_multiple(held, run);
        code.sum(Some(held), place)
    }

    /// An element of a constant that is none of its kind: read from a table in the module.
    pub fn table(
        &self,
        op: OperationRef<'c, 'a>,
        dense: &Dense<'c>,
        position: Value<'c, 'a>,
    ) -> Result<Scalar<'c, 'a>, PassError<'c>> {
        let code = &self.code;
        let context = code.context();
        let element = dense.tensor.element;
        let (_, parts, bytes) = self.storage(element)?;
        let key = ir::op_key(op);
        let mut names = self.tables.borrow_mut();
        let number = names.len();
        let name = match names.get(&key) {
            Some(name) => name.clone(),
            None => {
                let name = format!("{}_table{number}", self.name);
                let count = (dense.len() * parts) as i64;
                let stored = code.int(8 * bytes as u32);
                let data: Vec<u8> = (0..dense.len()).flat_map(|at| dense.element(at).to_vec()).collect();
                let value = Tensor::new(Tensor::get(&[count], stored, None))
                    .and_then(|ty| Dense::from_elements(ty, data)?.attribute())
                    .ok_or_else(|| PassError::at(op, "has a value that kernels cannot compute with"))?;
                let ty = Type::parse(context, &format!("!llvm.array<{count} x {stored}>"));
                let linkage = Attribute::parse(context, "#llvm.linkage<internal>");
                let (Some(ty), Some(linkage)) = (ty, linkage) else { return Err(self.unsupported(element)) };
                let space = IntegerAttribute::new(code.int(32), 1).into();
                let attributes = [
                    ("sym_name", StringAttribute::new(context, &name).into()),
                    ("global_type", TypeAttribute::new(ty).into()),
                    ("linkage", linkage),
                    ("constant", Attribute::unit(context)),
                    ("value", value),
                    ("addr_space", space),
                    ("alignment", code.i64_attribute(16)),
                ];
                let build = ir::Builder::new(self.gpu_module);
                build.set_insertion_point_before(self.gpu_function);
                build.op_with_empty_region("llvm.mlir.global", &attributes, op.location());
                names.insert(key, name.clone());
                name
            }
        };
        let symbol = FlatSymbolRefAttribute::new(context, &name).into();
        let pointer_type = self.pointer;
        let pointer = code.op_with("llvm.mlir.addressof", &[], &[("global_name", symbol)], pointer_type);
        self.read_only.borrow_mut().insert(ir::key(pointer), true);
        let position =
            if self.speculative.get() { self.held(position, dense.len() as i64) } else { position };
        self.load(pointer, element, position)
    }

    /// Index of the element at a row-major position.
    pub fn indices(&self, shape: &[i64], position: Value<'c, 'a>) -> Vec<Value<'c, 'a>> {
        let code = &self.code;
        let mut index = vec![code.index(0); shape.len()];
        let first = shape.iter().position(|size| *size != 1);
        let mut rest = position;
        for (dim, &size) in shape.iter().enumerate().rev().filter(|(_, size)| **size > 1) {
            // What is left for the first dimension is within it.
            let last = Some(dim) == first;
            index[dim] = if last { rest } else { code.rem(rest, size) };
            if !last {
                rest = code.div(rest, size);
            }
        }
        let keys = index.iter().map(|index| ir::key(*index)).collect();
        self.positions.borrow_mut().insert((code.scope(), shape.to_vec(), keys), position);
        index
    }

    /// The place of an element in a buffer: its pointer, and the bytes that it is known to be aligned to.
    fn address(
        &self,
        pointer: Value<'c, 'a>,
        stored: Type<'c>,
        bytes: i64,
        position: Value<'c, 'a>,
    ) -> (Value<'c, 'a>, i64) {
        let code = &self.code;
        let (base, number) = code.parts(position);
        let mut address = pointer;
        if let Some(base) = base {
            address = self.offset(address, stored, &[base], i32::MIN);
        }
        match i32::try_from(number) {
            Ok(0) => {}
            Ok(number) if number != i32::MIN => address = self.offset(address, stored, &[], number),
            _ => address = self.offset(address, stored, &[code.integer(number, code.int(64))], i32::MIN),
        }
        let mut alignment = 16;
        for multiple in [base.map_or(0, |base| code.multiple(base)), number] {
            let zeros = multiple.saturating_mul(bytes).trailing_zeros().min(4);
            alignment = alignment.min(1 << zeros);
        }
        (address, alignment.max(bytes.min(1 << bytes.trailing_zeros())))
    }

    /// `llvm.getelementptr` by one index: a value, for which `constant` is `i32::MIN`, or a number.
    pub fn offset(
        &self,
        pointer: Value<'c, 'a>,
        element: Type<'c>,
        index: &[Value<'c, 'a>],
        constant: i32,
    ) -> Value<'c, 'a> {
        let context = self.code.context();
        let mut operands = vec![pointer];
        operands.extend(index);
        let attributes = [
            ("elem_type", TypeAttribute::new(element).into()),
            ("rawConstantIndices", DenseI32ArrayAttribute::new(context, &[constant]).into()),
        ];
        self.code.op_with("llvm.getelementptr", &operands, &attributes, pointer.r#type())
    }

    /// The type that an element, or each part of a complex one, is stored as; how many parts there are; and the bytes of one.
    fn storage(&self, element: Type<'c>) -> Result<(Type<'c>, usize, i64), PassError<'c>> {
        match (numbers::storage_type(&self.code, element), numbers::storage_bytes(element)) {
            (Some(ty), Some(bytes)) => {
                let parts = numbers::part_count(element);
                Ok((ty, parts, (bytes / parts) as i64))
            }
            _ => Err(self.unsupported(element)),
        }
    }

    fn unsupported(&self, element: Type<'c>) -> PassError<'c> {
        PassError::at(
            self.function,
            format!("has elements of type {element}, which kernels cannot compute with"),
        )
    }

    /// Pointer to the element at a row-major position of a buffer; for atomics and the like.
    pub fn element_pointer(
        &self,
        pointer: Value<'c, 'a>,
        element: Type<'c>,
        position: Value<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let (ty, parts, bytes) = self.storage(element)?;
        let position = self.code.mul(position, self.code.index(parts as i64));
        Ok(self.address(pointer, ty, bytes, position).0)
    }

    /// The element at a row-major position of a buffer.
    pub fn load(
        &self,
        pointer: Value<'c, 'a>,
        element: Type<'c>,
        position: Value<'c, 'a>,
    ) -> Result<Scalar<'c, 'a>, PassError<'c>> {
        let code = &self.code;
        let (ty, parts, bytes) = self.storage(element)?;
        let first = code.mul(position, code.index(parts as i64));
        let invariant = self.read_only.borrow().get(&ir::key(pointer)).copied().unwrap_or(false);
        let mut loaded = Vec::with_capacity(parts);
        for number in 0..parts {
            let (address, alignment) =
                self.address(pointer, ty, bytes, code.add(first, code.index(number as i64)));
            let mut attributes = vec![("alignment", code.i64_attribute(alignment))];
            if invariant {
                attributes.push(("invariant", Attribute::unit(code.context())));
            }
            loaded.push(code.op_with("llvm.load", &[address], &attributes, ty));
        }
        Ok(numbers::from_storage(code, Scalar::from_parts(&loaded), element))
    }

    /// Where an element of a value is, if the value is in a buffer; held within it if the index may be out of bounds.
    pub fn spot(
        &self,
        value: Value<'c, 'a>,
        index: &[Value<'c, 'a>],
    ) -> Result<Option<Spot<'c, 'a>>, PassError<'c>> {
        let Some(pointer) = self.buffer_of(value) else { return Ok(None) };
        let shape = tensor(value)?.shape;
        let position = self.linear(shape, index);
        let count = count_of(shape);
        let position = match self.speculative.get() {
            true if count == 0 => return Ok(None),
            true => self.held(position, count),
            false => position,
        };
        Ok(Some(Spot { pointer, position }))
    }

    /// One of two places, by a condition. Neighbours stay neighbours if they are so in both.
    pub fn either_spot(
        &self,
        condition: Value<'c, 'a>,
        then: Spot<'c, 'a>,
        otherwise: Spot<'c, 'a>,
    ) -> Spot<'c, 'a> {
        let code = &self.code;
        let pointer = code.select(condition, then.pointer, otherwise.pointer);
        let mut read_only = self.read_only.borrow_mut();
        let both = [then, otherwise]
            .iter()
            .all(|spot| read_only.get(&ir::key(spot.pointer)).copied().unwrap_or(false));
        read_only.insert(ir::key(pointer), both);
        // What both are beyond the beginning of a run.
        let sides = [then, otherwise].map(|spot| code.parts(spot.position));
        let run = sides.iter().fold(MOST_NEIGHBOURS, |run, (base, _)| {
            common_divisor(run, base.map_or(0, |base| code.multiple(base)))
        });
        let places = sides.map(|(_, number)| number.rem_euclid(run));
        let place = if places[0] == places[1] { places[0] } else { 0 };
        let [one, other] = sides.map(|(base, number)| code.sum(base, number - place));
        let first = code.select(condition, one, other);
        code.assume_multiple(first, common_divisor(code.multiple(one), code.multiple(other)));
        Spot { pointer, position: code.sum(Some(first), place) }
    }

    /// The element at a place.
    pub fn load_spot(&self, spot: Spot<'c, 'a>, element: Type<'c>) -> Result<Scalar<'c, 'a>, PassError<'c>> {
        self.load(spot.pointer, element, spot.position)
    }

    /// Writes the element at a row-major position of a buffer.
    pub fn store(
        &self,
        pointer: Value<'c, 'a>,
        element: Type<'c>,
        position: Value<'c, 'a>,
        value: Scalar<'c, 'a>,
    ) -> Result<(), PassError<'c>> {
        let code = &self.code;
        let (ty, parts, bytes) = self.storage(element)?;
        let first = code.mul(position, code.index(parts as i64));
        let stored = numbers::to_storage(code, value, element).parts();
        for (number, value) in stored.into_iter().enumerate() {
            let (address, alignment) =
                self.address(pointer, ty, bytes, code.add(first, code.index(number as i64)));
            let attributes = [("alignment", code.i64_attribute(alignment))];
            code.effect_with("llvm.store", &[value, address], &attributes);
        }
        Ok(())
    }

    /// Element of a value that the kernel function computes, or is given, at an index.
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
                    branches |= map::own_cost(op) > SIMPLE;
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
            let own = map::own_cost(op);
            let cost = op
                .operands()
                .map(|operand| self.costs.borrow().get(&ir::key(operand)).copied().unwrap_or(0))
                .fold(own, u64::saturating_add);
            self.costs.borrow_mut().insert(key, cost);
            pending.pop();
        }
        self.costs.borrow().get(&ir::key(value)).copied().unwrap_or(HUGE)
    }

    /// An integer as an index, held within `0..=limit` as starts of slices are.
    pub fn clamped_index(&self, start: Value<'c, 'a>, ty: Type<'c>, limit: i64) -> Value<'c, 'a> {
        let code = &self.code;
        if limit == 0 {
            return code.index(0);
        }
        let unsigned = IntegerType::try_from(ty).is_ok_and(|ty| ty.is_unsigned() || ty.width() == 1);
        let width = |ty: Type<'c>| IntegerType::try_from(ty).map_or(64, |ty| ty.width());
        let wide = width(start.r#type()) >= width(code.index_type());
        let start = if wide { start } else { code.resize(start, code.index_type(), !unsigned) };
        let number = |number| code.integer(number, start.r#type());
        let clamped = if unsigned {
            code.binary("arith.minui", start, number(limit))
        } else {
            code.binary("arith.minsi", code.binary("arith.maxsi", start, number(0)), number(limit))
        };
        code.resize(clamped, code.index_type(), !unsigned)
    }

    /// Whether `number <= index < number + size` for the index, of which it is known that it is within `0..of`.
    pub fn is_within(&self, index: Value<'c, 'a>, from: i64, size: i64, of: i64) -> Option<Value<'c, 'a>> {
        let code = &self.code;
        let offset = code.sub(index, code.index(from));
        match (from > 0, from.saturating_add(size) < of) {
            (false, false) => None,
            (false, true) => Some(code.compare(Int::Slt, index, code.index(from + size))),
            (true, false) => Some(code.compare(Int::Sge, index, code.index(from))),
            (true, true) => Some(code.compare(Int::Ult, offset, code.index(size))),
        }
    }

    /// The conjunction of conditions; `None` for none.
    pub fn all(&self, conditions: &[Value<'c, 'a>]) -> Option<Value<'c, 'a>> {
        conditions.iter().copied().reduce(|left, right| self.code.binary("arith.andi", left, right))
    }
}
