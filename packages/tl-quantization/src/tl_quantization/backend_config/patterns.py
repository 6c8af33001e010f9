"""Forms of a pattern: the order of the calls, and nested tuples from the last result to its inputs."""

from __future__ import annotations

from typing import Any

__all__ = ["nested_form"]


def nested_form(config: Any) -> Any:
    """A pattern's nested form: `(ReLU, Conv2d)` for `(Conv2d, ReLU)`, `(ReLU, (Norm, Conv))` for three calls.

    Args:
        config (BackendPatternConfig): Has `pattern` in the order of the calls, or the nested form itself.

    Raises:
        ValueError: If a tuple has neither two nor three entries.
    """
    if config._pattern_complex_format is not None:
        return config._pattern_complex_format
    pattern = config.pattern
    if not isinstance(pattern, tuple):
        return pattern
    if len(pattern) == 2:
        return pattern[1], pattern[0]
    if len(pattern) == 3:
        return pattern[2], (pattern[1], pattern[0])
    raise ValueError(f"pattern must be a tuple with 2 or 3 entries, but got {pattern!r}")
