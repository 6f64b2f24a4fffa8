# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""jaxlib's verdict on many modules, in processes of its own, since jaxlib may itself crash on a broken module.

Run as a script it is the worker: modules come in as JSON lines, verdicts go out as JSON lines, one at a time. With `portable` modules are
VHLO, and valid if StableHLO can be made of them.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence

JOBS = 2
SECONDS_PER_MODULE = 20.0


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What jaxlib says: valid with the module printed back in generic form, invalid with a message, or no answer."""

    valid: bool | None
    message: str = ""
    generic: str = ""


def judge(texts: Sequence[str], *, portable: bool = False) -> list[Verdict]:
    """One verdict per text, in order."""
    step = (len(texts) + JOBS - 1) // JOBS or 1
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        parts = pool.map(
            lambda part: _judge_part(part, portable), [texts[i : i + step] for i in range(0, len(texts), step)]
        )
        return [verdict for part in parts for verdict in part]


def _judge_part(texts: Sequence[str], portable: bool) -> list[Verdict]:
    verdicts: list[Verdict] = []
    while len(verdicts) < len(texts):
        verdicts.extend(_one_worker(texts[len(verdicts) :], portable))
    return verdicts


def _one_worker(texts: Sequence[str], portable: bool) -> list[Verdict]:
    """Verdicts until the worker is through or dies; the module that kills it gets no answer."""
    verdicts: list[Verdict] = []
    with tempfile.TemporaryFile("w+", encoding="utf-8") as source:
        source.writelines(json.dumps(text) + "\n" for text in texts)
        source.seek(0)
        command = [sys.executable, str(pathlib.Path(__file__)), *(["portable"] if portable else [])]
        worker = subprocess.Popen(command, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert worker.stdout is not None
        while True:
            watchdog = threading.Timer(SECONDS_PER_MODULE, worker.kill)
            watchdog.start()
            line = worker.stdout.readline()
            watchdog.cancel()
            if not line.endswith("\n"):
                break
            verdicts.append(Verdict(**json.loads(line)))
        status = worker.wait()
    if len(verdicts) < len(texts):
        verdicts.append(Verdict(None, f"jaxlib gave no answer (exit status {status})"))
    return verdicts


def _worker() -> None:
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    import jaxlib_ir

    portable = "portable" in sys.argv

    context = jaxlib_ir.make_context()
    for number, line in enumerate(sys.stdin):
        if number % 500 == 499:
            context = jaxlib_ir.make_context()
        text = json.loads(line)
        try:
            said: list[str] = []
            if portable:
                # The error that is raised does not say why.
                handler = context.attach_diagnostic_handler(lambda diagnostic: said.append(diagnostic.message) or True)
                with context:
                    module = stablehlo.deserialize_portable_artifact(context, text)
            else:
                module = jaxlib_ir.parse(text, context)
            verdict = Verdict(True, generic=jaxlib_ir.generic(module, locations=False))
        except ir.MLIRError as error:
            messages = [str(diagnostic.message) for diagnostic in error.error_diagnostics]
            verdict = Verdict(False, messages[0] if messages else error.message)
        except ValueError as error:
            verdict = Verdict(False, said[0] if said else str(error))
        finally:
            if portable:
                handler.detach()
        sys.stdout.write(json.dumps(dataclasses.asdict(verdict)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _worker()
