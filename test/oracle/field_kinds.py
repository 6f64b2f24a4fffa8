# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What else is done with sharded fields, drawn if asked for: rows taken or put at strides, and sums that are left unreduced."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from field_modules import (
    KINDS, Fields, Kind, Node, constant_update, dim_of, elementwise, extend, halo, padded, rotate, stencil, wrap,
)  # fmt: skip

# How long a dimension may be whose rows are spread.
MOST_SPREAD = 400


def summed(f: Fields, x: Node) -> Node:
    """Along the first dimension."""
    f.has_sums = True
    zero = f.constant(0)
    text = (
        f"stablehlo.reduce(%{x.name} init: %{zero.name}) applies stablehlo.add across dimensions = [0]{f.says(x.cut[1:])}"
        f" : ({f.type(x.shape)}, {f.type(())}) -> {f.type(x.shape[1:])}"
    )
    node = Node(f.fresh(), x.shape[1:], x.cut[1:], (x,), lambda v: np.sum(v, 0, dtype=f.dtype), moves=False)
    return f.add(node, text)


def constrained(f: Fields, x: Node) -> Node:
    """Laid out as it is, and no sum left to be added up."""
    text = f"sdy.sharding_constraint %{x.name} <@mesh, {f.dims(x.cut)}> : {f.type(x.shape)}"
    return f.add(Node(f.fresh(), x.shape, x.cut, (x,), lambda v: v), text)


def strided(f: Fields, x: Node) -> Node:
    """Every second or third row from some offset on, alone, back where they were, or less those beside them."""
    dim = dim_of(f, x)
    size = x.shape[dim]
    by = f.upto(2, 3)
    if size < 8 * by:
        return x
    low = f.upto(0, by)
    count = (size - low - 1) // by
    rows = f.part(x, dim, low, low + count * by, by)
    match f.upto(0, 2):
        case 0:
            return rows
        case 1:
            return f.pad_dim(rows, dim, low, size - low - (count - 1) * by - 1, by - 1)
        case _:
            return f.both("subtract", rows, f.part(x, dim, low + 1, low + 1 + count * by, by))


def spread(f: Fields, x: Node) -> Node:
    """Zeros between its rows, and some of what comes of that."""
    dim = dim_of(f, x)
    size = x.shape[dim]
    if size > MOST_SPREAD:
        return x
    between = f.upto(1, 2)
    wide = f.pad_dim(x, dim, f.upto(0, 3), f.upto(0, 3), between)
    return f.part(wide, dim, f.upto(0, 2), f.upto(size, wide.shape[dim])) if f.random.integers(2) else wide


def partial(f: Fields, x: Node) -> Node:
    """A sum that is left as devices have it, moved or computed on, and then added up."""
    used = {f.resolved(axis)[0] for axes in x.cut for axis in axes}
    free = [name for name, size in f.axes.items() if size > 1 and name not in used]
    if f.is_gspmd or not free:
        return x
    axis = str(f.one(free))
    rows = f.argument((f.axes[axis], *x.shape), ((axis,), *x.cut))
    f.unreduced = axis
    moved = f.one((rotate, halo, stencil, elementwise))(f, summed(f, rows))
    f.unreduced = None
    whole = constrained(f, moved)
    return f.both("add", x, whole) if whole.shape == x.shape else f.both("add", whole, whole)


STRIDED: Sequence[Kind] = (strided, strided, spread, wrap, rotate, stencil, halo, constant_update, padded)
PARTIAL: Sequence[Kind] = (partial, partial, partial, wrap, rotate, stencil, halo, extend)
KINDS_OF = {"usual": KINDS, "strided": STRIDED, "partial": PARTIAL}
