# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long the default pipeline takes: against Enzyme-JAX's on the same modules, and per op as modules grow.

    python test/oracle/bench_passes.py --opt target/release/slimhlo-opt

1. The reference programs go through both pipelines, turn by turn: text in, text out. Enzyme-JAX's runs in this process,
   once before the clock starts; ours is a process of its own, of which the start-up on an empty module is taken off.
   Processor time, user and system, of all threads; medians.
2. Modules of 10,000 and 100,000 ops of one kind go through our pipeline. Their time is that of the passes by MLIR's own
   clock, without reading and printing; the least of several runs, since whatever else the machine does only adds to it.
   Sizes and pipelines take turns, so that a busy minute meets them all, and the small module is run more often: a busy
   moment is a larger part of its time. MLIR's inliner, canonicalizer and CSE on the same modules, in the same turns, stand
   beside it and are not judged: they do as many instructions per op on a large module as on a small one, and what their
   time per op grows by all the same is what it costs that a module of 100,000 ops does not fit into the processor's caches.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable

import enzyme
import programs  # first: it sets the flags with which JAX starts
from bench_parse import EMPTY, Timer
from opt import PIPELINE, with_values

SIZES = (10_000, 100_000)
GROWTH = 1.5
PEER = ("--inline", "--canonicalize", "--cse")
SMALL_RUNS = 4
"""Runs of the smallest module for each of a larger one."""
LIMIT = 60


# --- modules of one kind of op ------------------------------------------------------------------------------------


def function(name: str, takes: list[str], body: list[str], result: str, kind: str, visibility: str = "") -> str:
    given = ", ".join(f"%a{i}: {each}" for i, each in enumerate(takes))
    lines = "\n".join(f"    {line}" for line in body)
    return f"  func.func {visibility}@{name}({given}) -> {kind} {{\n{lines}\n    return {result} : {kind}\n  }}\n"


def module(*functions: str) -> str:
    return "module {\n" + "".join(functions) + "}\n"


def elementwise(ops: int) -> str:
    """One chain, in which every other op also takes the argument."""
    kind = "tensor<256x256xf32>"
    names = ("add", "multiply", "maximum", "subtract")
    body, last = [], "%a0"
    for i in range(ops):
        if i % 5 == 4:
            body.append(f"%{i} = stablehlo.tanh {last} : {kind}")
        else:
            body.append(f"%{i} = stablehlo.{names[i % 4]} {last}, %a0 : {kind}")
        last = f"%{i}"
    return module(function("main", [kind], body, last, kind))


