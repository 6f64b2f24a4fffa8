# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules and packages on the device of this machine, under whichever JAX for it is here.

    python test/oracle/on_device.py JOBS OUT [--runner slimhlo-run] [--seconds 400] [--kernels]

JOBS is a folder with jobs.json, a list of objects (what prepares it is calibrate.py and kernels.py, which need no GPU):

    {"name": ..., "module": "x.mlir", "below": 8}                   time it under XLA; integers are less than `below`; "trace": false leaves it out of --kernels
    {"name": ..., "module": "x.mlir", "below": 8, "package": "x"}   run both once on the same inputs and compare
    {"name": ..., "package": "x", "inputs": ["a.npy", ...]}         run a package once; its results go into OUT/kept.zip
    {"name": ..., "package": "x", "below": 8}                       time a package of slimhlo's own kernels

OUT/results.jsonl gets a line per job as it ends, so that a run that is cut off leaves what it had, those that are listed
first; with --kernels OUT/kernels.json gets each kernel's microseconds of one run of each module, and OUT/hlo.json.gz what
XLA compiled for this GPU. Nothing is timed while something is compiled. This file imports nothing of its neighbours and
asks JAX for little, so that it runs where only they were prepared.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import gzip
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import jax
import numpy as np
from jax._src import compiler
from jax._src.interpreters import mlir as jax_mlir
from jax._src.lib import xla_client
from jaxlib.mlir import ir

jax.config.update("jax_enable_x64", True)

Job = dict[str, Any]
Found = dict[str, Any]

SECONDS_TIMED = 0.04
REPEATS = 3
MOST_CALLS = 500
POOL = 1 << 22
"""Random elements that arrays are made of, one copy after another."""
RUNS = 20
WORKERS = max(1, (os.cpu_count() or 2) - 2)
"""Programs that are compiled side by side."""
TOLERANCE = 1e-5
TOLERANCE_OF_PRODUCTS = 1e-2
"""XLA rounds the factors of products in f32 to TF32."""


class Program:
    """A module, compiled, and the arguments that it wants."""

    def __init__(self, text: str, device: jax.Device) -> None:
        with jax_mlir.make_ir_context():
            module = ir.Module.parse(text)
            main = next(
                op for op in module.body.operations if "sym_name" in op.attributes and op.attributes["sym_name"].value == "main"
            )
            self.kinds = [str(kind) for kind in main.type.inputs]
            self.reused = self.donations(main)
            started = time.perf_counter()
            options = compiler.get_compile_options(
                num_replicas=1, num_partitions=1, device_assignment=np.zeros((1, 1), np.int64)
            )
            self.executable: xla_client.LoadedExecutable = device.client.compile_and_load(
                module, xla_client.DeviceList((device,)), options
            )
            self.seconds = time.perf_counter() - started
        self.device = device

    @staticmethod
    def donations(main: ir.OpView) -> dict[int, int]:
        """Numbers of the results that lie in place of arguments, by the arguments'."""
        if "arg_attrs" not in main.attributes:
            return {}
        found = {}
        for number, attributes in enumerate(ir.ArrayAttr(main.attributes["arg_attrs"])):
            attributes = ir.DictAttr(attributes)
            if "tf.aliasing_output" in attributes:
                found[number] = ir.IntegerAttr(attributes["tf.aliasing_output"]).value
        return found

    def inputs(self, below: int, seed: int = 0) -> list[np.ndarray]:
        rng = np.random.default_rng(seed)
        return [draw(kind, below, rng) for kind in self.kinds]

    def __call__(self, arguments: list[jax.Array]) -> list[jax.Array]:
        done = self.executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
        return [shards[0] for shards in done]

    def sizes(self) -> Found:
        stats = self.executable.get_compiled_memory_stats()
        return {
            "arguments": stats.argument_size_in_bytes,
            "results": stats.output_size_in_bytes,
            "temporaries": stats.temp_size_in_bytes,
            "alias": stats.alias_size_in_bytes,
            "compile_seconds": self.seconds,
        }


