# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Corpora on disk: one JSON object per line, one file per corpus, and a stamp that says what they were made with."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Iterable, Iterator

CORPORA = ("harnesses", "backcompat", "programs")


@dataclasses.dataclass(frozen=True)
class Entry:
    """One module of a corpus: a name unique in its corpus, and its text with locations."""

    name: str
    text: str


@dataclasses.dataclass(frozen=True)
class Skipped:
    """A program that gives no module here, and why."""

    name: str
    reason: str


def write(path: pathlib.Path, records: Iterable[Entry | Skipped]) -> None:
    """Writes records as JSON lines; the file appears whole or not at all."""
    partial = path.with_suffix(".partial")
    with partial.open("w", encoding="utf-8") as out:
        for record in records:
            out.write(json.dumps(dataclasses.asdict(record)) + "\n")
    partial.replace(path)


def read(directory: pathlib.Path, corpus: str) -> Iterator[Entry]:
    """Yields the modules of one corpus, in the order in which they were written."""
    with (directory / f"{corpus}.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            yield Entry(**json.loads(line))


def read_all(directory: pathlib.Path) -> Iterator[tuple[str, Entry]]:
    """Yields (corpus, module) over every corpus of the directory."""
    for corpus in CORPORA:
        for entry in read(directory, corpus):
            yield corpus, entry
