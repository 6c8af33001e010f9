"""The functions that support `ExpandedWeight`: called on the weights, differentiated sample by sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from tl_autograd import Function, enable_grad, grad
from tl_autograd.func import vjp, vmap
from tl_core.base.rule_table import RuleTable

from ... import functional as F
from .expanded_weight import ExpandedWeight
from .expanded_weights_utils import check_batch, is_batch_first, set_grad_sample_if_exists

__all__ = ["call"]

_Values = dict[str, Any]


class _Rule(NamedTuple):
    """The call of a function, and the arguments whose effects the derivative does not repeat."""

    names: tuple[str, ...]
    rank: Callable[[_Values], int]  # how many dimensions a batch of samples has at least
    repeated: Callable[[_Values], Mapping[str, Any]] = lambda values: {}  # arguments without side effects


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _convolution(n: int) -> _Rule:
    return _Rule(_names("input weight bias stride padding dilation groups"), lambda values: n + 2)


def _without_statistics(values: _Values) -> Mapping[str, Any]:
    """The running statistics are written by the call itself, and read only where the input's own aren't."""
    own = values.get("use_input_stats", True)
    return {"running_mean": None, "running_var": None} if own else {}


PER_SAMPLE: RuleTable[_Rule] = RuleTable("per-sample gradients")
for _dims, _conv in enumerate((F.conv1d, F.conv2d, F.conv3d), 1):
    PER_SAMPLE.rule(_conv)(_convolution(_dims))
PER_SAMPLE.rule(F.linear)(_Rule(_names("input weight bias"), lambda values: 2))
PER_SAMPLE.rule(F.embedding)(
    _Rule(
        _names("input weight padding_idx max_norm norm_type scale_grad_by_freq sparse"),
        lambda values: 2,
        lambda values: {"max_norm": None, "sparse": False},  # the rows have been shortened by the call
    )
)
PER_SAMPLE.rule(F.group_norm)(_Rule(_names("input num_groups weight bias eps"), lambda values: 2))
PER_SAMPLE.rule(F.layer_norm)(
    _Rule(
        _names("input normalized_shape weight bias eps"), lambda values: len(values["normalized_shape"]) + 1
    )
)
PER_SAMPLE.rule(F.instance_norm)(
    _Rule(
        _names("input running_mean running_var weight bias use_input_stats momentum eps"),
        lambda values: 3,
        _without_statistics,
    )
)


def call(func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
    """Calls a function on arguments some of which are `ExpandedWeight`.

    Raises:
        RuntimeError: If the function doesn't support them, or the input is no batch of their size.
    """
    rule = PER_SAMPLE.get(func)
    if rule is None:
        name = getattr(func, "__name__", repr(func))
        raise RuntimeError(f"Expanded Weights encountered but cannot handle function {name}")
    values = {**dict(zip(rule.names, args, strict=False)), **kwargs}
    arguments = [value for name, value in values.items() if name != "input"]
    check_batch(func, values["input"], arguments)
    if values["input"].dim() < rule.rank(values):
        raise RuntimeError(
            f"Expanded Weights requires a batch of inputs, of {rule.rank(values)} dimensions at least in function "
            f"{func.__name__}, got an input of shape {tuple(values['input'].shape)}"
        )
    return _PerSample.apply(func, rule, tuple(values), *values.values())


def _weights(values: _Values) -> _Values:
    return {name: value for name, value in values.items() if isinstance(value, ExpandedWeight)}


class _PerSample(Function):
    """The call. Backward stores the samples' gradients at the weights, and returns the gradient of the input."""

    @staticmethod
    def forward(ctx: Any, func: Any, rule: _Rule, names: tuple[str, ...], *arguments: Any) -> Any:
        values = dict(zip(names, arguments, strict=True))
        plain = {name: weight.orig_weight.detach() for name, weight in _weights(values).items()}
        result = func(**{**values, **plain})
        ctx.func, ctx.values, ctx.plain = func, {**values, **rule.repeated(values)}, tuple(plain)
        ctx.save_for_backward(values["input"], *plain.values())
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (upstream,) = grads
        input, *plain = ctx.saved_tensors
        weights = _weights(ctx.values)
        values = {**ctx.values, **dict(zip(ctx.plain, plain, strict=True))}
        position = list(values).index("input")
        results: list[Any] = [None] * (3 + len(values))
        if ctx.needs_input_grad[3 + position]:
            with enable_grad():
                x = input.detach().requires_grad_()
                results[3 + position] = grad(ctx.func(**{**values, "input": x}), x, upstream)[0]
        sample_grads = _of_samples(
            ctx.func, values, ctx.plain, is_batch_first(tuple(weights.values())), upstream
        )
        for weight, gradients in zip(weights.values(), sample_grads, strict=True):
            set_grad_sample_if_exists(weight, partial(_constant, gradients))
        return tuple(results)


def _constant(gradients: Any, weight: Any) -> Any:
    return gradients


def _of_samples(func: Any, values: _Values, names: tuple[str, ...], batch_first: bool, upstream: Any) -> Any:
    """The gradients of each sample by the named arguments, the samples along the first dimension."""
    dim = 0 if batch_first else 1

    def of_sample(sample: Any, gradient: Any) -> Any:
        batch = {**values, "input": sample.unsqueeze(dim)}
        _, pull = vjp(
            lambda *weights: func(**{**batch, **dict(zip(names, weights, strict=True))}),
            *(values[name] for name in names),
        )
        return pull(gradient.unsqueeze(dim))

    return vmap(of_sample, in_dims=(dim, dim))(values["input"], upstream)


ExpandedWeight._call = staticmethod(call)
