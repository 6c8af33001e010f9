"""Operators of the namespace aten that the functions of `tl_nn.functional` are: losses, distances, dropouts.

In them a reduction is a number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core.operators import composites as composite_operators
from tl_core.operators.composites import add

from . import functional, loss_gradients, utils
from ._reduction import reduction_name
from .functional import numbered_reductions
from .functional.grouped_products import grouped_mm
from .functional.scaled_products import (
    grouped_product_with_scales,
    product_by_recipes,
    product_with_scales,
)


def _loss(name: str, tensors: int, options: str) -> Callable[..., Any]:
    """A loss of `nn.functional`, which takes some tensors, then options by position, in this order."""
    function, names = getattr(functional, name), options.split()

    def call(*arguments: Any) -> Any:
        keywords = dict(zip(names, arguments[tensors:], strict=True))
        keywords["reduction"] = reduction_name(keywords["reduction"], name)
        return function(*arguments[:tensors], **keywords)

    return call


def __getattr__(name: str) -> Any:
    """The operator of that name, which programs may call as a function."""
    return getattr(composite_operators, name)


_CLASSES = "Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100"
_PAIR = "Tensor self, Tensor target"
_DROPOUT = "float p, bool train"
_DROPOUTS = ("alpha_dropout", "feature_dropout", "feature_alpha_dropout")
_SCALED = "Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b"
_OPTIONS = (
    "Tensor? bias=None, Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False"
)
_CTC = "int blank=0, int reduction=1, bool zero_infinity=False"
_nll = _loss("nll_loss", 2, "weight reduction ignore_index")

add(
    [
        ("norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor", numbered_reductions.norm_except_dim),
        ("_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor", numbered_reductions._weight_norm),
    ]
)

add(
    [
        *(
            (f"{name}({_PAIR}, int reduction=1) -> Tensor", _loss(name, 2, "reduction"))
            for name in ("mse_loss", "l1_loss", "soft_margin_loss", "multilabel_margin_loss")
        ),
        (
            f"smooth_l1_loss({_PAIR}, int reduction=1, float beta=1.) -> Tensor",
            _loss("smooth_l1_loss", 2, "reduction beta"),
        ),
        (
            f"huber_loss({_PAIR}, int reduction=1, float delta=1.) -> Tensor",
            _loss("huber_loss", 2, "reduction delta"),
        ),
        (
            f"binary_cross_entropy({_PAIR}, Tensor? weight=None, int reduction=1) -> Tensor",
            _loss("binary_cross_entropy", 2, "weight reduction"),
        ),
        (
            (
                f"binary_cross_entropy_with_logits({_PAIR}, Tensor? weight=None, Tensor? pos_weight=None, "
                "int reduction=1) -> Tensor"
            ),
            numbered_reductions.binary_cross_entropy_with_logits,
        ),
        (f"kl_div({_PAIR}, int reduction=1, *, bool log_target=False) -> Tensor", numbered_reductions.kl_div),
        *((f"{name}({_CLASSES}) -> Tensor", _nll) for name in ("nll_loss", "nll_loss2d", "nll_loss_nd")),
        (
            f"cross_entropy_loss({_CLASSES}, float label_smoothing=0.) -> Tensor",
            _loss("cross_entropy", 2, "weight reduction ignore_index label_smoothing"),
        ),
        (
            (
                f"multi_margin_loss({_PAIR}, Scalar p=1, Scalar margin=1, Tensor? weight=None, "
                "int reduction=1) -> Tensor"
            ),
            _loss("multi_margin_loss", 2, "p margin weight reduction"),
        ),
        *(
            (
                f"{name}(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor",
                getattr(numbered_reductions, name),
            )
            for name in ("margin_ranking_loss", "cosine_embedding_loss")
        ),
        (
            f"hinge_embedding_loss({_PAIR}, float margin=1., int reduction=1) -> Tensor",
            numbered_reductions.hinge_embedding_loss,
        ),
        (
            (
                "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., "
                "float eps=1e-06, bool swap=False, int reduction=1) -> Tensor"
            ),
            numbered_reductions.triplet_margin_loss,
        ),
        (
            (
                "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, "
                "int reduction) -> Tensor"
            ),
            numbered_reductions.poisson_nll_loss,
        ),
        (
            (
                "ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, "
                f"{_CTC}) -> Tensor"
            ),
            numbered_reductions.ctc_loss,
        ),
        (
            (
                "ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, "
                f"{_CTC}) -> Tensor"
            ),
            numbered_reductions.ctc_loss,
        ),
    ]
)

_GRADIENT = "Tensor grad_output, Tensor self, Tensor target"

add(
    [
        *(
            (f"{name}_backward({arguments}) -> Tensor", getattr(loss_gradients, f"{name}_backward"))
            for name, arguments in (
                ("mse_loss", f"{_GRADIENT}, int reduction"),
                ("smooth_l1_loss", f"{_GRADIENT}, int reduction, float beta"),
                ("huber_loss", f"{_GRADIENT}, int reduction, float delta"),
                ("soft_margin_loss", f"{_GRADIENT}, int reduction"),
                ("binary_cross_entropy", f"{_GRADIENT}, Tensor? weight=None, int reduction=1"),
                ("glu", "Tensor grad_output, Tensor self, int dim"),
            )
        ),
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
        (
            "cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
            functional.cosine_similarity,
        ),
        (
            "pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=1e-06, bool keepdim=False) -> Tensor",
            functional.pairwise_distance,
        ),
        ("pdist(Tensor self, float p=2.) -> Tensor", functional.pdist),
        ("one_hot(Tensor self, int num_classes=-1) -> Tensor", functional.one_hot),
        ("relu6(Tensor self) -> Tensor", functional.relu6),
        ("relu6_(Tensor(a!) self) -> Tensor(a!)", lambda self: functional.relu6(self, inplace=True)),
        (
            "bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
            functional.bilinear,
        ),
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
