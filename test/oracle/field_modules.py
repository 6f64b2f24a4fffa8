# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of sharded fields, as text in the form that Reactant writes, and what they compute, by NumPy.

`draw(random)` makes one: fields of three dimensions on a mesh of one to three axes (some of size one, of some only a part cuts), whose
sizes the mesh often does not divide, with `sdy.sharding` on arguments and results and `sdy.sharding_per_value` on (most) ops, starts
and splats as `sdy.constant`. Fields come padded to what divides, with a slice first and a pad last, or as they are. What is done with
them: updates, pads, slices, wraps, rotations, reflections, extensions, halos with and without corners, joins, transposes between,
stencils, chains of these, loops, private functions called twice, manual computations between, and gradients (moves the other way
round, as Enzyme writes them). `field_kinds.py` has more that is done with them. Some modules are of older producers: `mhlo.sharding` on values, and `Sharding` custom calls.

All values are small whole numbers and all arithmetic is exact, so NumPy's results are the ones to be had, bit by bit. `crossing`
counts what has to come from other devices, or go to them: the elements of arguments that a device's results depend on and that it does not
hold, and those that only it holds and others need.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np

from field_truth import at_boundary, crossing, evaluate, parts_of

Cut = tuple[tuple[str, ...], ...]
"""The axes of the mesh that cut each dimension, major to minor: "x", or of an axis of which a part does "x:(1)2"."""

MESHES = (
    (("x", 2),),
    (("x", 4),),
    (("x", 8),),
    (("x", 2), ("y", 2)),
    (("y", 2), ("x", 4)),
    (("x", 4), ("y", 2)),
    (("z", 1), ("x", 4), ("y", 2)),
    (("x", 2), ("y", 2), ("z", 2)),
    (("z", 1), ("y", 1), ("x", 4)),
    (("x", 4), ("y", 4)),
    (("z", 1), ("x", 4), ("y", 4)),
    (("z", 2), ("x", 2), ("y", 4)),
    (("x", 16),),
    (("x", 6),),
    (("x", 3), ("y", 4)),
)
DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32}
TURNS = 3


@dataclasses.dataclass(eq=False)
class Node:
    """A value: how it comes of others, by NumPy, and whether its elements are only moved."""

    name: str
    shape: tuple[int, ...]
    cut: Cut
    operands: tuple[Node, ...] = ()
    apply: Callable[..., np.ndarray] | None = None
    moves: bool = True


