# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The differential test of --slimhlo-exchange-shards: sharded JAX programs, before and after, on virtual CPU devices.

    python test/oracle/shards.py --opt target/debug/slimhlo-opt --count 300 --seed 1

Programs pad, slice, update, roll, reverse and fill halos along sharded dimensions, on meshes of 2, 4 and 8 devices; those of
test/oracle/sharded_steps.py fill halos of several fields and then read them, and go through the default pipeline. Every
result must be the same bit by bit as without the pass, or, where XLA's partitioner itself changes bits (it adds up masked
parts, which loses the sign of zeros), as on one device. No program may need more memory than before, gather more or have more
collectives in all if it is a step, and a second run must change nothing. The last line is what the project's test runner reads.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import pathlib
import re
import sys
import time
from collections.abc import Callable

import xla_cpu  # first: it sets the flags with which JAX starts

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src.sharding_impls import GSPMDSharding
from jax.sharding import Mesh, NamedSharding, PartitionSpec
import sharded_steps
from execute import bits
from opt import PIPELINE, Driver, Outcome

jax.config.update("jax_enable_x64", True)

# How many gradients through halos may take more: where a computation of all of it is too much for one kernel, XLA stores more of what
# is between its parts than the partitioner's pieces did (one in 50 does).
MORE_SHARE = 0.05
CHANGED_SHARE = 0.5
PASS = "--slimhlo-exchange-shards"
MESHES = (
    {"x": 2},
    {"x": 4},
    {"x": 8},
    {"x": 2, "y": 2},
    {"x": 1, "y": 4},
    {"x": 4, "y": 1},
    {"x": 2, "y": 4},
    {"x": 4, "y": 2},
    {"x": 2, "y": 2, "z": 2},
)
DTYPES = ("float64", "float32", "bfloat16", "int32", "bool", "int8", "uint16", "float16", "complex64")
# XLA's own totals for small programs move by some alignment and by the tables of who is who.
SLACK = 4096


@dataclasses.dataclass(frozen=True)
class Program:
    """A lowered program with its inputs, and how they are laid out."""

    name: str
    text: str
    inputs: list[np.ndarray]
    shardings: list[NamedSharding]
    flags: tuple[str, ...] = ("--inline", PASS)


