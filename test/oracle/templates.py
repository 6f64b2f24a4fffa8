# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Single ops, cut out of modules: each becomes a small module of its own that can be changed piece by piece."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pathlib
import re
from collections.abc import Iterator

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

import jaxlib_ir
import store

SEEDS = pathlib.Path(__file__).parent / "seeds"
DIALECTS = ("stablehlo.", "chlo.", "sdy.")
PER_OP = 40
LONGEST = 8000
_OPEN = {"(": ")", "[": "]", "{": "}", "<": ">"}


def split_top(text: str, separator: str = ",") -> list[str]:
    """Splits at separators that are outside of brackets and strings; an empty text has no parts."""
    parts: list[str] = []
    start = at = 0
    while at < len(text):
        if text[at] == '"' or text[at] in _OPEN:
            at = skip(text, at)
            continue
        if text[at] == separator:
            parts.append(text[start:at].strip())
            start = at + 1
        at += 1
    parts.append(text[start:].strip())
    return parts if parts != [""] else []


def skip(text: str, at: int) -> int:
    """The position after the string or bracket that opens at `at`."""
    if text[at] == '"':
        at += 1
        while text[at] != '"':
            at += 2 if text[at] == "\\" else 1
        return at + 1
    depth = [_OPEN[text[at]]]
    at += 1
    while depth:
        here = text[at]
        if here == '"':
            at = skip(text, at)
            continue
        if here == "-" and text.startswith("->", at):
            at += 2
            continue
        if here in _OPEN:
            depth.append(_OPEN[here])
        elif here == depth[-1]:
            depth.pop()
        at += 1
    return at


@dataclasses.dataclass(frozen=True)
class Template:
    """One op in generic form, in parts. Operand i is function argument `uses[i]`."""

    op: str
    origin: str
    symbols: str
    arguments: tuple[str, ...]
    shardings: tuple[str, ...]
    uses: tuple[int, ...]
    results: tuple[str, ...]
    properties: tuple[str, ...]
    attributes: tuple[str, ...]
    regions: tuple[str, ...]

    def render(self) -> str:
        """The module: the symbols the op refers to, and one function around the op."""
        if not self.op:
            return f'"builtin.module"() ({{\n{self.symbols}}}) : () -> ()\n'
        operands = ", ".join(f"%arg{i}" for i in self.uses)
        types = ", ".join(self.arguments[i] for i in self.uses)
        result_types = ", ".join(self.results)
        names = [f"%r#{i}" for i in range(len(self.results))] if len(self.results) > 1 else ["%r"] * len(self.results)
        head = f"%r:{len(self.results)} = " if len(self.results) > 1 else "%r = " if self.results else ""
        properties = f" <{{{', '.join(self.properties)}}}>" if self.properties else ""
        regions = f" ({', '.join(self.regions)})" if self.regions else ""
        attributes = f" {{{', '.join(self.attributes)}}}" if self.attributes else ""
        arguments = ", ".join(f"%arg{i}: {t}" for i, t in enumerate(self.arguments))
        sharded = ", ".join(f"{{{f'sdy.sharding = {s}' if s else ''}}}" for s in self.shardings)
        argument_attributes = f"arg_attrs = [{sharded}], " if any(self.shardings) else ""
        block = f"  ^bb0({arguments}):\n" if self.arguments else ""
        return (
            f'"builtin.module"() ({{\n{self.symbols}'
            f'  "func.func"() <{{{argument_attributes}function_type = ({", ".join(self.arguments)}) -> ({result_types}), '
            f'sym_name = "main"}}> ({{\n{block}'
            f'    {head}"{self.op}"({operands}){properties}{regions}{attributes} : ({types}) -> ({result_types})\n'
            f'    "func.return"({", ".join(names)}) : ({result_types}) -> ()\n'
            f"  }}) : () -> ()\n}}) : () -> ()\n"
        )


def _type_list(text: str) -> tuple[str, ...]:
    text = text.strip()
    if text.startswith("("):
        end = skip(text, 0)
        if end == len(text):
            text = text[1:-1]
    return tuple(split_top(text))


