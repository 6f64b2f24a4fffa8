# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step of an ocean model on a mesh of 2 by 4 devices, in the form that Reactant writes: XLA alone and after slimhlo.

    python test/oracle/ocean_step.py --opt target/debug/slimhlo-opt --check
    python test/oracle/ocean_step.py --opt target/release/slimhlo-opt --target h100 --element f32
    python test/oracle/ocean_step.py --text > ocean_step.mlir

Fields of levels, rows and columns with their halos in them: velocities, two tracers, a free surface, and which cells are under water. A step
fills halos (periodic east and west, folded north, a wall south), advects and mixes tracers and momentum, adds the slope of the surface
and the earth's rotation, and moves the surface by what the columns lose. Each kernel reads slices of its fields and is written
into the middle of the field, which is donated. Rows, 1519 with halos, do not come out even on 2 devices: fields come padded.

All factors are powers of two: of small whole numbers, small fields are computed exactly, and held against NumPy bit by bit (`--check`).
For an H100, which need not be there, it is counted what full fields take: no all-gather may be left, a quarter of the temporaries, and
half of the time by the estimate of hlo_time.py. The last line is what the project's test runner reads.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import sharded_fields  # first: it says how many virtual devices there are

import hlo_time
import numpy as np
import targets
from field_modules import DTYPES, Fields, Node
from field_truth import evaluate
from opt import Driver, pipeline_for

FULL = (48, 1519, 3056)
SMALL = (4, 23, 48)
HALO = 4
CUT = ((), ("y",), ("x",))
# Of XLA's own.
TEMPORARIES, TIME = 0.25, 0.5


