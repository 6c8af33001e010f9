"""Operators of the namespace aten that the functions of `tl_nn.functional` are: losses, distances, dropouts.

In them a reduction is a number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core import composite_operators
from tl_core.composite_operators import add

from . import functional, utils
from ._reduction import reduced

_REDUCTIONS = "none", "mean", "sum"


def _loss(name: str) -> Callable[..., Any]:
    """The loss of that name, which takes two or three tensors, then what its signature has by name."""
    function = getattr(functional, name)

    def call(*tensors: Any, reduction: int, **options: Any) -> Any:
        return function(*tensors, reduction=_REDUCTIONS[reduction], **options)

    return call


def _ordered(name: str, tensors: int, options: str) -> Callable[..., Any]:
    """The same with its options by position, in this order."""
    loss, names = _loss(name), options.split()
    return lambda *arguments: loss(*arguments[:tensors], **dict(zip(names, arguments[tensors:], strict=True)))


def _training(name: str) -> Callable[..., Any]:
    """A dropout, which may be in place."""
    function, inplace = getattr(functional, name.removesuffix("_")), name.endswith("_")
    return lambda input, p, train: function(input, p, train, inplace)


def _feature_dropout(name: str) -> Callable[..., Any]:
    """Whole channels: the input is a batch, of any number of dimensions."""

    def call(input: Any, p: float, train: bool) -> Any:
        flat = input.reshape(*input.shape[:2], -1) if input.dim() > 2 else input.unsqueeze(-1)
        function = functional.feature_alpha_dropout if "alpha" in name else functional.dropout1d
        out = function(flat, p, train).reshape(input.shape)
        return input.copy_(out) if name.endswith("_") else out

    return call


def _kl_div(self: Any, target: Any, reduction: int, *, log_target: bool) -> Any:
    losses = functional.kl_div(self, target, reduction="none", log_target=log_target)
    return reduced(losses, _REDUCTIONS[reduction])


def __getattr__(name: str) -> Any:
    """The operator of that name, which programs may call as a function."""
    return getattr(composite_operators, name)


_CLASSES = "Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100"
_PAIR = "Tensor self, Tensor target"
_DROPOUT = "float p, bool train"
_CTC = "int blank=0, int reduction=1, bool zero_infinity=False"
_CTC_OPTIONS = "blank reduction zero_infinity"
_nll = _ordered("nll_loss", 2, "weight reduction ignore_index")
_ctc = _ordered("ctc_loss", 4, _CTC_OPTIONS)

add(
    [
        *(
            (f"{name}({_PAIR}, int reduction=1) -> Tensor", _ordered(name, 2, "reduction"))
            for name in ("mse_loss", "l1_loss", "soft_margin_loss", "multilabel_margin_loss")
        ),
        (
            f"smooth_l1_loss({_PAIR}, int reduction=1, float beta=1.) -> Tensor",
            _ordered("smooth_l1_loss", 2, "reduction beta"),
        ),
        (
            f"huber_loss({_PAIR}, int reduction=1, float delta=1.) -> Tensor",
            _ordered("huber_loss", 2, "reduction delta"),
        ),
        (
            f"binary_cross_entropy({_PAIR}, Tensor? weight=None, int reduction=1) -> Tensor",
            _ordered("binary_cross_entropy", 2, "weight reduction"),
        ),
        (
            (
                f"binary_cross_entropy_with_logits({_PAIR}, Tensor? weight=None, Tensor? pos_weight=None, "
                "int reduction=1) -> Tensor"
            ),
            lambda self, target, weight, pos_weight, reduction: _loss("binary_cross_entropy_with_logits")(
                self, target, weight=weight, pos_weight=pos_weight, reduction=reduction
            ),
        ),
        (f"kl_div({_PAIR}, int reduction=1, *, bool log_target=False) -> Tensor", _kl_div),
        *((f"{name}({_CLASSES}) -> Tensor", _nll) for name in ("nll_loss", "nll_loss2d", "nll_loss_nd")),
        (
            f"cross_entropy_loss({_CLASSES}, float label_smoothing=0.) -> Tensor",
            _ordered("cross_entropy", 2, "weight reduction ignore_index label_smoothing"),
        ),
        (
            (
                f"multi_margin_loss({_PAIR}, Scalar p=1, Scalar margin=1, Tensor? weight=None, "
                "int reduction=1) -> Tensor"
            ),
            _ordered("multi_margin_loss", 2, "p margin weight reduction"),
        ),
        *(
            (
                f"{name}(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor",
                _ordered(name, 3, "margin reduction"),
            )
            for name in ("margin_ranking_loss", "cosine_embedding_loss")
        ),
        (
            f"hinge_embedding_loss({_PAIR}, float margin=1., int reduction=1) -> Tensor",
            _ordered("hinge_embedding_loss", 2, "margin reduction"),
        ),
        (
            (
                "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., "
                "float eps=1e-06, bool swap=False, int reduction=1) -> Tensor"
            ),
            _ordered("triplet_margin_loss", 3, "margin p eps swap reduction"),
        ),
        (
            (
                "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, "
                "int reduction) -> Tensor"
            ),
            _ordered("poisson_nll_loss", 2, "log_input full eps reduction"),
        ),
        (
            (
                "ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, "
                f"{_CTC}) -> Tensor"
            ),
            _ctc,
        ),
        (
            (
                "ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, "
                f"{_CTC}) -> Tensor"
            ),
            _ctc,
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
        (f"alpha_dropout(Tensor input, {_DROPOUT}) -> Tensor", _training("alpha_dropout")),
        (f"alpha_dropout_(Tensor(a!) self, {_DROPOUT}) -> Tensor(a!)", _training("alpha_dropout_")),
        *(
            (f"{name}(Tensor input, {_DROPOUT}) -> Tensor", _feature_dropout(name))
            for name in ("feature_dropout", "feature_alpha_dropout")
        ),
        *(
            (f"{name}(Tensor(a!) self, {_DROPOUT}) -> Tensor(a!)", _feature_dropout(name))
            for name in ("feature_dropout_", "feature_alpha_dropout_")
        ),
    ]
)