def _parse_op(text: str) -> tuple[list[str], list[str], list[str], list[str], str, int]:
    """Operand names, properties, regions, attributes, result types of the op whose quoted name starts `text`."""
    at = skip(text, 0)
    end = skip(text, at)
    operands = split_top(text[at + 1 : end - 1])
    properties: list[str] = []
    regions: list[str] = []
    attributes: list[str] = []
    at = end
    while True:
        while text[at] == " ":
            at += 1
        if text[at] == ":":
            break
        end = skip(text, at)
        if text.startswith("<{", at):
            properties = split_top(text[at + 2 : end - 2])
        elif text[at] == "(":
            regions = split_top(text[at + 1 : end - 1])
        elif text[at] == "{":
            attributes = split_top(text[at + 1 : end - 1])
        at = end
    end = text.index("\n", at)
    _, _, types = text[at:end].partition(") -> ")
    return operands, properties, regions, attributes, types, end


def _free_values(op: ir.Operation) -> list[tuple[ir.Operation, int]]:
    """(nested op, operand number) for each use, inside the regions, of a value defined outside of the op."""
    inside: set[ir.Value] = set()
    uses: list[tuple[ir.Operation, int]] = []

    def visit(block: ir.Block) -> None:
        inside.update(block.arguments)
        for nested in block.operations:
            uses.extend((nested.operation, i) for i, value in enumerate(nested.operands) if value not in inside)
            inside.update(nested.results)
            for region in nested.regions:
                for inner in region.blocks:
                    visit(inner)

    for region in op.regions:
        for block in region.blocks:
            visit(block)
    return uses


