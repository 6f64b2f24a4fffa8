# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a long run has found so far, in a file, so that it can be ended at any time and go on where it was.

The first line says what the results depend on; where that is not what is run now, the file begins anew. Each other line
is a key and its result. A line that was cut off when the run ended is no result.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def stamp(*files: str | pathlib.Path, also: Iterable[object] = ()) -> str:
    """A digest of files and of what else results depend on."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(pathlib.Path(file).read_bytes())
    digest.update(repr(list(also)).encode())
    return digest.hexdigest()


class Journal:
    """Results by key. Without a path they are kept in memory alone."""

    def __init__(self, path: pathlib.Path | None, stamp: str) -> None:
        self.results: dict[str, object] = {}
        self.file = None
        if path is None:
            return
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        if lines and _parsed(lines[0]) == stamp:
            self.results = {entry[0]: entry[1] for entry in map(_parsed, lines[1:]) if isinstance(entry, list)}
        path.parent.mkdir(parents=True, exist_ok=True)
        self.file = path.open("w", encoding="utf-8")
        self._write(stamp)
        for entry in self.results.items():
            self._write(entry)

    def add(self, key: str, result: object) -> None:
        """A result, which is in the file when this returns."""
        self.results[key] = result
        self._write((key, result))

    def _write(self, value: object) -> None:
        if self.file:
            self.file.write(json.dumps(value) + "\n")
            self.file.flush()


def _parsed(line: str) -> object:
    try:
        return json.loads(line)
    except ValueError:
        return None


def shard(text: str) -> tuple[int, int]:
    """`i/n` as two numbers, for argparse."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError(f"{text!r} is no shard: 2/3 is the second of three")
    return int(match[1]), int(match[2])


def part(items: Sequence[Item], which: tuple[int, int]) -> list[Item]:
    """The items of a shard: every n-th."""
    number, count = which
    return list(items[number - 1 :: count])
