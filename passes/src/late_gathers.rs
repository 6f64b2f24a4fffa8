// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-late-gathers`: rows are gathered from a product, not for it.
//!
//! # What it matches
//!
//! A `dot_general` of rows that are gathered from a table of fewer rows, such as the nodes at the ends of a graph's
//! edges:
//!
//! ```mlir
//! %rows = "stablehlo.gather"(%nodes, %ends) : (tensor<1000x64xf32>, tensor<50000x1xi32>) -> tensor<50000x64xf32>
//! %r = stablehlo.dot_general %rows, %w, contracting_dims = [1] x [0]
//!     : (tensor<50000x64xf32>, tensor<64x32xf32>) -> tensor<50000x32xf32>
//! ```
//!
//! becomes
//!
//! ```mlir
//! %all = stablehlo.dot_general %nodes, %w, contracting_dims = [1] x [0]
//!     : (tensor<1000x64xf32>, tensor<64x32xf32>) -> tensor<1000x32xf32>
//! %r = "stablehlo.gather"(%all, %ends) : (tensor<1000x32xf32>, tensor<50000x1xi32>) -> tensor<50000x32xf32>
//! ```
//!
//! Rows may be either operand of the product, may be picked by several indices, and may be converted on their way to
//! it: then all of the table is. Where they are put beside others for the product (the nodes at both ends of an edge,
//! and what is known of the edge), that is first written as a sum of products, one for each part and the part of the
//! other factor that it meets. With `gradients` the other factor's gradient is then put together of the parts' products, and
//! what is made of the other factor for all parts side by side, and taken apart again for the gradients of these, is made
//! part by part (`late_gathers/parts.rs`).
//!
//! # Why it is right
//!
//! A row of the product is made of one row of the operand, and of nothing else of it. Where a row is gathered from is
//! decided by the indices and by how many rows there are, both of which stay; rows that nobody asks for are computed
//! and not looked at. The terms of each sum are the same; those of parts are added up for each part first, an order
//! that StableHLO leaves open.
//!
//! # Why it pays
//!
//! A row that is gathered many times is multiplied once. Products are stored, and what is gathered is not where it is
//! computed with on the fly: of a table of 100,000 rows for 2,000,000 edges 49 MiB are stored for 977.
//!
//! # What it costs
//!
//! The table's product. One walk.
//!
//! # When it must not fire
//!
//! * [`OFTEN`] times as many rows are not gathered as there are: of a vocabulary most rows are not asked for.
//! * What is gathered is less than a row, or a row's place is moved by an index; batches of either op.
//! * Parts of products narrower than f32: each part's sum would be rounded.
//! * Annotations, and programs for more than one partition: the rows are spread over devices, the table is not, or
//!   differently.

mod parts;

pub use parts::joins_rows;

use crate::framework::{Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{Builder, discardable_attributes, i64_array, plain};
use crate::ops::products::dot_numbers;
use crate::rewrite::{defining_op, is_unused};
use crate::shards::is_partitioned;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value};
use slimhlo_dialect::ffi::{attribute_of, op_name};
use slimhlo_dialect::stablehlo::attrs::{DotDimensionNumbers, GatherDimensionNumbers};
use slimhlo_dialect::types::Tensor;

crate::pass_options! {
    /// Gather rows from a product instead of multiplying rows that are gathered, where there are fewer rows than are
    /// gathered.
    ///
    /// Graph networks multiply the nodes at both ends of each edge with a matrix: a node once for each of its edges.
    /// The product of all nodes is smaller, and takes less time.
    ///
    /// ```mlir
    /// %rows = "stablehlo.gather"(%nodes, %ends) : (tensor<1000x64xf32>, tensor<50000x1xi32>) -> tensor<50000x64xf32>
    /// %r = stablehlo.dot_general %rows, %w, contracting_dims = [1] x [0]
    ///     : (tensor<50000x64xf32>, tensor<64x32xf32>) -> tensor<50000x32xf32>
    /// // becomes
    /// %all = stablehlo.dot_general %nodes, %w, contracting_dims = [1] x [0]
    ///     : (tensor<1000x64xf32>, tensor<64x32xf32>) -> tensor<1000x32xf32>
    /// %r = "stablehlo.gather"(%all, %ends) : (tensor<1000x32xf32>, tensor<50000x1xi32>) -> tensor<50000x32xf32>
    /// ```
    pub struct LateGathers {
        /// Also takes apart the gradients of products with gathered rows beside others: of what is put together, and of what it is multiplied with.
        pub gradients: bool = false,
    }
}