def _sharding(value: ir.Value) -> str:
    """The sharding that a Shardy collective sees on its operand, as text; empty if there is none."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        holder = owner.owner
        number = ir.BlockArgument(value).arg_number
        if "arg_attrs" not in holder.attributes:
            return ""
        attributes = ir.DictAttr(ir.ArrayAttr(holder.attributes["arg_attrs"])[number])
        return str(attributes["sdy.sharding"]) if "sdy.sharding" in attributes else ""
    names = [name for name in ("out_sharding", "sharding") if name in owner.attributes]
    return str(owner.attributes[names[0]]) if names else ""


def isolate(op: ir.Operation, origin: str, symbols: dict[str, ir.Operation]) -> Template | None:
    """The op as a template, or None if it is too long to be worth changing."""
    attributes = str(op.attributes)
    shardings = [_sharding(value) for value in op.operands] if op.name.startswith("sdy.") else []
    mentions = " ".join((attributes, str(op.get_asm(print_generic_op_form=True)), *shardings))
    wanted = list(dict.fromkeys(re.findall(r"@([\w$.]+)", mentions)))
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        for name in wanted:
            if name in symbols:
                symbols[name].clone()
        holder = func.FuncOp("main", ([], []))
    block = holder.add_entry_block()
    with ir.InsertionPoint(block):
        clone = op.clone()
        func.ReturnOp(list(clone.results))
    unknown = ir.Location.unknown()
    for number, value in enumerate(op.operands):
        clone.operands[number] = block.add_argument(value.type, unknown)
    captured: dict[ir.Value, ir.Value] = {}
    for nested, number in _free_values(clone):
        value = nested.operands[number]
        if value not in captured:
            captured[value] = block.add_argument(value.type, unknown)
        nested.operands[number] = captured[value]
    text = jaxlib_ir.generic(module, locations=False)
    if len(text) > LONGEST:
        return None
    lines_before, _, rest = text.partition('  "func.func"() <{function_type = () -> (), sym_name = "main"}> ({\n')
    start = rest.index(f'"{op.name}"(')
    operands, properties, regions, attrs, result_types, _ = _parse_op(rest[start:])
    arguments = tuple(str(argument.type) for argument in block.arguments)
    return Template(
        op=op.name,
        origin=origin,
        symbols=lines_before.partition("\n")[2],
        arguments=arguments,
        shardings=tuple(shardings) + ("",) * (len(arguments) - len(shardings)),
        uses=tuple(int(name.removeprefix("%arg")) for name in operands),
        results=_type_list(result_types),
        properties=tuple(properties),
        attributes=tuple(attrs),
        regions=tuple(regions),
    )


def _signature(op: ir.Operation) -> str:
    """Ops that differ only in sizes count as one."""
    types = " ".join(str(value.type) for value in (*op.operands, *op.results))
    attributes = sorted(op.attributes)
    return re.sub(r"\d+(?=x|,|\])", "N", f"{op.name} {types} {attributes}")


def _of_module(module: ir.Module, origin: str, seen: set[str]) -> Iterator[Template]:
    symbols = {
        ir.StringAttr(op.attributes["sym_name"]).value: op.operation
        for op in module.body.operations
        if "sym_name" in op.attributes
    }
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.startswith(DIALECTS) and op.name not in ("stablehlo.return", "sdy.return"):
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    for op in found:
        signature = _signature(op)
        if signature in seen:
            continue
        seen.add(signature)
        if op.name == "sdy.mesh":
            text = "".join(f"  {line}\n" for line in str(op.get_asm(print_generic_op_form=True)).splitlines())
            yield Template("", f"{origin} sdy.mesh", text, (), (), (), (), (), (), ())
        elif template := isolate(op, origin, symbols):
            yield template


def seed_modules() -> Iterator[tuple[str, str]]:
    """(name, text) of each hand-written seed module."""
    for path in sorted(SEEDS.glob("*.mlir")):
        for number, text in enumerate(path.read_text().split("// -----\n")):
            yield f"{path.name}#{number}", text


def class_of(template: Template) -> str:
    return template.op or "sdy.mesh"


def collect(corpus: pathlib.Path | None) -> dict[str, list[Template]]:
    """Templates by op: every seed, and a spread of what the corpora hold, at most PER_OP per op."""
    seeds: dict[str, list[Template]] = {}
    others: dict[str, list[Template]] = {}
    seen: set[str] = set()
    for name, text in seed_modules():
        context = jaxlib_ir.make_context()
        with context, ir.Location.unknown():
            for template in _of_module(ir.Module.parse(text), name, seen):
                if refusal := jaxlib_ir.refusal(template.render(), context):
                    raise ValueError(f"{name}: {template.op} alone is not valid: {refusal}")
                seeds.setdefault(class_of(template), []).append(template)
    if corpus:
        context = jaxlib_ir.make_context()
        for count, (kind, entry) in enumerate(store.read_all(corpus)):
            if count % 500 == 499:
                context = jaxlib_ir.make_context()
            with context, ir.Location.unknown():
                for template in _of_module(ir.Module.parse(entry.text), f"{kind} {entry.name}", seen):
                    # An op that calls functions which call others does not stand alone.
                    if jaxlib_ir.refusal(template.render(), context) is None:
                        others.setdefault(class_of(template), []).append(template)
    for op, found in others.items():
        found.sort(key=lambda template: hashlib.sha256(template.render().encode()).digest())
        kept = seeds.setdefault(op, [])
        kept.extend(found[: max(0, PER_OP - len(kept))])
    return dict(sorted(seeds.items()))


def cached(corpus: pathlib.Path | None) -> dict[str, list[Template]]:
    """`collect`, remembered next to the corpora for as long as neither they nor the seeds change."""
    if corpus is None:
        return collect(None)
    sources = [corpus / "stamp.json", pathlib.Path(__file__), *sorted(SEEDS.glob("*.mlir"))]
    stamp = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    path = corpus / "templates.json"
    if path.exists():
        saved = json.loads(path.read_text())
        if saved["stamp"] == stamp:
            return {
                op: [Template(**{k: tuple(v) if isinstance(v, list) else v for k, v in t.items()}) for t in found]
                for op, found in saved["templates"].items()
            }
    templates = collect(corpus)
    plain = {op: [dataclasses.asdict(t) for t in found] for op, found in templates.items()}
    path.write_text(json.dumps({"stamp": stamp, "templates": plain}))
    return templates
