# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ways to change an op: each takes a template and returns one that may or may not still be valid."""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Callable

from templates import Template, split_top

ELEMENTS = (
    "f32", "f64", "bf16", "f16", "f8E4M3FN", "f8E5M2", "f4E2M1FN", "i1", "i4", "i8", "i32", "i64", "ui8", "ui32",
    "ui64", "complex<f32>", "complex<f64>", "index", "i17", "f80", "tf32", "i2", "ui4", "f8E4M3B11FNUZ",
)  # fmt: skip
COMMON = ("f32", "f64", "i32", "i64", "i1", "ui32", "bf16", "i8", "complex<f32>")
OTHER_TYPES = (
    "!stablehlo.token", "tuple<tensor<f32>>", "tuple<>", "tensor<*xf32>", "memref<4xf32>", "vector<4xf32>", "f32",
    "index", "tuple<tensor<2xf32>, !stablehlo.token>", "none", "tensor<f32>", "tensor<2xi64>",
)  # fmt: skip
ENUMS = (
    ("EQ", "NE", "GE", "GT", "LE", "LT"),
    ("NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"),
    ("DEFAULT", "HIGH", "HIGHEST", "TOLERANCE"),
    ("FFT", "IFFT", "RFFT", "IRFFT"),
    ("TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"),
    ("DEFAULT", "THREE_FRY", "PHILOX"),
    ("UNIFORM", "NORMAL"),
)
VALUES = (
    "1 : i64", "0 : i32", "-1 : i64", "true", '"text"', "1.000000e+00 : f32", "array<i64: 0>", "array<i64>", "unit", "[]",
    "dense<0> : tensor<1x2xi64>", "array<i32: 0>", "array<i1: true>", "@main", "{}", "#stablehlo<precision DEFAULT>",
    "dense<1.000000e+00> : tensor<f32>", "f32",
)  # fmt: skip
OPS_INSIDE = ("add", "maximum", "multiply", "subtract", "and", "divide", "minimum", "or")

Mutation = Callable[[Template, random.Random], "Template | None"]
MUTATIONS: dict[str, Mutation] = {}
QUANTIZED = (
    "!quant.uniform<i8:f32, 5.000000e-01:3>", "!quant.uniform<i8:f32, 1.250000e-01>", "!quant.uniform<u8:f32, 5.000000e-01>",
    "!quant.uniform<i8:bf16, 5.000000e-01>", "!quant.uniform<i32:f32, 1.250000e-01>", "!quant.uniform<i4:f32, 5.000000e-01>",
    "!quant.uniform<i8:f32:0, {1.000000e-01, 2.000000e-01:1}>", "!quant.uniform<i8:f32:1, {1.000000e-01, 2.000000e-01:1}>",
    "!quant.uniform<i8<-127:127>:f32:0, {1.000000e-01, 2.000000e-01, 3.000000e-01}>", "!quant.uniform<i8<-100:100>:f32, 5.000000e-01>",
)  # fmt: skip
_ELEMENT = r"!quant\.uniform<(?:[^<>]|<[^<>]*>)*>|complex<\w+>|[\w.!]+"
_TENSOR = re.compile(rf"^tensor<((?:(?:\d+|\?)x)*)({_ELEMENT})(, .*)?>$")
_TENSORS = re.compile(rf"tensor<(?:(?:\d+|\?)x)*(?:{_ELEMENT})>")
_INTEGER = re.compile(r'(?<![\w.@%#"])-?\d+(?![\w.x])')


def mutation(function: Mutation) -> Mutation:
    """Registers a way to change an op under its name."""
    MUTATIONS[function.__name__] = function
    return function


def _replaced(items: tuple[str, ...], at: int, new: str) -> tuple[str, ...]:
    return items[:at] + (new,) + items[at + 1 :]


def _dropped(items: tuple[str, ...], at: int) -> tuple[str, ...]:
    return items[:at] + items[at + 1 :]


# --- types --------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A tensor type in parts."""

    dims: tuple[str, ...]
    element: str
    encoding: str = ""

    @staticmethod
    def parse(text: str) -> Tensor | None:
        found = _TENSOR.match(text)
        return Tensor(tuple(found[1].split("x")[:-1]), found[2], found[3] or "") if found else None

    def __str__(self) -> str:
        return f"tensor<{''.join(d + 'x' for d in self.dims)}{self.element}{self.encoding}>"