const MOVED: Statistic = Statistic::new(c"num-gathers", c"gathers that come after their product");

/// How many times as many rows have to be gathered as there are.
const OFTEN: i64 = 2;

impl Pass for LateGathers {
    const ARGUMENT: &'static str = "slimhlo-late-gathers";
    const STATISTICS: &'static [Statistic] = &[MOVED];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        if is_partitioned(root) {
            return Ok(Changed::No);
        }
        let build = Builder::new(root);
        let (products, mut changed) = parts::take_apart(root, self.gradients, &build);
        for product in products {
            if (0..2).any(|side| gather_late(product, side, &build).is_some()) {
                context.count(&MOVED, 1);
                changed = true;
            }
        }
        Ok(Changed::from(changed))
    }
}

/// Gathers from a product of the table what would be gathered for an operand. `None`, and nothing done, if that is not
/// of rows.
fn gather_late<'c: 'a, 'a>(
    product: OperationRef<'c, 'a>,
    side: usize,
    build: &Builder<'c, 'a>,
) -> Option<()> {
    let operand = product.operands().nth(side).filter(|_| is_bare(product))?;
    Rows::of(operand)?.gather_late(product, side, build)
}

/// Whole rows of a table that an operand of a product is gathered from.
struct Rows<'c, 'a> {
    gather: OperationRef<'c, 'a>,
    numbers: GatherDimensionNumbers<'c>,
    /// What is multiplied, converted or not.
    operand: Value<'c, 'a>,
    table: Value<'c, 'a>,
    shape: &'c [i64],
}

