# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Enzyme-JAX's optimization pipeline on StableHLO text, for comparison in the benchmarks.

It comes as a Python package (bench-requirements.txt) that is there for one version of Python only, and the benchmarks do
without where it is missing.
"""

from __future__ import annotations

import functools
import time

from jaxlib.mlir import ir

import jaxlib_ir


@functools.cache
def missing() -> str | None:
    """Why there is no Enzyme-JAX here, or None."""
    try:
        import enzyme_ad.jax.enzyme_call
        import enzyme_ad.jax.primitives  # noqa: F401
    except ImportError as error:
        return f"Enzyme-JAX cannot be loaded: {error}"
    return None


def run(text: str) -> tuple[str, float]:
    """What its full pipeline makes of a module, with the processor time that this took, reading and printing included."""
    from enzyme_ad.jax import enzyme_call, primitives

    pipeline = primitives.full_optimization_pass_pipeline()
    started = time.process_time()
    _, made = enzyme_call.run_pass_pipeline([], text, pipeline)
    return made, time.process_time() - started


def for_xla(text: str) -> str:
    """A module that Enzyme-JAX made, as jaxlib reads it: without the marks it leaves, and with a main that can be called."""
    context = jaxlib_ir.make_context()
    context.allow_unregistered_dialects = True
    module = jaxlib_ir.parse(text, context)

    def clean(op: ir.Operation) -> ir.WalkResult:
        for name in [name for name in op.attributes if str(getattr(name, "name", name)).startswith("enzymexla.")]:
            del op.attributes[str(getattr(name, "name", name))]
        for key in ("arg_attrs", "res_attrs"):
            if op.name == "func.func" and key in op.attributes:
                op.attributes[key] = ir.ArrayAttr.get([unmarked(each) for each in op.attributes[key]])
        if op.name == "func.func" and ir.StringAttr(op.attributes["sym_name"]).value == "main":
            op.attributes["sym_visibility"] = ir.StringAttr.get("public")
        return ir.WalkResult.ADVANCE

    def unmarked(attributes: ir.Attribute) -> ir.DictAttr:
        kept = {each.name: each.attr for each in ir.DictAttr(attributes) if not each.name.startswith("enzymexla.")}
        return ir.DictAttr.get(kept)

    with context, ir.Location.unknown():
        module.operation.walk(lambda op: clean(op.operation))
        return jaxlib_ir.pretty(module, locations=False)
