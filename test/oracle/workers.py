# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A function over many items in processes of their own, where an item may crash its process or hang.

XLA ends the process on some modules and loops for ever on others. Each item is handed to a worker on its own and has a
time limit; whatever it does costs that worker, which is replaced, and no other item.
"""

from __future__ import annotations

import collections
import dataclasses
import multiprocessing
import os
import pathlib
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import TypeVar

JOBS = 2
# Where the process that workers are copies of finds its modules; it does not know its parent's sys.path.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, (str(pathlib.Path(__file__).parent), os.environ.get("PYTHONPATH")))
)
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclasses.dataclass(frozen=True)
class Lost:
    """An item that gave no result, and why."""

    reason: str


def map_items(
    work: Callable[[Item], Result], items: Sequence[Item], *, seconds: float = 60.0, jobs: int = JOBS, fresh: bool = False
) -> list[Result | Lost]:
    """`work` of each item, in order. It is a function of a module's top level, and raises nothing it wants reported.

    With `fresh` each item has a process of its own: whether memory is new to a process, whose pages are then made one by
    one, depends on what it has freed before.
    """
    results: list[Result | Lost] = [Lost("not run")] * len(items)
    waiting = collections.deque(enumerate(items))

    def serve() -> None:
        worker: Worker | None = None
        while True:
            try:
                number, item = waiting.popleft()
            except IndexError:
                break
            worker = worker or Worker(work)
            results[number] = worker.ask(item, seconds)
            if isinstance(results[number], Lost) and worker.dead:
                worker = None
            elif fresh:
                worker.stop()
                worker = None
        if worker:
            worker.stop()

    threads = [threading.Thread(target=serve, daemon=True) for _ in range(min(jobs, len(items)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


class Worker:
    """A process that answers one item at a time."""

    def __init__(self, work: Callable) -> None:
        # Copies of a process that has imported JAX, but not started it: many items end their worker.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["xla_cpu"])
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(work, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.dead = False
        self.fresh = True

    def ask(self, item: object, seconds: float) -> object:
        # A new process first imports what it needs.
        limit = seconds + (60 if self.fresh else 0)
        self.fresh = False
        try:
            self.pipe.send(item)
            if self.pipe.poll(limit):
                return self.pipe.recv()
            reason = f"no answer in {limit:.0f} s"
        except (EOFError, OSError):
            self.process.join()
            reason = f"its process ended with status {self.process.exitcode}"
        self.stop()
        return Lost(reason)

    def stop(self) -> None:
        self.dead = True
        self.pipe.close()
        self.process.kill()
        self.process.join()


def _serve(work: Callable, pipe: Connection) -> None:
    while True:
        try:
            item = pipe.recv()
        except EOFError:
            return
        try:
            result = work(item)
        except Exception as error:  # an item may fail in any way; the caller sees why
            result = Lost(f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:300]}")
        pipe.send(result)
