"""Whether a backend supports a match with a configuration."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import tl_core
from tl_compiler.fx import Node

from ..backend_config import DTypeConfig, DTypeWithConstraints
from ..dtypes import qint8, quint8
from .match_utils import Match
from .observers import has_fixed_range, is_float
from .types_of_nodes import has_tensor, is_observable

__all__ = ["NodeTypes", "argument_role", "supported_types", "types_of_qconfig"]


@dataclass
class NodeTypes:
    """The observers that a configuration constructs, for one look at their types.

    Args:
        activation: the observer of the activations, or None.
        weight: the observer of the weight, or None.
    """

    activation: Any
    weight: Any

    @property
    def is_dynamic(self) -> bool:
        """Whether activations are quantized at each call."""
        return bool(getattr(self.activation, "is_dynamic", False))

    @property
    def dtype(self) -> Any:
        """The type of the activations."""
        return getattr(self.activation, "dtype", tl_core.float32)

    @property
    def weight_dtype(self) -> Any:
        """The type of the weight."""
        return getattr(self.weight, "dtype", tl_core.float32)

    @property
    def output_dtype(self) -> Any:
        """The type of the result."""
        return tl_core.float32 if self.is_dynamic else self.dtype

    @property
    def bias_dtype(self) -> Any:
        """The type of the bias: float16 if activations and weight are."""
        half = tl_core.float16
        is_half = self.dtype is half and self.weight_dtype is half and not self.is_dynamic
        return half if is_half else tl_core.float32


def types_of_qconfig(qconfig: Any) -> NodeTypes:
    """The types of a configuration.

    Args:
        qconfig: the configuration.
    """
    return NodeTypes(qconfig.activation(), qconfig.weight() if qconfig.weight is not None else None)


def argument_role(node: Node, index: int, indices: dict[str, int]) -> str:
    """Whether an argument of a call is the weight, the bias or an activation.

    Args:
        node: the call.
        index: the position, or the keyword.
        indices: the positions by role.
    """
    for role in ("weight", "bias"):
        if indices.get(role) == index or index == role:
            return role
    return "activation"


def arguments(node: Node) -> list[tuple[Any, Any]]:
    """The arguments of a call with their positions or keywords.

    Args:
        node: the call.
    """
    return [*enumerate(node.args), *node.kwargs.items()]


def supported_types(match: Match, qconfig: Any, answers: dict[Any, bool]) -> DTypeConfig | None:
    """The first set of types of a match's pattern that a configuration fits, or None.

    Args:
        match: the match.
        qconfig: the configuration.
        answers: answers of `has_tensor`.
    """
    types = types_of_qconfig(qconfig)
    for config in match.config.dtype_configs:
        if _fits(match, types, config, answers):
            return config
    return None


def _fits(match: Match, types: NodeTypes, config: DTypeConfig, answers: dict[Any, bool]) -> bool:
    root, indices = match.root, match.indices
    for index, arg in arguments(root):
        role = argument_role(root, index, indices)
        if not has_tensor(arg, answers) or (role == "activation" and not _counts(root, index, arg, answers)):
            continue
        if role == "weight":
            target_type = config.weight_dtype_with_constraints
            if target_type.dtype is not None and not _accepts(target_type, types.weight, types.weight_dtype):
                return False
        elif role == "bias":
            if config.bias_dtype is not None and config.bias_dtype is not types.bias_dtype:
                return False
        elif not _accepts_input(config, types):
            return False
    target_type = config.output_dtype_with_constraints
    if target_type.dtype is None:
        return True
    return target_type.dtype is types.output_dtype and (
        types.is_dynamic or _satisfies(target_type, types.activation)
    )


def _counts(node: Node, index: Any, arg: Any, answers: dict[Any, bool]) -> bool:
    return not isinstance(index, int) or is_observable(node, index, arg, answers)


def _accepts_input(config: DTypeConfig, types: NodeTypes) -> bool:
    target_type = config.input_dtype_with_constraints
    if target_type.dtype is None:
        return True
    return bool(config.is_dynamic) == types.is_dynamic and _accepts(
        target_type, types.activation, types.dtype
    )


def _accepts(target_type: DTypeWithConstraints, observer: Any, dtype: Any) -> bool:
    return target_type.dtype is dtype and _satisfies(target_type, observer)


def _satisfies(target_type: DTypeWithConstraints, observer: Any) -> bool:
    """Whether an observer's integers and scales are within the limits."""
    if target_type.dtype not in (qint8, quint8) or is_float(observer):
        return True
    low, high = getattr(observer, "quant_min", None), getattr(observer, "quant_max", None)
    if not _within(target_type, low, high, "QConfig quantization range must fall within the backend's"):
        return False
    if target_type.scale_min_lower_bound is not None and not has_fixed_range(observer):
        eps = getattr(observer, "eps", None)
        eps = getattr(getattr(observer, "activation_post_process", None), "eps", None) if eps is None else eps
        if eps is None:
            warnings.warn("QConfig must specify 'eps' for this backend, ignoring it", stacklevel=2)
            return False
        if float(eps) < target_type.scale_min_lower_bound:
            warnings.warn(
                f"QConfig eps ({float(eps)}) must be greater than or equal to the backend's minimum scale "
                f"({target_type.scale_min_lower_bound}), ignoring the QConfig",
                stacklevel=2,
            )
            return False
    return target_type.scale_exact_match is None or _is_exact(target_type, observer)


def _within(target_type: DTypeWithConstraints, low: Any, high: Any, text: str) -> bool:
    least, most = target_type.quant_min_lower_bound, target_type.quant_max_upper_bound
    if least is None or most is None or target_type.scale_exact_match is not None:
        return True
    if low is None or high is None or low < least or high > most:
        warnings.warn(f"{text}: [{low}, {high}] is not within [{least}, {most}], ignoring it", stacklevel=3)
        return False
    return True


def _is_exact(target_type: DTypeWithConstraints, observer: Any) -> bool:
    if not has_fixed_range(observer):
        warnings.warn(
            "QConfig must specify a FixedQParamsObserver or a FixedQParamsFakeQuantize for fixed qparams ops, "
            "ignoring it",
            stacklevel=2,
        )
        return False
    inner = getattr(observer, "activation_post_process", observer)
    scale, zero = float(inner.scale), int(inner.zero_point)
    if scale != target_type.scale_exact_match or zero != target_type.zero_point_exact_match:
        warnings.warn(
            f"QConfig fixed scale ({scale}) and zero point ({zero}) do not match the backend's "
            f"({target_type.scale_exact_match} and {target_type.zero_point_exact_match}), ignoring it",
            stacklevel=2,
        )
        return False
    return True