def draw(kind: str, below: int, rng: np.random.Generator) -> np.ndarray:
    """Values for an argument of type tensor<...>: floats up to 0.1, integers less than `below`."""
    sizes, element = re.fullmatch(r"tensor<((?:\d+x)*)([^,]*)(?:, .*)?>", kind).groups()
    shape = tuple(int(size) for size in sizes.split("x")[:-1])
    count = max(1, min(POOL, int(np.prod(shape, dtype=np.int64))))
    if element == "i1":
        pool = rng.integers(0, 2, count).astype(bool)
    elif match := re.fullmatch(r"(u?)i(\d+)", element):
        dtype = np.dtype(f"{'u' if match[1] else ''}int{match[2]}")
        pool = rng.integers(0, min(below, np.iinfo(dtype).max), count).astype(dtype)
    elif element.startswith("complex"):
        pool = (rng.random(count) * 0.1).astype(np.complex64 if "f32" in element else np.complex128)
    else:
        wide = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": jax.numpy.bfloat16}
        name = element.lower().removeprefix("f8") if element.startswith("f8") else element
        dtype = wide.get(element) or getattr(jax.numpy, f"float8_{name}")
        pool = (rng.random(count, np.float32) * 0.1).astype(dtype)
    return np.resize(pool, shape)


# --- time under XLA -------------------------------------------------------------------------------------------------


def timed(program: Program, below: int) -> Found:
    """Seconds of a call among many of which only the last is waited for; results become the arguments that were donated."""
    given = jax.device_put(program.inputs(below), program.device)
    results: list[jax.Array] = []

    def calls(count: int) -> float:
        nonlocal results
        started = time.perf_counter()
        for _ in range(count):
            for number, result in program.reused.items():
                if results:
                    given[number] = results[result]
            results = []
            results = program(given)
        jax.block_until_ready(results)
        return (time.perf_counter() - started) / count

    first = calls(1)
    once = min(calls(1), calls(1)) if first < 1 else calls(1)
    count = max(2, min(MOST_CALLS, int(SECONDS_TIMED / once)))
    return {"seconds": statistics.median(calls(count) for _ in range(REPEATS if once < 0.2 else 1)), "first": first}


def traced(programs: list[tuple[Job, Program]], out: pathlib.Path, until: float) -> None:
    """Writes each kernel's name, count and microseconds of one run of each program."""
    with tempfile.TemporaryDirectory() as folder:
        done = []
        jax.profiler.start_trace(folder)
        for job, program in programs:
            if time.monotonic() > until:
                break
            try:
                given = jax.device_put(program.inputs(job["below"]), program.device)
                jax.block_until_ready(given)
            except Exception:  # what does not fit has been told before
                continue
            with jax.profiler.TraceAnnotation(f"job {job['name']}"):
                jax.block_until_ready(program(given))
            done.append(job["name"])
        jax.profiler.stop_trace()
        (written,) = pathlib.Path(folder).glob("**/*.xplane.pb")
        data = jax.profiler.ProfileData.from_file(str(written))
    spans, events = [], []
    for plane in data.planes:
        on_device = plane.name.startswith("/device:GPU")
        for line in plane.lines:
            for event in line.events:
                if on_device and line.name.startswith("Stream"):
                    events.append((event.start_ns, event.duration_ns, event.name, dict(event.stats)))
                elif not on_device and event.name.startswith("job "):
                    spans.append((event.start_ns, event.start_ns + event.duration_ns, event.name[4:]))
    spans.sort()
    events.sort(key=lambda event: event[0])
    kernels: dict[str, dict[str, list]] = {}
    at = 0
    for start, duration, name, stats in events:
        while at < len(spans) and spans[at][1] < start:
            at += 1
        if at == len(spans) or start < spans[at][0]:
            continue
        key = f"{name}|{stats.get('hlo_op', '')}"
        entry = kernels.setdefault(spans[at][2], {}).setdefault(key, [0, 0.0, start, start])
        entry[0] += 1
        entry[1] += duration / 1e3
        entry[3] = start + duration
    (out / "kernels.json").write_text(json.dumps({"traced": done, "kernels": kernels}))


# --- slimhlo's own kernels ------------------------------------------------------------------------------------------


def run_package(runner: str, package: pathlib.Path, inputs: list[str], out: str, seconds: float = 60.0) -> str | None:
    """Runs a package on arrays in files, its results go into the folder `out`; why it did not run, if so."""
    given = ["--input", *inputs] if inputs else []
    command = [runner, str(package), "--output-dir", out, *given]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    return last_line(done.stderr) if done.returncode else None


