# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The default pipeline over JAX's own programs: right, never worse, idempotent and deterministic.

    python test/oracle/optimize.py --opt target/debug/slimhlo-opt --corpus target/oracle [--all]

Every module of the harnesses and of the reference programs goes through the pipeline. Of each: a second run over the
result changes nothing, and another run over the original, in other company, prints the same. Of each that the pipeline
changes beyond what inlining, canonicalization and CSE do (equal ones once): jaxlib reads the result, and XLA needs no more memory for it, by
its buffer assignment, than for the original plus 1% plus 4 KiB. And it computes the same: both are executed in XLA for
CPU, on ordinary values and on NaNs, infinities, signed zeros and indices out of range. Results are the same bit by bit,
but for which NaN it is, or, where the program accumulates floats, within 2 ulp of the largest result times the square
root of the number of terms (and within 2 ulp of the narrowest float that it computes in); the summary counts those that needed it. Where XLA drops a NaN from a maximum of the
original, and a loop ends later for it, the StableHLO interpreter decides.

Compiling is what takes time, so without --all only a sample of the changed modules is compiled (--sample), spread evenly over
them, and all that is asked of text is asked of all. Of the reference programs those that run are compiled then; what XLA
needs for the large ones is a matter of `memory_model.py`, which compiles them anyway.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import math
import pathlib
import re
import sys
import time

import store
from opt import PIPELINE, Driver, needs_more, with_values
from workers import Lost, map_items

# What the pipeline's own first stage comes to once its rounds are over.
BASELINE = (
    "--pass-pipeline=builtin.module(inline{default-pipeline=},func.func(canonicalize{region-simplify=disabled},cse),symbol-dce)",
)
SECONDS_PER_MODULE = 60.0
LARGEST_RUN = 64 << 20
SMALL = 1 << 14
ACCUMULATES = re.compile(
    r"stablehlo\.(reduce|reduce_window|scatter|select_and_scatter|dot|dot_general|convolution|while|batch_norm_\w+)\b"
    r"|chlo\.(ragged_dot|scan)\b"
)
EXTREMUM = re.compile(r"stablehlo\.(maximum|minimum)\b")


@dataclasses.dataclass(frozen=True)
class Case:
    """A program before and after, with what its integer inputs stay below (0: anything small), and whether to run it."""

    name: str
    before: str
    after: str
    below: int = 0
    run: bool = True
    large: bool = False


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What came of a case: what is wrong, totals of bytes before and after, and how its results compare."""

    wrong: tuple[str, ...] = ()
    before: int = 0
    after: int = 0
    outcome: str = ""


def element_name(kind: str) -> str:
    """Element type of a tensor type, without an encoding."""
    found = re.match(r"tensor<(?:\d+x)*(complex<\w+>|\w+)", kind)
    return found[1] if found else kind


def inputs(module: object, below: int, special: bool) -> list:
    """Arguments for @main, or raises if they are of types that have none."""
    import numpy as np
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import func

    import slices

    functions = [op for op in module.body.operations if isinstance(op, func.FuncOp)]
    main = next(op for op in functions if op.name.value == "main")
    rng = np.random.default_rng(7 + special)
    arrays = []
    for kind in main.type.inputs:
        if not isinstance(kind, ir.RankedTensorType):
            raise TypeError(f"no values of {kind}")
        shape, element = tuple(ir.RankedTensorType(kind).shape), element_name(str(kind))
        if element not in slices.DTYPES:
            raise TypeError(f"no values of {element}")
        integer = element.lstrip("u").startswith("i") and element != "i1"
        if integer and below:
            arrays.append(rng.integers(0, below, shape).astype(slices.DTYPES[element]))
        elif (special and math.prod(shape) <= SMALL) or integer or element == "i1":
            arrays.append(slices.random_array(rng, shape, element))
        elif slices.is_complex(element):
            values = rng.standard_normal((2, *shape))
            arrays.append((values[0] + 1j * values[1]).astype(slices.DTYPES[element]))
        else:
            values = rng.standard_normal(shape, np.float32).astype(slices.DTYPES[element])
            if special:
                places = rng.integers(values.size, size=values.size // 50)
                values.reshape(-1)[places] = rng.choice((np.nan, np.inf, -np.inf, -0.0), places.size).astype(
                    values.dtype
                )
            arrays.append(values)
    return arrays


@dataclasses.dataclass(frozen=True)
class Rule:
    """What another order of accumulation may make of a program's results."""

    accumulates: bool = False
    terms: int = 1
    """Of a sum, at most: the elements of the largest tensor."""
    rounding: float = 0.0
    """Of the narrowest float that the program computes in: a sum that comes out another way in its last bit may be rounded to
    that one the other way, and no result is more exact than what it is made of."""

    @classmethod
    def of(cls, text: str) -> Rule:
        """By what a program's text says."""
        import jax.numpy as jnp

        import slices

        shapes = re.findall(r"tensor<((?:\d+x)+)", text)
        sizes = [math.prod(int(size) for size in shape.split("x")[:-1]) for shape in shapes]
        kinds = set(re.findall(r"tensor<(?:\d+x)*(bf16|f16|f32|f64)>", text)) & set(slices.DTYPES)
        rounding = max((float(jnp.finfo(slices.DTYPES[kind]).eps) for kind in kinds), default=0.0)
        return cls(bool(ACCUMULATES.search(text)), max(sizes, default=1), rounding)

    def allowed(self, eps: float, scale: float) -> float:
        """How far results may be apart of which the largest is `scale`."""
        return 2 * scale * max(eps * self.terms**0.5, self.rounding)


