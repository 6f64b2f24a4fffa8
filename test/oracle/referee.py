# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The memory that modules take, by XLA's own buffer assignment for CPU.

    python test/oracle/referee.py before.mlir after.mlir
    python test/oracle/referee.py --json test/data/ocean_tendency.mlir

Per module: bytes of arguments, results and temporaries, and of results that reuse a donated argument ("alias");
total = arguments + results + temporaries - alias, floor = the same without temporaries, ratio = total / floor; and the
collectives in the compiled program, with the bytes that the largest collective permute hands on ("permuted"), and how many
buffers a broadcast of one scalar fills ("broadcasts"). A module with mhlo.num_partitions is compiled for that many virtual devices, and
the bytes are those of one of them. Nothing is executed.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import math
import pathlib
import re
import sys
import time

COLLECTIVES = ("all-gather", "all-reduce", "all-to-all", "collective-permute", "collective-broadcast", "reduce-scatter")


@dataclasses.dataclass(frozen=True)
class Memory:
    """What XLA needs for one module on one device, in bytes."""

    name: str
    arguments: int
    results: int
    temporaries: int
    alias: int
    collectives: dict[str, int]
    seconds: float
    permuted: int = 0
    broadcasts: int = 0

    @property
    def floor(self) -> int:
        return self.arguments + self.results - self.alias

    @property
    def total(self) -> int:
        return self.floor + self.temporaries

    @property
    def ratio(self) -> float:
        return self.total / max(1, self.floor)


BITS = {"pred": 8, "s4": 4, "u4": 4, "bf16": 16, "c64": 64, "c128": 128}


def size_of(element: str, dims: str) -> int:
    """Bytes of an HLO array, as in f64[8,16]."""
    bits = BITS.get(element) or int(re.sub(r"^\D+(\d+).*", r"\1", element))
    return math.prod(int(dim) for dim in dims.split(",") if dim) * bits // 8


def permuted_bytes(hlo: str) -> int:
    found = re.findall(r"= \(?(\w+)\[([\d,]*)\][^=]*? collective-permute(?:-start)?\(", hlo)
    return max((size_of(*array) for array in found), default=0)


def scalar_broadcasts(hlo: str) -> int:
    """Buffers of more than a scalar that are filled with one value: broadcasts outside of fusions, or alone in one."""
    count = 0
    for head, body in re.findall(r"^(\S[^\n]*)\{\n(.*?)^\}", hlo, re.MULTILINE | re.DOTALL):
        if "fused_computation" in head and "wrapped_broadcast" not in head:
            continue
        count += len(re.findall(r"= \w+\[\d[\d,]*\]\S* broadcast\([^)]*\), dimensions=\{\}", body))
    return count


def measure(name: str, text: str) -> Memory:
    """Compiles the module and reads its buffer assignment."""
    import xla_cpu

    started = time.monotonic()
    executable = xla_cpu.compile_text(text)
    stats = executable.get_compiled_memory_stats()
    hlo = executable.hlo_modules()[0].to_string()
    names = re.findall(r"= .*? ([a-z-]+?)(?:-start)?\(", hlo)
    counts = collections.Counter(name for name in names if name in COLLECTIVES)
    return Memory(
        name,
        stats.argument_size_in_bytes,
        stats.output_size_in_bytes,
        stats.temp_size_in_bytes,
        stats.alias_size_in_bytes,
        dict(sorted(counts.items())),
        time.monotonic() - started,
        permuted_bytes(hlo),
        scalar_broadcasts(hlo),
    )


def line(memory: Memory) -> str:
    sizes = ("arguments", "results", "temporaries", "alias", "total", "floor")
    columns = " ".join(f"{getattr(memory, size) / 2**20:11.2f}" for size in sizes)
    return f"{memory.name:32s} {columns} {memory.ratio:7.3f}  {memory.collectives or '-'}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+", type=pathlib.Path, metavar="FILE.mlir", help="StableHLO modules, as text")
    parser.add_argument("--json", action="store_true", help="one JSON object per module, in bytes")
    args = parser.parse_args()
    failed = False
    if not args.json:
        names = ("arguments", "results", "temporaries", "alias", "total", "floor")
        print(f"{'MiB':32s} {' '.join(f'{name:>11s}' for name in names)}   ratio  collectives")
    for path in args.modules:
        try:
            memory = measure(path.stem, path.read_text())
        except Exception as error:  # XLA's errors have no common base; the others are still measured
            failed = True
            print(f"{path}: {type(error).__name__}: {str(error)[:500]}", file=sys.stderr)
            continue
        extra = {name: getattr(memory, name) for name in ("floor", "total", "ratio")}
        print(json.dumps(dataclasses.asdict(memory) | extra) if args.json else line(memory), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
