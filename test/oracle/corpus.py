# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the corpora that the oracle tests read.

    python test/oracle/corpus.py target/oracle

makes, in target/oracle:
  harnesses.jsonl   every program of JAX's own primitive tests, lowered for CPU, not compiled nor run
  backcompat.jsonl  JAX's export back-compatibility data: the recorded texts and the serialized artifacts
  programs.jsonl    the reference programs of programs.py
and in *.skipped.jsonl what gives no module here, and why. Texts carry locations. A second run with the same versions and
sources does nothing, and one with other reference programs lowers only these.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import hashlib
import importlib
import importlib.metadata
import json
import multiprocessing
import os
import pathlib
import pkgutil
import re
import sys
import time
from collections.abc import Iterator

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"

import store

Records = list[store.Entry | store.Skipped]
JOBS = 2
BACKCOMPAT = "jax._src.internal_test_util.export_back_compat_test_data"


SOURCES = {"harnesses": (), "backcompat": ("jaxlib_ir.py",), "programs": ("program.py", "programs.py", "attention_programs.py", "training_programs.py")}


def stamp(corpus: str) -> dict[str, str]:
    """What a corpus depends on: versions, and the sources that make it."""
    here = pathlib.Path(__file__).parent
    sources = b"".join((here / name).read_bytes() for name in ("corpus.py", "store.py", *SOURCES[corpus]))
    packages = ("jax", "jaxlib", "numpy", "ml_dtypes")
    return {name: importlib.metadata.version(name) for name in packages} | {
        "sources": hashlib.sha256(sources).hexdigest()
    }


def reason_of(error: BaseException) -> str:
    first = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}: {first[:160]}"


# --- JAX's primitive tests ---------------------------------------------------------------------------------------


def lower_harnesses(span: tuple[int, int]) -> Records:
    """Lowers the harnesses in [start, stop)."""
    import jax
    import numpy as np
    from jax._src.internal_test_util import test_harnesses

    records: Records = []
    for number, harness in enumerate(test_harnesses.all_harnesses[slice(*span)], span[0]):
        name = f"{number:05d} {harness.fullname}"
        unsupported = [limit for limit in harness.jax_unimplemented if limit.filter(device="cpu", dtype=harness.dtype)]
        try:
            args = harness.dyn_args_maker(np.random.RandomState(number))
            text = jax.jit(harness.dyn_fun).lower(*args).as_text(debug_info=True)
            records.append(store.Entry(name, text))
        except Exception as error:  # a harness may fail in any way; each failure is listed
            declared = f"declared: {unsupported[0].description}; " if unsupported else ""
            records.append(store.Skipped(name, declared + reason_of(error)))
    return records


def harness_count() -> int:
    from jax._src.internal_test_util import test_harnesses

    return len(test_harnesses.all_harnesses)


# --- JAX's export back-compatibility data -------------------------------------------------------------------------


def leaves(data: object, path: str) -> Iterator[tuple[str, dict[str, object]]]:
    """Every recorded export below `data`, whichever way the file nests them."""
    if isinstance(data, dict) and ("mlir_module_text" in data or "exported_serialized" in data):
        yield path, data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from leaves(value, f"{path}.{key}")
    elif isinstance(data, (list, tuple)):
        for number, value in enumerate(data):
            yield from leaves(value, f"{path}[{number}]")


def backcompat(_: object = None) -> Records:
    """Texts and artifacts of every file of the package, those for Pallas included."""
    from jaxlib.mlir.dialects import stablehlo

    import jaxlib_ir

    def from_artifact(artifact: bytes) -> str:
        context = jaxlib_ir.make_context()
        with context:
            return jaxlib_ir.pretty(stablehlo.deserialize_portable_artifact(context, artifact))

    def from_text(text: str) -> str:
        return jaxlib_ir.pretty(jaxlib_ir.parse(text))

    def from_export(data: bytearray) -> str:
        from jax import export

        return from_artifact(export.deserialize(data).mlir_module_serialized)

    readers = {
        "mlir_module_text": from_text,
        "mlir_module_serialized": from_artifact,
        "exported_serialized": from_export,
    }
    records: Records = []
    package = importlib.import_module(BACKCOMPAT)
    for info in pkgutil.walk_packages(package.__path__, BACKCOMPAT + "."):
        if info.ispkg:
            continue
        module = importlib.import_module(info.name)
        for variable, value in vars(module).items():
            if variable.startswith("__"):
                continue
            for path, data in leaves(value, f"{info.name.removeprefix(BACKCOMPAT + '.')}.{variable}"):
                for key, reader in readers.items():
                    if not data.get(key):
                        continue
                    name = f"{path} {key}"
                    try:
                        records.append(store.Entry(name, reader(data[key])))
                    except Exception as error:  # listed
                        records.append(store.Skipped(name, reason_of(error)))
    return records


