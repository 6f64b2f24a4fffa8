# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""jaxlib as a parser, verifier and printer of modules."""

from __future__ import annotations

import functools
import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo


@functools.cache
def _empty_artifact() -> bytes:
    with jax_mlir.make_ir_context():
        return stablehlo.serialize_portable_artifact(ir.Module.parse(""), stablehlo.get_current_version())


def make_context() -> ir.Context:
    """A context with the dialects that JAX lowers to, which refuses unknown ones."""
    context = jax_mlir.make_ir_context()
    context.allow_unregistered_dialects = False
    # jaxlib has the quant dialect but registers it nowhere; reading an artifact is what loads it.
    stablehlo.deserialize_portable_artifact(context, _empty_artifact())
    return context


def parse(text: str, context: ir.Context | None = None) -> ir.Module:
    """Parses and verifies a module; raises `ir.MLIRError` if jaxlib refuses it."""
    with context or make_context():
        return ir.Module.parse(text)


def generic(module: ir.Module, *, locations: bool = True) -> str:
    """The module in generic form."""
    return str(module.operation.get_asm(print_generic_op_form=True, enable_debug_info=locations))


def pretty(module: ir.Module, *, locations: bool = True) -> str:
    """The module in the ops' own syntax."""
    return str(module.operation.get_asm(enable_debug_info=locations))


def refusal(text: str, context: ir.Context) -> str | None:
    """None if jaxlib takes the module, else the first line of what it says."""
    try:
        parse(text, context)
    except ir.MLIRError as error:
        diagnostics = [str(d.message) for d in error.error_diagnostics]
        return diagnostics[0] if diagnostics else error.message
    except ValueError as error:  # e.g. text that is not one module
        return str(error)
    return None
