"""Helpers that turn one number into a tuple of them, as layers over several dimensions take either."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that repeats a single value `n` times and turns an iterable into a tuple."""

    def parse(value: Any) -> tuple[Any, ...]:
        return tuple(value) if isinstance(value, Iterable) else (value,) * n

    parse.__name__ = parse.__qualname__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(values: Iterable[Any], n: int) -> tuple[Any, ...]:
    """The values in reverse order, each `n` times: how padding of the last dimension first is written."""
    return tuple(value for value in reversed(tuple(values)) for _ in range(n))


def _list_with_default(out_size: int | Sequence[int | None], defaults: Sequence[int]) -> Any:
    """Sizes whose None entries come from the end of `defaults`. One number stays one.

    Raises:
        ValueError: If there are not more defaults than sizes.
    """
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    last = defaults[len(defaults) - len(out_size) :]
    return [usual if size is None else size for size, usual in zip(out_size, last, strict=True)]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take `prefix` off the names in a state dictionary, in place, order kept.

    Names without the prefix stay. The metadata stays, with the prefix removed from its names.

    Example:
        >>> from tl_nn.modules.utils import consume_prefix_in_state_dict_if_present
        >>> state = {"module.weight": 1, "bias": 2}
        >>> consume_prefix_in_state_dict_if_present(state, "module.")
        >>> state
        {'weight': 1, 'bias': 2}
    """
    _take_off(state_dict, prefix)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is not None:
        _take_off_paths(metadata, prefix)


def _take_off(names: dict[str, Any], prefix: str) -> None:
    for name in list(names):
        names[name.removeprefix(prefix)] = names.pop(name)


def _take_off_paths(metadata: dict[str, Any], prefix: str) -> None:
    """The same for module paths, which have no dot at their end: the prefix itself names the root."""
    for path in list(metadata):
        if path and f"{path}.".startswith(prefix):
            metadata[path[len(prefix) :]] = metadata.pop(path)