# --- the reference programs ---------------------------------------------------------------------------------------


def reference_programs(_: object = None) -> Records:
    """Our own programs; one that does not lower is an error of ours, so it is not caught."""
    import programs

    return [store.Entry(name, program().as_text(debug_info=True)) for name, program in programs.PROGRAMS.items()]


# --- all of it ----------------------------------------------------------------------------------------------------


def make(corpus: str, pool: concurrent.futures.ProcessPoolExecutor) -> Records:
    if corpus != "harnesses":
        return pool.submit({"programs": reference_programs, "backcompat": backcompat}[corpus]).result()
    total = pool.submit(harness_count).result()
    # Few large spans: JAX's tracing caches are per process, and neighbours share much.
    step = 256
    spans = [(start, min(start + step, total)) for start in range(0, total, step)]
    return [record for part in pool.map(lower_harnesses, spans) for record in part]


def build(out: pathlib.Path, corpora: list[str]) -> None:
    """Makes these corpora, on all cores."""
    context = multiprocessing.get_context("spawn")
    with (
        concurrent.futures.ProcessPoolExecutor(JOBS, mp_context=context) as pool,
        concurrent.futures.ThreadPoolExecutor(len(corpora)) as makers,
    ):
        made = makers.map(lambda corpus: make(corpus, pool), corpora)
        for corpus, records in zip(corpora, made, strict=True):
            store.write(out / f"{corpus}.jsonl", [r for r in records if isinstance(r, store.Entry)])
            store.write(out / f"{corpus}.skipped.jsonl", [r for r in records if isinstance(r, store.Skipped)])


def summary(out: pathlib.Path) -> None:
    """Prints how many modules there are, and groups what was skipped by its reason."""
    for corpus in store.CORPORA:
        entries = list(store.read(out, corpus))
        size = sum(len(entry.text) for entry in entries) / 2**20
        print(f"{corpus:12s} {len(entries):6d} modules {size:8.1f} MiB")
    reasons: collections.Counter[str] = collections.Counter()
    for corpus in store.CORPORA:
        for line in (out / f"{corpus}.skipped.jsonl").read_text().splitlines():
            reasons[re.sub(r"\d+", "N", json.loads(line)["reason"])] += 1
    print(f"{'skipped':12s} {sum(reasons.values()):6d} programs")
    for reason, count in reasons.most_common():
        print(f"  {count:5d}  {reason}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, metavar="OUT", help="directory for the corpora")
    parser.add_argument("--force", action="store_true", help="make them again even if the stamp says they are current")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    stamp_file = args.out / "stamp.json"
    wanted = {corpus: stamp(corpus) for corpus in store.CORPORA}
    current = json.loads(stamp_file.read_text()) if stamp_file.exists() and not args.force else {}
    stale = [corpus for corpus in store.CORPORA if current.get(corpus) != wanted[corpus]]
    if stale:
        started = time.monotonic()
        # Stale corpora lose their stamp first, so that those of a run that was cut short are made again.
        stamp_file.write_text(json.dumps({corpus: wanted[corpus] for corpus in store.CORPORA if corpus not in stale}))
        build(args.out, stale)
        stamp_file.write_text(json.dumps(wanted, indent=1))
        print(f"made {', '.join(stale)} in {time.monotonic() - started:.0f} s")
    else:
        print("up to date")
    summary(args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
