# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What runs through the PJRT layer: JAX's programs on XLA's plugins for the CPU, with the layer and without.

    python test/oracle/pjrt_run.py --library LIBSLIMHLO_PJRT [--count COUNT] [--all]

XLA for GPUs and TPUs compiles without a device, but runs nothing (pjrt.py); its plugins for the CPU
(xla-cpu-requirements.txt) do. One speaks an older version of PJRT than the layer and JAX, the other a newer one. JAX has
each plugin twice, as itself and with the layer around it in mode `always`, so that whatever slimhlo can change is
changed; and both run the reference programs at their small sizes, some over four devices, and a sample of JAX's test
harnesses. Results have to be the same bits, or where sums were done in another order as close as `optimize.py` asks.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import jax_start

PLUGINS = {
    "PJRT 0.81": ("xla_plugins.xla_cpu_pjrt", "xla_cpu_pjrt.so"),
    "PJRT 0.115": ("lammps_jax_pjrt_cpu", "pjrt_c_api_cpu_plugin.so"),
}
"""Of xla-cpu-requirements.txt: a package and the file in it, by the version that they speak."""

SAMPLE = (
    "attention_gradient",
    "cross_entropy_f32",
    "gather_vag_sin_i32",
    "embedding_vjp",
    "message_passing_gradient",
    "log_sum_exp",
    "zeros_dus_chain",
    "gradient_of_slices",
    "halo_step",
    "halo_ew_spmd",
    "steps_spmd",
    "matmul_by_shard_map",
    "heat_steps",
)
"""Of the reference programs: some of each kind, without the train steps, which take XLA for CPU a minute."""

LEAST_OPTIMIZED = 0.05
"""Of all programs, so many are another program through the layer, or this tests nothing."""


def plugin(name: str) -> pathlib.Path | None:
    """Where a plugin is, if it is installed."""
    package, file = PLUGINS[name]
    top, _, _ = package.partition(".")
    spec = importlib.util.find_spec(top)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = pathlib.Path(folder, *package.split(".")[1:], file)
        if path.is_file():
            return path
    return None


@dataclasses.dataclass(frozen=True)
class On:
    """A function of jax.jit that runs on one plugin's devices."""

    function: Any
    device: Any

    def __call__(self, *args: Any) -> Any:
        import jax

        with jax.default_device(self.device):
            return self.function(*args)

    def lower(self, *args: Any) -> Any:
        import jax

        with jax.default_device(self.device):
            return self.function.lower(*args)


@contextlib.contextmanager
def devices_of(name: str) -> Iterator[None]:
    """Within, a plugin's devices are those that `jax.devices()` lists: the reference programs make their meshes of them."""
    import jax

    ours = jax.devices(name)
    with mock.patch("jax.devices", lambda backend=None: ours), jax.default_device(ours[0]):
        yield


def compare(make: Callable[[], Any]) -> str | None:
    """What is wrong with a program, or None. It is made for each plugin, with its devices."""
    import jax
    import jax_cases

    cases = {}
    for name in ("layered", "plain"):
        with devices_of(name):
            cases[name] = make()
    pair = [On(jax.jit(case[1], donate_argnums=case[3]), jax.devices(name)[0]) for name, case in cases.items()]
    # Arguments that are spread over devices belong to one plugin.
    if any(isinstance(leaf, jax.Array) and leaf.committed for leaf in jax.tree.leaves(cases["plain"][2])):
        results = [
            jax_cases.flat(one(*jax_cases.fresh(case[2]))) for one, case in zip(pair, cases.values(), strict=True)
        ]
        found = jax_cases.optimize.difference(
            results[1], results[0], jax_cases.optimize.Rule.of(pair[1].lower(*cases["plain"][2]).as_text())
        )
        return None if found in ("same", "order") else found
    _, _, args, donated = cases["plain"]
    return jax_cases.differ(pair, lambda: jax_cases.fresh(args) if donated else args)


