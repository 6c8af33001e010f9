"""Tables of patterns that a program extends. A backend's configuration has replaced them, so they begin empty."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..fake_quantize import FixedQParamsFakeQuantize
from ..graph.match_utils import pattern_size

__all__ = [
    "get_default_fusion_patterns",
    "get_default_output_activation_post_process_map",
    "get_default_quant_patterns",
]

QuantizeHandler = Any
_DEFAULT_FUSION_PATTERNS: dict[Any, Any] = {}
_DEFAULT_QUANTIZATION_PATTERNS: dict[Any, Any] = {}
_DEFAULT_OUTPUT_FAKE_QUANTIZE_MAP: dict[Any, Any] = {}
_DEFAULT_OUTPUT_OBSERVER_MAP: dict[Any, Any] = {}


def _register_fusion_pattern(pattern: Any) -> Callable[[Any], Any]:
    def insert(handler: Any) -> Any:
        _DEFAULT_FUSION_PATTERNS[pattern] = handler
        return handler

    return insert


def _register_quant_pattern(pattern: Any, fixed_qparams_observer: Any = None) -> Callable[[Any], Any]:
    def insert(handler: Any) -> Any:
        _DEFAULT_QUANTIZATION_PATTERNS[pattern] = handler
        if fixed_qparams_observer is not None:
            rounding = FixedQParamsFakeQuantize.with_args(observer=fixed_qparams_observer)
            _DEFAULT_OUTPUT_FAKE_QUANTIZE_MAP[pattern] = rounding
            _DEFAULT_OUTPUT_OBSERVER_MAP[pattern] = fixed_qparams_observer
        return handler

    return insert


def get_default_fusion_patterns() -> dict[Any, Any]:
    """A copy of the table of fusions.

    Example:
        >>> get_default_fusion_patterns()
        {}
    """
    return dict(_DEFAULT_FUSION_PATTERNS)


def get_default_quant_patterns() -> dict[Any, Any]:
    """A copy of the table of handlers.

    Example:
        >>> get_default_quant_patterns()
        {}
    """
    return dict(_DEFAULT_QUANTIZATION_PATTERNS)


def get_default_output_activation_post_process_map(is_training: bool) -> dict[Any, Any]:
    """A copy of the table of observers of results with a known range.

    Args:
        is_training: whether the table of training is wanted.

    Example:
        >>> get_default_output_activation_post_process_map(False)
        {}
    """
    return dict(_DEFAULT_OUTPUT_FAKE_QUANTIZE_MAP if is_training else _DEFAULT_OUTPUT_OBSERVER_MAP)


def _sorted_patterns_dict(patterns_dict: dict[Any, Any]) -> dict[Any, Any]:
    """The longest patterns first."""

    def rank(item: tuple[Any, Any]) -> int:
        return -pattern_size(item[0]) if isinstance(item[0], tuple) else 1

    return dict(sorted(patterns_dict.items(), key=rank))
