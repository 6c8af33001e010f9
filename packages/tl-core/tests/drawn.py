"""Hypothesis strategies for arguments of any operator: tensors of every layout and type, numbers, sizes, nonsense."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import tl_core as tl

sys.path.insert(0, str(Path(__file__).parents[1]))
from opgen.schema import Arg, Schema

DTYPES = (
    *("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex32", "complex64", "complex128"),
)
WHOLE = ("int64", "int64", "int64", "int32", "bool", "uint8")
FAR = (2**50, -(2**50), 2**62, 2**63 - 1, -(2**63))  # no memory holds that many
FLOATS = (0.0, 1.0, -1.0, 0.5, 3.0, 1e300, float("inf"), float("nan"))

dtypes = st.sampled_from(DTYPES).map(lambda name: getattr(tl, name))
integers = st.integers(-3, 6) | st.integers(-3, 6) | st.sampled_from(FAR)
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
        case "int" if arg.name == "dim":
            return draw(st.integers(-3, 3))
        case "int[]" if "dim" in arg.name:
            return draw(st.lists(st.integers(-3, 3), max_size=3))
        case "int[]" if draw(st.booleans()):
            return list(shape)
    return draw(PLAIN[arg.type])


PLAIN: dict[str, st.SearchStrategy] = {
    "Scalar": numbers,
    "Scalar[]": st.lists(numbers, max_size=3),
    "bool": st.booleans(),
    "bool[]": st.lists(st.booleans(), max_size=3),
    "int": integers,
    "int[]": st.lists(integers, max_size=4),
    "float": st.sampled_from(FLOATS),
    "float[]": st.lists(st.sampled_from(FLOATS), max_size=3),
    "str": st.sampled_from(
        ("sum", "prod", "mean", "amax", "amin", "floor", "trunc", "reflect", "no such mode")
    ),
    "ScalarType": dtypes,
    "Device": st.sampled_from(("cpu", "meta")),
    "Layout": st.just(tl.strided),
    "MemoryFormat": st.sampled_from((tl.contiguous_format, tl.preserve_format, tl.channels_last)),
    "Generator": st.builds(lambda seed: tl.Generator().manual_seed(seed), st.integers(0, 9)),
}


@st.composite
def calls(draw, schema: Schema) -> tuple[list, dict]:
    """Positional and keyword arguments for an operator."""
    shape, dtype = draw(shapes), draw(st.sampled_from(DTYPES))
    positional, keywords = [], {}
    for arg in schema.args:
        if arg.keyword_only:
            if arg.default is None or draw(st.booleans()):
                keywords[arg.name] = draw(argument(arg, shape, dtype))
        else:
            positional.append(draw(argument(arg, shape, dtype)))
    return positional, keywords