def work(library: str, path: str, args: argparse.Namespace, summary: pathlib.Path) -> None:
    """In a process of its own: all programs on one plugin; the last line that it prints is how many passed."""
    os.environ["PJRT_NAMES_AND_LIBRARY_PATHS"] = f"plain:{path},layered:{library}"
    os.environ["JAX_PLATFORMS"] = "plain,layered"
    os.environ |= {
        "SLIMHLO_PJRT_PLUGIN": path,
        "SLIMHLO_PJRT_MODE": "always",
        "SLIMHLO_THRESHOLD": "0",
        "SLIMHLO_SUMMARY": str(summary),
    }
    jax_start.start()
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax_cases
    import programs

    small = [name for name, program in programs.PROGRAMS.items() if program.small and (args.all or name in SAMPLE)]
    cases = jax_cases.harnesses(1000 if args.all else args.count) + [
        (name, lambda name=name: jax_cases.reference(name)) for name in small
    ]
    passed, skipped, failed = 0, 0, 0
    for number, (name, make) in enumerate(case for case in cases if re.search(args.only, case[0])):
        if number % 50 == 49:
            jax.clear_caches()
        try:
            with devices_of("plain"):
                case = make()
                jax.block_until_ready(jax.jit(case[1])(*case[2]))
        except Exception as error:  # what JAX or the plugin cannot do is not the layer's to do
            skipped += 1
            print(f"skip {name}: {type(error).__name__}: {str(error)[:100]}")
            continue
        try:
            why = compare(make)
        except Exception as error:  # each is a failure of its own
            why = f"{type(error).__name__}: {str(error)[:300]}"
        passed += why is None
        failed += why is not None
        if why is not None:
            print(f"FAIL {name}: {why}", flush=True)
    print(json.dumps({"passed": passed, "failed": failed, "skipped": skipped}))


def outcomes(summary: pathlib.Path) -> collections.Counter:
    """What the layer says that it did, program by program."""
    lines = summary.read_text().splitlines() if summary.exists() else []
    return collections.Counter(json.loads(line)["outcome"] for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, help="libslimhlo_pjrt.so")
    parser.add_argument("--count", type=int, default=40, help="how many harnesses (default: %(default)s)")
    parser.add_argument("--all", action="store_true", help="1,000 of them, and all reference programs")
    parser.add_argument("--only", default="", metavar="PATTERN", help="only programs whose names match")
    parser.add_argument("--plugins", nargs="+", choices=PLUGINS, default=list(PLUGINS), help="which plugins")
    parser.add_argument("--work", nargs=2, metavar=("PLUGIN", "SUMMARY"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    library = str(pathlib.Path(args.library).resolve())
    if args.work:
        work(library, args.work[0], args, pathlib.Path(args.work[1]))
        return 0
    started = time.monotonic()
    passed = failed = 0
    said = []
    for name in args.plugins:
        path = plugin(name)
        if not path:
            print(f"FAIL {name}: there is no such plugin (test/oracle/xla-cpu-requirements.txt)")
            failed += 1
            continue
        with tempfile.TemporaryDirectory() as folder:
            summary = pathlib.Path(folder) / "summary.jsonl"
            options = [
                "--library",
                library,
                f"--count={args.count}",
                f"--only={args.only}",
                *(["--all"] if args.all else []),
            ]
            command = [sys.executable, "-u", __file__, *options, "--work", str(path), str(summary)]
            last = ""
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
                for last in worker.stdout or ():
                    print(last, end="", flush=True)
            did = outcomes(summary)
        if worker.returncode or not last.startswith("{"):
            print(f"FAIL {name}: the process ended with {worker.returncode}")
            failed += 1
            continue
        counts = json.loads(last)
        passed, failed = passed + counts["passed"], failed + counts["failed"]
        if did["optimized"] <= LEAST_OPTIMIZED * counts["passed"]:
            print(f"FAIL {name}: the layer changed {did['optimized']} programs of {counts['passed']}")
            failed += 1
        said.append(f"{name} {did['optimized']} changed and {counts['skipped']} that it does not run")
        print(f"{name}: {counts}, of the layer's programs {dict(did.most_common())}")
    print(f"{passed} passed, {failed} failed: {', '.join(said) or 'no plugin'}; {time.monotonic() - started:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
