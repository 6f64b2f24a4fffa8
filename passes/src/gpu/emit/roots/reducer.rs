// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The body of a reduction, on accumulators that may be wider than its elements.

use super::arithmetic::convert;
use crate::framework::PassError;
use crate::gpu::emit::code::Scalar;
use crate::gpu::emit::element::Kernel;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, RegionLike, Type, Value, ValueLike};
use slimhlo_dialect::ffi;
use slimhlo_dialect::quant::Number;
use slimhlo_dialect::types::Tensor;

type Result<'c, T> = std::result::Result<T, PassError<'c>>;

/// What combines two accumulators into one.
///
/// A sum or a product of one bf16 or f16 operand is kept in f32 until it is finished: its error then does not grow with
/// the number of elements.
pub struct Reducer<'c, 'a> {
    op: OperationRef<'c, 'a>,
    block: BlockRef<'c, 'a>,
    /// Element types of the accumulators as the body has them.
    types: Vec<Type<'c>>,
    /// The op on f32 that stands for the body.
    wide: Option<&'static str>,
}

impl<'c: 'a, 'a> Reducer<'c, 'a> {
    /// The body of `reduce`, `reduce_window` and other ops of as many inputs as initial values.
    pub fn of(op: OperationRef<'c, 'a>) -> Result<'c, Self> {
        let block = op
            .region(0)
            .ok()
            .and_then(|region| region.first_block())
            .ok_or_else(|| PassError::at(op, "has no body"))?;
        let types: Vec<Type<'c>> = (0..op.result_count())
            .filter_map(|index| block.argument(index).ok())
            .map(|argument| ffi::element_type(argument.r#type()).unwrap_or(argument.r#type()))
            .collect();
        let narrow = matches!(types[..], [only] if matches!(Number::of(only), Number::Float { width: 16 }));
        let wide = if narrow { wide_op(block) } else { None };
        Ok(Self { op, block, types, wide })
    }

    /// Element type of each accumulator.
    pub fn accumulators(&self, kernel: &Kernel<'c, 'a>) -> Vec<Type<'c>> {
        match self.wide {
            Some(_) => vec![Type::float32(kernel.code.context())],
            None => self.types.clone(),
        }
    }

    /// How many bytes each accumulator takes in memory.
    pub fn accumulator_bytes(&self) -> Vec<u64> {
        match self.wide {
            Some(_) => vec![4],
            None => self.types.iter().map(|ty| bytes_of(*ty)).collect(),
        }
    }

    fn lift_from(
        &self,
        kernel: &Kernel<'c, 'a>,
        first: usize,
        elements: &[Scalar<'c, 'a>],
    ) -> Result<'c, Vec<Scalar<'c, 'a>>> {
        let types = self.accumulators(kernel);
        elements
            .iter()
            .enumerate()
            .map(|(index, element)| {
                let operand = self.op.operand(first + index)?;
                let from = Tensor::new(operand.r#type()).map_or(operand.r#type(), |tensor| tensor.element);
                convert(kernel, self.op, *element, from, types[index])
            })
            .collect()
    }

    /// Elements of the inputs as accumulators.
    pub fn lift(
        &self,
        kernel: &Kernel<'c, 'a>,
        elements: &[Scalar<'c, 'a>],
    ) -> Result<'c, Vec<Scalar<'c, 'a>>> {
        self.lift_from(kernel, 0, elements)
    }

    /// The inputs at an index, as accumulators.
    pub fn inputs(
        &self,
        kernel: &Kernel<'c, 'a>,
        index: &[Value<'c, 'a>],
    ) -> Result<'c, Vec<Scalar<'c, 'a>>> {
        let elements: Vec<_> = (0..self.types.len())
            .map(|input| kernel.element(self.op.operand(input)?, index))
            .collect::<Result<_>>()?;
        self.lift(kernel, &elements)
    }

    /// The initial values, as accumulators.
    pub fn start(&self, kernel: &Kernel<'c, 'a>) -> Result<'c, Vec<Scalar<'c, 'a>>> {
        let count = self.types.len();
        let initial: Vec<_> = (count..2 * count)
            .map(|operand| kernel.element(self.op.operand(operand)?, &[]))
            .collect::<Result<_>>()?;
        self.lift_from(kernel, count, &initial)
    }

    /// Two accumulators in one.
    pub fn merge(
        &self,
        kernel: &Kernel<'c, 'a>,
        left: &[Scalar<'c, 'a>],
        right: &[Scalar<'c, 'a>],
    ) -> Result<'c, Vec<Scalar<'c, 'a>>> {
        match self.wide {
            Some(name) => Ok(vec![Scalar::Real(kernel.code.binary(name, left[0].real(), right[0].real()))]),
            None => kernel.call_region(self.block, &[left, right].concat()),
        }
    }

    /// An accumulator and the inputs at an index in one.
    pub fn combine(
        &self,
        kernel: &Kernel<'c, 'a>,
        sums: &[Scalar<'c, 'a>],
        index: &[Value<'c, 'a>],
    ) -> Result<'c, Vec<Scalar<'c, 'a>>> {
        self.merge(kernel, sums, &self.inputs(kernel, index)?)
    }

    /// Accumulators as elements of the results.
    pub fn finish(
        &self,
        kernel: &Kernel<'c, 'a>,
        sums: &[Scalar<'c, 'a>],
    ) -> Result<'c, Vec<Scalar<'c, 'a>>> {
        let types = self.accumulators(kernel);
        let results = self.op.results().zip(sums).zip(types);
        results
            .map(|((result, sum), from)| {
                let to = ffi::element_type(result.r#type()).unwrap_or(result.r#type());
                convert(kernel, self.op, *sum, from, to)
            })
            .collect()
    }
}

/// Bytes of one element in a buffer.
pub fn bytes_of(element: Type<'_>) -> u64 {
    slimhlo_dialect::dense::element_bytes(element).unwrap_or(8) as u64
}

/// The op on floats that a body of one sum or product is.
fn wide_op<'c: 'a, 'a>(block: BlockRef<'c, 'a>) -> Option<&'static str> {
    let only = block.first_operation()?;
    let last = only.next_in_block()?;
    let name = match ffi::op_name(only) {
        "stablehlo.add" => "arith.addf",
        "stablehlo.multiply" => "arith.mulf",
        _ => return None,
    };
    let arguments: Vec<Value> =
        [block.argument(0).ok()?.into(), block.argument(1).ok()?.into()].into_iter().collect();
    let operands: Vec<Value> = only.operands().collect();
    let both = operands.len() == 2 && arguments.iter().all(|argument| operands.contains(argument));
    let returned = last.next_in_block().is_none()
        && ffi::op_name(last) == "stablehlo.return"
        && last.operands().next()? == only.results().next()?.into();
    (both && returned).then_some(name)
}
