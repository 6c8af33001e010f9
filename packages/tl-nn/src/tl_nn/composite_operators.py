"""Operators of the namespace aten that the functions of `tl_nn.functional` are: products with scales, dropouts."""

from __future__ import annotations

from typing import Any

from tl_core.operators import composites as composite_operators
from tl_core.operators.composites import add

from . import functional, utils
from .functional import numbered_reductions
from .functional.grouped_products import grouped_mm
from .functional.scaled_products import (
    grouped_product_with_scales,
    product_by_recipes,
    product_with_scales,
)


def __getattr__(name: str) -> Any:
    """The operator of that name, which programs may call as a function."""
    return getattr(composite_operators, name)


_DROPOUT = "float p, bool train"
_DROPOUTS = ("alpha_dropout", "feature_dropout", "feature_alpha_dropout")
_SCALED = "Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b"
_OPTIONS = (
    "Tensor? bias=None, Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False"
)

add(
    [
        ("_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor", numbered_reductions._weight_norm),
    ]
)

add(
    [
        (
            (
                "_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, "
                "ScalarType? out_dtype=None) -> Tensor"
            ),
            lambda a, b, offs, bias, kind: grouped_mm(a, b, offs=offs, bias=bias, out_dtype=kind),
        ),
        (f"_scaled_mm({_SCALED}, {_OPTIONS}) -> Tensor", product_with_scales),
        (
            f"_scaled_grouped_mm({_SCALED}, Tensor? offs=None, {_OPTIONS}) -> Tensor",
            grouped_product_with_scales,
        ),
        (
            (
                "_scaled_mm_v2(Tensor self, Tensor mat2, Tensor[] scale_a, int[] recipe_a, int[] swizzle_a, "
                "Tensor[] scale_b, int[] recipe_b, int[] swizzle_b, Tensor? bias, ScalarType? out_dtype, "
                "int[] contraction_dim=[], bool use_fast_accum=False) -> Tensor"
            ),
            product_by_recipes,
        ),
    ]
)

add(
    [
        ("relu6(Tensor self) -> Tensor", functional.relu6),
        ("relu6_(Tensor(a!) self) -> Tensor(a!)", lambda self: functional.relu6(self, inplace=True)),
        (
            (
                "pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0., "
                'str padding_side="right") -> Tensor'
            ),
            utils.rnn.pad_sequence,
        ),
        *(
            (f"{name}(Tensor input, {_DROPOUT}) -> Tensor", getattr(numbered_reductions, name))
            for name in _DROPOUTS
        ),
        *(
            (f"{name}_(Tensor(a!) self, {_DROPOUT}) -> Tensor(a!)", getattr(numbered_reductions, f"{name}_"))
            for name in _DROPOUTS
        ),
    ]
)
