# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs an mlir-opt-style driver over many modules at once.

One process takes a batch of modules, split by a marker. If it dies or hangs, the batch is halved until the module that
does it is alone, so one bad module costs some restarts and hides nothing.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import re
import subprocess
from collections.abc import Sequence

# What tests and benchmarks of the whole pipeline run unless told otherwise: they execute and measure under XLA for CPU.
PIPELINE = "--slimhlo-optimize=target=xla-cpu"

# What a pipeline may add to what XLA needs: a factor, and bytes.
GROWTH, SLACK = 1.01, 4096

MARKER = "//---- next module ----//"
_DIAGNOSTIC = re.compile(r"^(?:<stdin>|-|\S*?):(\d+):\d+: error: (.*)$")
_ERROR = re.compile(r"^(?:.*?: )?error: (.*)$")


def needs_more(before: int, after: int) -> bool:
    """Whether a module of `after` bytes is worse than the original of `before`, beyond what a pipeline may add."""
    return after > GROWTH * before + SLACK


def knows_target(binary: str, name: str) -> bool:
    """Whether a pass has the option `target`, by the driver's own help."""
    told = subprocess.run([binary, "--help"], capture_output=True, text=True, check=False).stdout
    options = re.search(rf"^ +{name} .*\n((?: {{8,}}--.*\n)*)", told, re.MULTILINE)
    return options is not None and "--target=" in options[1]


def pipeline_for(binary: str, target: str) -> str:
    """The default pipeline's flags for a target (targets.py), where the driver knows of targets."""
    name = "--slimhlo-optimize"
    return f"{name}=target={target}" if knows_target(binary, name) else name


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What the driver did with one module: its output, or why there is none."""

    output: str | None
    message: str = ""
    crash: str = ""

    @property
    def accepted(self) -> bool:
        return self.output is not None


@dataclasses.dataclass(frozen=True)
class Driver:
    """A driver binary, and how to run it."""

    binary: str
    flags: tuple[str, ...] = ()
    batch: int = 200
    jobs: int = 2
    seconds_per_batch: float = 120.0
    seconds_alone: float = 20.0

    def ready(self) -> Driver:
        """The driver itself, once it has printed an empty module; raises if it cannot."""
        outcome = self._run_batch(["module {\n}\n"], ())[0]
        if not outcome.accepted:
            raise RuntimeError(f"{self.binary} cannot print an empty module: {outcome.crash or outcome.message}")
        return self

    def run(self, texts: Sequence[str], flags: Sequence[str] = ()) -> list[Outcome]:
        """One outcome per text, in order."""
        batches = [texts[i : i + self.batch] for i in range(0, len(texts), self.batch)]
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            done = pool.map(lambda part: self._run_batch(part, flags), batches)
            return [outcome for part in done for outcome in part]

    def reason(self, text: str, flags: Sequence[str] = ()) -> str:
        """Why the driver refuses this module; for modules whose own locations hide which of a batch an error is of."""
        outcome = self._run_batch([text], flags)[0]
        return f"CRASH {outcome.crash}" if outcome.crash else f"refused: {outcome.message}"

    def _run_batch(self, texts: Sequence[str], flags: Sequence[str]) -> list[Outcome]:
        if not texts:
            return []
        source = f"\n{MARKER}\n".join(texts)
        command = [
            self.binary,
            "-",
            f"--split-input-file={MARKER}",
            f"--output-split-marker={MARKER}",
            *self.flags,
            *flags,
        ]
        limit = self.seconds_alone if len(texts) == 1 else self.seconds_per_batch
        try:
            done = subprocess.run(command, input=source.encode(), capture_output=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            return self._narrow(texts, flags, f"no answer in {limit:.0f} s")
        errors = done.stderr.decode(errors="replace")
        outputs = re.split(rf"^{re.escape(MARKER)}\n", done.stdout.decode(errors="replace"), flags=re.MULTILINE)
        if len(outputs) == len(texts) + 1 and not outputs[-1].strip():
            outputs.pop()
        if done.returncode not in (0, 1) or len(outputs) != len(texts):
            tail = " | ".join(errors.strip().splitlines()[:3])
            return self._narrow(texts, flags, f"exit status {done.returncode}: {tail[:400]}")
        messages = _messages_by_module(errors, texts)
        if len(texts) == 1:
            messages = [next((m.group(1) for m in map(_ERROR.match, errors.splitlines()) if m), "")]
        return [
            Outcome(output if output.strip() else None, message)
            for output, message in zip(outputs, messages, strict=True)
        ]

    def _narrow(self, texts: Sequence[str], flags: Sequence[str], crash: str) -> list[Outcome]:
        if len(texts) == 1:
            return [Outcome(None, crash=crash)]
        half = len(texts) // 2
        return self._run_batch(texts[:half], flags) + self._run_batch(texts[half:], flags)


def _messages_by_module(errors: str, texts: Sequence[str]) -> list[str]:
    """The first error of each module, found by the line at which its text starts in the joined input."""
    ends: list[int] = []
    line = 0
    for text in texts:
        line += text.count("\n") + 2
        ends.append(line)
    messages = [""] * len(texts)
    module = 0
    for found in map(_DIAGNOSTIC.match, errors.splitlines()):
        if not found:
            continue
        at = int(found.group(1))
        # Modules are reported in order, except for notes that point elsewhere; start over only when a line is behind.
        if module and at <= ends[module - 1]:
            module = 0
        while module < len(ends) - 1 and at > ends[module]:
            module += 1
        messages[module] = messages[module] or found.group(2)
    return messages


def with_values(arguments: Sequence[str], *names: str) -> list[str]:
    """Arguments for argparse, which refuses a value that itself starts with a dash unless `=` ties it to its name."""
    joined: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        value = next(rest, None) if argument in names else None
        joined.append(argument if value is None else f"{argument}={value}")
    return joined
