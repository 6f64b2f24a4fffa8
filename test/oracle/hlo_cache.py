# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What of a program's arrays lies in a GPU's second cache when a kernel reads or writes it.

Arrays are kept whole, the latest used the longest: of a loop's turn what the turn before has left, too. An H100 reads and writes such bytes
1.8 times as fast as memory's (probes.py, "turns over"): a turn of two kernels over 16 MiB takes 8.2 microseconds, over 24 MiB 11.3, over 32
MiB 17 and over 40 MiB 30, which is what memory takes. Slices of an array differ from turn to turn; they go by and push others out.
"""

from __future__ import annotations

import collections
from collections.abc import Callable

import hlo

SHARE = 0.7
"""Of the cache, that arrays are found in again: 36 of an H100's 50 MiB, as above."""
# Names for what is there already.
SAME = frozenset(("bitcast", "reshape", "get-tuple-element", "copy-done", "opt-barrier"))


class Cache:
    """The arrays that were used last, up to so many bytes."""

    def __init__(self, capacity: float) -> None:
        self.capacity = SHARE * capacity
        self.held: collections.OrderedDict[str, float] = collections.OrderedDict()
        self.size = 0.0

    def use(self, name: str, size: float) -> bool:
        """Whether an array is there; it is from now on, if it fits."""
        found = self.held.pop(name, None)
        self.size -= found or 0.0
        if size > self.capacity:
            self.forget()
            return False
        self.held[name] = size
        self.size += size
        while self.size > self.capacity:
            _, gone = self.held.popitem(last=False)
            self.size -= gone
        return found is not None

    def forget(self) -> None:
        self.held.clear()
        self.size = 0.0


def places(computation: hlo.Computation, changes: Callable[[hlo.Instruction], str | None]) -> dict[str, str]:
    """For each instruction the array that its result lies in: a name's is what it is for, `changes` names the operand that is changed in
    place, and what a loop's turn hands on is where the next turn finds it."""
    found: dict[str, str] = {}
    for each in computation:
        operands = computation.operands(each)
        if each.opcode == "get-tuple-element" and operands and operands[0].opcode == "parameter":
            found[each.name] = f"state {each.text('index')}"
            continue
        before = operands[0].name if operands and each.opcode in SAME else changes(each) or each.name
        found[each.name] = found.get(before, before)
    root = computation.root
    handed = enumerate(root.operands) if root.opcode == "tuple" else ()
    states = {found.get(operand, operand): f"state {number}" for number, operand in handed}
    return {name: place if place.startswith("state ") else states.get(place, place) for name, place in found.items()}
