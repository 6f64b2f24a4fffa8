# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs small programs, many at once: in XLA for CPU, all of them in one module, and in the StableHLO interpreter."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

import jax
import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, stablehlo

import jaxlib_ir
import xla_cpu  # first: it sets the flags with which JAX starts

jax.config.update("jax_enable_x64", True)

Results = list[bytes]


def bits(array: np.ndarray, payloads: bool = True) -> bytes:
    """The bytes of an array, with its type and shape, so that signs of zero count and, if asked for, NaN payloads."""
    if not payloads and array.dtype.name.startswith(("float", "bfloat", "complex")):
        array = array.copy()
        for part in (array.real, array.imag) if array.dtype.kind == "c" else (array,):
            part[np.isnan(part)] = np.nan
    return f"{array.dtype}{array.shape}".encode() + np.ascontiguousarray(array).tobytes()


def same_bits(left: np.ndarray, right: np.ndarray) -> bool:
    """Whether two arrays have the same `bits` but for NaN payloads; these are asked for only where the bytes differ."""
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    plain = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (left, right))
    return np.array_equal(*plain) or bits(left, payloads=False) == bits(right, payloads=False)


def run_xla(
    texts: Sequence[str], arguments: Sequence[Sequence[np.ndarray]], payloads: Sequence[bool] | None = None
) -> list[Results]:
    """Results of each program's @main, compiled together as one module; `payloads` says whose NaN payloads count."""
    context = jaxlib_ir.make_context()
    with context, ir.Location.unknown():
        joined = ir.Module.create()
        inputs: list[ir.Type] = []
        outputs: list[ir.Type] = []
        callees: list[tuple[str, list[ir.Type], list[ir.Type]]] = []
        for number, text in enumerate(texts):
            for op in jaxlib_ir.parse(text, context).body.operations:
                if not isinstance(op, func.FuncOp) or op.name.value != "main":
                    raise ValueError(f"a program may only have @main, not {op.operation.name}")
                with ir.InsertionPoint(joined.body):
                    clone = op.operation.clone()
                clone.attributes["sym_name"] = ir.StringAttr.get(f"program_{number}")
                clone.attributes["sym_visibility"] = ir.StringAttr.get("private")
                callees.append((f"program_{number}", list(op.type.inputs), list(op.type.results)))
                inputs.extend(op.type.inputs)
                outputs.extend(op.type.results)
        with ir.InsertionPoint(joined.body):
            main = func.FuncOp("main", (inputs, outputs))
        block = main.add_entry_block()
        with ir.InsertionPoint(block):
            values: list[ir.Value] = []
            given = iter(block.arguments)
            for name, takes, gives in callees:
                call = func.CallOp(gives, name, [next(given) for _ in takes])
                values.extend(call.results)
            func.ReturnOp(values)
    executable = xla_cpu.compile_module(joined)
    device = jax.devices("cpu")[0]
    flat = [jax.device_put(array, device) for program in arguments for array in program]
    done = executable.execute_sharded(flat).disassemble_into_single_device_arrays()
    arrays = iter([np.asarray(shards[0]) for shards in done])
    counting = payloads or [True] * len(callees)
    return [[bits(next(arrays), count) for _ in gives] for (*_, gives), count in zip(callees, counting, strict=True)]


def _attribute(array: np.ndarray, kind: str) -> str:
    """An array as a dense attribute, bit by bit where the type has whole bytes."""
    if array.dtype.name in ("bool", "int4", "uint4"):
        body = np.array2string(array.astype(np.int8), separator=",", threshold=1 << 30)
        if array.dtype == np.bool_:
            body = body.replace("1", "true").replace("0", "false")
        return f"dense<{body if array.size else ''}> : {kind}"
    body = f'"0x{np.ascontiguousarray(array).tobytes().hex().upper()}"' if array.size else ""
    return f"dense<{body}> : {kind}"


def _without_broadcast(text: str) -> str:
    """stablehlo.broadcast as broadcast_in_dim, since the interpreter ends the process when it meets the former."""

    def replacement(found: re.Match[str]) -> str:
        sizes = len(found[2].split(",")) if found[2].strip() else 0
        dims = list(range(sizes, sizes + len(re.findall(r"\d+x", found[3]))))
        return f"stablehlo.broadcast_in_dim {found[1]}, dims = {dims} : (tensor<{found[3]}>)"

    return re.sub(r"stablehlo\.broadcast (%\w+), sizes = \[([^\]]*)\] : \(tensor<([^)]*)>\)", replacement, text)


SCATTER = re.compile(r'^( *)([^\n]*"stablehlo\.scatter"\()(%[\w#]+)(,[^\n]*\n.*?\n *\}\) : \()(tensor<\S*>)(?=[,)])', re.M | re.S)


def _with_own_scatters(text: str) -> str:
    """The interpreter's scatter writes into its operand, for all others that read it, too: each has a copy of its own."""
    copies = itertools.count()

    def replacement(found: re.Match[str]) -> str:
        indent, head, name, rest, kind = found.groups()
        own = f"%own_{next(copies)}"
        return f"{indent}{own} = stablehlo.reverse {name}, dims = [] : {kind}\n{indent}{head}{own}{rest}{kind}"

    return SCATTER.sub(replacement, text)


def run_interpreter(text: str, arguments: Sequence[np.ndarray], context: ir.Context) -> list[str]:
    """Results of @main, as the texts of attributes."""
    with context:
        module = ir.Module.parse(_with_own_scatters(_without_broadcast(text)))
        main = next(iter(module.body.operations))
        kinds = [str(kind) for kind in main.type.inputs]
        given = [ir.Attribute.parse(_attribute(a, kind)) for a, kind in zip(arguments, kinds, strict=True)]
        return [str(result) for result in stablehlo.eval_module(module, given)]


def same_by_definition(before: str, after: str, arguments: Sequence[np.ndarray], context: ir.Context) -> bool:
    """Whether the StableHLO interpreter finds the same for both programs; false where it lacks a type that they use.

    It decides where XLA for CPU does not keep what the specification says: it takes x + 0 for x, which loses the sign of a
    zero, and drops NaNs from a maximum where it reduces a whole dimension at once.
    """
    stablehlo.register_interpreter_dialect(context)
    try:
        return run_interpreter(before, arguments, context) == run_interpreter(after, arguments, context)
    except Exception:  # then XLA's word counts
        return False