class Ocean(Fields):
    """A step under construction."""

    def __init__(self, element: str, sizes: tuple[int, int, int]) -> None:
        super().__init__(np.random.default_rng(0))
        self.axes = {"y": 2, "x": 4}
        self.element, self.dtype = element, DTYPES[element]
        self.silent = self.contrary = 0
        self.is_gspmd = False
        self.sizes = sizes

    def times(self, x: Node, factor: float) -> Node:
        shape = self.type(x.shape)
        filled = Node(self.fresh(), x.shape, x.cut, (), lambda: np.full(x.shape, factor, self.dtype))
        self.add(filled, f"stablehlo.constant dense<{factor:e}> : {shape}")
        return self.both("multiply", x, filled)

    def sum(self, parts: Sequence[Node]) -> Node:
        total = parts[0]
        for part in parts[1:]:
            total = self.both("add", total, part)
        return total

    def minus(self, x: Node, y: Node) -> Node:
        return self.both("subtract", x, y)

    def mean(self, x: Node, y: Node) -> Node:
        return self.times(self.both("add", x, y), 0.5)

    def at(self, x: Node, row: int = 0, column: int = 0) -> Node:
        """The field without its halos, from so many rows and columns away."""
        levels, rows, columns = x.shape
        low = [0, HALO + row, HALO + column]
        return self.slice(x, low, [levels, rows - HALO + row, columns - HALO + column])

    def where(self, wet: Node, x: Node) -> Node:
        zeros = self.constant(0, x.shape)
        text = f"stablehlo.select %{wet.name}, %{x.name}, %{zeros.name}{self.says(x.cut)} : "
        text += f"{self.type(x.shape, 'i1')}, {self.type(x.shape)}"
        return self.add(Node(self.fresh(), x.shape, x.cut, (wet, x, zeros), np.where, moves=False), text)

    def over_levels(self, x: Node) -> Node:
        """The sum over all levels, as a field of one."""
        zero = self.constant(0)
        flat = Node(self.fresh(), x.shape[1:], x.cut[1:], (x,), lambda v: v.sum(0), moves=False)
        self.add(
            flat,
            f"stablehlo.reduce(%{x.name} init: %{zero.name}) applies stablehlo.add across dimensions = [0]"
            f"{self.says(flat.cut)} : ({self.type(x.shape)}, {self.type(())}) -> {self.type(flat.shape)}",
        )
        return self.reshape(flat, (1, *flat.shape), ((), *flat.cut))

    def filled(self, x: Node, sign: int = 1) -> Node:
        """With its halos: periodic east and west, folded north, zeros south."""
        _, rows, columns = x.shape
        east = self.part(x, 2, columns - 2 * HALO, columns - HALO)
        x = self.update_dim(x, east, 2, 0)
        x = self.update_dim(x, self.part(x, 2, HALO, 2 * HALO), 2, columns - HALO)
        fold = self.reverse(self.reverse(self.part(x, 1, rows - 2 * HALO, rows - HALO), 1), 2)
        if sign < 0:
            fold = self.times(fold, -1.0)
        x = self.update_dim(x, fold, 1, rows - HALO)
        south = self.constant(0, tuple(HALO if dim == 1 else size for dim, size in enumerate(x.shape)))
        return self.update_dim(x, south, 1, 0)

    def advected(self, c: Node, u: Node, v: Node) -> Node:
        """What a field gains by being carried, second order, on faces; and by being mixed along levels and across them."""
        faces = [
            self.both("multiply", self.at(flow, *ahead), self.mean(self.at(c, *ahead), self.at(c, *behind)))
            for flow, ahead, behind in (
                (u, (0, 1), (0, 0)),
                (u, (0, 0), (0, -1)),
                (v, (1, 0), (0, 0)),
                (v, (0, 0), (-1, 0)),
            )
        ]
        gained = self.both("add", self.minus(faces[1], faces[0]), self.minus(faces[3], faces[2]))
        here = self.at(c)
        around = self.sum([self.at(c, 0, 1), self.at(c, 0, -1), self.at(c, 1, 0), self.at(c, -1, 0)])
        mixed = self.minus(around, self.times(here, 4.0))
        levels = here.shape[0]
        down = self.minus(self.part(here, 0, 1, levels), self.part(here, 0, 0, levels - 1))
        across = self.minus(self.pad_dim(down, 0, 0, 1), self.pad_dim(down, 0, 1, 0))
        return self.sum([self.times(gained, 0.25), self.times(mixed, 0.125), self.times(across, 0.5)])

    def put(self, x: Node, inside: Node, wet: Node) -> Node:
        return self.update(x, self.where(wet, inside), [0, HALO, HALO])

    def on_levels(self, flat: Node, levels: int) -> Node:
        return self.broadcast(flat, (levels, *flat.shape[1:]))

    def step(self) -> tuple[str, list[np.ndarray], list[np.ndarray]]:
        """The module; for small fields arguments and results."""
        levels, rows, columns = self.sizes
        even = (-(-rows // 2) * 2, -(-columns // 4) * 4)

        def taken(depth: int) -> Node:
            argument = self.argument((depth, *even), CUT)
            return self.slice(argument, [0, 0, 0], [depth, rows, columns])

        u, v, warm, salt = (taken(levels) for _ in range(4))
        surface = taken(1)
        land = taken(levels)
        zeros = self.constant(0, land.shape)
        wet = Node(self.fresh(), land.shape, CUT, (land, zeros), np.greater, moves=False)
        compared = f"({self.type(land.shape)}, {self.type(land.shape)}) -> {self.type(land.shape, 'i1')}"
        self.add(wet, f"stablehlo.compare GT, %{land.name}, %{zeros.name}{self.says(CUT)} : {compared}")
        window = [(HALO, rows - HALO), (HALO, columns - HALO)]
        inside = Node(self.fresh(), (levels, *(b - a for a, b in window)), CUT, (wet,), None)
        inside.apply = lambda w: w[:, HALO : rows - HALO, HALO : columns - HALO]
        bounds = ", ".join([f"0:{levels}", *(f"{a}:{b}" for a, b in window)])
        types = f"({self.type(wet.shape, 'i1')}) -> {self.type(inside.shape, 'i1')}"
        self.add(inside, f"stablehlo.slice %{wet.name} [{bounds}]{self.says(CUT)} : {types}")

        u, v, warm, salt = self.filled(u, -1), self.filled(v, -1), self.filled(warm), self.filled(salt)
        surface = self.filled(surface)
        tracers = [self.put(c, self.both("add", self.at(c), self.advected(c, u, v)), inside) for c in (warm, salt)]
        slopes = [
            self.on_levels(self.minus(self.at(surface), self.at(surface, *behind)), levels)
            for behind in ((0, -1), (-1, 0))
        ]
        turned = [self.mean(self.at(v), self.at(v, 0, -1)), self.times(self.mean(self.at(u), self.at(u, -1, 0)), -1.0)]
        flows = [
            self.put(
                flow,
                self.minus(self.sum([self.at(flow), self.advected(flow, u, v), turn]), self.times(slope, 0.5)),
                inside,
            )
            for flow, turn, slope in zip((u, v), turned, slopes, strict=True)
        ]
        lost = self.both("add", self.minus(self.at(u, 0, 1), self.at(u)), self.minus(self.at(v, 1, 0), self.at(v)))
        moved = self.minus(self.at(surface), self.times(self.over_levels(lost), 0.125))
        surface = self.update(surface, moved, [0, HALO, HALO])

        results = []
        for field in (*flows, *tracers, surface):
            beyond = [(0, 0, 0), (0, even[0] - rows, 0), (0, even[1] - columns, 0)]
            results.append(self.pad(field, beyond))
        text = self.text(results, donated=True)
        if self.sizes != SMALL:
            return text, [], []
        random = np.random.default_rng(1)
        inputs = [random.integers(-2, 3, node.shape).astype(self.dtype) for node in self.arguments]
        return text, inputs, evaluate(self, inputs, results)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", default="target/release/slimhlo-opt")
    parser.add_argument("--target", default="h100", choices=targets.NAMES, metavar="NAME")
    parser.add_argument("--element", action="append", choices=("f32", "f64"))
    parser.add_argument(
        "--check", action="store_true", help="execute small fields on virtual CPU devices, against NumPy"
    )
    parser.add_argument("--text", action="store_true", help="print the module, and do nothing else")
    args = parser.parse_args()
    elements = args.element or ["f32", "f64"]
    if args.text:
        sys.stdout.write(Ocean(elements[0], FULL).step()[0])
        return 0
    name = "xla-cpu" if args.check else args.target
    target = targets.find(name)
    if reason := targets.missing(target):
        print(reason)
        return 1
    driver = Driver(args.opt, jobs=1).ready()
    bad = 0
    for element in elements:
        text, inputs, expected = Ocean(element, SMALL if args.check else FULL).step()
        outcome = driver.run([text], [pipeline_for(args.opt, name)])[0]
        if outcome.output is None:
            print(f"{element}: slimhlo-opt: {outcome.crash or outcome.message}")
            bad += 1
            continue
        old, new = targets.compile_text(text, target), targets.compile_text(outcome.output, target)
        before, after = sharded_fields.figures(old, 8), sharded_fields.figures(new, 8)
        seconds = [hlo_time.estimate(each.hlo_modules()[0].to_string(), target).seconds for each in (old, new)]
        said = []
        if args.check:
            if not sharded_fields.is_right(new, inputs, expected):
                said.append("results differ")
        else:
            if after.kinds["all-gather"]:
                said.append(f"{after.kinds['all-gather']} all-gathers are left")
            if after.temporaries > TEMPORARIES * before.temporaries:
                said.append(f"temporaries are more than {TEMPORARIES} of XLA's")
            if seconds[1] > TIME * seconds[0]:
                said.append(f"the time is more than {TIME} of XLA's")
        if why := sharded_fields.worse(before, after):
            said.append(why)
        print(
            f"{element}: {dict(before.kinds)} -> {dict(after.kinds)}, moved {before.moved / 2**20:.1f} -> "
            f"{after.moved / 2**20:.1f} MiB, temporaries {before.temporaries / 2**20:.1f} -> {after.temporaries / 2**20:.1f} MiB "
            f"({after.temporaries / max(1, before.temporaries):.2f}), time by the estimate {seconds[0] * 1e3:.2f} -> "
            f"{seconds[1] * 1e3:.2f} ms ({seconds[1] / seconds[0]:.2f}){'; ' if said else ''}{'; '.join(said)}"
        )
        bad += bool(said)
    print(f"{len(elements) - bad} passed, {bad} failed: an ocean step on 2 by 4 devices")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