class Source:
    """Random choices, and arrays to go with them."""

    def __init__(self, seed: int, scale: int) -> None:
        self.random = np.random.default_rng(seed)
        self.scale = scale
        sizes = MESHES[self.random.integers(len(MESHES))]
        count = int(np.prod(list(sizes.values())))
        self.mesh = Mesh(np.array(jax.devices()[:count]).reshape(tuple(sizes.values())), tuple(sizes))
        self.dtype = jnp.dtype(self.one(DTYPES))

    def one(self, of: tuple) -> object:
        return of[self.random.integers(len(of))]

    def upto(self, low: int, high: int) -> int:
        """From low to high, both included."""
        return int(self.random.integers(low, max(low, high) + 1))

    def spec(self, rank: int) -> PartitionSpec:
        """Axes for each dimension, at least one dimension with some."""
        axes = list(self.mesh.axis_names)
        self.random.shuffle(axes)
        dims: list[list[str]] = [[] for _ in range(rank)]
        for axis in axes[: self.upto(1, len(axes))]:
            dims[self.upto(0, rank - 1)].append(axis)
        return PartitionSpec(*(tuple(dim) or None for dim in dims))

    def sharding(self, rank: int) -> NamedSharding:
        return NamedSharding(self.mesh, self.spec(rank))

    def parts(self, sharding: NamedSharding, dim: int) -> int:
        entry = (tuple(sharding.spec) + (None,) * 8)[dim]
        names = () if entry is None else (entry,) if isinstance(entry, str) else entry
        return int(np.prod([self.mesh.shape[name] for name in names], dtype=int))

    def sharded_dim(self, sharding: NamedSharding, rank: int) -> int:
        """A dimension, most times one that is cut."""
        cut = [dim for dim in range(rank) if self.parts(sharding, dim) > 1]
        return int(self.one(tuple(cut))) if cut and self.random.integers(4) else self.upto(0, rank - 1)

    def shape(self, sharding: NamedSharding, rank: int) -> tuple[int, ...]:
        return tuple(self.parts(sharding, dim) * self.upto(4, 4 + self.scale) for dim in range(rank))

    def values(self, shape: tuple[int, ...]) -> np.ndarray:
        kind = self.dtype
        if kind == np.bool_:
            return self.random.integers(0, 2, shape).astype(kind)
        if jnp.issubdtype(kind, jnp.integer):
            info = jnp.iinfo(kind)
            return self.random.integers(int(info.min), int(info.max), shape, endpoint=True, dtype=kind)
        values = self.random.uniform(-2, 2, shape)
        if jnp.issubdtype(kind, jnp.complexfloating):
            values = values + 1j * self.random.uniform(-2, 2, shape)
        values = values.astype(kind)
        flat = values.reshape(-1)
        for special in (np.nan, np.inf, -np.inf, -0.0, 0.0) * 2:
            flat[self.random.integers(flat.size)] = special
        return values

    def twice(self) -> Callable:
        """Something elementwise."""
        if self.dtype == np.bool_:
            return jnp.logical_not
        return self.one((lambda v: v, lambda v: v * v.dtype.type(2), lambda v: -v, lambda v: v + v.dtype.type(1)))

    def constrain(self, value: jax.Array, sharding: NamedSharding) -> jax.Array:
        return lax.with_sharding_constraint(value, sharding)


Made = tuple[Callable, list[np.ndarray], list[NamedSharding], dict]


def along(shape: tuple[int, ...], dim: int, low: int, high: int) -> tuple[slice, ...]:
    return tuple(slice(low, high) if at == dim else slice(None) for at in range(len(shape)))


def array(source: Source, low: int = 1, high: int = 4) -> tuple[np.ndarray, NamedSharding, int]:
    rank = source.upto(low, high)
    sharding = source.sharding(rank)
    shape = source.shape(sharding, rank)
    return source.values(shape), sharding, source.sharded_dim(sharding, rank)


