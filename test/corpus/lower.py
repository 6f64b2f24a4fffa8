# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The corpus: programs of JAX's libraries at the sizes people run, as StableHLO modules.

    target/corpus-venv/bin/python test/corpus/lower.py target/corpus --platform cuda [NAME ...]

writes NAME.mlir for each program that is not there yet, and index.json, which says of each its family and its number
of devices, or why it could not be made. `--list` prints the names. `--small` writes the tests' sample at small sizes.
Nothing is executed, and no weights are read. Each program is made in a process of its own, with the settings that its
own libraries make: dynamiqs asks for the highest precision of all products when it is imported. `cargo xtask bench
corpus` makes the environment (requirements.txt) and runs this."""

from __future__ import annotations

import argparse
import concurrent.futures
import importlib
import importlib.util
import json
import multiprocessing
import pathlib
import sys
import time
import traceback

from corpus_program import PROGRAMS, Program

HERE = pathlib.Path(__file__).parent
OWN = ("corpus_program", "lower")
for found in sorted(HERE.glob("*.py")):
    if found.stem not in OWN:
        importlib.import_module(found.stem)


def missing(program: Program) -> str:
    """What it imports that is not here."""
    return ", ".join(name for name in program.packages if importlib.util.find_spec(name) is None)


def write(path: pathlib.Path, text: str) -> None:
    scratch = path.with_suffix(".new")
    scratch.write_text(text)
    scratch.replace(path)


def lowered(name: str, platform: str, sizes: dict[str, int]) -> str:
    return PROGRAMS[name].lower(platform, **sizes)


def lower(*words: object) -> str:
    """What `lowered` returns, in a process that has imported no library yet, as this one never does."""
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(max_workers=1, mp_context=context) as process:
        return process.submit(lowered, *words).result()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, nargs="?", help="where modules go")
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs (default: all)")
    parser.add_argument("--platform", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--small", action="store_true", help="the tests' sample, at small sizes")
    parser.add_argument("--installed", action="store_true", help="leave out programs whose libraries are not here")
    parser.add_argument("--again", action="store_true", help="make those that are there, too")
    parser.add_argument("--list", action="store_true", help="print names and families")
    args = parser.parse_intermixed_args()
    chosen = {name: each for name, each in PROGRAMS.items() if not args.small or each.small is not None}
    if unknown := set(args.names).difference(chosen):
        parser.error(f"no program {min(unknown)}")
    chosen = {name: each for name, each in chosen.items() if not args.names or name in args.names}
    if args.installed:
        chosen = {name: each for name, each in chosen.items() if not missing(each)}
    if args.list or args.folder is None:
        for name, each in chosen.items():
            print(f"{name:32s} {each.devices} {','.join(each.packages):30s} {each.family}")
        return 0
    args.folder.mkdir(parents=True, exist_ok=True)
    index_path = args.folder / "index.json"
    index = json.loads(index_path.read_text()) if index_path.exists() else {}
    failed = 0
    for name, each in chosen.items():
        path = args.folder / f"{name}.mlir"
        if path.exists() and name in index and not args.again:
            continue
        start = time.monotonic()
        lacking = missing(each)
        problem = f"not installed: {lacking}" if lacking else ""
        if not lacking:
            try:
                write(path, lower(name, args.platform, (each.small or {}) if args.small else {}))
            except Exception as error:  # a library may fail in any way; the others are still wanted
                traceback.print_exc()
                problem = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}"
        failed += bool(problem)
        index[name] = {"family": each.family, "devices": each.devices, "problem": problem}
        write(index_path, json.dumps(index, indent=1, sort_keys=True) + "\n")
        print(
            f"{name:32s} {time.monotonic() - start:6.1f} s  {problem or f'{path.stat().st_size:,} bytes'}", flush=True
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