class Fields:
    """A module under construction."""

    def __init__(self, random: np.random.Generator, most: int = 16) -> None:
        self.random = random
        meshes = [mesh for mesh in MESHES if math.prod(size for _, size in mesh) <= most]
        self.axes: dict[str, int] = dict(meshes[random.integers(len(meshes))])
        self.element = str(self.one(("f32", "f64", "f32", "f64", "i32")))
        self.dtype = DTYPES[self.element]
        self.lines: list[str] = []
        self.nodes: list[Node] = []
        self.arguments: list[Node] = []
        self.indent = "    "
        # One op in so many says nothing of its sharding, one in so many says another.
        self.silent = int(self.one((0, 0, 5)))
        self.contrary = int(self.one((0, 0, 0, 8)))
        # Whether it is as producers wrote it before Shardy.
        self.is_gspmd = self.random.integers(16) == 0
        self.functions: list[str] = []
        # The axis along which sums are left as devices have them, of ops that are added now.
        self.unreduced: str | None = None
        self.has_sums = False

    @property
    def devices(self) -> int:
        return math.prod(self.axes.values())

    def one(self, of: Sequence) -> object:
        return of[self.random.integers(len(of))]

    def upto(self, low: int, high: int) -> int:
        """From low to high, both included."""
        return int(self.random.integers(low, max(low, high) + 1))

    def resolved(self, axis: str) -> tuple[str, int, int]:
        """The axis that a reference is to, how many parts there are before it, and how many it is."""
        name, _, info = axis.partition(":")
        if not info:
            return name, 1, self.axes[name]
        before, size = info[1:].split(")")
        return name, int(before), int(size)

    def parts(self, cut: Cut, dim: int) -> int:
        return math.prod(self.resolved(axis)[2] for axis in cut[dim])

    def type(self, shape: Sequence[int], element: str | None = None) -> str:
        return f"tensor<{''.join(f'{size}x' for size in shape)}{element or self.element}>"

    def dims(self, cut: Cut) -> str:
        def shown(axis: str) -> str:
            name, _, info = axis.partition(":")
            return f'"{name}"' + (f":{info}" if info else "")

        return "[" + ", ".join("{" + ", ".join(map(shown, axes)) + "}" for axes in cut) + "]"

    def tiles(self, cut: Cut) -> str:
        """A layout in the words of HLO."""
        names = list(self.axes)
        order = [names.index(axis) for axes in cut for axis in axes]
        rest = [index for index in range(len(names)) if index not in order]
        counts = [self.parts(cut, dim) for dim in range(len(cut))]
        if math.prod(counts) == 1:
            return "{replicated}"
        others = math.prod(self.axes[names[index]] for index in rest)
        counts += [others] if others > 1 else []
        if order + rest == sorted(order + rest):
            devices = f"[{self.devices}]"
        else:
            devices = f"[{','.join(map(str, self.axes.values()))}]T({','.join(map(str, order + rest))})"
        return (
            f"{{devices=[{','.join(map(str, counts))}]<={devices}{' last_tile_dim_replicate' if others > 1 else ''}}}"
        )

    def says(self, cut: Cut) -> str:
        """The attribute of an op, braces included; sometimes none, sometimes another layout's."""
        if self.unreduced:
            said = f'<@mesh, {self.dims(cut)}, unreduced={{"{self.unreduced}"}}>'
            return f" {{sdy.sharding = #sdy.sharding_per_value<[{said}]>}}"
        if self.silent and self.random.integers(self.silent) == 0:
            return ""
        if self.contrary and self.random.integers(self.contrary) == 0:
            cut = (*cut[:-1], ()) if self.random.integers(2) else tuple(() for _ in cut)
        if self.is_gspmd:
            return f' {{mhlo.sharding = "{self.tiles(cut)}"}}'
        return f" {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, {self.dims(cut)}>]>}}"

    def add(self, node: Node, text: str) -> Node:
        self.nodes.append(node)
        self.lines.append(f"{self.indent}%{node.name} = {text}")
        return node

    def fresh(self) -> str:
        return f"v{len(self.lines)}"

    # What ops there are.

    def argument(self, shape: tuple[int, ...], cut: Cut) -> Node:
        node = Node(f"arg{len(self.arguments)}", shape, cut)
        self.arguments.append(node)
        self.nodes.append(node)
        return node

    def constant(self, value: int, shape: Sequence[int] = (), element: str | None = None) -> Node:
        """A splat, as sdy.constant or StableHLO's own."""
        element = element or self.element
        cut: Cut = tuple(() for _ in shape)
        number = f"{value}.0" if element.startswith("f") else str(value)
        kind = "sdy.constant" if self.random.integers(4) and not self.is_gspmd else "stablehlo.constant"
        return self.add(
            Node(self.fresh(), tuple(shape), cut, (), lambda: np.full(shape, value, self.dtype), moves=True),
            f"{kind} dense<{number}> : {self.type(shape, element)}",
        )

    def moved(self, op: str, text: str, operands: tuple[Node, ...], apply: Callable, cut: Cut) -> Node:
        """An op that only moves elements; `text` is what stands between its operands and its types."""
        shape = tuple(np.shape(apply(*(np.broadcast_to(np.int8(0), each.shape) for each in operands))))
        names = ", ".join(f"%{each.name}" for each in operands)
        types = ", ".join(self.type(each.shape) for each in operands)
        return self.add(
            Node(self.fresh(), shape, cut, operands, apply),
            f"stablehlo.{op} {names}{text}{self.says(cut)} : ({types}) -> {self.type(shape)}",
        )

    def slice(self, x: Node, low: Sequence[int], high: Sequence[int], by: Sequence[int] | None = None) -> Node:
        by = by or [1] * len(low)
        text = ", ".join(f"{a}:{b}" + (f":{c}" if c > 1 else "") for a, b, c in zip(low, high, by, strict=True))
        window = tuple(slice(a, b, c) for a, b, c in zip(low, high, by, strict=True))
        return self.moved("slice", f" [{text}]", (x,), lambda v: v[window], x.cut)

    def part(self, x: Node, dim: int, low: int, high: int, by: int = 1) -> Node:
        lows, highs, bys = [0] * len(x.shape), list(x.shape), [1] * len(x.shape)
        lows[dim], highs[dim], bys[dim] = low, high, by
        return self.slice(x, lows, highs, bys)

    def concatenate(self, parts: Sequence[Node], dim: int) -> Node:
        return self.moved(
            "concatenate", f", dim = {dim}", tuple(parts), lambda *vs: np.concatenate(vs, dim), parts[0].cut
        )

    def reverse(self, x: Node, dim: int) -> Node:
        return self.moved("reverse", f", dims = [{dim}]", (x,), lambda v: np.flip(v, dim), x.cut)

    def transpose(self, x: Node, order: Sequence[int]) -> Node:
        cut = tuple(x.cut[dim] for dim in order)
        text = f", dims = [{', '.join(map(str, order))}]"
        return self.moved("transpose", text, (x,), lambda v: np.transpose(v, order), cut)

    def reshape(self, x: Node, shape: tuple[int, ...], cut: Cut) -> Node:
        return self.moved("reshape", "", (x,), lambda v: np.reshape(v, shape), cut)

    def broadcast(self, x: Node, shape: tuple[int, ...]) -> Node:
        """Dimensions of one element repeated."""
        text = f", dims = [{', '.join(map(str, range(len(shape))))}]"
        return self.moved("broadcast_in_dim", text, (x,), lambda v: np.broadcast_to(v, shape), x.cut)

    def pad(self, x: Node, edges: Sequence[tuple[int, int, int]]) -> Node:
        def apply(v: np.ndarray, fill: np.ndarray) -> np.ndarray:
            for dim, (low, high, interior) in enumerate(edges):
                spread = v.shape[dim] + max(0, v.shape[dim] - 1) * interior
                shape = list(v.shape)
                shape[dim] = low + spread + high
                wide = np.full(shape, fill, v.dtype)
                at = np.arange(v.shape[dim]) * (interior + 1) + low
                kept = np.flatnonzero((at >= 0) & (at < shape[dim]))
                window = (slice(None),) * dim
                wide[(*window, at[kept])] = v[(*window, kept)]
                v = wide
            return v

        words = [[str(edge[at]) for edge in edges] for at in range(3)]
        lists = ", ".join(
            f"{name} = [{', '.join(word)}]" for name, word in zip(("low", "high", "interior"), words, strict=True)
        )
        return self.moved("pad", f", {lists}", (x, self.constant(0)), apply, x.cut)

    def pad_dim(self, x: Node, dim: int, low: int, high: int, interior: int = 0) -> Node:
        edges = [(low, high, interior) if at == dim else (0, 0, 0) for at in range(len(x.shape))]
        return self.pad(x, edges)

    def update(self, x: Node, part: Node, starts: Sequence[int]) -> Node:
        at = [self.constant(start, (), "i32") for start in starts]
        names = ", ".join(f"%{each.name}" for each in (x, part, *at))
        types = ", ".join([self.type(x.shape), self.type(part.shape), *["tensor<i32>"] * len(at)])
        window = tuple(slice(start, start + size) for start, size in zip(starts, part.shape, strict=True))

        def apply(v: np.ndarray, w: np.ndarray) -> np.ndarray:
            v = v.copy()
            v[window] = w
            return v

        return self.add(
            Node(self.fresh(), x.shape, x.cut, (x, part), apply),
            f"stablehlo.dynamic_update_slice {names}{self.says(x.cut)} : ({types}) -> {self.type(x.shape)}",
        )

    def update_dim(self, x: Node, part: Node, dim: int, start: int) -> Node:
        return self.update(x, part, [start if at == dim else 0 for at in range(len(x.shape))])

    def both(self, op: str, x: Node, y: Node) -> Node:
        apply = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply}[op]
        text = f"stablehlo.{op} %{x.name}, %{y.name}{self.says(x.cut)} : {self.type(x.shape)}"
        return self.add(Node(self.fresh(), x.shape, x.cut, (x, y), apply, moves=False), text)

    def loop(self, fields: Sequence[Node], body: Callable[[Node], Node], turns: int) -> list[Node]:
        """Fields that go through `body`, which keeps their shapes, again and again."""
        number = len(self.lines)
        outer, self.nodes = self.nodes, []
        zero, one, end = (f"%l{number}_{name}" for name in ("zero", "one", "end"))
        for name, value in ((zero, 0), (one, 1), (end, turns)):
            self.lines.append(f"{self.indent}{name} = stablehlo.constant dense<{value}> : tensor<i32>")
        taken = [Node(f"l{number}_x{at}", field.shape, field.cut) for at, field in enumerate(fields)]
        types = ", ".join(["tensor<i32>", *(self.type(field.shape) for field in fields)])
        pairs = ", ".join(
            [f"%l{number}_i = {zero}", *(f"%{own.name} = %{x.name}" for own, x in zip(taken, fields, strict=True))]
        )
        says = ", ".join(["<@mesh, []>", *(f"<@mesh, {self.dims(field.cut)}>" for field in fields)])
        said = f"{{sdy.sharding = #sdy.sharding_per_value<[{says}]>}}"
        self.lines += [
            f"{self.indent}%l{number}:{len(fields) + 1} = stablehlo.while({pairs}) : {types} attributes {said}",
            f"{self.indent}cond {{",
            f"{self.indent}  %l{number}_c = stablehlo.compare LT, %l{number}_i, {end} : (tensor<i32>, tensor<i32>) -> tensor<i1>",
            f"{self.indent}  stablehlo.return %l{number}_c : tensor<i1>",
            f"{self.indent}}} do {{",
        ]
        given = [body(x) for x in taken]
        names = ", ".join([f"%l{number}_n", *(f"%{each.name}" for each in given)])
        self.lines += [
            f"{self.indent}  %l{number}_n = stablehlo.add %l{number}_i, {one} : tensor<i32>",
            f"{self.indent}  stablehlo.return {names} : {types}",
            f"{self.indent}}}",
        ]
        inner, self.nodes = self.nodes, outer

        def apply(*values: np.ndarray) -> list[np.ndarray]:
            for _ in range(turns):
                known = dict(zip(taken, values, strict=True))
                for node in inner:
                    known[node] = node.apply(*(known[each] for each in node.operands))
                values = tuple(known[each] for each in given)
            return list(values)

        def one_of(at: int) -> Callable[..., np.ndarray]:
            return lambda *values: apply(*values)[at]

        results = [
            Node(f"l{number}#{at + 1}", field.shape, field.cut, tuple(fields), one_of(at), moves=False)
            for at, field in enumerate(fields)
        ]
        self.nodes += results
        return results

    def called(self, x: Node, body: Callable[[Node], Node]) -> Node:
        """A field that goes twice through a private function, which keeps its shape."""
        name = f"f{len(self.functions)}"
        outer, self.lines = self.lines, []
        nodes, self.nodes = self.nodes, []
        taken = Node(f"{name}_x", x.shape, x.cut)
        given = body(taken)
        said = f"{self.type(x.shape)} {{{self.at_boundary(x.cut)}}}"
        self.functions += [
            f"  func.func private @{name}(%{taken.name}: {said}) -> ({said}) {{",
            *self.lines,
            f"    return %{given.name} : {self.type(x.shape)}",
            "  }",
        ]
        inner, self.nodes, self.lines = self.nodes, nodes, outer

        def apply(value: np.ndarray) -> np.ndarray:
            known = {taken: value}
            for node in inner:
                known[node] = node.apply(*(known[each] for each in node.operands))
            return known[given]

        for _ in range(2):
            text = f"func.call @{name}(%{x.name}) : ({self.type(x.shape)}) -> {self.type(x.shape)}"
            x = self.add(Node(self.fresh(), x.shape, x.cut, (x,), apply, moves=False), text)
        return x

    def by_hand(self, x: Node) -> Node:
        """Twice a field, in a manual computation, if it comes out even."""
        if self.is_gspmd or any(size % self.parts(x.cut, dim) for dim, size in enumerate(x.shape)):
            return self.both("add", x, x)
        name = self.fresh()
        local = self.type([size // self.parts(x.cut, dim) for dim, size in enumerate(x.shape)])
        layout = f"[<@mesh, {self.dims(x.cut)}>]"
        axes = ", ".join(f'"{axis}"' for axis in self.axes)
        text = (
            f"sdy.manual_computation(%{x.name}) in_shardings={layout} out_shardings={layout} manual_axes={{{axes}}} "
            f"(%{name}_x: {local}) {{ %{name}_y = stablehlo.add %{name}_x, %{name}_x : {local} "
            f"sdy.return %{name}_y : {local} }} : ({self.type(x.shape)}) -> {self.type(x.shape)}"
        )
        return self.add(Node(name, x.shape, x.cut, (x,), lambda v: v + v, moves=False), text)

    def at_boundary(self, cut: Cut) -> str:
        """The attribute of an argument or a result."""
        if self.is_gspmd:
            return f'mhlo.sharding = "{self.tiles(cut)}"'
        return f"sdy.sharding = #sdy.sharding<@mesh, {self.dims(cut)}>"

    def text(self, results: Sequence[Node], donated: bool) -> str:
        """The whole module."""
        axes = ", ".join(f'"{name}"={size}' for name, size in self.axes.items())

        def said(node: Node, more: str = "") -> str:
            return f"{self.type(node.shape)} {{{self.at_boundary(node.cut)}{more}}}"

        taken = []
        for index, argument in enumerate(self.arguments):
            matches = donated and index < len(results)
            matches = matches and (results[index].shape, results[index].cut) == (argument.shape, argument.cut)
            more = f", tf.aliasing_output = {index} : i32" if matches else ""
            taken.append(f"%{argument.name}: {said(argument, more)}")
        lines = [
            f"module @fields attributes {{mhlo.num_partitions = {self.devices} : i32, mhlo.num_replicas = 1 : i32}} {{",
            *([] if self.is_gspmd else [f"  sdy.mesh @mesh = <[{axes}]>"]),
            f"  func.func @main({', '.join(taken)}) -> ({', '.join(said(each) for each in results)}) {{",
            *self.lines,
            f"    return {', '.join(f'%{each.name}' for each in results)} : "
            f"{', '.join(self.type(each.shape) for each in results)}",
            "  }",
            *self.functions,
            "}",
        ]
        return "\n".join(lines) + "\n"


# --- What is done with a field ---------------------------------------------------------------------------------------------------


def dim_of(f: Fields, x: Node) -> int:
    """A dimension, most times one that is cut."""
    cut = [dim for dim in range(len(x.shape)) if f.parts(x.cut, dim) > 1]
    return int(f.one(cut)) if cut and f.random.integers(5) else f.upto(0, len(x.shape) - 1)


def width_of(f: Fields, x: Node, dim: int) -> int:
    return f.upto(1, max(1, min(4, x.shape[dim] // 3)))


def rotate(f: Fields, x: Node) -> Node:
    """All of it by some, around the ends."""
    dim = dim_of(f, x)
    size = x.shape[dim]
    by = f.upto(1, size - 1) if f.random.integers(3) == 0 else min(f.upto(1, 4), size - 1)
    by = size - by if f.random.integers(2) else by
    return f.concatenate([f.part(x, dim, by, size), f.part(x, dim, 0, by)], dim)


def wrap(f: Fields, x: Node) -> Node:
    """Longer or shorter at one end or both, by what is at the other."""
    dim = dim_of(f, x)
    size, width = x.shape[dim], width_of(f, x, dim)
    match f.upto(0, 3):
        case 0:
            return f.concatenate([f.part(x, dim, width, size), f.part(x, dim, 0, min(size, width + f.upto(0, 2)))], dim)
        case 1:
            return f.concatenate([f.part(x, dim, size - width, size), x], dim)
        case 2:
            return f.concatenate([x, f.part(x, dim, 0, width)], dim)
        case _:
            return f.concatenate([f.part(x, dim, size - width, size), x, f.part(x, dim, 0, width)], dim)


def reflect(f: Fields, x: Node) -> Node:
    dim = dim_of(f, x)
    size, width = x.shape[dim], width_of(f, x, dim)
    if f.random.integers(4) == 0:
        return f.reverse(x, dim)
    low = f.reverse(f.part(x, dim, 0, width), dim)
    high = f.reverse(f.part(x, dim, size - width, size), dim)
    return f.concatenate([low, x, high] if f.random.integers(2) else [x, high], dim)


def extend(f: Fields, x: Node) -> Node:
    """Edges repeated."""
    dim = dim_of(f, x)
    size, width = x.shape[dim], width_of(f, x, dim)
    shape = tuple(width if at == dim else all_ for at, all_ in enumerate(x.shape))
    low = f.broadcast(f.part(x, dim, 0, 1), shape)
    high = f.broadcast(f.part(x, dim, size - 1, size), shape)
    if f.random.integers(2):
        inner = f.part(x, dim, width, size - width) if size > 2 * width else x
        return f.concatenate([low, inner, high], dim)
    return f.concatenate([low, x, high] if f.random.integers(2) else [x, high], dim)


def padded(f: Fields, x: Node) -> Node:
    """Zeros at the ends, or some of it gone, or zeros between."""
    dim = dim_of(f, x)
    size = x.shape[dim]
    interior = int(f.random.integers(6) == 0 and size < 40)
    low, high = f.upto(-min(3, size // 4), 4), f.upto(-min(3, size // 4), 4)
    return f.pad_dim(x, dim, low, high, interior)


def sliced(f: Fields, x: Node) -> Node:
    """Less of it, perhaps every other."""
    dim = dim_of(f, x)
    size = x.shape[dim]
    low = f.upto(0, min(4, size // 4))
    high = size - f.upto(0, min(4, size // 4))
    by = 2 if f.random.integers(6) == 0 and size > 12 else 1
    return f.part(x, dim, low, high, by)


def stencil(f: Fields, x: Node) -> Node:
    """Differences of neighbours: several slices of one field, in one dimension or two; put back, or padded, or as they are."""
    dim = dim_of(f, x)
    size = x.shape[dim]
    if size < 6:
        return x
    width = f.upto(1, 2)
    inner = f.both("subtract", f.part(x, dim, 2 * width, size), f.part(x, dim, 0, size - 2 * width))
    if f.random.integers(2):
        inner = f.both("add", inner, f.part(x, dim, width, size - width))
    match f.upto(0, 3):
        case 0:
            return inner
        case 1:
            return f.update_dim(x, inner, dim, width)
        case 2:
            return f.both("add", x, f.pad_dim(inner, dim, width, width))
        case _:
            return f.pad_dim(inner, dim, width, width)


def halo(f: Fields, x: Node) -> Node:
    """Periodic halos of one dimension or two, with corners (one after the other) or without."""
    first = dim_of(f, x)
    others = [dim for dim in range(len(x.shape)) if dim != first and x.shape[dim] >= 8]
    dims = [first] + ([int(f.one(others))] if others and f.random.integers(2) else [])
    dims = [dim for dim in dims if x.shape[dim] >= 8]
    corners = bool(f.random.integers(3))
    width = f.upto(1, 2)
    source = x
    inside = [(width, size - width) if dim in dims and not corners else (0, size) for dim, size in enumerate(x.shape)]
    for dim in dims:
        size = x.shape[dim]
        for high in (False, True):
            base = x if corners else source
            at = width if high else size - 2 * width
            window = [(at, at + width) if d == dim else inside[d] for d in range(len(x.shape))]
            piece = f.slice(base, [low for low, _ in window], [top for _, top in window])
            start = [(size - width if high else 0) if d == dim else inside[d][0] for d in range(len(x.shape))]
            x = f.update(x, piece, start)
    return x


def constant_update(f: Fields, x: Node) -> Node:
    """A splat put somewhere."""
    shape = [f.upto(1, size) if f.random.integers(2) else size for size in x.shape]
    # Not all of it, or nothing is left of what was before.
    dim = dim_of(f, x)
    shape[dim] = f.upto(1, max(1, x.shape[dim] - 2))
    starts = [f.upto(0, size - part) for size, part in zip(x.shape, shape, strict=True)]
    return f.update(x, f.constant(f.upto(0, 2), shape), starts)


def moved_update(f: Fields, x: Node) -> Node:
    """A part of it put somewhere else in it."""
    dim = dim_of(f, x)
    size = x.shape[dim]
    width = f.upto(1, max(1, size // 3))
    low, start = f.upto(0, size - width), f.upto(0, size - width)
    return f.update_dim(x, f.part(x, dim, low, low + width), dim, start)


def other_update(f: Fields, x: Node) -> Node:
    """Rows kept elsewhere put at an edge: an argument, cut alike, or whole on each device."""
    dim = dim_of(f, x)
    width = width_of(f, x, dim)
    shape = tuple(width if at == dim else size for at, size in enumerate(x.shape))
    cut = tuple(() for _ in shape)
    if f.random.integers(2):
        cut = tuple(() if at == dim or shape[at] % f.parts(x.cut, at) else axes for at, axes in enumerate(x.cut))
    rows = f.argument(shape, cut)
    return f.update_dim(x, rows, dim, 0 if f.random.integers(2) else x.shape[dim] - width)


def joined(f: Fields, x: Node) -> Node:
    """It and constants, or another field, side by side."""
    dim = dim_of(f, x)
    width = width_of(f, x, dim)
    if f.random.integers(2):
        shape = tuple(width if at == dim else size for at, size in enumerate(x.shape))
        zeros = f.constant(f.upto(0, 1), shape)
        return f.concatenate([x, zeros] if f.random.integers(2) else [zeros, x], dim)
    twice = f.both("add", x, x)
    return f.concatenate([f.part(x, dim, 0, width), f.part(twice, dim, width, x.shape[dim])], dim)


def transposed(f: Fields, x: Node) -> Node:
    """Something done to it the other way round."""
    order = [0, 2, 1] if len(x.shape) == 3 else [1, 0]
    return f.transpose(f.one((wrap, rotate, stencil))(f, f.transpose(x, order)), order)


def reshaped(f: Fields, x: Node) -> Node:
    """A dimension of one comes and goes, or a dimension that is not cut is split and put together again."""
    wide = f.reshape(x, (1, *x.shape), ((), *x.cut))
    y = f.one((wrap, rotate, halo))(f, wide)
    return f.reshape(y, y.shape[1:], y.cut[1:]) if y.shape[0] == 1 else x


def back(f: Fields, x: Node) -> Node:
    """The gradient of a wrap at both ends, or of differences: parts padded to all of it, and added."""
    dim = dim_of(f, x)
    size = x.shape[dim]
    width = f.upto(1, 2)
    if size < 6 * width:
        return x
    if f.random.integers(2):
        middle = f.part(x, dim, width, size - width)
        low = f.pad_dim(f.part(x, dim, 0, width), dim, size - 3 * width, 0)
        high = f.pad_dim(f.part(x, dim, size - width, size), dim, 0, size - 3 * width)
        return f.both("add", f.both("add", middle, low), high)
    return f.both("subtract", f.pad_dim(x, dim, 2 * width, 0), f.pad_dim(x, dim, 0, 2 * width))


def elementwise(f: Fields, x: Node) -> Node:
    """Not a difference of one thing: nothing would be left of what came before."""
    if f.is_gspmd and f.random.integers(2):
        type_ = f.type(x.shape)
        said = f'{{mhlo.sharding = "{f.tiles(x.cut)}"}}'
        text = f"stablehlo.custom_call @Sharding(%{x.name}) {said} : ({type_}) -> {type_}"
        x = f.add(Node(f.fresh(), x.shape, x.cut, (x,), lambda v: v), text)
    return f.by_hand(x) if f.random.integers(8) == 0 else f.both("add", x, x)


Kind = Callable[[Fields, Node], Node]
KINDS: tuple[Kind, ...] = (
    rotate, wrap, wrap, reflect, extend, padded, sliced, stencil, stencil, halo, halo, constant_update, moved_update, other_update,
    joined, transposed, reshaped, back,
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Case:
    """A module, its arguments, what it computes, and the elements that have to cross to one device or more (of the worst one)."""

    name: str
    text: str
    inputs: list[np.ndarray]
    expected: list[np.ndarray]
    devices: int
    tile: int
    """Bytes that one device holds of the largest argument or result."""
    crossing: int | None
    """Bytes; nothing is said of loops and calls."""


def layout(f: Fields, rank: int) -> Cut:
    """Axes for each dimension: as oceans have them, or any."""
    axes = list(f.axes)
    cut: list[list[str]] = [[] for _ in range(rank)]
    if f.random.integers(3):
        for axis, dim in zip(
            axes[-2:], (rank - 2, rank - 1) if f.random.integers(2) else (rank - 1, rank - 2), strict=False
        ):
            cut[dim].append(axis)
        if len(axes) > 2 and f.random.integers(2):
            cut[f.upto(0, rank - 1)].append(axes[0])
    else:
        f.random.shuffle(axes)
        for axis in axes[: f.upto(1, len(axes))]:
            cut[f.upto(0, rank - 1)].append(axis)
    if not f.is_gspmd and f.random.integers(8) == 0:
        # Of one axis only a part, the first or the last.
        name = str(f.one(axes))
        size = f.axes[name]
        info = f.one([(1, size // 2), (size // 2, 2), (2, size // 2)]) if size % 4 == 0 else None
        cut = [[f"{axis}:({info[0]}){info[1]}" if info and axis == name else axis for axis in dim] for dim in cut]
    return tuple(map(tuple, cut))


def draw(random: np.random.Generator, most: int = 16, scale: int = 1, kinds: Sequence[Kind] = KINDS) -> Case:
    """A module for at most so many devices, in which these kinds of things are done with fields."""
    f = Fields(random, most)
    rank = int(f.one((2, 3, 3)))
    cut = layout(f, rank)
    local = [f.upto(2, 4) if rank == 3 and dim == 0 else f.upto(12, 28) * scale for dim in range(rank)]
    shape = [size * f.parts(cut, dim) for dim, size in enumerate(local)]
    # Uneven: a few less than what divides.
    if f.random.integers(4):
        shape = [
            size - f.upto(0, parts - 1) if (parts := f.parts(cut, dim)) > 1 and size > 2 * parts else size
            for dim, size in enumerate(shape)
        ]
    # Before Shardy what does not come out even may not cross a program's boundary.
    is_padded = bool(f.random.integers(4)) or f.is_gspmd
    even = tuple(-(-size // f.parts(cut, dim)) * f.parts(cut, dim) for dim, size in enumerate(shape))

    def taken() -> Node:
        argument = f.argument(even if is_padded else tuple(shape), cut)
        return argument if argument.shape == tuple(shape) else f.slice(argument, [0] * rank, shape)

    def given(x: Node) -> Node:
        to = tuple(-(-size // f.parts(x.cut, dim)) * f.parts(x.cut, dim) for dim, size in enumerate(x.shape))
        if not is_padded or to == x.shape:
            return x
        return f.pad(x, [(0, high - size, 0) for high, size in zip(to, x.shape, strict=True)])

    fields = [taken() for _ in range(f.upto(1, 2))]
    count = int(f.one((1, 1, 1, 2, 3, 5, 8)))
    names = []
    turns = int(f.one((1, 1, 1, 1, TURNS)))

    def change(x: Node) -> Node:
        for _ in range(count):
            kind = f.one(kinds) if turns == 1 else f.one(LOOPED)
            names.append(kind.__name__)
            y = kind(f, x)
            x = y if min(y.shape[-2:]) >= 8 else x
            if f.random.integers(4) == 0:
                x = elementwise(f, x)
        return x

    def called(x: Node) -> Node:
        names.append("called")
        return f.called(x, lambda y: f.one(LOOPED)(f, y))

    if f.is_gspmd:
        turns = 1
    is_called = turns == 1 and not f.is_gspmd and f.random.integers(10) == 0
    if is_called:
        fields = [called(x) for x in fields]
    changed = [change(x) for x in fields] if turns == 1 else f.loop(fields, change, turns)
    donated = bool(f.random.integers(2))
    results = [given(x) for x in changed]
    text = f.text(results, donated)
    inputs = [random.integers(-4, 5, node.shape).astype(f.dtype) for node in f.arguments]
    mesh = "x".join(map(str, f.axes.values()))
    size = "x".join(map(str, shape))
    name = f"{mesh}-{size}{f.dims(cut)}-{f.element}-{'+'.join(names)}{'-loop' if turns > 1 else ''}{'-donated' if donated else ''}"
    if f.is_gspmd:
        name += "-gspmd"
    is_told = turns == 1 and not is_called and not f.has_sums
    must_cross = crossing(f, results) if is_told else None
    size = max(math.prod(each.shape) // parts_of(f, at_boundary(f, each)) for each in (*f.arguments, *results))
    tile = size * np.dtype(f.dtype).itemsize
    return Case(name, text, inputs, evaluate(f, inputs, results), f.devices, tile, must_cross)


LOOPED = (halo, constant_update, moved_update, rotate)