def difference(before: list, after: list, rule: Rule) -> str:
    """Says "same", "order" if only within what another order of accumulation explains, or what differs."""
    import jax.numpy as jnp
    import numpy as np

    from execute import same_bits

    found = "same"
    for number, (want, have) in enumerate(zip(before, after, strict=True)):
        if want.dtype != have.dtype or want.shape != have.shape:
            return f"result {number}: {want.dtype}{want.shape} became {have.dtype}{have.shape}"
        if same_bits(want, have):
            continue
        inexact = jnp.issubdtype(want.dtype, jnp.inexact)
        if rule.accumulates and inexact:
            wide = np.complex128 if jnp.issubdtype(want.dtype, jnp.complexfloating) else np.float64
            old, new = want.astype(wide), have.astype(wide)
            finite = np.isfinite(old)
            scale = np.max(np.abs(old[finite]), initial=0)
            allowed = rule.allowed(float(jnp.finfo(want.dtype).eps), scale)
            with np.errstate(invalid="ignore"):
                fine = (np.isnan(old) & np.isnan(new)) | (old == new) | (np.abs(old - new) <= allowed)
            if fine.all():
                found = "order"
                continue
        places = np.flatnonzero(want.reshape(-1) != have.reshape(-1))[:3]
        shown = [(int(place), want.reshape(-1)[place], have.reshape(-1)[place]) for place in places]
        return f"result {number} of type {want.dtype}{want.shape}: {shown}"
    return found


