# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The differential test of chunks in programs for several devices: stream.py's programs with random shardings of arguments.

    python test/oracle/sharded_streams.py --opt target/debug/slimhlo-opt --count 100 --seed 1

JAX writes the programs for a mesh of 2x2 virtual CPU devices; each argument is cut along some of its dimensions, by one axis of
the mesh or both. Each goes through the default pipeline, with small chunks. A second run changes nothing. Of each that gets loops
XLA's partitioner makes a program that computes the same (within 2 ulp times the square root of the number of terms where a float
accumulation is in another order), in no more memory, with no more collectives, which make no more elements.
"""

from __future__ import annotations

import collections
import dataclasses
import sys
import time

import xla_cpu  # first: it sets the flags with which JAX starts

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import stream
from opt import Driver

GROWTH, SLACK = 1.01, 4096
# How many of all programs have to get loops for the test to be one.
CHANGED_SHARE = 0.1


@dataclasses.dataclass(frozen=True)
class Ran:
    """What came of a program: its results' shards, total of bytes, and for each kind of collective how many arrays and elements
    it makes."""

    results: list[list[np.ndarray]]
    total: int
    collectives: collections.Counter[str]
    moved: collections.Counter[str]


def sharding(source: stream.Source, shape: tuple[int, ...], mesh: Mesh) -> NamedSharding:
    """Some dimensions cut by some axes, where that leaves no remainder."""
    left = list(source.random.permutation(mesh.axis_names))
    spec: list[tuple[str, ...] | None] = []
    for size in shape:
        cuts = 0
        if left and size > 2 and source.random.random() < 0.6:
            cuts = 2 if len(left) == 2 and size % 4 == 0 and source.random.random() < 0.2 else int(size % 2 == 0)
        spec.append(tuple(str(left.pop()) for _ in range(cuts)) or None)
    return NamedSharding(mesh, PartitionSpec(*spec))


def generate(count: int, seed: int) -> list[stream.Program]:
    """Programs of all of stream.py's families, but for those of narrow integers, which XLA cannot always move between devices."""
    mesh = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("x", "y"))
    programs = []
    number = 0
    while len(programs) < count:
        source = stream.Source(seed * 1_000_003 + number)
        family = stream.FAMILIES[number % len(stream.FAMILIES)]
        number += 1
        function, inputs, terms, exact = family(source)
        if any(value.dtype.itemsize < 4 and jnp.issubdtype(value.dtype, jnp.integer) for value in inputs):
            continue
        cuts = tuple(sharding(source, value.shape, mesh) for value in inputs)
        reference = getattr(function, "reference", function)
        text, expected = (
            jax.jit(form, keep_unused=True, in_shardings=cuts).lower(*inputs).as_text() for form in (function, reference)
        )
        name = f"{family.__name__} {seed}/{number - 1}"
        chunk_bytes = int(source.one(stream.CHUNK_BYTES))
        # Devices' sums cancel, too, and are in another order before and after.
        rounds = getattr(function, "rounds", None)
        programs.append(stream.Program(name, text, expected, inputs, terms, exact, True, chunk_bytes, rounds))
    return programs


def run(text: str, inputs: list[np.ndarray]) -> Ran:
    executable = xla_cpu.compile_text(text)
    stats = executable.get_compiled_memory_stats()
    floor = stats.argument_size_in_bytes + stats.output_size_in_bytes - stats.alias_size_in_bytes
    collectives, moved = xla_cpu.collectives(executable)
    return Ran(xla_cpu.run(executable, inputs), floor + stats.temp_size_in_bytes, collectives, moved)


def wrong(program: stream.Program, before: Ran, after: Ran) -> list[str]:
    """What is not as it was, or worse."""
    found = []
    largest = stream.largest_of(shard for shards in before.results for shard in shards)
    for old, new in zip(before.results, after.results, strict=True):
        shards = zip(old, new, strict=True)
        found.extend(text for one, two in shards if (text := stream.difference(program, one, two, largest)))
    if after.total > GROWTH * before.total + SLACK:
        found.append(f"takes {after.total} bytes, {before.total} before")
    if after.collectives.total() > before.collectives.total():
        found.append(f"{dict(after.collectives)}, {dict(before.collectives)} before")
    if after.moved.total() > before.moved.total():
        found.append(f"moves {dict(after.moved)} elements, {dict(before.moved)} before")
    return found


def main() -> int:
    args = stream.arguments(__doc__, 100)
    started = time.monotonic()
    programs = generate(args.count, args.seed)
    driver = Driver(args.opt).ready()
    findings: list[tuple[stream.Program, str, str]] = []
    loops = manual = 0
    totals: collections.Counter[str] = collections.Counter()
    for chunk_bytes in stream.CHUNK_BYTES:
        some = [program for program in programs if program.chunk_bytes == chunk_bytes]
        optimize = [f"--slimhlo-optimize=target=xla-cpu chunk-bytes={chunk_bytes}"]
        once = driver.run([program.text for program in some], optimize)
        twice = driver.run([outcome.output or "" for outcome in once], optimize)
        for program, after, again in zip(some, once, twice, strict=True):
            if after.output is None:
                findings.append((program, f"the driver fails: {after.crash or after.message}", ""))
                continue
            if again.output != after.output:
                findings.append((program, "a second run changes it", after.output))
            if after.output.count("stablehlo.while") <= program.text.count("stablehlo.while"):
                continue
            loops += 1
            manual += "sdy.manual_computation" in after.output
            try:
                old = run(program.text, program.inputs)
                if program.reference != program.text:
                    old = dataclasses.replace(old, results=run(program.reference, program.inputs).results)
                new = run(after.output, program.inputs)
            except Exception as error:  # XLA's errors have no common base; the others are still run
                findings.append((program, f"it does not run: {error}", after.output))
                continue
            totals["before"] += old.total
            totals["after"] += new.total
            findings.extend((program, text, after.output) for text in wrong(program, old, new))

    failed = stream.report(findings, args.dump)
    print(
        f"{len(programs) - failed} passed, {failed} failed: {loops} got loops ({manual} on shards) and were executed before and "
        f"after on 4 devices, {totals['before']} bytes and {totals['after']}; {time.monotonic() - started:.0f} s"
    )
    return 0 if loops >= CHANGED_SHARE * len(programs) and not findings else 1


if __name__ == "__main__":
    sys.exit(main())
