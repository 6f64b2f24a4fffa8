# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The differential test of --slimhlo-slabs: stages of stencils, before and after, in XLA for CPU.

    python test/oracle/slabs.py --opt target/debug/slimhlo-opt --count 200 --seed 1

Fields of two and three dimensions and several element types; each program is a few stages, each made of those before: rolled, padded
in all of jnp.pad's ways, differences on staggered points, parts that are overwritten, maxima over a dimension, masks by position, transposed, as
one step or several in a loop, which overwrite what they are made of, donated or not; fields are handed on as they are, and the
largest elements of fields and of their changes are results or what stages start from. They are executed without XLA's fusion, within which products and sums contract as it happens, and
must give the same bits. Where they do not, the StableHLO interpreter decides: XLA for CPU keeps bf16 in f32 as it sees fit, drops
NaNs from a maximum, and has been seen to give zeros for x - max(x) of uint8. The interpreter compares programs without scatters,
since its scatter overwrites the operand for other users, too.
"""

from __future__ import annotations

import argparse
import collections
import pathlib
import sys
import time
from collections.abc import Callable

import xla_cpu  # first: it sets the flags with which JAX starts

import jax
import jax.numpy as jnp
import jaxlib_ir
import numpy as np
from execute import same_bits, same_by_definition
from jax import lax
from opt import Driver

PASSES = (
    "--inline",
    "--canonicalize",
    "--cse",
    "--slimhlo-scatter-to-update",
    "--slimhlo-slabs=target=xla-cpu min-bytes=1 slab-bytes=64",
)
PLAIN = {"xla_disable_hlo_passes": "fusion,cpu-instruction-fusion"}
DTYPES = ("float32", "float32", "float32", "bfloat16", "int32", "uint8")
PADS = ("edge", "wrap", "reflect", "symmetric", "constant")
CHANGED_SHARE = 0.25
XLAS_OWN_SHARE = 0.15

Stage = Callable[[jax.Array, jax.Array], jax.Array]


def stage(random: np.random.Generator, axis: int, reach: int) -> tuple[str, Stage]:
    """A stage: a field of the shape of both that it is made of."""
    size, sign = reach, int(random.choice((-1, 1)))

    def along(x: jax.Array, start: int, stop: int | None) -> jax.Array:
        return lax.slice_in_dim(x, start, x.shape[axis] if stop is None else x.shape[axis] + stop, axis=axis)

    def padded(mode: str) -> Stage:
        def run(x: jax.Array, y: jax.Array) -> jax.Array:
            widths = [(size, size) if at == axis else (0, 0) for at in range(x.ndim)]
            wide = jnp.pad(x, widths, mode=mode)
            return along(wide, 2 * size, None) - along(wide, 0, -2 * size) + y

        return run

    def flux(x: jax.Array, y: jax.Array) -> jax.Array:
        faces = along(x, 1, None) * along(y, 0, -1)
        widths = [(1, 0) if at == axis else (0, 0) for at in range(x.ndim)]
        return jnp.pad(faces, widths) - x

    def put(x: jax.Array, y: jax.Array) -> jax.Array:
        inner = [slice(size, -size) if at == axis else slice(None) for at in range(x.ndim)]
        return x.at[tuple(inner)].set(along(y, 0, -2 * size) + along(x, 2 * size, None))

    def patch(x: jax.Array, y: jax.Array) -> jax.Array:
        return x.at[tuple(slice(1, -1) for _ in range(x.ndim))].set(y[tuple(slice(2, None) for _ in range(x.ndim))])

    def mask(x: jax.Array, y: jax.Array) -> jax.Array:
        place = lax.broadcasted_iota(jnp.int32, x.shape, axis)
        return jnp.where(place % 3 == 0, x, jnp.roll(y, size, axis))

    ways: dict[str, Stage] = {
        "roll": lambda x, y: jnp.roll(x, sign * size, axis) - y,
        "flux": flux,
        "put": put,
        "patch": patch,
        "mask": mask,
        "limit": lambda x, y: jnp.where(x * y > 0, jnp.minimum(x, y), jnp.roll(y, sign, axis)),
        "column": lambda x, y: x - jnp.max(y, axis=-1, keepdims=True),
        "flip": lambda x, y: x + jnp.flip(y, -1),
        "sum": lambda x, y: x + y * y,
    }
    ways |= {f"pad {mode}": padded(mode) for mode in PADS}
    name = str(random.choice(list(ways)))
    return name, ways[name]


def program(seed: int, number: int) -> tuple[str, jax.stages.Wrapped, tuple[int, ...], str, set[str]]:
    random = np.random.default_rng((seed, number))
    rank = int(random.choice((2, 2, 3)))
    shape = (int(random.integers(60, 260)), *(int(size) for size in random.integers(5, 14, rank - 1)))
    if random.random() < 0.15:
        shape = (3, *shape)
    dtype = str(random.choice(DTYPES))
    # Mostly along the dimension that falls into slabs.
    main = 1 if shape[0] == 3 else 0
    stages, kinds = [], set()
    for _ in range(random.integers(1, 7)):
        axis = main if random.random() < 0.7 else int(random.integers(len(shape)))
        reach = 1 if shape[axis] < 5 else int(random.integers(1, 3))
        name, run = stage(random, axis, reach)
        if shape[axis] == 3 and name == "put":
            continue
        kinds.add(name)
        stages.append((run, random.random(2)))
    results = int(random.integers(1, 3))
    turns = int(random.choice((0, 0, 3)))
    staggered = bool(random.random() < 0.2) and not turns
    # What was the newest field is handed on as the one before, as it is.
    moved = results == 2 and not staggered and bool(random.random() < 0.4)
    total = str(random.choice(("", "", "", "old", "change", "both", "first")))

    def largest(x: jax.Array) -> jax.Array:
        finite = x if jnp.issubdtype(x.dtype, jnp.integer) else jnp.where(jnp.isfinite(x), x, 0)
        return jnp.max(finite).astype(jnp.float32)

    def step(*state: jax.Array) -> tuple[jax.Array, ...]:
        fields = state[:results]
        known = list(fields)
        if total == "first":
            known.append(known[0] + largest(known[-1]).astype(known[-1].dtype))
        for run, picks in stages:
            # Rather the newest.
            left, right = (known[int(len(known) * (1 - pick * pick))] if pick > 0 else known[-1] for pick in picks)
            known.append(run(left, right))
        made = known[-results:]
        if staggered:
            made[0] = lax.slice_in_dim(made[0], 1, shape[main], axis=main) + 1
        if moved:
            made = [fields[1], made[1]]
        if total in ("old", "both"):
            made.append(largest(fields[0]))
        if total in ("change", "both") and not staggered:
            made.append(largest(made[results - 1] - fields[results - 1]))
        return tuple(made)

    def function(*fields: jax.Array) -> tuple[jax.Array, ...]:
        if not turns:
            return step(*fields)
        totals = jax.eval_shape(step, *fields)[results:]
        state = (*fields, *(jnp.zeros((), total.dtype) for total in totals))
        return lax.fori_loop(0, turns, lambda _, state: step(*state), state)

    kinds |= {f"total {total}"} if total else set()
    kinds |= {"moved"} if moved else set()
    # Each result takes the place of an argument, or none does.
    donated = tuple(range(results)) if random.random() < 0.4 and not staggered else ()
    jitted = jax.jit(function, keep_unused=True, donate_argnums=donated)
    return f"seed {seed} number {number}", jitted, (results, *shape), dtype, kinds


def inputs(seed: int, shape: tuple[int, ...], dtype: str) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    fields = []
    for _ in range(shape[0]):
        if dtype in ("int32", "uint8"):
            fields.append(random.integers(0, 200, shape[1:]).astype(dtype))
            continue
        field = random.standard_normal(shape[1:])
        for value in (np.inf, -np.inf, np.nan, -0.0):
            field[random.random(shape[1:]) < 0.002] = value
        fields.append(np.asarray(field).astype(jnp.dtype(dtype)))
    return fields


def run(text: str, given: list[np.ndarray]) -> list[np.ndarray]:
    executable = xla_cpu.compile_module(jaxlib_ir.parse(text), PLAIN)
    return [shard for shards in xla_cpu.run(executable, given) for shard in shards]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", required=True, metavar="BIN", help="the driver")
    parser.add_argument("--count", type=int, default=200, metavar="N", help="programs (default: 200)")
    parser.add_argument("--seed", type=int, default=1, help="of the programs (default: 1)")
    parser.add_argument("--dump", type=pathlib.Path, metavar="DIR", help="write the programs that fail there")
    args = parser.parse_args()

    started = time.monotonic()
    made = [program(args.seed, number) for number in range(args.count)]
    texts = []
    for _, function, (count, *shape), dtype, _ in made:
        given = [jax.ShapeDtypeStruct(tuple(shape), dtype)] * count
        texts.append(function.lower(*given).as_text())
    driver = Driver(args.opt, batch=50).ready()
    before = driver.run(texts, PASSES[:-1])
    after = driver.run(texts, PASSES)
    context = jaxlib_ir.make_context()
    findings, changed, xlas_own, kinds = [], 0, 0, collections.Counter()
    for (name, _, shape, dtype, of), text, old, new in zip(made, texts, before, after, strict=True):
        if new.output is None:
            findings.append((name, f"the driver fails: {new.crash or new.message}", text, ""))
            continue
        if new.output == old.output:
            continue
        changed += 1
        kinds.update(of)
        try:
            given = inputs(args.seed, shape, dtype)
            pairs = zip(run(text, given), run(new.output, given), strict=True)
            wrong = [f"result {at} differs" for at, pair in enumerate(pairs) if not same_bits(*pair)]
            if wrong and same_by_definition(old.output, new.output, given, context):
                xlas_own += 1
                wrong = []
        except Exception as error:
            wrong = [f"it does not run: {str(error)[:300]}"]
        findings.extend((name, found, text, new.output) for found in wrong)
    for name, found, old, new in findings:
        print(f"{name}: {found}")
        if args.dump:
            args.dump.mkdir(parents=True, exist_ok=True)
            path = args.dump / name.replace(" ", "_")
            path.with_suffix(".before.mlir").write_text(old)
            path.with_suffix(".after.mlir").write_text(new)
    share = changed / max(1, len(made))
    failed = len({name for name, *_ in findings})
    print(
        f"{len(made) - failed} passed, {failed} failed: {changed} changed ({share:.1%}) and executed before and after "
        f"({dict(sorted(kinds.items()))}), {xlas_own} with other bits only by XLA's own arithmetic; {time.monotonic() - started:.0f} s"
    )
    return 0 if share >= CHANGED_SHARE and xlas_own <= XLAS_OWN_SHARE * changed and not findings else 1


if __name__ == "__main__":
    sys.exit(main())