def _new_dim(dim: str, rng: random.Random) -> str:
    if dim == "?":
        return str(rng.choice((0, 1, 2, 3, 4, 8)))
    size = int(dim)
    choices = [size + 1, max(0, size - 1), size * 2, 0, 1, "?", "?", size // 2, size + 7]
    return str(rng.choice([choice for choice in choices if str(choice) != dim]))


def _change_quantized(element: str, rng: random.Random) -> str:
    """Another storage, expressed type, axis, scale or zero point."""
    edits = (
        (r"f32", ("bf16", "f16", "f32")),
        (r"(?<=<)[iu]8", ("u8", "i4", "i32", "i8")),
        (r"(?<=f32:)\d", ("0", "1", "2", "-1")),
        (r"\d\.\d+e[-+]\d+", ("2.500000e-01", "1.000000e+00", "1.000000e-01")),
        (r":(\d)(?=[,>}])", (":0", ":5", ":200")),
        (r"(, \d\.\d+e-01)(?=})", ("", r"\1, 1.000000e-01")),
    )
    if rng.random() < 0.2:
        return rng.choice(QUANTIZED)
    pattern, choices = rng.choice(edits)
    return re.sub(pattern, rng.choice(choices), element, count=rng.choice((0, 1)))


def _change_type(text: str, rng: random.Random) -> str:
    tensor = Tensor.parse(text)
    if tensor is None or rng.random() < 0.06:
        return rng.choice([other for other in OTHER_TYPES if other != text])
    dims, rank = tensor.dims, len(tensor.dims)
    kinds = ["element", "element", "grow"] + ["dim", "dim", "dim", "shrink", "swap", "bounds", "one"] * bool(rank)
    kind = rng.choice(kinds)
    if kind == "element":
        if tensor.element.startswith("!quant") and rng.random() < 0.6:
            return str(dataclasses.replace(tensor, element=_change_quantized(tensor.element, rng)))
        pool = COMMON if rng.random() < 0.6 else ELEMENTS + QUANTIZED
        return str(dataclasses.replace(tensor, element=rng.choice([e for e in pool if e != tensor.element])))
    if kind == "grow":
        at = rng.randint(0, rank)
        size = rng.choice(("1", "2", "?", "3"))
        return str(dataclasses.replace(tensor, dims=dims[:at] + (size,) + dims[at:], encoding=""))
    at = rng.randrange(rank)
    if kind == "dim":
        return str(dataclasses.replace(tensor, dims=_replaced(dims, at, _new_dim(dims[at], rng))))
    if kind == "one":
        return str(dataclasses.replace(tensor, dims=_replaced(dims, at, "1")))
    if kind == "shrink":
        return str(dataclasses.replace(tensor, dims=_dropped(dims, at), encoding=""))
    if kind == "swap":
        other = rng.randrange(rank)
        swapped = list(dims)
        swapped[at], swapped[other] = swapped[other], swapped[at]
        return str(dataclasses.replace(tensor, dims=tuple(swapped)))
    bounds = ["?"] * (rank if rng.random() < 0.8 else rank + 1)
    bounds[at] = rng.choice((dims[at], "4", "16"))
    dims = _replaced(dims, at, "?" if rng.random() < 0.8 else dims[at])
    return str(dataclasses.replace(tensor, dims=dims, encoding=f", #stablehlo.bounds<{', '.join(bounds)}>"))


@mutation
def operand_type(t: Template, rng: random.Random) -> Template | None:
    """Another type for one operand."""
    if not t.uses:
        return None
    at = rng.choice(t.uses)
    return dataclasses.replace(t, arguments=_replaced(t.arguments, at, _change_type(t.arguments[at], rng)))


@mutation
def result_type(t: Template, rng: random.Random) -> Template | None:
    """Another type for one result."""
    if not t.results:
        return None
    at = rng.randrange(len(t.results))
    return dataclasses.replace(t, results=_replaced(t.results, at, _change_type(t.results[at], rng)))


@mutation
def same_type_everywhere(t: Template, rng: random.Random) -> Template | None:
    """One type becomes another in all operands and results, and in the regions or not."""
    types = sorted({*t.arguments, *t.results})
    if not types:
        return None
    old = rng.choice(types)
    new = _change_type(old, rng)
    regions = t.regions if rng.random() < 0.2 else tuple(region.replace(old, new) for region in t.regions)
    return dataclasses.replace(
        t,
        arguments=tuple(new if a == old else a for a in t.arguments),
        results=tuple(new if r == old else r for r in t.results),
        regions=regions,
        properties=tuple(p.replace(old, new) for p in t.properties) if t.op.endswith("constant") else t.properties,
    )


def _rename_element(text: str, old: str, new: str) -> str:
    return re.sub(rf"(?<=[<x]){re.escape(old)}(?=[>,])", new, text)


@mutation
def element_everywhere(t: Template, rng: random.Random) -> Template | None:
    """One element type becomes another throughout, which often stays valid."""
    tensors = [tensor for text in (*t.arguments, *t.results) if (tensor := Tensor.parse(text))]
    if not tensors:
        return None
    old = rng.choice(sorted({tensor.element for tensor in tensors}))
    pool = COMMON if rng.random() < 0.6 else ELEMENTS + QUANTIZED
    new = _change_quantized(old, rng) if old.startswith("!quant") else rng.choice([e for e in pool if e != old])
    return dataclasses.replace(
        t,
        arguments=tuple(_rename_element(a, old, new) for a in t.arguments),
        results=tuple(_rename_element(r, old, new) for r in t.results),
        regions=tuple(_rename_element(r, old, new) for r in t.regions),
    )


@mutation
def size_everywhere(t: Template, rng: random.Random) -> Template | None:
    """One dimension size becomes another throughout, which often stays valid."""
    sizes = sorted({d for text in (*t.arguments, *t.results) if (tensor := Tensor.parse(text)) for d in tensor.dims})
    if not sizes:
        return None
    old = rng.choice(sizes)
    new = _new_dim(old, rng)

    def change(text: str) -> str:
        tensor = Tensor.parse(text)
        if tensor is None:
            return text
        return str(dataclasses.replace(tensor, dims=tuple(new if d == old else d for d in tensor.dims)))

    return dataclasses.replace(
        t,
        arguments=tuple(map(change, t.arguments)),
        results=tuple(map(change, t.results)),
        regions=tuple(_TENSORS.sub(lambda m: change(m[0]), region) for region in t.regions),
    )


@mutation
def dynamic_result(t: Template, rng: random.Random) -> Template | None:
    """Some dimensions of the results are no longer known."""
    return dataclasses.replace(t, results=tuple(_forget(r, rng) for r in t.results)) if t.results else None


@mutation
def dynamic_operands(t: Template, rng: random.Random) -> Template | None:
    """Some dimensions of the operands are no longer known."""
    return dataclasses.replace(t, arguments=tuple(_forget(a, rng) for a in t.arguments)) if t.arguments else None


def _forget(text: str, rng: random.Random) -> str:
    tensor = Tensor.parse(text)
    if tensor is None or tensor.encoding:
        return text
    return str(dataclasses.replace(tensor, dims=tuple(rng.choice((d, "?")) for d in tensor.dims)))


@mutation
def result_like_operand(t: Template, rng: random.Random) -> Template | None:
    """A result takes an operand's type, or the other way around."""
    if not t.results or not t.uses:
        return None
    at, use = rng.randrange(len(t.results)), rng.choice(t.uses)
    if rng.random() < 0.5:
        return dataclasses.replace(t, results=_replaced(t.results, at, t.arguments[use]))
    return dataclasses.replace(t, arguments=_replaced(t.arguments, use, t.results[at]))


# --- operands and results -----------------------------------------------------------------------------------------


@mutation
def operand_count(t: Template, rng: random.Random) -> Template | None:
    """One operand fewer, or one twice."""
    if not t.uses:
        return None
    at = rng.randrange(len(t.uses))
    uses = t.uses[:at] + t.uses[at + 1 :] if rng.random() < 0.5 else t.uses[:at] + (t.uses[at],) + t.uses[at:]
    return dataclasses.replace(t, uses=uses)


@mutation
def operand_order(t: Template, rng: random.Random) -> Template | None:
    """Two operands change places, or one stands in for another."""
    if len(set(t.uses)) < 2:
        return None
    one, other = rng.sample(range(len(t.uses)), 2)
    uses = list(t.uses)
    uses[one], uses[other] = uses[other], uses[one] if rng.random() < 0.6 else uses[other]
    return dataclasses.replace(t, uses=tuple(uses))


@mutation
def result_count(t: Template, rng: random.Random) -> Template | None:
    """One result fewer, or one more."""
    if t.results and rng.random() < 0.5:
        return dataclasses.replace(t, results=_dropped(t.results, rng.randrange(len(t.results))))
    return dataclasses.replace(t, results=(*t.results, rng.choice(t.results or ("tensor<f32>",))))


@mutation
def result_order(t: Template, rng: random.Random) -> Template | None:
    """The result types in another order."""
    return dataclasses.replace(t, results=t.results[::-1]) if len(set(t.results)) > 1 else None


# --- attributes ---------------------------------------------------------------------------------------------------


def _integer(old: int, rng: random.Random) -> int:
    choices = [old + 1, old - 1, -old, -1, 0, 1, 2, 3, old * 2, old + 10, 1 << 31, 1 << 40]
    weights = [6, 6, 3, 4, 4, 4, 2, 2, 2, 2, 0.4, 0.4]
    new = rng.choices(choices, weights)[0]
    return new if new != old else old + 1


def _change_integer(value: str, rng: random.Random) -> str | None:
    places = [found for found in _INTEGER.finditer(value) if not value[: found.start()].endswith(("<i", "tensor<"))]
    if not places:
        return None
    place = rng.choice(places)
    return value[: place.start()] + str(_integer(int(place[0]), rng)) + value[place.end() :]


def _change_list(value: str, rng: random.Random) -> str | None:
    """Edits one bracketed or array<...> list inside the value."""
    places = list(re.finditer(r"\[([^\[\]]*)\]|array<i\d+(?:: ([^>]*))?>|\{([^{}]*)\}", value))
    if not places:
        return None
    place = rng.choice(places)
    inner = next((group for group in place.groups() if group is not None), "")
    items = split_top(inner)
    kind = rng.choice(("drop", "double", "shuffle", "reverse", "clear", "extend") if items else ("extend",))
    if kind == "drop":
        items.pop(rng.randrange(len(items)))
    elif kind == "double":
        at = rng.randrange(len(items))
        items.insert(at, items[at])
    elif kind == "shuffle":
        rng.shuffle(items)
    elif kind == "reverse":
        items.reverse()
    elif kind == "clear":
        items = []
    else:
        items.append(items[-1] if items else "0")
    joined = ", ".join(items)
    if place[0].startswith("array<"):
        element = place[0][6:].partition(":")[0].rstrip(">")
        new = f"array<{element}: {joined}>" if items else f"array<{element}>"
    else:
        new = f"{place[0][0]}{joined}{place[0][-1]}"
    return value[: place.start()] + new + value[place.end() :]


def _change_enum(value: str, rng: random.Random) -> str | None:
    words = [m for m in re.finditer(r"\b[A-Z][A-Z_]+\b", value) if any(m[0] in enum for enum in ENUMS)]
    if not words:
        return None
    word = rng.choice(words)
    pool = sorted({other for enum in ENUMS if word[0] in enum for other in enum} - {word[0]}) + ["NOT_A_VALUE"]
    return value[: word.start()] + rng.choice(pool) + value[word.end() :]


def _change_field(value: str, rng: random.Random) -> str | None:
    """Drops or doubles one `name = value` of a structured attribute."""
    found = re.match(r"^(#\w+\.\w+)<(.*)>$", value)
    if not found or "=" not in found[2]:
        return None
    fields = split_top(found[2])
    at = rng.randrange(len(fields))
    fields = fields[:at] + fields[at + 1 :] if rng.random() < 0.7 else fields[: at + 1] + fields[at:]
    return f"{found[1]}<{', '.join(fields)}>"


def _change_boolean(value: str, rng: random.Random) -> str | None:
    words = list(re.finditer(r"\b(true|false)\b", value))
    if not words:
        return None
    word = rng.choice(words)
    return value[: word.start()] + ("false" if word[0] == "true" else "true") + value[word.end() :]


def _change_width(value: str, rng: random.Random) -> str | None:
    """Another integer or float type for the attribute itself."""
    found = list(re.finditer(r"(?<=: )(i\d+|f\d+)$|(?<=array<)i\d+|(?<=x)i\d+(?=>$)|(?<=x)index(?=>$)", value))
    if not found:
        return None
    place = rng.choice(found)
    pool = [width for width in ("i64", "i32", "i1", "i8", "f32", "f64", "ui64", "index") if width != place[0]]
    if value[: place.start()].endswith("array<"):
        pool.remove("index")  # MLIR 22 dies on array<index: ...>, in a parser that is not ours
    return value[: place.start()] + rng.choice(pool) + value[place.end() :]


def _change_dense(value: str, rng: random.Random) -> str | None:
    """Another shape for a dense attribute."""
    found = re.match(r"^dense<(.*)> : (tensor<.*>)$", value, re.DOTALL)
    tensor = Tensor.parse(found[2]) if found else None
    if not found or not tensor:
        return None
    body = found[1]
    if not body.startswith("[") or rng.random() < 0.5:
        splat = re.search(r"[^\[\],\s]+", body)
        body = splat[0] if splat else "0"
        return f"dense<{body}> : {_change_type(found[2], rng)}"
    rows = split_top(body[1:-1])
    rows = rows[:-1] if rng.random() < 0.5 else [*rows, rows[-1]]
    if not rows:
        return None
    dims = _replaced(tensor.dims, 0, str(len(rows)))
    return f"dense<[{', '.join(rows)}]> : {dataclasses.replace(tensor, dims=dims)}"


def _change_string(value: str, rng: random.Random) -> str | None:
    words = list(re.finditer(r'"([^"]*)"|@[\w$.]+', value))
    if not words:
        return None
    word = rng.choice(words)
    others = [other[0] for other in words if other[0] != word[0]]
    new = rng.choice([*others, *others, "@missing" if word[0].startswith("@") else '"other"', '""'])
    return value[: word.start()] + new + value[word.end() :]


_EDITS: tuple[tuple[str, Callable[[str, random.Random], str | None], int], ...] = (
    ("integer", _change_integer, 6),
    ("list", _change_list, 4),
    ("enum", _change_enum, 3),
    ("field", _change_field, 2),
    ("boolean", _change_boolean, 3),
    ("width", _change_width, 1),
    ("dense", _change_dense, 2),
    ("string", _change_string, 2),
)


def _edit(items: tuple[str, ...], rng: random.Random, only: str | None = None) -> tuple[str, ...] | None:
    if not items:
        return None
    at = rng.randrange(len(items))
    name, _, value = items[at].partition(" = ")
    if name in ("operandSegmentSizes", "resultSegmentSizes") and rng.random() < 0.5:
        return None
    edits = [edit for edit in _EDITS if only in (None, edit[0])]
    for _, change, _ in sorted(edits, key=lambda edit: rng.random() ** (1 / edit[2]), reverse=True):
        new = change(value, rng)
        if new is not None and new != value:
            return _replaced(items, at, f"{name} = {new}")
    return None


@mutation
def attribute_value(t: Template, rng: random.Random) -> Template | None:
    """A small change inside one attribute."""
    properties = _edit(t.properties, rng)
    return dataclasses.replace(t, properties=properties) if properties else None


@mutation
def attribute_integer(t: Template, rng: random.Random) -> Template | None:
    """One number of one attribute."""
    properties = _edit(t.properties, rng, "integer")
    return dataclasses.replace(t, properties=properties) if properties else None


@mutation
def attribute_list(t: Template, rng: random.Random) -> Template | None:
    """One list of one attribute."""
    properties = _edit(t.properties, rng, "list")
    return dataclasses.replace(t, properties=properties) if properties else None


@mutation
def attribute_missing(t: Template, rng: random.Random) -> Template | None:
    """An attribute is gone."""
    if not t.properties:
        return None
    return dataclasses.replace(t, properties=_dropped(t.properties, rng.randrange(len(t.properties))))


@mutation
def attribute_kind(t: Template, rng: random.Random) -> Template | None:
    """An attribute of another kind altogether."""
    if not t.properties:
        return None
    at = rng.randrange(len(t.properties))
    name = t.properties[at].partition(" = ")[0]
    return dataclasses.replace(t, properties=_replaced(t.properties, at, f"{name} = {rng.choice(VALUES)}"))


@mutation
def attribute_extra(t: Template, rng: random.Random) -> Template | None:
    """An attribute that the op does not know."""
    if not t.op:
        return None
    extra = rng.choice(
        ('mhlo.sharding = "{replicated}"', "note = 1 : i64", "sdy.sharding = 3 : i32", "foo.bar", "value = dense<0> : tensor<i32>",
         "sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>", "sdy.sharding_rule = 1 : i32", 'frontend_attributes = {a = "b"}',
         "dimension = 0 : i64", "operandSegmentSizes = array<i32: 1, 1>")
    )  # fmt: skip
    if rng.random() < 0.25:
        return dataclasses.replace(t, properties=(*t.properties, extra))
    return dataclasses.replace(t, attributes=(*t.attributes, extra))


@mutation
def attribute_outside(t: Template, rng: random.Random) -> Template | None:
    """The op's own attributes given in the other dictionary, which generic form allows."""
    if not t.properties:
        return None
    return dataclasses.replace(t, properties=(), attributes=(*t.properties, *t.attributes))


@mutation
def discardable_value(t: Template, rng: random.Random) -> Template | None:
    """A small change inside an attribute that is not the op's own."""
    attributes = _edit(t.attributes, rng)
    return dataclasses.replace(t, attributes=attributes) if attributes else None


@mutation
def argument_sharding(t: Template, rng: random.Random) -> Template | None:
    """Another sharding for an argument, or none."""
    places = [i for i, sharding in enumerate(t.shardings) if sharding]
    if not places:
        return None
    at = rng.choice(places)
    if rng.random() < 0.1:
        return dataclasses.replace(t, shardings=_replaced(t.shardings, at, ""))
    edited = _edit((f"sharding = {t.shardings[at]}",), rng)
    return dataclasses.replace(t, shardings=_replaced(t.shardings, at, edited[0][11:])) if edited else None


@mutation
def symbol(t: Template, rng: random.Random) -> Template | None:
    """A change in what the op refers to: a mesh, a function's type, a missing symbol."""
    if not t.symbols:
        return None
    if rng.random() < 0.15:
        return dataclasses.replace(t, symbols="")
    edits = (_change_integer, _change_string, _change_list)
    lines = t.symbols.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    new = rng.choice(edits)(lines[at], rng)
    return dataclasses.replace(t, symbols="".join(_replaced(tuple(lines), at, new))) if new else None


# --- regions ------------------------------------------------------------------------------------------------------


def _in_region(t: Template, rng: random.Random, change: Callable[[str], str | None]) -> Template | None:
    if not t.regions:
        return None
    at = rng.randrange(len(t.regions))
    new = change(t.regions[at])
    return dataclasses.replace(t, regions=_replaced(t.regions, at, new)) if new and new != t.regions[at] else None


@mutation
def region_count(t: Template, rng: random.Random) -> Template | None:
    """One region fewer, one more, an empty one, or two that change places."""
    if not t.regions:
        return dataclasses.replace(t, regions=("{\n}",)) if t.op and rng.random() < 0.3 else None
    at = rng.randrange(len(t.regions))
    kind = rng.choice(("drop", "double", "empty", "swap"))
    if kind == "drop":
        return dataclasses.replace(t, regions=_dropped(t.regions, at))
    if kind == "double":
        return dataclasses.replace(t, regions=t.regions[: at + 1] + t.regions[at:])
    if kind == "empty":
        return dataclasses.replace(t, regions=_replaced(t.regions, at, "{\n}"))
    return dataclasses.replace(t, regions=t.regions[::-1]) if len(t.regions) > 1 else None


@mutation
def region_types(t: Template, rng: random.Random) -> Template | None:
    """One tensor type becomes another throughout one region."""

    def change(region: str) -> str | None:
        types = sorted(set(_TENSORS.findall(region)))
        if not types:
            return None
        old = rng.choice(types)
        new = _change_type(old, rng)
        return region.replace(old, new)

    return _in_region(t, rng, change)


@mutation
def region_element(t: Template, rng: random.Random) -> Template | None:
    """One element type becomes another throughout one region."""

    def change(region: str) -> str | None:
        elements = sorted({tensor.element for x in _TENSORS.findall(region) if (tensor := Tensor.parse(x))} - {"i1"})
        if not elements:
            return None
        return _rename_element(region, rng.choice(elements), rng.choice(COMMON))

    return _in_region(t, rng, change)


@mutation
def region_argument(t: Template, rng: random.Random) -> Template | None:
    """A region's block has an argument too many, one too few, or in another place."""

    def change(region: str) -> str | None:
        found = re.search(r"\^bb0\(([^\n]*)\):\n", region)
        if not found:
            return "{\n^bb0(%extra: tensor<f32>):" + region[1:]
        items = split_top(found[1])
        kind = rng.choice(("extra", "drop", "swap"))
        rest = region[found.end() :]
        if kind == "extra":
            items.append(f"%extra: {items[-1].partition(': ')[2]}")
        elif kind == "drop":
            name, _, old = items.pop(rng.randrange(len(items))).partition(": ")
            same = [item.partition(": ")[0] for item in items if item.endswith(f": {old}")]
            if same:
                rest = re.sub(rf"{re.escape(name)}\b", same[0], rest)
        else:
            rng.shuffle(items)
        head = f"^bb0({', '.join(items)}):\n" if items else "^bb0:\n"
        return region[: found.start()] + head + rest

    return _in_region(t, rng, change)


@mutation
def region_terminator(t: Template, rng: random.Random) -> Template | None:
    """A region returns something else, or nothing, or ends in another op."""

    def change(region: str) -> str | None:
        found = list(re.finditer(r'"(stablehlo|sdy)\.return"\(([^)]*)\) : \(([^)]*)\) -> \(\)', region))
        if not found:
            return None
        last = found[-1]
        values, types = split_top(last[2]), split_top(last[3])
        kind = rng.choice(("none", "drop", "double", "shuffle", "gone", "other", "argument"))
        name = last[1]
        if kind == "none":
            values, types = [], []
        elif kind == "drop" and values:
            values, types = values[:-1], types[:-1]
        elif kind == "double" and values:
            values, types = [*values, values[-1]], [*types, types[-1]]
        elif kind == "shuffle" and len(values) > 1:
            values, types = values[::-1], types[::-1]
        elif kind == "other":
            name = "sdy" if name == "stablehlo" else "stablehlo"
        elif kind == "argument" and (argument := re.search(r"\^bb0\((%\w+): (tensor<[^,)]*>)", region)):
            values, types = [argument[1]], [argument[2]]
        new = f'"{name}.return"({", ".join(values)}) : ({", ".join(types)}) -> ()' if kind != "gone" else ""
        return region[: last.start()] + new + region[last.end() :]

    return _in_region(t, rng, change)


@mutation
def region_op(t: Template, rng: random.Random) -> Template | None:
    """Another op inside a region."""

    def change(region: str) -> str | None:
        found = list(re.finditer(r'"stablehlo\.(\w+)"\(%\w+, %\w+\) :', region))
        if not found:
            return None
        place = rng.choice(found)
        return region[: place.start(1)] + rng.choice(OPS_INSIDE) + region[place.end(1) :]

    return _in_region(t, rng, change)


# --- the draw -----------------------------------------------------------------------------------------------------

_WEIGHTS = {
    "attribute_value": 5, "attribute_integer": 5, "attribute_list": 4, "operand_type": 4, "result_type": 3,
    "element_everywhere": 3, "size_everywhere": 3, "dynamic_operands": 2, "dynamic_result": 2,
    "same_type_everywhere": 2, "region_types": 2, "region_element": 2, "attribute_outside": 0.4, "symbol": 2,
    "discardable_value": 2, "region_terminator": 2, "argument_sharding": 2,
}  # fmt: skip


def mutate(template: Template, rng: random.Random) -> tuple[str, Template] | None:
    """One change, or now and then two; None if what was drawn does not apply."""
    kinds: list[str] = []
    for _ in range(1 if rng.random() < 0.85 else 2):
        kind = rng.choices(list(MUTATIONS), [_WEIGHTS.get(name, 1) for name in MUTATIONS])[0]
        changed = MUTATIONS[kind](template, rng)
        if changed is None:
            continue
        template = changed
        kinds.append(kind)
    return ("+".join(kinds), template) if kinds else None