impl<'c: 'a, 'a> Rows<'c, 'a> {
    /// The rows that an operand of a product is, if they are more than their table has.
    fn of(operand: Value<'c, 'a>) -> Option<Self> {
        let made = defining_op(operand)?;
        let converted =
            if op_name(made) == "stablehlo.convert" && is_bare(made) { made.operands().next() } else { None };
        let gather = converted.map_or(Some(made), defining_op)?;
        if op_name(gather) != "stablehlo.gather" || !is_bare(gather) {
            return None;
        }
        let numbers = GatherDimensionNumbers::try_from(attribute_of(gather, "dimension_numbers")?).ok()?;
        let table = gather.operands().next()?;
        let shape = plain(table)?.shape;
        let picked = numbers.collapsed_slice_dims();
        let is_picked = |dim: usize| picked.contains(&(dim as i64));
        let are_whole = i64_array(gather, "slice_sizes")?
            .iter()
            .zip(shape)
            .enumerate()
            .all(|(dim, (taken, size))| is_picked(dim) || taken == size);
        let by_index = numbers.start_index_map();
        if !are_whole
            || !numbers.operand_batching_dims().is_empty()
            || by_index.len() != picked.len()
            || !by_index.iter().all(|dim| picked.contains(dim))
        {
            return None;
        }
        let gathered = plain(operand)?.shape.iter().enumerate();
        let gathered = gathered.filter(|(dim, _)| !numbers.offset_dims().contains(&(*dim as i64)));
        let count = |sizes: &mut dyn Iterator<Item = &i64>| sizes.fold(1_i64, |a, &b| a.saturating_mul(b));
        let there_are = count(&mut picked.iter().map(|&dim| &shape[dim as usize]));
        let is_often = count(&mut gathered.map(|(_, size)| size)) >= OFTEN.saturating_mul(there_are);
        (is_often && there_are > 0).then_some(Self { gather, numbers, operand, table, shape })
    }

    /// The dimension of the table that a dimension of what is gathered runs along; `None` for those that the indices
    /// have.
    fn along(&self, gathered: i64) -> Option<i64> {
        let place = self.numbers.offset_dims().iter().position(|&dim| dim == gathered)?;
        let picked = self.numbers.collapsed_slice_dims();
        (0..self.shape.len() as i64).filter(|dim| !picked.contains(dim)).nth(place)
    }

    /// Multiplies the table in place of its rows, as operand `side`, and gathers from that. `None`, and nothing done,
    /// if the product is not of rows.
    fn gather_late(&self, product: OperationRef<'c, 'a>, side: usize, build: &Builder<'c, 'a>) -> Option<()> {
        let of_product = dot_numbers(product)?;
        if !of_product.lhs_batching_dimensions().is_empty() {
            return None;
        }
        let mut contracted =
            [of_product.lhs_contracting_dimensions(), of_product.rhs_contracting_dimensions()]
                .map(<[i64]>::to_vec);
        let of_rows = contracted[side].clone();
        contracted[side] = of_rows.iter().map(|&dim| self.along(dim)).collect::<Option<_>>()?;
        let result: Value = product.result(0).ok()?.into();
        let (made, operand) = (plain(result)?, plain(self.operand)?);
        let other = plain(product.operands().nth(1 - side)?)?;

        // Of either operand what is not contracted, in order, makes up the result: the left one's first.
        let left = |contracted: &[i64], rank: usize| -> Vec<i64> {
            (0..rank as i64).filter(|dim| !contracted.contains(dim)).collect()
        };
        let others = left(&contracted[1 - side], other.rank());
        let table_dims = left(&contracted[side], self.shape.len());
        let row_dims = left(&of_rows, operand.rank());
        let first = if side == 0 { 0 } else { others.len() as i64 };
        let place = |dims: &[i64], dim: i64| {
            dims.iter().position(|&other| other == dim).map(|place| first + place as i64)
        };
        let of_table =
            |dims: &[i64]| -> Option<Vec<i64>> { dims.iter().map(|&dim| place(&table_dims, dim)).collect() };
        let picked = of_table(self.numbers.collapsed_slice_dims())?;
        let by_index = of_table(self.numbers.start_index_map())?;
        let is_offset = |place: &i64| match row_dims.get(usize::try_from(place - first).unwrap_or(usize::MAX))
        {
            Some(dim) => self.numbers.offset_dims().contains(dim),
            None => true,
        };
        let offsets: Vec<i64> = (0..made.rank() as i64).filter(is_offset).collect();

        let sizes =
            |shape: &[i64], dims: &[i64]| dims.iter().map(|&dim| shape[dim as usize]).collect::<Vec<_>>();
        let mut parts = [sizes(self.shape, &table_dims), sizes(other.shape, &others)];
        parts.rotate_left(side);
        let shape = parts.concat();
        let slice: Vec<i64> =
            (0..).zip(&shape).map(|(dim, &size)| if picked.contains(&dim) { 1 } else { size }).collect();

        build.set_insertion_point_before(product);
        let table = if operand.element == plain(self.table)?.element {
            self.table
        } else {
            build.convert(self.table, Tensor::get(self.shape, operand.element, None), self.gather.location())
        };
        let mut operands: Vec<Value> = product.operands().collect();
        operands[side] = table;
        let none: &[i64] = &[];
        let numbers =
            DotDimensionNumbers::new(build.context(), none, none, &contracted[0], &contracted[1]).into();
        let all = Tensor::get(&shape, made.element, None);
        let all = build.copy_with(product, &operands, &[("dot_dimension_numbers", numbers)], &[all]);
        let numbers = GatherDimensionNumbers::new(
            build.context(),
            &offsets,
            &picked,
            none,
            none,
            &by_index,
            self.numbers.index_vector_dim(),
        );
        let attributes = [("dimension_numbers", numbers.into()), ("slice_sizes", build.i64_array(&slice))];
        let given = [all.result(0).ok()?.into(), self.gather.operands().nth(1)?];
        let ty = Tensor::get(made.shape, made.element, None);
        let late = build.copy_with(self.gather, &given, &attributes, &[ty]);
        build.replace_all_uses_with(result, late.result(0).ok()?.into());
        build.erase_with_dead_producers(product, |_| {});
        if is_unused(self.gather) {
            build.erase_with_dead_producers(self.gather, |_| {});
        }
        Some(())
    }
}

/// Whether an op says nothing beside what it does.
fn is_bare(op: OperationRef<'_, '_>) -> bool {
    discardable_attributes(op).is_empty()
}
