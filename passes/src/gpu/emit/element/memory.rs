// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Elements in memory: tables of constants, addresses, loads and stores.

use super::{EVERYWHERE, Kernel, MOST_NEIGHBOURS, Spot, count_of, tensor};
use crate::framework::PassError;
use crate::gpu::emit::code::{Scalar, common_divisor};
use crate::gpu::emit::numbers;
use crate::ir;
use melior::ir::attribute::{
    DenseI32ArrayAttribute, FlatSymbolRefAttribute, IntegerAttribute, StringAttribute, TypeAttribute,
};
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, OperationRef, Type, Value, ValueLike};
use slimhlo_dialect::dense::Dense;
use slimhlo_dialect::types::Tensor;

impl<'c: 'a, 'a> Kernel<'c, 'a> {
    /// An element of a constant that is none of its kind: read from a table in the module.
    ///
    /// # Errors
    /// Kernels cannot compute with elements of the type, or with the constant's value; at `op` or the kernel
    /// function.
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

    /// The place of an element in a buffer: its pointer, and the bytes that it is known to be aligned to.
    pub(super) fn address(
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
    pub(super) fn storage(&self, element: Type<'c>) -> Result<(Type<'c>, usize, i64), PassError<'c>> {
        match (numbers::storage_type(&self.code, element), numbers::storage_bytes(element)) {
            (Some(ty), Some(bytes)) => {
                let parts = numbers::part_count(element);
                Ok((ty, parts, (bytes / parts) as i64))
            }
            _ => Err(self.unsupported(element)),
        }
    }

    pub(super) fn unsupported(&self, element: Type<'c>) -> PassError<'c> {
        PassError::at(
            self.function,
            format!("has elements of type {element}, which kernels cannot compute with"),
        )
    }

    /// Pointer to the element at a row-major position of a buffer; for atomics and the like.
    ///
    /// # Errors
    /// Kernels cannot compute with such elements; at the kernel function.
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
    ///
    /// # Errors
    /// Kernels cannot compute with such elements; at the kernel function.
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
    ///
    /// # Errors
    /// The value is no tensor of static shape.
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

    /// Whether all elements of a value are known to be a scalar here.
    pub fn is_bound(&self, value: Value<'c, 'a>) -> bool {
        let mut place = self.place(value, &[]);
        place.index = vec![EVERYWHERE];
        place.speculative = false;
        let elements = self.elements.borrow();
        self.code.scopes().into_iter().any(|scope| {
            place.scope = scope;
            elements.contains_key(&place)
        })
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
    ///
    /// # Errors
    /// Kernels cannot compute with such elements; at the kernel function.
    pub fn load_spot(&self, spot: Spot<'c, 'a>, element: Type<'c>) -> Result<Scalar<'c, 'a>, PassError<'c>> {
        self.load(spot.pointer, element, spot.position)
    }

    /// Writes the element at a row-major position of a buffer.
    ///
    /// # Errors
    /// Kernels cannot compute with such elements; at the kernel function.
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
}