def judge(case: Case) -> Verdict:
    """Compiles both versions, weighs them, and runs them."""
    import execute
    import jaxlib_ir
    import xla_cpu

    context = jaxlib_ir.make_context()
    try:
        modules = [jaxlib_ir.parse(case.before, context)]
        executables = [xla_cpu.compile_module(modules[0])]
    except Exception as error:  # it is not for us to compile what XLA for CPU does not
        if refusal := jaxlib_ir.refusal(case.after, context):
            return Verdict((f"jaxlib refuses the result: {refusal}",))
        return Verdict(outcome=f"not compiled: {type(error).__name__}: {str(error).partition(chr(10))[0][:60]}")
    if refusal := jaxlib_ir.refusal(case.after, context):
        return Verdict((f"jaxlib refuses the result: {refusal}",))
    try:
        modules.append(jaxlib_ir.parse(case.after, context))
        executables.append(xla_cpu.compile_module(modules[1]))
    except Exception as error:
        return Verdict((f"XLA does not compile the result: {str(error)[:300]}",))
    totals = []
    for executable in executables:
        stats = executable.get_compiled_memory_stats()
        totals.append(
            stats.argument_size_in_bytes
            + stats.output_size_in_bytes
            + stats.temp_size_in_bytes
            - stats.alias_size_in_bytes
        )
    wrong = []
    if needs_more(*totals):
        wrong.append(f"XLA needs {totals[1]} bytes instead of {totals[0]}")
    if not case.run:
        return Verdict(tuple(wrong), *totals, "compiled only")
    if "stablehlo.rng " in case.before:
        return Verdict(tuple(wrong), *totals, "not run: draws random numbers")
    if totals[0] > LARGEST_RUN and not case.large:
        return Verdict(tuple(wrong), *totals, "not run: large")
    outcome = "same"
    rule = Rule.of(case.before)
    for special in (False, True):
        try:
            given = inputs(modules[0], case.below, special)
            before = [shard for shards in xla_cpu.run(executables[0], given) for shard in shards]
        except Exception as error:
            return Verdict(tuple(wrong), *totals, f"not run: {str(error).partition(chr(10))[0][:60]}")
        try:
            after = [shard for shards in xla_cpu.run(executables[1], given) for shard in shards]
        except Exception as error:
            return Verdict((*wrong, f"the result does not run: {str(error)[:200]}"), *totals)
        found = difference(before, after, rule)
        if found not in ("same", "order"):
            again = [shard for shards in xla_cpu.run(executables[0], given) for shard in shards]
            if difference(before, again, Rule()) != "same":
                return Verdict(tuple(wrong), *totals, "not run: differs from one run to the next")
            found = contracted(modules, given, rule) or found
            if found not in ("same", "order", "contracted") and special and EXTREMUM.search(case.before):
                fine = execute.same_by_definition(case.before, case.after, given, jaxlib_ir.make_context())
                found = "defined" if fine else found
        if found not in ("same", "order", "contracted", "defined"):
            wrong.append(f"on {'special' if special else 'ordinary'} values, {found}")
        elif found != "same":
            outcome = found
    return Verdict(tuple(wrong), *totals, outcome)


def contracted(modules: list, given: list, rule: Rule) -> str | None:
    """Says "contracted" if results are the same once XLA does not fuse, else None.

    Inside a fusion LLVM contracts a product and a sum into one operation with one rounding. What fuses with what is
    XLA's affair, and changes as ops go.
    """
    import xla_cpu

    plain = {"xla_disable_hlo_passes": "fusion,cpu-instruction-fusion"}
    before, after = (
        [shard for shards in xla_cpu.run(xla_cpu.compile_module(module, plain), given) for shard in shards]
        for module in modules
    )
    return "contracted" if difference(before, after, rule) in ("same", "order") else None


def judge_before(case: Case) -> Verdict:
    return judge(dataclasses.replace(case, after=case.before))


