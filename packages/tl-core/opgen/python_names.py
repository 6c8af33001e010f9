"""How the manual spells parameters whose names in the schema are others; Python takes both.

FUNCTION and METHOD map a public name, without the underscore of its in-place form, to {schema's name: manual's}.
"""

from __future__ import annotations

import re

_SPLIT = {"sections": "split_size_or_sections", "indices": "split_size_or_sections"}
_SECTIONS = dict.fromkeys(("sections", "indices", "tensor_indices_or_sections"), "indices_or_sections")
_VALUE = {"other": "value"}
_AXES = {"dim0": "axis0", "dim1": "axis1"}

FUNCTION = {
    "broadcast_to": {"size": "shape"},
    "cholesky_inverse": {"self": "L"},
    "cholesky_solve": {"self": "B", "input2": "L"},
    "concatenate": {"dim": "axis"},
    "dsplit": _SECTIONS,
    "hsplit": _SECTIONS,
    "lu_solve": {"self": "b"},
    "matrix_exp": {"self": "A"},
    "orgqr": {"input2": "tau"},
    "ormqr": {"input2": "tau", "input3": "other"},
    "searchsorted": {"self": "values"},
    "split": {"self": "tensor", "split_size": "split_size_or_sections"},
    "swapaxes": _AXES,
    "tensor_split": _SECTIONS,
    "triangular_solve": {"self": "b"},
    "true_divide": {"self": "dividend", "other": "divisor"},
    "vsplit": _SECTIONS,
}

METHOD = {
    "bmm": {"mat2": "batch2"},
    "broadcast_to": {"size": "shape"},
    "div": _VALUE,
    "divide": _VALUE,
    "dot": {"tensor": "other"},
    "dsplit": _SPLIT,
    "floor_divide": _VALUE,
    "fmod": {"other": "divisor"},
    "hsplit": _SPLIT,
    "index_copy": {"source": "tensor2"},
    "index_copy_": {"source": "tensor"},
    "masked_scatter": {"source": "tensor"},
    "masked_scatter_": {},
    "matmul": {"other": "tensor2"},
    "mul": _VALUE,
    "multiply": _VALUE,
    "narrow": {"dim": "dimension"},
    "remainder": {"other": "divisor"},
    "resize_as_": {"the_template": "tensor"},
    "swapaxes": _AXES,
    "take": {"index": "indices"},
    "tensor_split": _SECTIONS,
    "to_sparse": {"sparse_dim": "sparseDims"},
    "true_divide": _VALUE,
    "vsplit": _SPLIT,
}

# Functions and methods whose keyword arguments are taken by position, too, as the manual writes them.
BY_POSITION = {
    "contiguous", "cumprod", "cumsum", "gelu", "nansum", "prod", "resize_as_", "round",
    "scaled_dot_product_attention", "sum",
}  # fmt: skip

# Functions that the array API standard has under the same name. Their signatures show its keywords, too.
STANDARD = {
    "all", "any", "argmax", "argmin", "argsort", "concat", "count_nonzero", "diff", "linalg_cross",
    "linalg_matrix_norm", "linalg_vecdot", "linalg_vector_norm", "max", "mean", "min", "prod", "sort",
    "stack", "std", "sum", "var",
}  # fmt: skip
_STANDARD_KEYWORDS = {"dim": "axis", "keepdim": "keepdims"}

# Methods whose parameters no single list tells.
SHOWN_METHOD = {"to": "*args, **kwargs", "view": "*shape", "resize_": "*sizes, memory_format=None"}


def spellings(name: str, method: bool) -> dict[str, str]:
    """{schema's name: manual's} of a public function or method."""
    table = METHOD if method else FUNCTION
    return table.get(name, table.get(name.removesuffix("_"), {}))


def by_position(name: str) -> bool:
    """Whether what the schema calls keyword arguments may be given by position."""
    return name in BY_POSITION or name.removesuffix("_") in BY_POSITION


def standard_keyword(name: str, parameter: str) -> str | None:
    """The array API's keyword for a parameter of a function that the standard has; None where it has none."""
    if name in STANDARD or re.fullmatch(r"fft_i?[hr]?fft", name):
        return _STANDARD_KEYWORDS.get(parameter)
    return None