def pads(source: Source) -> Made:
    """A slice of some, padded to as many, fewer or more; low and high, some of it negative."""
    x, sharding, dim = array(source)
    size = x.shape[dim]
    low = source.upto(0, size - 1)
    high = source.upto(low + 1, size)
    parts = source.parts(sharding, dim)
    result = parts * source.upto(1, size // parts + 3)
    first = source.upto(-2, result)
    first = max(first, 1 - (high - low))
    edges = [(0, 0, 0)] * x.ndim
    edges[dim] = (first, result - first - (high - low), 0)
    fill = source.one((0, 0, 1, -0.0))
    constrained = bool(source.random.integers(2))
    change = source.twice()

    def f(x):
        y = change(x[along(x.shape, dim, low, high)])
        if constrained:
            y = source.constrain(y, sharding)
        return source.constrain(lax.pad(y, jnp.asarray(fill).astype(x.dtype), edges), sharding)

    return f, [x], [sharding], {}


def uneven(source: Source) -> Made:
    """A slice of one, padded to something no mesh divides; the program's result."""
    x, sharding, dim = array(source)
    total = source.upto(2, 15) * 2 + 1
    first = source.upto(0, total - 1)
    at = source.upto(0, x.shape[dim] - 1)
    edges = [(0, 0, 0)] * x.ndim
    edges[dim] = (first, total - 1 - first, 0)

    def f(x):
        y = source.constrain(x[along(x.shape, dim, at, at + 1)], sharding)
        return source.constrain(lax.pad(y, jnp.zeros((), x.dtype), edges), sharding)

    return f, [x], [sharding], {}


def update_splat(source: Source) -> Made:
    """A part, computed on, put into a splat: once, or several times."""
    x, sharding, _ = array(source)
    pieces = []
    for _ in range(source.upto(1, 2)):
        size = [source.upto(1, size) if source.random.integers(2) else size for size in x.shape]
        take = [source.upto(0, total - part) for total, part in zip(x.shape, size, strict=True)]
        put = [source.upto(-2, total - part + 2) for total, part in zip(x.shape, size, strict=True)]
        pieces.append((take, size, put, source.twice()))
    fill = source.one((0, 1))
    constrained = bool(source.random.integers(2))

    def f(x):
        z = jnp.full(x.shape, fill, x.dtype)
        if constrained:
            z = source.constrain(z, sharding)
        for take, size, put, change in pieces:
            part = lax.slice(x, take, [start + length for start, length in zip(take, size, strict=True)])
            z = lax.dynamic_update_slice(z, change(part), [max(at, 0) for at in put])
        return source.constrain(z, sharding)

    return f, [x], [sharding], {}


def update_other(source: Source) -> Made:
    """A part of one array put into another that is given away, perhaps twice."""
    x, sharding, dim = array(source)
    size = source.upto(1, x.shape[dim])
    take = source.upto(0, x.shape[dim] - size)
    put = source.upto(0, x.shape[dim] - size)
    other = source.sharding(x.ndim) if not source.random.integers(4) else sharding
    if any(total % source.parts(other, at) for at, total in enumerate(x.shape)):
        other = sharding
    change = source.twice()

    def f(x, y):
        part = change(y[along(y.shape, dim, take, take + size)])
        start = [put if at == dim else 0 for at in range(x.ndim)]
        return source.constrain(lax.dynamic_update_slice(x, part, start), sharding)

    return f, [x, source.values(x.shape)], [sharding, other], {"donate_argnums": 0, "out_shardings": sharding}


def boundary(source: Source) -> Made:
    """Rows kept elsewhere, whole on every device or cut like the array, put at an edge."""
    x, sharding, dim = array(source, 2, 4)
    width = source.upto(1, 4)
    spec = list(tuple(sharding.spec) + (None,) * x.ndim)[: x.ndim]
    spec[dim] = None
    rows = NamedSharding(source.mesh, PartitionSpec(*spec))
    high = bool(source.random.integers(2))
    shape = tuple(width if at == dim else size for at, size in enumerate(x.shape))

    def f(x, rows):
        start = [(x.shape[dim] - width if high else 0) if at == dim else 0 for at in range(x.ndim)]
        return lax.dynamic_update_slice(x, rows, start)

    return f, [x, source.values(shape)], [sharding, rows], {"donate_argnums": 0, "out_shardings": sharding}


def halos(source: Source) -> Made:
    """Halos of fields, periodic or not, one dimension after the other."""
    x, sharding, first = array(source, 1, 3)
    order = [first] + [dim for dim in range(x.ndim) if dim != first and source.random.integers(2)]
    fills = []
    for dim in order:
        width = source.upto(1, min(4, x.shape[dim] // 2 - 1))
        fills.append((dim, width, source.one(("periodic", "edge", "mirror", "zero"))))
    constrained = source.random.integers(3)
    fields = source.upto(1, 2)
    by_index = bool(source.random.integers(2))
    before = bool(source.random.integers(3) == 0)

    def fill(x):
        if before:
            x = x | x if x.dtype == jnp.bool_ else x + x
        for dim, width, kind in fills:
            size = x.shape[dim]
            for high in (False, True):
                if kind == "periodic":
                    low = width if high else size - 2 * width
                    part = x[along(x.shape, dim, low, low + width)]
                elif kind == "mirror":
                    low = size - 2 * width if high else width
                    part = jnp.flip(x[along(x.shape, dim, low, low + width)], dim)
                elif kind == "zero":
                    part = jnp.zeros_like(x[along(x.shape, dim, 0, width)])
                else:
                    at = size - 1 - width if high else width
                    part = x[along(x.shape, dim, at, at + 1)]
                    part = jnp.broadcast_to(part, tuple(width if d == dim else s for d, s in enumerate(x.shape)))
                start = [(size - width if high else 0) if at == dim else 0 for at in range(x.ndim)]
                if by_index:
                    x = x.at[along(x.shape, dim, start[dim], start[dim] + width)].set(part)
                else:
                    x = lax.dynamic_update_slice(x, part, start)
                if constrained == 1:
                    x = source.constrain(x, sharding)
        return source.constrain(x, sharding) if constrained == 2 else x

    def f(*xs):
        return tuple(fill(x) for x in xs)

    inputs = [x] + [source.values(x.shape) for _ in range(fields - 1)]
    extra = {"donate_argnums": tuple(range(fields)), "out_shardings": (sharding,) * fields}
    return f, inputs, [sharding] * fields, extra


def insides(source: Source) -> Made:
    """The inside of a field, computed, and halos filled around it by concatenation: periodic, or edges repeated."""
    x, sharding, first = array(source, 1, 3)
    order = [first] + [dim for dim in range(x.ndim) if dim != first and source.random.integers(2)]
    width_of = lambda dim: source.upto(1, max(1, min(3, x.shape[dim] // 4)))
    fills = [(dim, width_of(dim), source.one(("periodic", "edge"))) for dim in order]
    inside = [slice(None)] * x.ndim
    for dim, width, _ in fills:
        inside[dim] = slice(width, x.shape[dim] - width)
    near = list(inside)
    dim, width, _ = fills[0]
    near[dim] = slice(width + 1, x.shape[dim] - width + 1)
    read_again = bool(source.random.integers(2))

    def f(x, y):
        made = x[tuple(inside)] & y[tuple(near)] if x.dtype == jnp.bool_ else x[tuple(inside)] + y[tuple(near)]
        for dim, width, kind in fills:
            size = made.shape[dim]
            if kind == "edge":
                low, high = (jnp.repeat(made[along(made.shape, dim, at, at + 1)], width, dim) for at in (0, size - 1))
            else:
                low, high = made[along(made.shape, dim, size - width, size)], made[along(made.shape, dim, 0, width)]
            made = lax.concatenate([low, made, high], dim)
        return (made, jnp.roll(made, 1, fills[0][0])) if read_again else (made,)

    results = 2 if read_again else 1
    return f, [x, source.values(x.shape)], [sharding] * 2, {"out_shardings": (sharding,) * results}


def rolls(source: Source) -> Made:
    """Roll, reverse, and both of halves, with something elementwise after."""
    x, sharding, dim = array(source)
    by = source.upto(1, x.shape[dim] - 1)
    kind = source.one(("roll", "roll", "flip", "swap"))
    after = bool(source.random.integers(2))

    def f(x):
        half = x.shape[dim] // 2
        low, high = x[along(x.shape, dim, 0, by)], x[along(x.shape, dim, by, x.shape[dim])]
        if kind == "roll":
            y = lax.concatenate([high, low], dim)
        elif kind == "flip":
            y = jnp.flip(x, dim)
        else:
            y = lax.concatenate([jnp.flip(x[along(x.shape, dim, 0, half)], dim), x[along(x.shape, dim, half, None)]], dim)
        y = source.constrain(y, sharding)
        if after:
            return (x ^ y) if x.dtype == jnp.bool_ else x - y
        return y

    return f, [x], [sharding], {"out_shardings": sharding}


def slices(source: Source) -> Made:
    """A part that is cut like the whole."""
    x, sharding, dim = array(source)
    parts = source.parts(sharding, dim)
    size = parts * source.upto(1, x.shape[dim] // parts)
    low = source.upto(0, x.shape[dim] - size)
    change = source.twice()

    def f(x):
        return source.constrain(change(x[along(x.shape, dim, low, low + size)]), sharding)

    return f, [x], [sharding], {"out_shardings": sharding}


def joins(source: Source) -> Made:
    """Parts of two arrays side by side."""
    x, sharding, dim = array(source)
    parts = source.parts(sharding, dim)
    size = parts * source.upto(1, x.shape[dim] // parts + 2)
    first = source.upto(max(0, size - x.shape[dim]), min(size, x.shape[dim]))
    ends = bool(source.random.integers(2))

    def f(x, y):
        total = x.shape[dim]
        left = x[along(x.shape, dim, total - first if ends else 0, total if ends else first)]
        right = y[along(x.shape, dim, 0, size - first)]
        return source.constrain(lax.concatenate([left, right], dim), sharding)

    return f, [x, source.values(x.shape)], [sharding] * 2, {}


def kept(source: Source) -> Made:
    """What is moved is needed outside, too; two moves of one part."""
    x, sharding, dim = array(source)
    width = source.upto(1, 3)
    total = x.shape[dim]

    def f(x):
        part = x[along(x.shape, dim, total - 2 * width, total - width)]
        start = [0] * x.ndim
        y = lax.dynamic_update_slice(x, part, start)
        start[dim] = total - width
        z = lax.dynamic_update_slice(y, part, start)
        z = source.constrain(z, sharding)
        flags = y if y.dtype == jnp.bool_ else y == y
        return z, source.constrain(y, sharding), jnp.any(flags)

    return f, [x], [sharding], {}


def loops(source: Source) -> Made:
    """Halos filled in a loop."""
    x, sharding, dim = array(source, 1, 2)
    width = source.upto(1, x.shape[dim] // 2 - 1)
    total = x.shape[dim]
    change = source.twice()

    def body(_, x):
        start = [0] * x.ndim
        x = lax.dynamic_update_slice(x, x[along(x.shape, dim, total - 2 * width, total - width)], start)
        start[dim] = total - width
        x = lax.dynamic_update_slice(x, x[along(x.shape, dim, width, 2 * width)], start)
        return source.constrain(change(x), sharding)

    def f(x):
        return lax.fori_loop(0, 3, body, x)

    return f, [x], [sharding], {"donate_argnums": 0, "out_shardings": sharding}


def steps(source: Source) -> Program:
    """Halos of several fields, and stencils that read them."""
    return step_of(sharded_steps.draw(source.random), source)


def repeated(source: Source) -> Program:
    """The same, perhaps in a loop."""
    return step_of(sharded_steps.draw_repeated(source.random), source)


def gradients(source: Source) -> Program:
    """Gradients that go back through fills of halos."""
    return step_of(sharded_steps.draw_gradient(source.random), source)


def step_of(step: sharded_steps.Step, source: Source) -> Program:
    f, sharding, extra = sharded_steps.program(step)
    inputs = [sharded_steps.values(step, source.random) for _ in range(step.fields)]
    shape = jax.ShapeDtypeStruct(step.shape, step.dtype, sharding=sharding)
    text = jax.jit(f, **extra).lower(*[shape] * step.fields).as_text()
    return Program(str(step), text, inputs, [sharding] * step.fields, (PIPELINE,))


MOVES = (pads, pads, uneven, update_splat, update_splat, update_other, boundary)
FAMILIES = (*MOVES, halos, halos, halos, insides, insides, rolls, slices, joins, kept, loops)
# One program in so many is a step; of twice as many, one is a step that may be in a loop, and one a gradient.
STEPS = 3


def make(number: int, seed: int, scale: int) -> Program:
    source = Source(seed * 1_000_003 + number, scale)
    if number % STEPS == 0:
        program = steps(source)
        return dataclasses.replace(program, name=f"steps#{number}#{program.name}")
    if number % (2 * STEPS) == STEPS + 1:
        program = repeated(source)
        return dataclasses.replace(program, name=f"repeated#{number}#{program.name}")
    if number % (2 * STEPS) == 2 * STEPS - 1:
        program = gradients(source)
        return dataclasses.replace(program, name=f"gradients#{number}#{program.name}")
    family = FAMILIES[(number // STEPS * (STEPS - 1) + number % STEPS - 1) % len(FAMILIES)]
    f, inputs, shardings, extra = family(source)
    arguments = [
        jax.ShapeDtypeStruct(value.shape, value.dtype, sharding=sharding)
        for value, sharding in zip(inputs, shardings, strict=True)
    ]
    text = jax.jit(f, **extra).lower(*arguments).as_text()
    return Program(f"{family.__name__}#{number}", text, inputs, shardings)


@dataclasses.dataclass(frozen=True)
class Ran:
    """What a program did, and what it took."""

    results: list[bytes]
    layouts: list
    total: int
    floor: int
    collectives: collections.Counter[str]
    """How many arrays those of each kind make."""
    moved: int
    """Elements of all of these."""


def run(text: str, program: Program) -> Ran:
    executable = xla_cpu.compile_text(text)
    memory = executable.get_compiled_memory_stats()
    floor = memory.argument_size_in_bytes + memory.output_size_in_bytes - memory.alias_size_in_bytes
    collectives, elements = xla_cpu.collectives(executable)
    given = [jax.device_put(value, sharding) for value, sharding in zip(program.inputs, program.shardings, strict=True)]
    done = executable.execute_sharded(given).disassemble_into_single_device_arrays()
    results = [bits(np.asarray(shard)) for shards in done for shard in shards]
    total = floor + memory.temp_size_in_bytes
    return Ran(results, executable.get_output_shardings(), total, floor, collectives, elements.total())


def on_one_device(program: Program, layouts: list) -> list[bytes]:
    """Results of the program without its shardings, cut into shards as `layouts` say."""
    text = re.sub(r"^  sdy\.mesh .*\n", "", program.text, flags=re.MULTILINE)
    text = re.sub(r"mhlo\.num_partitions = \d+", "mhlo.num_partitions = 1", text)
    text = re.sub(r"(, )?sdy\.sharding = #sdy\.sharding<@mesh, \[[^\]]*\]>", "", text).replace("{, ", "{")
    text = re.sub(r"sdy\.sharding_constraint (\S+) <@mesh, \[[^\]]*\]>", r"stablehlo.optimization_barrier \1", text)
    executable = xla_cpu.compile_text(text)
    device = jax.devices("cpu")[0]
    done = executable.execute_sharded([jax.device_put(value, device) for value in program.inputs])
    wholes = [np.asarray(shards[0]) for shards in done.disassemble_into_single_device_arrays()]
    devices = program.shardings[0].mesh.devices.flatten()
    results = []
    for whole, layout in zip(wholes, layouts, strict=True):
        where = GSPMDSharding(tuple(devices), layout).devices_indices_map(whole.shape)
        results.extend(bits(whole[where[device]]) for device in devices)
    return results


def has_more(before: Ran, after: Ran, in_all: bool) -> bool:
    """Whether there are more collectives of a kind that moves whole arrays, or more of all kinds together that move more."""
    old, new = before.collectives, after.collectives
    costly = any(new[name] > old[name] for name in ("all-gather", "all-to-all", "all-reduce"))
    return costly or (in_all and new.total() > old.total() and after.moved > before.moved)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", default="target/debug/slimhlo-opt")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", type=int, default=9, help="how many more than 4 elements a shard may have per dimension")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for programs that fail, before and after")
    args = parser.parse_args()
    started = time.monotonic()
    driver = Driver(args.opt, jobs=1).ready()

    programs = [make(number, args.seed, args.scale) for number in range(args.count)]
    texts = [program.text for program in programs]
    before = driver.run(texts, ["--inline"])
    after: list[Outcome] = [Outcome(None)] * len(programs)
    again = list(after)
    for flags in dict.fromkeys(program.flags for program in programs):
        chosen = [index for index, program in enumerate(programs) if program.flags == flags]
        first = driver.run([texts[index] for index in chosen], flags)
        second = driver.run([outcome.output or "" for outcome in first], flags[-1:])
        for index, one, two in zip(chosen, first, second, strict=True):
            after[index], again[index] = one, two

    failures: list[str] = []
    more: list[str] = []
    counts: collections.Counter = collections.Counter()
    totals: collections.Counter = collections.Counter()

    def fail(program: Program, why: str, index: int) -> None:
        failures.append(f"{program.name}: {why}")
        if args.keep:
            args.keep.mkdir(parents=True, exist_ok=True)
            stem = program.name.replace("#", "_")[:80]
            (args.keep / f"{stem}.before.mlir").write_text(before[index].output or program.text)
            (args.keep / f"{stem}.after.mlir").write_text(after[index].output or "")

    for index, program in enumerate(programs):
        family = program.name.split("#")[0]
        counts[f"{family}, all"] += 1
        new = after[index].output
        if new is None or before[index].output is None:
            fail(program, f"slimhlo-opt: {after[index].crash or after[index].message}", index)
            continue
        if again[index].output != new:
            fail(program, "a second run changes it", index)
            continue
        if new == before[index].output:
            counts["unchanged"] += 1
            continue
        counts[f"{family}, changed"] += 1
        try:
            old_run, new_run = run(program.text, program), run(new, program)
        except Exception as error:  # XLA's errors have no common base; the others are still run
            fail(program, f"{type(error).__name__}: {str(error)[:300]}", index)
            continue
        other = old_run.results != new_run.results
        counts["changed by XLA"] += other
        if other and on_one_device(program, new_run.layouts) != new_run.results:
            fail(program, "results differ", index)
        elif new_run.floor != old_run.floor:
            fail(program, f"arguments and results take {new_run.floor} bytes, {old_run.floor} before", index)
        elif new_run.total > old_run.total * 1.01 + SLACK and family == "gradients":
            more.append(f"{program.name}: takes {new_run.total} bytes, {old_run.total} before")
        elif new_run.total > old_run.total * 1.01 + SLACK:
            fail(program, f"takes {new_run.total} bytes, {old_run.total} before", index)
        elif has_more(old_run, new_run, family in ("steps", "repeated", "gradients")):
            moved = f"{new_run.moved} elements, {old_run.moved} before"
            fail(program, f"{dict(new_run.collectives)}, {dict(old_run.collectives)} before: {moved}", index)
        totals["bytes before"] += old_run.total - old_run.floor
        totals["bytes after"] += new_run.total - new_run.floor
        for name in old_run.collectives | new_run.collectives:
            totals[f"{name} before"] += old_run.collectives[name]
            totals[f"{name} after"] += new_run.collectives[name]

    if len(more) > MORE_SHARE * counts["gradients, all"]:
        failures += more
    elif more:
        print("\n".join(["gradients that take more:", *more]))
    for failure in failures:
        print(failure)
    for family in dict.fromkeys(f.__name__ for f in (*FAMILIES, steps, repeated, gradients)):
        print(f"  {family:14s} {counts[f'{family}, changed']:4d} of {counts[f'{family}, all']:4d} changed")
    print("  " + ", ".join(f"{name}: {value}" for name, value in sorted(totals.items())))
    changed = len(programs) - counts["unchanged"]
    if changed < CHANGED_SHARE * len(programs):
        failures.append("too few programs were changed")
        print(failures[-1])
    print(
        f"{len(programs) - len(failures)} passed, {len(failures)} failed: {changed} programs changed, "
        f"{counts['changed by XLA']} of which XLA's partitioner does not keep the bits of, "
        f"{time.monotonic() - started:.0f} s"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
