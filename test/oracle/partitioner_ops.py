# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What XLA's partitioner sends for single ops on sharded fields, against what `slimhlo report` expects of it.

    python test/oracle/partitioner_ops.py --slimhlo target/debug/slimhlo
    python test/oracle/partitioner_ops.py --slimhlo target/release/slimhlo --target h100

passes/src/shards/partitioner.rs leaves alone what a partitioner does with no more collectives and bytes; this is where its figures come from.
Slices, pads, rotations, wraps, reversals and updates on 4 and 8 devices, that come out even and that do not. The last line counts the ops
for which collectives and bytes are the same, and those of which less is expected than there is: none of these may be rewritten for the worse.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import sharded_fields  # first: it says how many virtual devices there are

import numpy as np
import targets
from field_modules import Fields, Node

ROWS = 48


class Ops(Fields):
    """A module of one op, or of the few that are one for a partitioner."""

    def __init__(self, parts: int) -> None:
        super().__init__(np.random.default_rng(0))
        self.axes, self.element, self.dtype = {"x": parts}, "f32", np.float32
        self.silent = self.contrary = 0
        self.is_gspmd = False


def modules() -> Iterator[tuple[str, str, int]]:
    """Names, modules and how many devices they are for."""
    cut = ((), ("x",))
    for parts in (4, 8):
        for size in (parts * 20, parts * 20 - 1):
            even = parts * 20

            def module(name: str, make: object, size: int = size, even: int = even, parts: int = parts) -> tuple:
                f = Ops(parts)
                argument = f.argument((ROWS, even), cut)
                x = argument if even == size else f.slice(argument, [0, 0], [ROWS, size])
                made: Node = make(f, x)
                high = -made.shape[1] % parts
                result = f.pad(made, [(0, 0, 0), (0, high, 0)]) if high else made
                return f"{name} of {size} on {parts}", f.text([result], donated=False), parts

            n = size
            for low, high in ((1, n), (0, n - 1), (2, n - 2), (0, n - 20), (20, n), (0, 8), (n - 8, n), (45, n), (0, n // 2)):
                yield module(f"slice {low}:{high}", lambda f, x, low=low, high=high: f.part(x, 1, low, high))
            for low, high in ((1, 0), (0, 1), (2, 2), (0, 30), (30, 0), (-2, 2), (2, -2)):
                yield module(f"pad {low}, {high}", lambda f, x, low=low, high=high: f.pad_dim(x, 1, low, high))
            for by in (3, 30):
                yield module(
                    f"rotation by {by}",
                    lambda f, x, by=by, n=n: f.concatenate([f.part(x, 1, by, n), f.part(x, 1, 0, by)], 1),
                )
            yield module("wrap low", lambda f, x, n=n: f.concatenate([f.part(x, 1, n - 3, n), x], 1))
            yield module("wrap high", lambda f, x: f.concatenate([x, f.part(x, 1, 0, 3)], 1))
            yield module("twice", lambda f, x: f.concatenate([x, x], 1))
            yield module("reversal", lambda f, x: f.reverse(x, 1))
            for start, width in ((0, 3), (n - 3, 3), (n // 2, n // 3)):
                yield module(
                    f"update {start}+{width} by zeros",
                    lambda f, x, start=start, width=width: f.update_dim(x, f.constant(0, (ROWS, width)), 1, start),
                )
                yield module(
                    f"update {start}+{width} by itself",
                    lambda f, x, start=start, width=width: f.update_dim(x, f.part(x, 1, 1, 1 + width), 1, start),
                )


def expected(command: str, text: str) -> tuple[int, int]:
    """Collectives and bytes by `slimhlo report`."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "op.mlir")
        path.write_text(text)
        said = subprocess.run([command, "report", path, "--as-is", "--json"], capture_output=True, text=True, check=True)
    footprint = json.loads(said.stdout)["program"]["footprint"]
    return footprint["collectives"], footprint["received"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slimhlo", default="target/debug/slimhlo")
    parser.add_argument("--target", default="cpu", choices=targets.NAMES, metavar="NAME")
    args = parser.parse_args()
    target = targets.find(args.target)
    if reason := targets.missing(target):
        print(reason)
        return 1
    same = less = count = 0
    for name, text, parts in modules():
        count += 1
        figures = sharded_fields.figures(targets.compile_text(text, target), parts)
        collectives, moved = expected(args.slimhlo, text)
        is_same = (collectives, moved) == (figures.collectives, figures.moved)
        same += is_same
        less += collectives < figures.collectives or moved < figures.moved
        if not is_same:
            print(
                f"{name:32s} {dict(figures.kinds)}, {figures.moved} bytes; expected {collectives} and {moved}", flush=True
            )
    print(f"{same} of {count} ops as expected, {less} send more in a figure, {count - same - less} less")
    return 0


if __name__ == "__main__":
    sys.exit(main())
