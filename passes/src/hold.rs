// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Values that are all there before anything is made of one of them, whatever back ends fuse or put in another order. Reads of an array that is
//! then overwritten are held, or the array would be copied for them; so are chunks that take much work, or one core would do all of it,
//! and what would be computed once for each of the places it is read at.

use crate::ir::{self, Builder, element_of};
use crate::ops::class::{is_costly, is_elementwise};
use crate::rewrite::defining_op;
use crate::shards::partition_id;
use crate::splat::Splat;
use crate::target::Storage;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{Location, RegionLike, Type, TypeLike, Value, ValueLike};
use rustc_hash::FxHashSet;
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::quant::complex_part;
use slimhlo_dialect::types::Tensor;

/// What `values` makes, handed on by a branch that is always taken: back ends neither fuse a branch into what reads it nor take it apart. The
/// barrier keeps them from making a select of it. `goes_on` is a condition that holds: that of the loop around, computed again in its body,
/// or [`always`]. Ops go on being inserted at the end of its block. A back end that asks its host for conditions does so once more.
pub fn by_branch<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    goes_on: Value<'c, 'a>,
    types: &[Type<'c>],
    location: Location<'c>,
    values: impl FnOnce() -> Vec<Value<'c, 'a>>,
) -> Vec<Value<'c, 'a>> {
    let body = defining_op(goes_on).and_then(|op| op.block()).expect("it was computed in the loop's body");
    let branch = build.op_with_blocks("stablehlo.if", &[goes_on], types, &[&[], &[]], location);
    let begin = |region: usize| {
        let block = branch.region(region).ok().and_then(|region| region.first_block());
        build.set_insertion_point_to_end(block.expect("made with blocks"));
    };
    begin(0);
    let held = barriers(&values(), build, location);
    build.terminator("stablehlo.return", &held, location);
    begin(1);
    let zeros: Vec<Value<'c, 'a>> = types.iter().map(|ty| build.zeros(*ty, location)).collect();
    build.terminator("stablehlo.return", &zeros, location);
    build.set_insertion_point_to_end(body);
    branch.results().map(Value::from).collect()
}

/// How a back end is made to hold values.
#[derive(Clone, Copy)]
pub enum Way<'c, 'a> {
    /// A barrier is enough.
    Barrier,
    /// [`by_branch`], with this condition.
    Branch(Value<'c, 'a>),
}

impl<'c: 'a, 'a> Way<'c, 'a> {
    /// What costs the back end least; `goes_on` makes the condition where one is needed.
    pub fn of(storage: &Storage, goes_on: impl FnOnce() -> Value<'c, 'a>) -> Self {
        if storage.barriers_hold { Self::Barrier } else { Self::Branch(goes_on()) }
    }

    /// What `values` makes, held.
    pub fn hold(
        self,
        build: &Builder<'c, 'a>,
        types: &[Type<'c>],
        location: Location<'c>,
        values: impl FnOnce() -> Vec<Value<'c, 'a>>,
    ) -> Vec<Value<'c, 'a>> {
        match self {
            Self::Branch(goes_on) => by_branch(build, goes_on, types, location, values),
            Self::Barrier => barriers(&values(), build, location),
        }
    }
}

/// How much work a back end may fuse into what reads a value, in elementary functions.
pub fn work_before(value: Value<'_, '_>) -> u32 {
    /// Ops looked at.
    const NEAR: usize = 64;
    /// What those take that are polynomials of a dozen terms, on several intervals.
    const SPECIAL: u32 = 4;
    let mut pending = vec![value];
    let mut seen = FxHashSet::default();
    let mut work = 0;
    while let Some(value) = pending.pop() {
        let Some(op) = defining_op(value).filter(|op| is_elementwise(op_name(*op))) else { continue };
        if seen.len() < NEAR && seen.insert(ir::op_key(op)) {
            let functions = if op_name(op).starts_with("chlo.") { SPECIAL } else { 1 };
            work += if is_costly(op_name(op)) { functions } else { 0 };
            pending.extend(op.operands());
        }
    }
    work
}

