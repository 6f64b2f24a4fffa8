# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A reader of HLO text, as XLA prints compiled modules: computations, instructions, shapes. It reads; what it costs is hlo_time.py's.

ENTRY %main (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  ROOT %fusion = f32[8]{0} fusion(%p), kind=kLoop, calls=%fused, backend_config={...}
}
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Iterator

BITS = {"pred": 8, "bf16": 16, "c64": 64, "c128": 128, "token": 0, "opaque": 0}
_HEAD = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\) -> .*\{\s*$")
_START = re.compile(r"^\s+(ROOT )?%?([\w.\-]+) = ")
_ARRAY = re.compile(r"([a-z]\w*)\[([\d,<=? ]*)\](?:\{([^{}]*)\})?")
_NAME = re.compile(r"%([\w.\-]+)")
_COMMENT = re.compile(r"/\*.*?\*/")


def bits_of(element: str) -> int:
    """Bits of an element type: 16 of bf16, 8 of f8e4m3fn, 4 of s4."""
    if element in BITS:
        return BITS[element]
    digits = re.match(r"\D+(\d+)", element)
    return int(digits[1]) if digits else 0


@dataclasses.dataclass(frozen=True)
class Array:
    """An array's type, with its layout as printed: f32[8,16]{1,0:T(8,128)S(1)}."""

    element: str
    dims: tuple[int, ...]
    layout: str = ""

    @property
    def elements(self) -> int:
        return math.prod(self.dims)

    @functools.cached_property
    def size(self) -> int:
        """Bytes that it takes, padded to whole tiles where its layout has them."""
        dims = list(self.dims)
        order, _, rest = self.layout.partition(":")
        tile = re.match(r"T\(([\d,]+)\)", rest)
        if tile and dims:
            minor = [int(dim) for dim in order.split(",") if dim.strip()]
            for dim, by in zip(minor, reversed([int(each) for each in tile[1].split(",")]), strict=False):
                dims[dim] = -(-dims[dim] // by) * by
        return math.prod(dims) * bits_of(self.element) // 8

    @property
    def space(self) -> int:
        """Memory space: 0 is the device's, 1 a TPU's vector memory, 5 the host's."""
        found = re.search(r"S\((\d+)\)", self.layout)
        return int(found[1]) if found else 0


def arrays_of(text: str) -> tuple[Array, ...]:
    """The arrays that a type, or a tuple of them, is made of."""
    return tuple(
        Array(element, tuple(int(dim.lstrip("<=")) for dim in dims.split(",") if dim.strip("<=? ")), layout or "")
        for element, dims, layout in _ARRAY.findall(_COMMENT.sub("", text))
    )


@dataclasses.dataclass(frozen=True)
class Instruction:
    name: str
    arrays: tuple[Array, ...]
    opcode: str
    operands: tuple[str, ...]
    argument: str
    """What is between the parentheses: a parameter's number, a constant's value, else operands."""
    attributes: str
    """All that follows them."""
    root: bool

    @property
    def size(self) -> int:
        return sum(array.size for array in self.arrays)

    @property
    def elements(self) -> int:
        return sum(array.elements for array in self.arrays)

    def called(self, *names: str) -> list[str]:
        """Computations that attributes of these names refer to, in order."""
        found: list[str] = []
        for name in names:
            for many, one in re.findall(rf"\b{name}=(?:\{{([^}}]*)\}}|%?([\w.\-]+))", self.attributes):
                found += _NAME.findall(many) if many else [one]
        return found

    def text(self, name: str) -> str | None:
        """The value of an attribute that is a word or stands in quotes."""
        found = re.search(rf'\b{name}=(?:"([^"]*)"|([\w.\->]+))', self.attributes)
        return (found[1] or found[2]) if found else None

    def numbers(self, name: str) -> tuple[int, ...]:
        """The value of an attribute like dimensions={0,2}, or of its like in a backend's configuration: "name":["0","2"]."""
        found = re.search(rf'\b{name}(?:=\{{([\d,]*)\}}|":\[([^\]]*)\])', self.attributes)
        return tuple(int(each) for each in re.findall(r"\d+", (found[1] or found[2] or "") if found else ""))

    @property
    def trips(self) -> int | None:
        """How often a loop's body runs, where XLA knows."""
        found = re.search(r'known_trip_count"?[:=]\{"?n"?[:=]"?(\d+)', self.attributes)
        return int(found[1]) if found else None


@dataclasses.dataclass
class Computation:
    name: str
    instructions: dict[str, Instruction]
    """In the order in which they stand: operands before users."""

    @property
    def root(self) -> Instruction:
        return next(
            (each for each in self.instructions.values() if each.root), next(reversed(self.instructions.values()))
        )

    def __iter__(self) -> Iterator[Instruction]:
        return iter(self.instructions.values())

    def operands(self, instruction: Instruction) -> list[Instruction]:
        return [self.instructions[name] for name in instruction.operands if name in self.instructions]


@dataclasses.dataclass
class Module:
    computations: dict[str, Computation]
    entry: Computation


def inlined(module: Module, computation: Computation) -> Computation:
    """A fusion's computation with the fusions inside it written out: XLA for TPUs nests them, two and three deep."""
    if not any(each.opcode == "fusion" and each.called("calls") for each in computation):
        return computation
    flat: dict[str, Instruction] = {}
    for each in computation:
        inner = [module.computations[name] for name in each.called("calls") if name in module.computations]
        if each.opcode != "fusion" or not inner:
            flat[each.name] = each
            continue
        body = inlined(module, inner[0])
        renamed = {part.name: f"{each.name}/{part.name}" for part in body}
        for part in body:
            name = renamed[part.name]
            if part.opcode == "parameter" and part.argument.isdigit() and int(part.argument) < len(each.operands):
                outer = (each.operands[int(part.argument)],)
                flat[name] = dataclasses.replace(part, name=name, opcode="bitcast", operands=outer, root=False)
            else:
                operands = tuple(renamed.get(operand, operand) for operand in part.operands)
                flat[name] = dataclasses.replace(part, name=name, operands=operands, root=False)
        flat[each.name] = dataclasses.replace(
            each, opcode="bitcast", operands=(renamed[body.root.name],), attributes=""
        )
    return Computation(computation.name, flat)


def _closing(text: str, start: int) -> int:
    """Where the parenthesis that opens at `start` closes."""
    depth, quoted = 0, False
    for at in range(start, len(text)):
        sign = text[at]
        if sign == '"':
            quoted = not quoted
        elif not quoted and sign == "(":
            depth += 1
        elif not quoted and sign == ")":
            depth -= 1
            if depth == 0:
                return at
    raise ValueError(f"a parenthesis is not closed: {text[start : start + 80]}")


def _instruction(line: str) -> Instruction | None:
    start = _START.match(line)
    if not start:
        return None
    at = start.end()
    end = _closing(line, at) + 1 if line[at] == "(" else line.index(" ", at)
    shape = line[at:end]
    opens = line.index("(", end)
    closes = _closing(line, opens)
    inside = line[opens + 1 : closes]
    opcode = line[end:opens].strip()
    operands = () if opcode in ("constant", "parameter") else tuple(_NAME.findall(inside))
    return Instruction(start[2], arrays_of(shape), opcode, operands, inside, line[closes + 1 :], bool(start[1]))


def parse(text: str) -> Module:
    """Reads a module; raises ValueError where it has no entry, or a line cannot be read."""
    computations: dict[str, Computation] = {}
    entry = current = None
    for line in text.splitlines():
        if current is None:
            if head := _HEAD.match(line):
                current = computations.setdefault(head[2], Computation(head[2], {}))
                entry = current if head[1] else entry
        elif line.startswith("}"):
            current = None
        elif made := _instruction(line):
            current.instructions[made.name] = made
    if entry is None:
        raise ValueError("the text has no entry computation: it is no HLO module")
    return Module(computations, entry)