def pads_and_slices(ops: int) -> str:
    """Slices of one array, padded back and added up, as the gradient of slices has them."""
    kind, part = "tensor<64x64xf32>", "tensor<32x48xf32>"
    body = ["%z = stablehlo.constant dense<0.0> : tensor<f32>"]
    last = "%a0"
    for i in range(ops // 3):
        y, x = i % 33, i % 17
        body += [
            f"%s{i} = stablehlo.slice %a0 [{y}:{y + 32}, {x}:{x + 48}] : ({kind}) -> {part}",
            f"%p{i} = stablehlo.pad %s{i}, %z, low = [{32 - y}, {16 - x}], high = [{y}, {x}], interior = [0, 0] : "
            f"({part}, tensor<f32>) -> {kind}",
            f"%v{i} = stablehlo.add {last}, %p{i} : {kind}",
        ]
        last = f"%v{i}"
    return module(function("main", [kind], body, last, kind))


def updates(ops: int) -> str:
    """Halo fills, each of which reads what the one before it wrote."""
    kind, part = "tensor<64x96xf32>", "tensor<64x4xf32>"
    body = ["%c0 = stablehlo.constant dense<0> : tensor<i32>", "%c1 = stablehlo.constant dense<92> : tensor<i32>"]
    last = "%a0"
    for i in range(ops // 2):
        start, at = (88, "%c0") if i % 2 else (4, "%c1")
        body += [
            f"%s{i} = stablehlo.slice {last} [0:64, {start}:{start + 4}] : ({kind}) -> {part}",
            f"%v{i} = stablehlo.dynamic_update_slice {last}, %s{i}, %c0, {at} : "
            f"({kind}, {part}, tensor<i32>, tensor<i32>) -> {kind}",
        ]
        last = f"%v{i}"
    return module(function("main", [kind], body, last, kind))


def gathers(ops: int) -> str:
    """Sums of gathers with normalised indices."""
    table, points, flags = "tensor<128x8xf32>", "tensor<512x1xi32>", "tensor<512x1xi1>"
    body = [
        "%z = stablehlo.constant dense<0> : tensor<512x1xi32>",
        "%n = stablehlo.constant dense<128> : tensor<512x1xi32>",
        "%f = stablehlo.constant dense<0.0> : tensor<f32>",
        "%r = stablehlo.constant dense<0.0> : tensor<8xf32>",
    ]
    last = "%r"
    for i in range(ops // 6):
        body += [
            f"%l{i} = stablehlo.compare LT, %a1, %z : ({points}, {points}) -> {flags}",
            f"%w{i} = stablehlo.add %a1, %n : {points}",
            f"%i{i} = stablehlo.select %l{i}, %w{i}, %a1 : {flags}, {points}",
            f'%g{i} = "stablehlo.gather"(%a0, %i{i}) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1], '
            "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, "
            f"slice_sizes = array<i64: 1, 8>}}> : ({table}, {points}) -> tensor<512x8xf32>",
            f"%s{i} = stablehlo.reduce(%g{i} init: %f) applies stablehlo.add across dimensions = [0] : "
            "(tensor<512x8xf32>, tensor<f32>) -> tensor<8xf32>",
            f"%v{i} = stablehlo.add {last}, %s{i} : tensor<8xf32>",
        ]
        last = f"%v{i}"
    return module(function("main", [table, points], body, last, "tensor<8xf32>"))


def functions(ops: int) -> str:
    """Private functions of twenty ops, called one after another."""
    kind = "tensor<64x64xf32>"
    count = ops // 20
    parts = []
    for number in range(count):
        body = [f"%0 = stablehlo.add %a0, %a0 : {kind}"]
        body += [f"%{i} = stablehlo.{('multiply', 'add')[i % 2]} %{i - 1}, %a0 : {kind}" for i in range(1, 18)]
        parts.append(function(f"f{number}", [kind], body, "%17", kind, "private "))
    body = [f"%{i} = call @f{i}({f'%{i - 1}' if i else '%a0'}) : ({kind}) -> {kind}" for i in range(count)]
    return module(function("main", [kind], body, f"%{count - 1}", kind), *parts)


def loops(ops: int) -> str:
    """Loops inside loops, thirty deep, with all the work in their bodies."""
    kind, depth = "tensor<64x64xf32>", 30
    each = ops // depth

    def loop(level: int, value: str, space: str) -> list[str]:
        body = [
            f"{space}%w{level}:2 = stablehlo.while(%i{level} = %zero, %x{level} = {value}) : tensor<i32>, {kind}",
            f"{space}cond {{",
            f"{space}  %c{level} = stablehlo.compare LT, %i{level}, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>",
            f"{space}  stablehlo.return %c{level} : tensor<i1>",
            f"{space}}} do {{",
        ]
        last = f"%x{level}"
        for i in range(each):
            body.append(f"{space}  %v{level}_{i} = stablehlo.{('add', 'multiply')[i % 2]} {last}, %x{level} : {kind}")
            last = f"%v{level}_{i}"
        if level + 1 < depth:
            body += loop(level + 1, last, space + "  ")
            last = f"%w{level + 1}#1"
        return [
            *body,
            f"{space}  %n{level} = stablehlo.add %i{level}, %one : tensor<i32>",
            f"{space}  stablehlo.return %n{level}, {last} : tensor<i32>, {kind}",
            f"{space}}}",
        ]

    body = [
        f"%{name} = stablehlo.constant dense<{n}> : tensor<i32>" for name, n in (("zero", 0), ("one", 1), ("four", 4))
    ]
    return module(function("main", [kind], [*body, *loop(0, "%a0", "")], "%w0#1", kind))


def contractions(ops: int) -> str:
    """Layers of dots, transposes, reshapes and softmaxes."""
    kind, flat, row = "tensor<8x32x32xf32>", "tensor<256x32xf32>", "tensor<8x32xf32>"
    body = [
        "%z = stablehlo.constant dense<0.0> : tensor<f32>",
        "%m = stablehlo.constant dense<0xFF800000> : tensor<f32>",
    ]
    last = "%a0"
    for i in range(ops // 12):
        reduce = "across dimensions = [2] : (" + kind + ", tensor<f32>) -> " + row
        body += [
            f"%t{i} = stablehlo.transpose {last}, dims = [0, 2, 1] : ({kind}) -> {kind}",
            f"%q{i} = stablehlo.dot_general {last}, %t{i}, batching_dims = [0] x [0], contracting_dims = [2] x [1] : "
            f"({kind}, {kind}) -> {kind}",
            f"%x{i} = stablehlo.reduce(%q{i} init: %m) applies stablehlo.maximum {reduce}",
            f"%b{i} = stablehlo.broadcast_in_dim %x{i}, dims = [0, 1] : ({row}) -> {kind}",
            f"%s{i} = stablehlo.subtract %q{i}, %b{i} : {kind}",
            f"%e{i} = stablehlo.exponential %s{i} : {kind}",
            f"%d{i} = stablehlo.reduce(%e{i} init: %z) applies stablehlo.add {reduce}",
            f"%c{i} = stablehlo.broadcast_in_dim %d{i}, dims = [0, 1] : ({row}) -> {kind}",
            f"%p{i} = stablehlo.divide %e{i}, %c{i} : {kind}",
            f"%f{i} = stablehlo.reshape %p{i} : ({kind}) -> {flat}",
            f"%g{i} = stablehlo.dot_general %f{i}, %a1, contracting_dims = [1] x [0] : ({flat}, tensor<32x32xf32>) -> {flat}",
            f"%v{i} = stablehlo.reshape %g{i} : ({flat}) -> {kind}",
        ]
        last = f"%v{i}"
    return module(function("main", [kind, "tensor<32x32xf32>"], body, last, kind))


KINDS: tuple[Callable[[int], str], ...] = (
    elementwise, pads_and_slices, updates, gathers, contractions, functions, loops,
)  # fmt: skip


# --- measurements -------------------------------------------------------------------------------------------------


def against_enzyme(timer: Timer, flags: list[str], names: list[str], work: pathlib.Path) -> list[str]:
    """Part 1; the programs that take longer than with Enzyme-JAX."""
    empty = work / "empty.mlir"
    empty.write_text(EMPTY)
    reason = enzyme.missing()
    print(f"{' '.join(flags)}, processor time in ms, medians of {timer.runs}; start-up is that of an empty module")
    print(f"  {'program':28s} {'whole':>8s} {'start-up':>9s} {'slimhlo':>9s} {'Enzyme':>9s} {'ratio':>7s}")
    slower = []
    for name in names:
        text = programs.PROGRAMS[name]().as_text()
        path = work / f"{name}.mlir"
        path.write_text(text)
        timer.once(path, *flags)
        if reason is None:
            enzyme.run(text)
        ours, start_ups, theirs = [], [], []
        for _ in range(timer.runs):
            start_ups.append(timer.once(empty, *flags))
            ours.append(timer.once(path, *flags))
            if reason is None:
                theirs.append(enzyme.run(text)[1])
        whole, start_up = statistics.median(ours), statistics.median(start_ups)
        net = max(0.0, whole - start_up)
        other = statistics.median(theirs) if theirs else None
        if other is not None and net > other:
            slower.append(name)
        ratio = f"{net / other:7.2f}{'!' if net > other else ''}" if other else f"{'-':>7s}"
        shown = f"{other * 1e3:9.1f}" if other else f"{'-':>9s}"
        print(f"  {name:28s} {whole * 1e3:8.1f} {start_up * 1e3:9.1f} {net * 1e3:9.1f} {shown} {ratio}", flush=True)
    if reason:
        print(f"  {reason}; there is nothing to compare with")
    return slower


def growth(timer: Timer, flags: list[str], work: pathlib.Path) -> list[str]:
    """Part 2; the kinds of op for which time per op grows."""
    print(f"{' '.join(flags)}, time of the passes alone in us per op, best of {timer.runs};")
    print(f"beside it that of {' '.join(PEER)}:")
    heads = "".join(f" {f'{size} ops':>11s}" for size in SIZES) + "  growth"
    print(f"  {'kind':18s}{heads}  |{heads}")
    steep = []
    for make in KINDS:
        ours, peer = per_op(timer, make, [flags, list(PEER)], work)
        ratio = ours[-1] / ours[0] if ours[0] < float("inf") else float("inf")
        if ratio > GROWTH:
            steep.append(make.__name__)
        columns = "  |".join(
            "".join(f" {shown(each, timer.limit):>11s}" for each in times)
            + f" {times[-1] / times[0] if times[0] < float('inf') else float('inf'):7.2f}"
            + ("!" if times is ours and ratio > GROWTH else " ")
            for times in (ours, peer)
        )
        print(f"  {make.__name__:18s}{columns}", flush=True)
    return steep


def shown(seconds: float, limit: int) -> str:
    """Microseconds, unless it took longer than the limit."""
    return f"{seconds * 1e6:.2f}" if seconds < float("inf") else f"> {limit} s"


def per_op(
    timer: Timer, make: Callable[[int], str], pipelines: list[list[str]], work: pathlib.Path
) -> list[list[float]]:
    """Seconds per op of each pipeline, for each size; infinity for what takes too long."""
    paths = {size: work / f"{make.__name__}_{size}.mlir" for size in SIZES}
    for size, path in paths.items():
        path.write_text(make(size))
    least = [dict.fromkeys(SIZES, float("inf")) for _ in pipelines]
    too_long: set[tuple[int, int]] = set()
    for turn in range(timer.runs * SMALL_RUNS):
        for size in SIZES if turn % SMALL_RUNS == 0 else SIZES[:1]:
            for number, pipeline in enumerate(pipelines):
                if (number, size) in too_long:
                    continue
                try:
                    least[number][size] = min(least[number][size], timer.passes_once(paths[size], *pipeline))
                except subprocess.CalledProcessError:
                    too_long.add((number, size))
                    least[number][size] = float("inf")
    return [[times[size] / size for size in SIZES] for times in least]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", required=True, metavar="BIN", help="the driver, a release build")
    parser.add_argument("--pipeline", default=PIPELINE, help="flags of slimhlo's pipeline (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=5, help="runs per measurement (default: %(default)s)")
    parser.add_argument("--only", choices=("enzyme", "growth"), help="only one of the two parts")
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs of part 1 (default: all)")
    args = parser.parse_args(with_values(sys.argv[1:], "--pipeline"))
    flags = args.pipeline.split()
    slower: list[str] = []
    steep: list[str] = []
    with tempfile.TemporaryDirectory() as directory:
        if args.only != "growth":
            names = args.names or list(programs.PROGRAMS)
            slower = against_enzyme(Timer(args.opt, args.runs), flags, names, pathlib.Path(directory))
        if args.only != "enzyme":
            steep = growth(Timer(args.opt, min(3, args.runs), LIMIT), flags, pathlib.Path(directory))
    if slower:
        print(f"slower than Enzyme-JAX: {', '.join(slower)}")
    if steep:
        print(f"time per op grows by more than {GROWTH}: {', '.join(steep)}")
    return 1 if slower or steep else 0


if __name__ == "__main__":
    sys.exit(main())