def compared(program: Program, text: str, job: Job, runner: str, folder: pathlib.Path) -> str | None:
    """Runs a package on the same inputs; what differs, if anything: integers exactly, floats within a share of the largest."""
    host = program.inputs(job["below"])
    wanted = [np.asarray(result) for result in program(jax.device_put(host, program.device))]
    tolerance = TOLERANCE_OF_PRODUCTS if "dot_general" in text or "convolution" in text else TOLERANCE
    with tempfile.TemporaryDirectory() as name:
        for number, array in enumerate(host):
            np.save(pathlib.Path(name, f"{number}.npy"), array)
        inputs = [f"{name}/{number}.npy" for number in range(len(host))]
        if failure := run_package(runner, folder / job["package"], inputs, f"{name}/out"):
            return failure
        for number, want in enumerate(wanted):
            have = np.load(f"{name}/out/result{number}.npy")
            have = have.view(want.dtype) if have.dtype.kind == "V" else have
            if not np.issubdtype(want.dtype, np.inexact) and want.dtype.kind != "V":
                off, worst = np.count_nonzero(want != have), ""
            else:
                wide = want.astype(np.complex128 if want.dtype.kind == "c" else np.float64)
                other = have.astype(wide.dtype)
                largest = np.max(np.abs(wide[np.isfinite(wide)]), initial=0.0)
                narrow = 2e-2 if want.dtype.itemsize == 2 else tolerance
                same = (np.abs(wide - other) <= narrow * largest) | (wide == other) | (np.isnan(wide) & np.isnan(other))
                off, worst = np.count_nonzero(~same), f", by {np.nanmax(np.abs(wide - other), initial=0) / max(largest, 1e-300):.2g}"
            if off:
                return f"{off} of {want.size} elements of result {number} differ{worst}"
    return None


def kept(runner: str, job: Job, folder: pathlib.Path) -> dict[str, bytes] | str:
    """A package's results, as files."""
    with tempfile.TemporaryDirectory() as name:
        inputs = [str(folder / each) for each in job["inputs"]]
        if failure := run_package(runner, folder / job["package"], inputs, f"{name}/out"):
            return failure
        return {path.name: path.read_bytes() for path in pathlib.Path(name, "out").glob("*.npy")}


def benched(runner: str, package: pathlib.Path, below: int) -> Found:
    command = [runner, str(package), "--bench", str(RUNS), "--below", str(max(1, below)), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return json.loads(done.stdout) if done.returncode == 0 else {"error": last_line(done.stderr)}


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "no output")[:300]


# --- all jobs -------------------------------------------------------------------------------------------------------


