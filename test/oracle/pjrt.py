# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The PJRT layer around XLA's plugins for GPUs and TPUs, which compile without a device.

    python test/oracle/pjrt.py --library LIBSLIMHLO_PJRT --compile COMPILE --opt SLIMHLO_OPT [--all --journal FILE]

Three questions, the answers to all of which are the plugins':

* Is the interface as the layer has it? Each function is called with a struct of no size, and names itself and the size it wants.
* Does JAX, through the layer, get of each reference program what the command line gives? In one process without the layer the program is
  compiled as it is and as slimhlo-opt leaves it, in another with the layer, in mode `verify`, as it is: the executable's
  own memory statistics must be those of the smaller one, and the layer's summary must have both. That other process has the layer
  around both plugins at once, and so two LLVMs of theirs, jaxlib's and the layer's.
* Does a program that is not JAX (COMPILE, tools/pjrt/examples/compile.rs) get the same?

All programs take a long time; with a journal, beside which modules are kept, a run goes on where another was ended.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import jax_start
import journal
import opt
import targets

TARGETS = {"h100": "cuda", "v5p": "tpu"}
"""What is compiled for, and what JAX calls the platform."""

SAMPLE = {
    "h100": (
        "gather_vag_sin_i32",
        "embedding_vjp",
        "log_sum_exp",
        "zeros_dus_chain",
        "halo_step",
        "halo_ew_spmd",
        "train4",
    ),
    "v5p": ("gather_vag_sin_i32", "embedding_vjp", "halo_ew_spmd"),
}
"""Of the reference programs: those that take XLA a few seconds, and among them what gets smaller, what gets larger and what stays."""

Names = dict[str, list[str]]
"""Programs by target."""


def around(library: str) -> None:
    """Has JAX load the layer wherever it would load a plugin, and the layer that plugin."""
    from jax._src.lib import xla_client

    load = xla_client.load_pjrt_plugin_dynamically

    def load_around(name: str, path: str) -> object:
        os.environ["SLIMHLO_PJRT_PLUGIN"] = str(path)
        return load(name, library)

    xla_client.load_pjrt_plugin_dynamically = load_around


def plugin(platform: str) -> str:
    """The file of a plugin."""
    import importlib.util

    name, file = {"cuda": ("jax_plugins.xla_cuda12", "xla_cuda_plugin.so"), "tpu": ("libtpu", "libtpu.so")}[platform]
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.submodule_search_locations
    return str(pathlib.Path(next(iter(spec.submodule_search_locations))) / file)


def work(library: str | None) -> None:
    """In a process of its own: compiles the modules that standard input names, `<target>-<program>-<form>.mlir`, and prints what
    they take, and what the layer's summary says of each."""
    jax_start.start()
    if library:
        around(library)
    summary = pathlib.Path(os.environ["SLIMHLO_SUMMARY"]) if library else None
    for path in map(pathlib.Path, sys.stdin.read().splitlines()):
        target, program, form = path.stem.split("-")
        if summary:
            summary.write_text("")
        answer = {"target": target, "program": program, "form": form}
        started = time.monotonic()
        try:
            stats = targets.compile_text(path.read_text(), targets.find(target)).get_compiled_memory_stats()
            answer["bytes"] = {
                "arguments": stats.argument_size_in_bytes,
                "results": stats.output_size_in_bytes,
                "aliased": stats.alias_size_in_bytes,
                "temporaries": stats.temp_size_in_bytes,
            }
        except Exception as error:  # XLA's errors have no common base
            answer["error"] = str(error)[:200]
        answer["seconds"] = round(time.monotonic() - started, 1)
        if summary:
            # None if the layer was not asked at all.
            answer["said"] = next(map(json.loads, summary.read_text().splitlines()), None)
        print(json.dumps(answer), flush=True)


@dataclasses.dataclass
class Checks:
    """What has been asked, and what was wrong."""

    passed: int = 0
    failed: int = 0

    def check(self, good: bool, what: str) -> None:
        print(f"{'ok  ' if good else 'FAIL'} {what}")
        self.passed += good
        self.failed += not good


Answers = dict[tuple[str, str, str], dict]


