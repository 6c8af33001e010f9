"""Hypothesis strategies for arguments of any operator: tensors of every layout and type, numbers, sizes, nonsense."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import tl_core as tl

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from opgen.schema import Arg, Schema
from recorded_calls import recorded

DTYPES = (
    *("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex32", "complex64", "complex128"),
)
WHOLE = ("int64", "int64", "int64", "int32", "bool", "uint8")
FAR = (2**50, -(2**50), 2**61, 2**62, -(2**62), 2**63 - 2, 2**63 - 1, -(2**63))  # no memory holds that many
FLOATS = (0.0, 1.0, -1.0, 0.5, 3.0, 1e300, float("inf"), float("nan"))

dtypes = st.sampled_from(DTYPES).map(lambda name: getattr(tl, name))
integers = st.integers(-3, 6) | st.integers(-3, 6) | st.sampled_from(FAR)
dims = st.sampled_from((*range(-3, 4), *range(-3, 4), *range(-3, 4), *FAR))
shapes = st.lists(st.integers(0, 4), max_size=4)
numbers = st.booleans() | integers | st.sampled_from(FLOATS) | st.just(1 + 2j)


@st.composite
def tensors(draw, shape: list[int], dtype: str, whole: bool = False) -> tl.Tensor:
    """A tensor of about this shape: exact, broadcast, permuted, with gaps, or any other."""
    kind = draw(st.sampled_from(("exact", "exact", "exact", "ones", "fewer", "other")))
    if kind == "ones":
        shape = [1 if draw(st.booleans()) else n for n in shape]
    elif kind == "fewer":
        shape = shape[draw(st.integers(0, len(shape))) :]
    elif kind == "other":
        shape = draw(shapes)
    return draw(laid_out(shape, dtype, whole))


@st.composite
def laid_out(draw, shape: list[int], dtype: str, whole: bool = False) -> tl.Tensor:
    """A tensor of exactly this shape, in any layout."""
    layout = draw(st.sampled_from(("dense", "dense", "gaps", "permuted", "offset", "expanded")))
    t = filled(
        [2 * n for n in shape] if layout == "gaps" else shape, dtype, draw(st.integers(0, 1000)), whole
    )
    if layout == "gaps":
        t = t[(slice(None, None, 2),) * len(shape)]
    elif layout == "permuted":
        order = draw(st.permutations(range(len(shape))))
        t = filled([shape[d] for d in order], dtype, 3, whole)
        t = t.permute([order.index(d) for d in range(len(shape))])
    elif layout == "offset":
        n = t.numel()
        t = filled([n + 1], dtype, 5, whole)[1:].view(shape)
    elif layout == "expanded":
        t = filled([1 if d == 0 else n for d, n in enumerate(shape)], dtype, 7, whole).expand(shape)
    return t


def filled(shape: list[int], dtype: str, start: int, whole: bool) -> tl.Tensor:
    """A dense tensor of small numbers; as indices they are mostly within bounds."""
    n = 1
    for size in shape:
        n *= size
    values = [(start * 31 + i * 17) % (5 if whole else 23) - (1 if whole else 11) for i in range(n)]
    if dtype == "bool" or dtype.startswith("u"):
        values = [abs(v) for v in values]
    return tl.tensor(values, dtype=tl.float64).to(getattr(tl, dtype)).reshape(shape)


@st.composite
def argument(draw, arg: Arg, shape: list[int], dtype: str) -> Any:
    """A value for one argument, of the right type but not always of a sensible value."""
    if arg.optional and draw(st.integers(0, 2)) == 0:
        return None
    own = draw(st.sampled_from((dtype, dtype, dtype, draw(st.sampled_from(DTYPES)))))
    is_index = "ind" in arg.name or "mask" in arg.name or arg.name == "condition"
    if is_index:
        own = draw(st.sampled_from(WHOLE))
    match arg.type:
        case "Tensor":
            return draw(tensors(shape, own, is_index))
        case "Operand":
            return draw(tensors(shape, own) | numbers)
        case "Tensor[]":
            return draw(st.lists(tensors(shape, own), max_size=3))
        case "Tensor?[]":
            return draw(st.lists(st.none() | tensors(shape, own, True), max_size=3))
        case "str":
            return draw(st.sampled_from((*WORDS[arg.name], "no such word")))
        case "int" if arg.name == "dim":
            return draw(dims)
        case "int[]" if "dim" in arg.name:
            return draw(st.lists(dims, max_size=3))
        case "int[]" if draw(st.booleans()):
            return list(shape)
    return draw(PLAIN[arg.type])


_PADDINGS = ("constant", "reflect", "replicate", "circular")
# What arguments of texts take, by name: a kernel behind the check of its word is called, too.
WORDS: dict[str, tuple[str, ...]] = {
    "UPLO": ("L", "U"), "approximate": ("none", "tanh"), "driver": ("gels", "gelsy", "gelsd", "gelss", "gesvd"),
    "equation": ("ij,jk->ik", "ij->ji", "ii", "...i,i->..."), "indexing": ("ij", "xy"),
    "interpolation": ("linear", "lower", "higher", "nearest", "midpoint"),
    "ord": ("fro", "nuc"), "p": ("fro", "nuc"),
    "mode": ("reduced", "complete", "r", *_PADDINGS), "norm": ("forward", "backward", "ortho"),
    "pad_mode": _PADDINGS, "padding": ("valid", "same"),
    "reduce": ("sum", "prod", "mean", "amax", "amin", "add", "multiply"), "rounding_mode": ("floor", "trunc"),
    "shape": ("cosines", "triangle", "kaiser", "gaussian", "exponential", "sine"), "side": ("left", "right"),
    "what": ("a row",),
}  # fmt: skip

PLAIN: dict[str, st.SearchStrategy] = {
    "Scalar": numbers,
    "Scalar[]": st.lists(numbers, max_size=3),
    "bool": st.booleans(),
    "bool[]": st.lists(st.booleans(), max_size=3),
    "int": integers,
    "int[]": st.lists(integers, max_size=4),
    "float": st.sampled_from(FLOATS),
    "float[]": st.lists(st.sampled_from(FLOATS), max_size=3),
    "ScalarType": dtypes,
    "Device": st.sampled_from(("cpu", "meta")),
    "Layout": st.just(tl.strided),
    "MemoryFormat": st.sampled_from((tl.contiguous_format, tl.preserve_format, tl.channels_last)),
    "Generator": st.builds(lambda seed: tl.Generator().manual_seed(seed), st.integers(0, 9)),
}


# ---- calls that are right but for an argument or two ---------------------------------------------------------------


GOOD: dict[str, list[list]] = defaultdict(list)  # calls that succeed, by operator
for _name, _arguments in recorded():
    GOOD[_name].append(_arguments)
KINDS = ("float32", "float32", "float64", "float64", "float16", "bfloat16", "complex64", "int64")


@st.composite
def near(draw, schema: Schema, name: str) -> tuple[list, dict]:
    """A good call in which nothing, one argument or two differ; every tensor lies as it likes."""
    good = draw(st.sampled_from(GOOD[name]))
    count = min(draw(st.sampled_from((0, 1, 1, 1, 2, 3))), len(good))
    positions = st.integers(0, max(len(good) - 1, 0))
    other = draw(st.lists(positions, min_size=count, max_size=count, unique=True)) if len(good) > 1 else []
    kind = draw(st.sampled_from(("", *KINDS)))
    values = [
        draw(altered(v, arg, kind) if i in other else as_it_is(v, kind))
        for i, (v, arg) in enumerate(zip(good, schema.args, strict=False))
    ]
    source = [i for i, v in enumerate(values) if isinstance(v, tl.Tensor)]
    if len(source) > 1 and draw(st.integers(0, 7)) == 0:  # the same memory twice
        values[draw(st.sampled_from(source))] = values[draw(st.sampled_from(source))]
    positional = [v for v, arg in zip(values, schema.args, strict=False) if not arg.keyword_only]
    keywords = {arg.name: v for v, arg in zip(values, schema.args, strict=False) if arg.keyword_only}
    for arg in schema.args[len(good) :]:  # out=
        fresh = tensors(draw(shapes), kind or "float32")
        keywords[arg.name] = draw(fresh | st.sampled_from([values[i] for i in source]) if source else fresh)
    return positional, keywords


def as_it_is(value: Any, kind: str) -> st.SearchStrategy:
    """The value of a good call; floating-point tensors are of that kind, if one is given."""
    if isinstance(value, list):
        return st.tuples(*(as_it_is(v, kind) for v in value)).map(list)
    if not isinstance(value, dict):
        return st.just(value)
    if "dtype" in value:
        return st.just(getattr(tl, value["dtype"]))
    dtype, shape = next(iter(value.items()))
    if "values" in value:
        return st.just(tl.tensor(value["values"], dtype=getattr(tl, dtype)).reshape(shape))
    own = kind if kind and dtype.startswith(("float", "bfloat", "complex")) else dtype
    return laid_out(shape, own, dtype == "int64")


@st.composite
def altered(draw, value: Any, arg: Arg, kind: str) -> Any:
    """Something else: a size off by one, another type, None, a number from far away."""
    if arg.optional and draw(st.booleans()):
        return None
    match value:
        case {"dtype": _}:
            return draw(dtypes)
        case dict():
            return draw(another_tensor(value, kind))
        case bool():
            return not value
        case int() | float() | str():
            return draw(another_number(value) if arg.type == "int" else PLAIN.get(arg.type, st.just(value)))
        case []:
            return draw(argument(arg, [2, 3], kind or "float32"))
        case list():
            at = draw(st.integers(0, len(value) - 1))
            part = draw(
                altered(value[at], arg, kind) if isinstance(value[at], dict) else another_number(value[at])
            )
            same = [draw(as_it_is(v, kind)) for v in value]
            return draw(st.sampled_from((same[:at], [*same[:at], part, *same[at + 1 :]], [*same, part])))
    return draw(argument(arg, [2, 3], kind or "float32"))


def another_number(value: Any) -> st.SearchStrategy:
    if isinstance(value, bool):
        return st.just(not value)
    if isinstance(value, int):
        return st.sampled_from((value + 1, value - 1, -value, 2 * value, 100)) | integers
    return st.sampled_from(FLOATS)


@st.composite
def another_tensor(draw, value: dict, kind: str) -> tl.Tensor:
    dtype, shape = next(iter(value.items()))
    own = kind if kind and dtype.startswith(("float", "bfloat", "complex")) else dtype
    match draw(st.sampled_from(("size", "size", "size", "type", "dims", "values", "device", "any"))):
        case "size" if shape:
            at = draw(st.integers(0, len(shape) - 1))
            shape = [
                draw(st.sampled_from((n + 1, n - 1, 0, 1, 2 * n))) if d == at else n
                for d, n in enumerate(shape)
            ]
            return draw(laid_out([max(n, 0) for n in shape], own, dtype == "int64"))
        case "type":
            return draw(laid_out(shape, draw(st.sampled_from(DTYPES)), True))
        case "dims":
            return draw(
                laid_out(draw(st.sampled_from((shape[1:], shape[:-1], [1, *shape], [*shape, 2]))), own, True)
            )
        case "values":
            return filled(shape, own, draw(st.integers(0, 9)), False)
        case "device":
            return tl.empty(shape, dtype=getattr(tl, own), device="meta")
    return draw(tensors(shape, draw(st.sampled_from(DTYPES))))


@st.composite
def calls(draw, schema: Schema, name: str) -> tuple[list, dict]:
    """Positional and keyword arguments for an operator; `name` is that of its functional form."""
    if name in GOOD and draw(st.sampled_from((True, True, False))):
        return draw(near(schema, name))
    shape, dtype = draw(shapes), draw(st.sampled_from(DTYPES))
    positional, keywords = [], {}
    for arg in schema.args:
        if arg.keyword_only:
            if arg.default is None or draw(st.booleans()):
                keywords[arg.name] = draw(argument(arg, shape, dtype))
        else:
            positional.append(draw(argument(arg, shape, dtype)))
    return positional, keywords