/// A condition that always holds, and that back ends do not find out about: that what is between 1 and 1, whatever it was, is true. It was the bits
/// of an element of `value`.
pub fn always<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    value: Value<'c, 'a>,
    location: Location<'c>,
) -> Value<'c, 'a> {
    let tensor = Tensor::new(value.r#type()).expect("arrays are tensors");
    let rank = tensor.shape.len();
    let one = build.slice(value, &vec![0; rank], Tensor::get(&vec![1; rank], tensor.element, None), location);
    let one = build.reshape(one, Tensor::get(&[], tensor.element, None), location);
    let some = bits_of(build, one, location);
    let one = build.number(1.0, element_of(some.r#type()), location);
    let one = build.insert("stablehlo.clamp", &[one, some, one], &[], some.r#type(), location);
    let condition = Tensor::get(&[], IntegerType::new(build.context(), 1).into(), None);
    build.convert(one, condition, location)
}

/// The same in a manual computation, by the bits of the number of the device.
pub fn always_on_device<'c: 'a, 'a>(build: &Builder<'c, 'a>, location: Location<'c>) -> Value<'c, 'a> {
    always_after(build, partition_id(build, location), location)
}

/// The same by a whole number, when that is there.
pub fn always_after<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    number: Value<'c, 'a>,
    location: Location<'c>,
) -> Value<'c, 'a> {
    let ty = number.r#type();
    let one = build.number(1.0, element_of(ty), location);
    let one = build.insert("stablehlo.clamp", &[one, number, one], &[], ty, location);
    let condition = Tensor::get(&[], IntegerType::new(build.context(), 1).into(), None);
    build.convert(one, condition, location)
}

/// The same values, out of one value that holds them all: whoever waits for one waits for all.
pub fn together<'c: 'a, 'a>(
    parts: &[Value<'c, 'a>],
    build: &Builder<'c, 'a>,
    location: Location<'c>,
) -> Vec<Value<'c, 'a>> {
    let mut different: Vec<Value<'c, 'a>> = Vec::new();
    let mut places = Vec::new();
    for part in parts {
        let same = different.iter().position(|other| is_same_slice(*other, *part));
        places.push(same.unwrap_or_else(|| {
            different.push(*part);
            different.len() - 1
        }));
    }
    if different.len() == 1 {
        return places.iter().map(|&place| different[place]).collect();
    }
    let joined = Joined::of(&different);
    let all = barrier(joined.join(&different, build, location), build, location);
    let out: Vec<Value<'c, 'a>> =
        (0..different.len()).map(|index| joined.part(all, index, build, location)).collect();
    places.iter().map(|&place| out[place]).collect()
}

/// How values of one element type lie in one that holds them all.
pub struct Joined<'c> {
    /// Their types.
    types: Vec<Type<'c>>,
    /// The dimension along which they lie side by side; none if each is a row of numbers.
    along: Option<usize>,
    /// Where each begins, and where the last one ends.
    starts: Vec<i64>,
}

impl<'c> Joined<'c> {
    pub fn of(parts: &[Value<'c, '_>]) -> Self {
        let types: Vec<Type<'c>> = parts.iter().map(|part| part.r#type()).collect();
        let shapes: Vec<&[i64]> =
            types.iter().filter_map(|ty| Tensor::new(*ty)).map(|tensor| tensor.shape).collect();
        let rank = shapes.first().map_or(0, |shape| shape.len());
        let along = (0..rank).find(|&dim| {
            let alike =
                |shape: &[i64]| (0..rank).all(|other| other == dim || shape[other] == shapes[0][other]);
            shapes.iter().all(|shape| shape.len() == rank && alike(shape))
        });
        let mut starts = vec![0];
        for shape in shapes {
            let extent = along.map_or_else(|| shape.iter().product(), |dim| shape[dim]);
            starts.push(starts[starts.len() - 1] + extent);
        }
        Self { types, along, starts }
    }