def answers(folder: pathlib.Path, library: str | None, found: journal.Journal, **variables: str) -> Answers:
    """What is said of all modules of a folder."""
    # Other tests may have libtpu loaded at the same time, on which it insists to be alone where there is a TPU.
    variables |= {"ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}
    paths = [path for path in sorted(folder.glob("*.mlir")) if not library or path.stem.endswith("-before")]
    layer = f" {journal.stamp(library)}" if library else ""
    keys = {path: path.stem + layer for path in paths}
    waiting = [path for path in paths if keys[path] not in found.results]
    if waiting:
        command = [sys.executable, __file__, "--work"] + (["--library", library] if library else [])
        with subprocess.Popen(
            command, env=os.environ | variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as worker:
            assert worker.stdin and worker.stdout
            worker.stdin.write("".join(f"{path}\n" for path in waiting))
            worker.stdin.close()
            lines = (line for line in worker.stdout if line.startswith("{"))
            for path, line in zip(waiting, lines, strict=True):
                found.add(keys[path], json.loads(line))
        if worker.returncode:
            raise subprocess.CalledProcessError(worker.returncode, command)
    each = [found.results[key] for key in keys.values()]
    return {(one["target"], one["program"], one["form"]): one for one in each}


def total(taken: dict[str, int]) -> int:
    return taken["arguments"] + taken["results"] - taken["aliased"] + taken["temporaries"]


def mib(taken: dict[str, int] | None) -> str:
    return "-" if taken is None else f"{total(taken) / 2**20:.1f}"


def write_modules(folder: pathlib.Path, driver: str, names: Names, found: journal.Journal) -> None:
    """Each program as JAX lowers it for a target, and as slimhlo-opt leaves it. That is of the artifact which JAX hands to a plugin: there
    constants come first, and for another order of ops XLA may pack buffers otherwise."""
    jax_start.start()
    import programs
    from jax._src.lib import _jax
    from jaxlib.mlir.dialects import stablehlo

    for target, ours in names.items():
        for name in ours:
            before = folder / f"{target}-{name}-before.mlir"
            if before.stem in found.results:
                continue  # written by the run that the journal is of
            before.write_text(programs.PROGRAMS[name](TARGETS[target]).as_text())
            artifact, after = artifact_of(before), folder / f"{target}-{name}-after.mlir"
            artifact.write_bytes(
                # Mixed: what is of sdy stays so.
                _jax.mlir.serialize_portable_artifact(before.read_text(), stablehlo.get_current_version(), True)
            )
            subprocess.run([driver, opt.pipeline_for(driver, target), str(artifact), "-o", str(after)], check=True)


def artifact_of(module: pathlib.Path) -> pathlib.Path:
    """The file beside a module's with the artifact of it."""
    return module.with_suffix(".artifact")


def compare(checks: Checks, plain: Answers, layered: Answers) -> None:
    for target in {target for target, _, _ in layered}:
        ours = [answer for (where, _, _), answer in plain.items() if where == target]
        compiled = sum("bytes" in answer for answer in ours)
        checks.check(
            2 * compiled >= len(ours), f"{target}: XLA compiles {compiled} of {len(ours)} modules without the layer"
        )
    for (target, program, _), answer in sorted(layered.items()):
        before, after = plain[target, program, "before"], plain[target, program, "after"]
        tried = [one["bytes"] for one in (before, after) if "bytes" in one]
        smallest = min(tried, key=total, default=None)
        line = answer.get("said") or {}
        outcome = line.get("outcome", "not in the summary")
        what = f"{target} {program}: {mib(before.get('bytes'))} -> {mib(after.get('bytes'))} MiB, {outcome}"
        if smallest is None:
            checks.check("error" in answer, f"{what}: XLA compiles neither, nor does the layer")
            continue
        checks.check(answer.get("bytes") == smallest, f"{what}: JAX gets {answer.get('bytes', answer.get('error'))}")
        if outcome == "unchanged":
            checks.check(before.get("bytes") == after.get("bytes"), f"{what}: XLA sees no change, either")
            continue
        for form, one in (("before", before), ("after", after)):
            if "bytes" in one:
                checks.check(line.get(form) == one["bytes"] | {"total": total(one["bytes"])}, f"{what}: {form} as said")


def what_was_kept(checks: Checks, driver: str, folder: pathlib.Path) -> None:
    """The layer's dump is for `slimhlo report`."""
    command = pathlib.Path(driver).with_name("slimhlo")
    for which in ("before", "after"):
        module = min(folder.glob(f"*-{which}.mlir"), key=lambda path: path.stat().st_size, default=None)
        done = module and subprocess.run([command, "report", module], capture_output=True, text=True)
        good = bool(done) and done.returncode == 0 and "peak" in done.stdout
        checks.check(good, f"slimhlo report opens {module and module.name} {done.stderr[-300:] if done else ''}")


def most_saved(folder: pathlib.Path, target: str, plain: Answers) -> str | None:
    """Of the programs that XLA compiles, before and after, the one that slimhlo takes most off."""
    saved = {}
    for path in folder.glob(f"{target}-*-before.mlir"):
        name = path.stem.split("-")[1]
        taken = [plain.get((target, name, form), {}).get("bytes") for form in ("before", "after")]
        # How many devices a program is for would be an option, and that program asks for none.
        if None not in taken and "num_partitions = 1 " in path.read_text():
            saved[name] = total(taken[0]) - total(taken[1])
    return max(saved, key=saved.__getitem__, default=None)


def without_jax(
    checks: Checks, args: argparse.Namespace, folder: pathlib.Path, plain: Answers, found: list[str]
) -> None:
    """The program that is not JAX: the interface's layout, and one module per target."""
    import xla_gpu

    described = folder / "h100.textproto"
    described.write_text(xla_gpu.description(targets.H100))
    topologies = {
        "h100": ["--topology", "", "--option", "topology=1x1x1", "--option", f"target_config=@{described}"],
        "v5p": ["--topology", "v5p:2x2x1"],
    }
    for target in found:
        inner = plugin(TARGETS[target])
        done = subprocess.run([args.compile, inner, "--layout"], capture_output=True, text=True)
        confirmed = json.loads(done.stdout)["confirmed"] if done.returncode == 0 else 0
        checks.check(
            confirmed > 10, f"{target}: {confirmed} functions are as the layer calls them {done.stderr[-300:]}"
        )
        name = most_saved(folder, target, plain)
        if not name:
            print(f"not asked: {target} without JAX, as XLA compiles no program for one device")
            continue
        command = [
            args.compile,
            args.library,
            str(artifact_of(folder / f"{target}-{name}-before.mlir")),
            *topologies[target],
        ]
        variables = {
            "SLIMHLO_PJRT_PLUGIN": inner,
            "SLIMHLO_PJRT_MODE": "always",
            "XLA_FLAGS": "--xla_gpu_autotune_level=0",
            "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
        }
        done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True)
        said = json.loads(done.stdout) if done.returncode == 0 else {"compiled": [{}], "version": done.stderr[-300:]}
        want = plain[target, name, "after"].get("bytes", {})
        checks.check(
            said["compiled"][0].get("temp") == want.get("temporaries"),
            f"{target}: {name} by a program that is not JAX takes {said['compiled'][0]}",
        )
        checks.check(" slimhlo/" in said["version"], f"{target}: version {said['version'].splitlines()[-1]!r}")


@contextlib.contextmanager
def kept(path: pathlib.Path | None) -> Iterator[pathlib.Path]:
    """The folder for modules, which goes away unless it is wanted."""
    if path:
        path.mkdir(parents=True, exist_ok=True)
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        yield pathlib.Path(folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", help="libslimhlo_pjrt.so")
    parser.add_argument("--compile", help="the program that is not JAX")
    parser.add_argument("--opt", help="slimhlo-opt")
    parser.add_argument("names", nargs="*", metavar="NAME", help="reference programs instead of a sample of them")
    parser.add_argument("--all", action="store_true", help="all reference programs")
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS), help="what to compile for")
    parser.add_argument("--keep", type=pathlib.Path, help="keep modules in this folder")
    parser.add_argument("--journal", type=pathlib.Path, metavar="FILE", help="go on where a run that wrote it ended")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        work(args.library)
        return 0
    jax_start.start()
    found = [target for target in args.targets if not targets.missing(targets.find(target))]
    for target in set(args.targets) - set(found):
        print(f"not asked: {targets.missing(targets.find(target))}")
    import programs

    names = {target: list(programs.PROGRAMS if args.all else args.names or SAMPLE[target]) for target in found}
    checks = Checks()
    found_before = journal.Journal(args.journal, journal.stamp(args.opt, __file__))
    with kept(args.keep or (args.journal and args.journal.with_suffix(".modules"))) as folder:
        write_modules(folder, args.opt, names, found_before)
        plain = answers(folder, None, found_before)
        layered = answers(
            folder,
            args.library,
            found_before,
            SLIMHLO_PJRT_MODE="verify",
            SLIMHLO_THRESHOLD="0",
            SLIMHLO_SUMMARY=str(folder / "summary.jsonl"),
            SLIMHLO_DUMP=str(folder / "dump"),
        )
        compare(checks, plain, layered)
        what_was_kept(checks, args.opt, folder / "dump")
        without_jax(checks, args, folder, plain, found)
    smaller = sum(
        "bytes" in one and total(one["bytes"]) < total(plain[target, program, "before"].get("bytes", one["bytes"]))
        for (target, program, _), one in layered.items()
    )
    print(
        f"{checks.passed} passed, {checks.failed} failed: {len(layered)} programs for {', '.join(found) or 'no target'}, "
        f"{smaller} smaller"
    )
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
