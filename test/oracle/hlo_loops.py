# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How often loops of compiled modules run, where XLA has not noted it.

XLA for TPUs notes no lengths, and splits counters of 64 bits in two. So a loop's counters are run: of the scalars that the
condition needs, from their first values, turn by turn, as long as all of them are known.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

import hlo

MOST_TURNS = 200_000
"""A loop that runs longer counts as one of unknown length."""

Value = int | None
COMPARE: dict[str, Callable[[int, int], bool]] = {
    "EQ": operator.eq, "NE": operator.ne, "LT": operator.lt, "LE": operator.le, "GT": operator.gt, "GE": operator.ge,
}  # fmt: skip
BINARY: dict[str, Callable[[int, int], int]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "minimum": min, "maximum": max,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor,
}  # fmt: skip
SAME = frozenset(("copy", "bitcast", "reshape", "bitcast-convert", "convert", "opt-barrier", "copy-done"))


def wrapped(value: int, element: str) -> int:
    """The value as its type holds it: modulo its bits, signed if the type is."""
    if element == "pred":
        return value & 1
    bits = hlo.bits_of(element)
    value &= (1 << bits) - 1
    return value - (1 << bits) if element[0] == "s" and value >> (bits - 1) else value


class Scalars:
    """Evaluates integers of a computation, given those of its parameters."""

    def __init__(self, module: hlo.Module) -> None:
        self.module = module

    def value(self, within: hlo.Computation, each: hlo.Instruction, given: Given, known: dict[str, Value]) -> Value:
        if each.name not in known:
            known[each.name] = None
            if len(each.arrays) == 1 and each.arrays[0].elements == 1:
                found = self.fresh(within, each, given, known)
                known[each.name] = None if found is None else wrapped(found, each.arrays[0].element)
        return known[each.name]

    def fresh(self, within: hlo.Computation, each: hlo.Instruction, given: Given, known: dict[str, Value]) -> Value:
        if each.arrays[0].element[0] not in "sup":
            return None
        operands = within.operands(each)
        if each.opcode == "constant":
            words = {"true": 1, "false": 0}
            text = each.argument.strip("{} ")
            return words.get(text, int(text) if re.fullmatch(r"-?\d+", text) else None)
        if each.opcode == "parameter":
            return given(int(each.argument), None)
        if each.opcode == "get-tuple-element" and operands and operands[0].opcode == "parameter":
            return given(int(operands[0].argument), int(each.text("index") or 0))
        values = [self.value(within, operand, given, known) for operand in operands]
        if each.opcode in ("fusion", "call"):
            inner = self.module.computations[each.called("calls", "to_apply")[0]]
            return self.value(inner, inner.root, lambda number, index: values[number] if index is None else None, {})
        if each.opcode == "select" and values[0] is not None:
            return values[1 if values[0] else 2]
        if not values or any(value is None for value in values):
            return None
        if each.opcode in SAME:
            return values[0]
        if each.opcode == "not":
            return ~values[0]
        if each.opcode == "compare":
            return int(COMPARE[each.text("direction") or "EQ"](values[0], values[1]))
        step = BINARY.get(each.opcode)
        return step(values[0], values[1]) if step else None


Given = Callable[[int, int | None], Value]
"""The value of a parameter, or of an element of one that is a tuple."""


def needed(computation: hlo.Computation, start: hlo.Instruction) -> set[int]:
    """Which elements of the carried tuple a value depends on."""
    found: set[int] = set()
    seen: set[str] = set()
    open_ = [start]
    while open_:
        each = open_.pop()
        if each.name in seen:
            continue
        seen.add(each.name)
        operands = computation.operands(each)
        if each.opcode == "get-tuple-element" and operands and operands[0].opcode == "parameter":
            found.add(int(each.text("index") or 0))
        else:
            open_ += operands
    return found


def trips(module: hlo.Module, within: hlo.Computation, loop: hlo.Instruction) -> int | None:
    """How often a loop's body runs, or None if that depends on more than counters."""
    if loop.trips is not None:
        return loop.trips
    condition = module.computations[loop.called("condition")[0]]
    body = module.computations[loop.called("body")[0]]
    start, made = within.operands(loop)[:1], body.root
    if not start or start[0].opcode != "tuple" or made.opcode != "tuple":
        return None
    first, last = within.operands(start[0]), body.operands(made)
    if len(first) != len(last):
        return None
    carried = needed(condition, condition.root)
    while True:
        more = carried.union(*(needed(body, last[index]) for index in carried))
        if more == carried:
            break
        carried = more
    scalars = Scalars(module)
    state = {index: scalars.value(within, first[index], lambda _, __: None, {}) for index in carried}
    for turn in range(MOST_TURNS):
        given: Given = lambda _, index, now=state: now.get(index) if index is not None else None
        goes_on = scalars.value(condition, condition.root, given, {})
        if goes_on is None:
            return None
        if not goes_on:
            return turn
        known: dict[str, Value] = {}
        now = {index: scalars.value(body, last[index], given, known) for index in carried}
        if now == state:
            return None
        state = now
    return None
