# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What modules of field_modules.py compute, who holds what of it, and what has to cross borders between devices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from field_modules import Cut, Fields, Node


def evaluate(f: Fields, inputs: Sequence[np.ndarray], results: Sequence[Node]) -> list[np.ndarray]:
    values: dict[Node, np.ndarray] = dict(zip(f.arguments, inputs, strict=True))
    for node in f.nodes:
        if node.apply is not None:
            values[node] = node.apply(*(values[each] for each in node.operands))
    return [np.ascontiguousarray(values[each]) for each in results]


def at_boundary(f: Fields, node: Node) -> Cut:
    """How an argument or a result is laid out, whose parts must be even: along the first axes, and as much of one as divides what is left."""
    kept = []
    for size, axes in zip(node.shape, node.cut, strict=True):
        dim = []
        for axis in axes:
            name, before, parts = f.resolved(axis)
            both = math.gcd(size, parts)
            if both > 1:
                dim.append(axis if both == parts else f"{name}:({before}){both}")
            if both < parts:
                break
            size //= parts
        kept.append(tuple(dim))
    return tuple(kept)


def parts_of(f: Fields, cut: Cut) -> int:
    """How many parts an array is cut into."""
    return math.prod(f.parts(cut, dim) for dim in range(len(cut)))


def owners(f: Fields, node: Node) -> list[tuple[slice, ...]]:
    """The part of an argument or a result that each device holds."""
    sizes = list(f.axes.values())
    cut = at_boundary(f, node)
    held = []
    for device in range(f.devices):
        at = dict(zip(f.axes, np.unravel_index(device, sizes), strict=True))
        window = []
        for size, axes in zip(node.shape, cut, strict=True):
            part, parts = 0, 1
            for axis in axes:
                name, before, count = f.resolved(axis)
                own = int(at[name]) // (f.axes[name] // (before * count)) % count
                part, parts = part * count + own, parts * count
            tile = size // parts
            window.append(slice(part * tile, (part + 1) * tile))
        held.append(tuple(window))
    return held


def crossing(f: Fields, results: Sequence[Node]) -> int:
    """Bytes that cross the worst device's border in one direction: those of arguments that its results depend on and that it does not hold,
    or those that nobody else holds and that others' results depend on.
    """
    # Where each element of a moved value comes from: its number in the first operand, after that in the second, and so on.
    origins: dict[Node, np.ndarray] = {}
    for node in f.nodes:
        if node.moves and node.operands:
            ids, start = [], 1
            for each in node.operands:
                count = math.prod(each.shape)
                ids.append(np.arange(start, start + count).reshape(each.shape))
                start += count
            origins[node] = node.apply(*ids)
    needed: list[int] = []
    held = {node: owners(f, node) for node in (*f.arguments, *results)}
    asked = {node: np.zeros(node.shape, bool) for node in f.arguments}
    holders = {node: np.zeros(node.shape, int) for node in f.arguments}
    for device in range(f.devices):
        marks: dict[Node, np.ndarray] = {}

        def mark(node: Node, where: np.ndarray, marks: dict[Node, np.ndarray] = marks) -> None:
            marks[node] = marks[node] | where if node in marks else where

        for node in results:
            own = np.zeros(node.shape, bool)
            own[held[node][device]] = True
            mark(node, own)
        for node in reversed(f.nodes):
            if node not in marks or not node.operands:
                continue
            if not node.moves:
                for each in node.operands:
                    mark(each, marks[node])
                continue
            flat = np.zeros(1 + sum(math.prod(each.shape) for each in node.operands), bool)
            flat[origins[node][marks[node]]] = True
            start = 1
            for each in node.operands:
                count = math.prod(each.shape)
                mark(each, flat[start : start + count].reshape(each.shape))
                start += count
        count = 0
        for node in f.arguments:
            holders[node][held[node][device]] += 1
            if node in marks:
                foreign = marks[node].copy()
                foreign[held[node][device]] = False
                count += int(foreign.sum())
                asked[node] |= foreign
        needed.append(count)
    sent = [
        sum(int((asked[node] & (holders[node] == 1))[held[node][device]].sum()) for node in f.arguments)
        for device in range(f.devices)
    ]
    return max(*needed, *sent) * np.dtype(f.dtype).itemsize