def shape_of(text: str) -> str:
    """A module's text without what printing may change on its own, nor its name."""
    return re.sub(r"%\w+|\s+|module @\w+", " ", text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", required=True, metavar="BIN", help="the driver")
    parser.add_argument("--corpus", required=True, type=pathlib.Path, metavar="DIR", help="where corpus.py wrote")
    parser.add_argument("--pipeline", default=PIPELINE, help="the driver's flags (default: %(default)s)")
    parser.add_argument(
        "--sample", type=int, default=400, metavar="N", help="changed modules to compile (default: 400)"
    )
    parser.add_argument("--all", action="store_true", help="compile every changed module")
    parser.add_argument("--only", default="", metavar="TEXT", help="only modules whose name contains this")
    parser.add_argument("--dump", type=pathlib.Path, metavar="DIR", help="write the modules that fail there")
    args = parser.parse_args(with_values(sys.argv[1:], "--pipeline"))
    import programs

    started = time.monotonic()
    flags = args.pipeline.split()
    cases = [Case(f"harness {entry.name}", entry.text, "") for entry in store.read(args.corpus, "harnesses")]
    for name, program in programs.PROGRAMS.items():
        cases.append(Case(f"program {name}", program().as_text(), "", run=False))
        cases.append(Case(f"small {name}", program.lower_small().as_text(), "", program.below or 1, large=True))
    # Half of the harnesses lower to what others do: each text once.
    once = {case.before: case for case in reversed(cases) if args.only in case.name}
    cases = list(once.values())[::-1]
    texts = [case.before for case in cases]
    driver = Driver(args.opt, batch=50, seconds_per_batch=900.0, seconds_alone=300.0).ready()
    baseline = driver.run(texts, BASELINE)
    made = driver.run(texts, flags)
    took = time.monotonic() - started
    # In other batches, and backwards, so that nothing may depend on what the process has seen before.
    other = dataclasses.replace(driver, batch=37).run(texts[::-1], flags)[::-1]
    results = [outcome.output or "" for outcome in made]
    again, same = driver.run(results, flags), driver.run(results)

    failures: list[tuple[Case, str]] = []
    changed: dict[str, Case] = {}
    for case, plain, one, two, twice, printed in zip(cases, baseline, made, other, again, same, strict=True):
        if one.output is None:
            failures.append((case, f"the driver fails: {one.crash or one.message}"))
            continue
        case = dataclasses.replace(case, after=one.output)
        if one.output != two.output:
            failures.append((case, "two runs print two texts"))
        if twice.output != printed.output:
            failures.append(
                (
                    dataclasses.replace(case, before=one.output, after=twice.output or ""),
                    "a second run changes the result",
                )
            )
        if plain.output is None or shape_of(plain.output) != shape_of(one.output):
            changed.setdefault(shape_of(case.before), case)
    distinct = list(changed.values())
    print(
        f"{len(cases)} modules, {len(distinct)} distinct ones changed; {took:.0f} s for the driver, "
        f"{time.monotonic() - started:.0f} s so far",
        flush=True,
    )
    chosen = distinct
    if not args.all and len(distinct) > args.sample:
        of_programs = [case for case in distinct if case.name.startswith("small")]
        others = [case for case in distinct if case.name.startswith("harness")]
        count = max(1, args.sample - len(of_programs))
        chosen = [others[i * len(others) // count] for i in range(count)] + of_programs
    verdicts = map_items(judge, chosen, seconds=SECONDS_PER_MODULE)
    lost = [case for case, verdict in zip(chosen, verdicts, strict=True) if isinstance(verdict, Lost)]
    alone = dict(
        zip([case.name for case in lost], map_items(judge_before, lost, seconds=SECONDS_PER_MODULE), strict=True)
    )

    outcomes: collections.Counter[str] = collections.Counter()
    smaller = larger = 0
    for case, verdict in zip(chosen, verdicts, strict=True):
        if isinstance(verdict, Lost):
            if isinstance(alone[case.name], Lost):
                outcomes[f"not run: {verdict.reason}"] += 1
            else:
                failures.append((case, f"with the result, {verdict.reason}"))
            continue
        failures.extend((case, wrong) for wrong in verdict.wrong)
        outcomes[verdict.outcome or "wrong"] += 1
        smaller += verdict.after < verdict.before
        larger += verdict.after > verdict.before
    for case, wrong in failures:
        print(f"{case.name}: {wrong}")
        if args.dump:
            args.dump.mkdir(parents=True, exist_ok=True)
            path = args.dump / re.sub(r"\W+", "_", case.name)[:100]
            path.with_suffix(".before.mlir").write_text(case.before)
            path.with_suffix(".after.mlir").write_text(case.after)
    for outcome, count in outcomes.most_common():
        print(f"{count:6d} {outcome}")
    bad = len({case.name for case, _ in failures})
    print(
        f"{len(cases) - bad} passed, {bad} failed: {len(distinct)} distinct modules changed, {len(chosen)} of them compiled; "
        f"memory smaller in {smaller}, larger in {larger}; {outcomes['same']} same bits, {outcomes['order']} other order, "
        f"{outcomes['contracted']} other contraction, {outcomes['defined']} as the interpreter has it; {time.monotonic() - started:.0f} s"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