    /// All of them in one value.
    pub fn join<'a>(
        &self,
        parts: &[Value<'c, 'a>],
        build: &Builder<'c, 'a>,
        location: Location<'c>,
    ) -> Value<'c, 'a>
    where
        'c: 'a,
    {
        let pieces: Vec<_> = parts.iter().map(|part| self.piece(*part, build, location)).collect();
        build.concatenate(&pieces, self.along.unwrap_or(0), location)
    }

    /// A part, as it lies among the others.
    fn piece<'a>(&self, part: Value<'c, 'a>, build: &Builder<'c, 'a>, location: Location<'c>) -> Value<'c, 'a>
    where
        'c: 'a,
    {
        let Some(tensor) = Tensor::new(part.r#type()).filter(|_| self.along.is_none()) else { return part };
        build.reshape(part, Tensor::get(&[tensor.shape.iter().product()], tensor.element, None), location)
    }

    /// Part number `index` of the value that holds them.
    pub fn part<'a>(
        &self,
        all: Value<'c, 'a>,
        index: usize,
        build: &Builder<'c, 'a>,
        location: Location<'c>,
    ) -> Value<'c, 'a>
    where
        'c: 'a,
    {
        let value = self.between(all, index, index + 1, build, location);
        if self.along.is_some() { value } else { build.reshape(value, self.types[index], location) }
    }

    /// Parts `from` to before `to`, as they lie there.
    fn between<'a>(
        &self,
        all: Value<'c, 'a>,
        from: usize,
        to: usize,
        build: &Builder<'c, 'a>,
        location: Location<'c>,
    ) -> Value<'c, 'a>
    where
        'c: 'a,
    {
        let tensor = Tensor::new(all.r#type()).expect("parts are tensors");
        let dim = self.along.unwrap_or(0);
        let (mut start, mut shape) = (vec![0; tensor.rank()], tensor.shape.to_vec());
        (start[dim], shape[dim]) = (self.starts[from], self.starts[to] - self.starts[from]);
        build.slice(all, &start, Tensor::get(&shape, tensor.element, None), location)
    }

    /// The same value with other first parts.
    pub fn with_first<'a>(
        &self,
        all: Value<'c, 'a>,
        parts: &[Value<'c, 'a>],
        build: &Builder<'c, 'a>,
        location: Location<'c>,
    ) -> Value<'c, 'a>
    where
        'c: 'a,
    {
        let mut pieces: Vec<_> = parts.iter().map(|part| self.piece(*part, build, location)).collect();
        if parts.len() < self.types.len() {
            pieces.push(self.between(all, parts.len(), self.types.len(), build, location));
        }
        match pieces[..] {
            [only] => only,
            _ => build.concatenate(&pieces, self.along.unwrap_or(0), location),
        }
    }
}

/// Whether two values are the same slice of the same value.
fn is_same_slice(left: Value<'_, '_>, right: Value<'_, '_>) -> bool {
    let (Some(a), Some(b)) = (defining_op(left), defining_op(right)) else { return left == right };
    left == right
        || op_name(a) == "stablehlo.slice"
            && op_name(b) == "stablehlo.slice"
            && a.operands().next() == b.operands().next()
            && ["start_indices", "limit_indices", "strides"]
                .iter()
                .all(|name| ir::i64_array(a, name) == ir::i64_array(b, name))
}

/// A value behind a barrier.
pub fn barrier<'c: 'a, 'a>(
    value: Value<'c, 'a>,
    build: &Builder<'c, 'a>,
    location: Location<'c>,
) -> Value<'c, 'a> {
    barriers(&[value], build, location)[0]
}