class Run:
    def __init__(self, jobs: pathlib.Path, out: pathlib.Path, runner: str | None, seconds: float) -> None:
        self.folder, self.out, self.runner = jobs, out, runner
        self.until = time.monotonic() + seconds
        self.jobs: list[Job] = json.loads((jobs / "jobs.json").read_text())
        self.device = jax.devices()[0]
        self.results = (out / "results.jsonl").open("w")
        self.say({"device": self.device.device_kind, "jax": jax.__version__, "began": time.time()})

    def say(self, found: Found) -> None:
        self.results.write(json.dumps(found) + "\n")
        self.results.flush()

    def text(self, job: Job) -> str:
        path = self.folder / job["module"]
        return gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()

    def compile(self, job: Job) -> Program | str:
        try:
            return Program(self.text(job), self.device)
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:300]}"

    def all_compiled(self, jobs: list[Job]) -> list[tuple[Job, Program]]:
        """Those that could be compiled. All of them are waited for: what still compiled would be tuned beside what is timed."""
        if time.monotonic() > self.until:
            for job in jobs:
                self.say({"name": job["name"], "error": "out of time"})
            return []
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as workers:
            found = list(zip(jobs, workers.map(self.compile, jobs), strict=True))
        for job, program in found:
            if isinstance(program, str):
                self.say({"name": job["name"], "error": program})
        print(f"{len(jobs)} compiled, {self.until - time.monotonic():.0f} s left", flush=True)
        return [(job, program) for job, program in found if not isinstance(program, str)]

    def compare(self, jobs: list[Job]) -> None:
        def one(item: tuple[Job, Program]) -> Found:
            job, program = item
            if time.monotonic() > self.until:
                return {"name": job["name"], "wrong": "out of time"}
            try:
                wrong = compared(program, self.text(job), job, self.runner or "slimhlo-run", self.folder)
            except Exception as error:
                wrong = f"{type(error).__name__}: {str(error)[:300]}"
            return {"name": job["name"], "wrong": wrong}

        with concurrent.futures.ThreadPoolExecutor(6) as workers:
            for found in workers.map(one, self.all_compiled(jobs)):
                self.say(found)

    def keep(self, jobs: list[Job]) -> None:
        def one(job: Job) -> dict[str, bytes] | str:
            if time.monotonic() > self.until:
                return "out of time"
            try:
                return kept(self.runner or "slimhlo-run", job, self.folder)
            except Exception as error:
                return f"{type(error).__name__}: {str(error)[:300]}"

        with (
            concurrent.futures.ThreadPoolExecutor(12) as workers,
            zipfile.ZipFile(self.out / "kept.zip", "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            for job, found in zip(jobs, workers.map(one, jobs), strict=True):
                if isinstance(found, str):
                    self.say({"name": job["name"], "wrong": found})
                    continue
                for file, content in found.items():
                    archive.writestr(f"{job['package']}/{file}", content)
        print(f"{len(jobs)} packages run, {self.until - time.monotonic():.0f} s left", flush=True)

    def time(self, jobs: list[Job]) -> list[tuple[Job, Program]]:
        """Some at a time are compiled, and timed: a run that is cut off has those that came first."""
        programs = []
        for at in range(0, len(jobs), WORKERS):
            some = self.all_compiled(jobs[at : at + WORKERS])
            for job, program in some:
                if time.monotonic() > self.until:
                    self.say({"name": job["name"], "error": "out of time"})
                    continue
                try:
                    self.say({"name": job["name"]} | timed(program, job["below"]) | program.sizes())
                except Exception as error:
                    self.say({"name": job["name"], "error": f"{type(error).__name__}: {str(error)[:300]}"} | program.sizes())
            programs += some
        print(f"timed, {self.until - time.monotonic():.0f} s left", flush=True)
        return programs

    def bench(self, jobs: list[Job]) -> None:
        for job in jobs:
            if time.monotonic() > self.until:
                break
            try:
                self.say({"name": job["name"], "own": benched(self.runner or "slimhlo-run", self.folder / job["package"], job["below"])})
            except Exception as error:
                self.say({"name": job["name"], "own": {"error": f"{type(error).__name__}: {str(error)[:300]}"}})
        print(f"own kernels timed, {self.until - time.monotonic():.0f} s left", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", type=pathlib.Path, metavar="JOBS")
    parser.add_argument("out", type=pathlib.Path, metavar="OUT")
    parser.add_argument("--runner", metavar="BIN", help="slimhlo-run")
    parser.add_argument("--seconds", type=float, default=3600.0, help="begin nothing after so many (default: %(default)s)")
    parser.add_argument("--kernels", action="store_true", help="write each kernel's time, and what XLA compiled")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    run = Run(args.jobs, args.out, args.runner, args.seconds)
    run.compare([job for job in run.jobs if "module" in job and "package" in job])
    run.keep([job for job in run.jobs if "inputs" in job])
    programs = run.time([job for job in run.jobs if "package" not in job])
    if args.kernels:
        texts = {job["name"]: program.executable.hlo_modules()[0].to_string() for job, program in programs}
        (args.out / "hlo.json.gz").write_bytes(gzip.compress(json.dumps(texts).encode(), 6))
        try:
            left = run.until - time.monotonic()
            traced([pair for pair in programs if pair[0].get("trace", True)], args.out, time.monotonic() + 0.5 * left)
        except Exception as error:
            run.say({"name": "kernels", "error": f"{type(error).__name__}: {str(error)[:300]}"})
        print(f"kernels traced, {run.until - time.monotonic():.0f} s left", flush=True)
    programs.clear()
    run.bench([job for job in run.jobs if "module" not in job and "inputs" not in job])
    return 0


if __name__ == "__main__":
    sys.exit(main())