/// Values behind one barrier, which waits for all of them.
pub fn barriers<'c: 'a, 'a>(
    values: &[Value<'c, 'a>],
    build: &Builder<'c, 'a>,
    location: Location<'c>,
) -> Vec<Value<'c, 'a>> {
    let types: Vec<Type> = values.iter().map(|value| value.r#type()).collect();
    let op = build.op_with_blocks("stablehlo.optimization_barrier", values, &types, &[], location);
    op.results().map(Value::from).collect()
}

/// Whether elements are integers or floats of whole bytes, by whose bits something can wait.
pub fn has_bits(value: Value<'_, '_>) -> bool {
    ir::plain(value).is_some_and(|tensor| {
        let is_whole = || IntegerType::try_from(tensor.element).is_ok_and(|integer| integer.width() % 8 == 0);
        tensor.element.is_float() || tensor.element.is_integer() && is_whole()
    })
}

/// The bits of a scalar of whole bytes, of a complex one those of its real part, as an integer.
fn bits_of<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    scalar: Value<'c, 'a>,
    location: Location<'c>,
) -> Value<'c, 'a> {
    let element = element_of(scalar.r#type());
    let (told, element) = match complex_part(element) {
        Some(part) => {
            let ty = Tensor::get(&[], part, None);
            (build.insert("stablehlo.real", &[scalar], &[], ty, location), part)
        }
        None => (scalar, element),
    };
    let width = ir::element_bytes(element).unwrap_or_default() as u32 * 8;
    let bits = Tensor::get(&[], IntegerType::new(build.context(), width).into(), None);
    build.insert("stablehlo.bitcast_convert", &[told], &[], bits, location)
}

/// Zero, by the bits of an element of `value`, of whole bytes: what is cut out or put at a place to which it is added waits for `value`.
pub fn zero_of<'c: 'a, 'a>(build: &Builder<'c, 'a>, value: Value<'c, 'a>) -> Value<'c, 'a> {
    let element = element_of(value.r#type());
    let location = defining_op(value).expect("it was made here").location();
    let rank = ffi::shape(value.r#type()).map_or(0, <[i64]>::len);
    let scalar = Tensor::get(&[], element, None);
    let one = build.slice(value, &vec![0; rank], Tensor::get(&vec![1; rank], element, None), location);
    let one = build.reshape(one, scalar, location);
    let bits = bits_of(build, one, location);
    let zero = build.number(0.0, element_of(bits.r#type()), location);
    let zero = build.insert("stablehlo.clamp", &[zero, bits, zero], &[], bits.r#type(), location);
    build.convert(zero, Tensor::get(&[], build.i64_type(), None), location)
}

/// How many ops a zero that something waits for is told by.
const ZERO_OPS: usize = 16;

/// Whether two places are one, whatever is waited for there: zeros that [`zero_of`] made and passes added do not count.
pub fn is_same_place<'c: 'a, 'a>(left: Value<'c, 'a>, right: Value<'c, 'a>) -> bool {
    let is_none = |place| is_zero(place) || Splat::is_zero(place);
    let (left, right) = (without_zeros(left), without_zeros(right));
    left == right || is_none(left) && is_none(right)
}

/// What a place was before zeros were added to it.
fn without_zeros<'c: 'a, 'a>(mut place: Value<'c, 'a>) -> Value<'c, 'a> {
    for _ in 0..ZERO_OPS {
        let Some(sum) = defining_op(place).filter(|op| op_name(*op) == "stablehlo.add") else { break };
        let (Ok(left), Ok(right)) = (sum.operand(0), sum.operand(1)) else { break };
        place = match (is_zero(left), is_zero(right)) {
            (_, true) => left,
            (true, _) => right,
            _ => break,
        };
    }
    place
}

/// Whether a value is what [`zero_of`] makes, or a sum of such.
fn is_zero<'c: 'a, 'a>(value: Value<'c, 'a>) -> bool {
    let mut pending = vec![value];
    for _ in 0..ZERO_OPS {
        let Some(op) = pending.pop().map(defining_op) else { return true };
        match op.map(|op| (op_name(op), op)) {
            Some(("stablehlo.convert" | "stablehlo.add", op)) => pending.extend(op.operands()),
            Some(("stablehlo.clamp", op)) => {
                let bounds = [op.operand(0), op.operand(2)];
                if !bounds.into_iter().flatten().all(Splat::is_zero) {
                    return false;
                }
            }
            _ => return false,
        }
    }
    pending.is_empty()
}
