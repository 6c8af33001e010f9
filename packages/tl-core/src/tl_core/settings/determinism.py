"""Whether a program must be deterministic. Every operator of tl is, so that these switches forbid nothing: they are
remembered for those who ask, and memory that nobody has written is filled.

>>> use_deterministic_algorithms(True, warn_only=True)
>>> get_deterministic_debug_mode()
1
>>> use_deterministic_algorithms(False)
"""

from __future__ import annotations

from tl_core import _C
from tl_core.settings import switches

_MODES = ("default", "warn", "error")

switches.declare("deterministic.mode", 0, int)
switches.declare("deterministic.warn_only", False, bool)  # remembered while there is no demand
switches.declare("deterministic.fill_uninitialized_memory", True, bool)


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Asks that operators give the same results for the same inputs, or raise; with `warn_only`, or warn.

    Operators of tl always do. What changes: `empty` and its kin, and the new part after `resize_`, hold NaN, or the
    largest number of an integer type, unless `tl.utils.deterministic.fill_uninitialized_memory` is False.

    >>> use_deterministic_algorithms(True)
    >>> import tl_core as tl
    >>> tl.empty(2)
    tensor([nan, nan])
    >>> use_deterministic_algorithms(False)
    """
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(value, bool):
            position = " (position 1)" if name == "mode" else ""
            raise TypeError(
                f"_set_deterministic_algorithms(): argument '{name}'{position} must be bool, not {type(value).__name__}"
            )
    _set_mode((1 if warn_only else 2) if mode else 0, warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether `use_deterministic_algorithms` is on, in either form.

    Example:
        >>> import tl_core
        >>> tl_core.are_deterministic_algorithms_enabled()
        False
    """
    return get_deterministic_debug_mode() > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether an operator that is not deterministic would warn rather than raise.

    Example:
        >>> import tl_core
        >>> tl_core.is_deterministic_algorithms_warn_only_enabled()
        False
    """
    warn_only: bool = switches.get("deterministic.warn_only")
    return warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """The same switch in one word: "default" (0), "warn" (1) or "error" (2).

    Raises TypeError for anything but a str or int, RuntimeError for another word or number.

    Example:
        >>> import tl_core
        >>> tl_core.set_deterministic_debug_mode("warn")
        >>> tl_core.is_deterministic_algorithms_warn_only_enabled()
        True
        >>> tl_core.set_deterministic_debug_mode("default")
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, "
                f"but got {debug_mode}"
            )
        debug_mode = _MODES.index(debug_mode)
    if debug_mode not in range(len(_MODES)):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    _set_mode(int(debug_mode), debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """0: no demand, 1: warn, 2: raise.

    Example:
        >>> import tl_core
        >>> tl_core.get_deterministic_debug_mode()
        0
    """
    mode: int = switches.get("deterministic.mode")
    return mode


def fills_uninitialized_memory() -> bool:
    """Whether memory that nobody has written is filled while determinism is asked for."""
    fills: bool = switches.get("deterministic.fill_uninitialized_memory")
    return fills


def set_fills_uninitialized_memory(fill: bool) -> None:
    """What `tl.utils.deterministic.fill_uninitialized_memory = fill` does."""
    switches.set("deterministic.fill_uninitialized_memory", fill)
    apply()


def _set_mode(mode: int, warn_only: bool) -> None:
    switches.set("deterministic.mode", mode)
    switches.set("deterministic.warn_only", warn_only)
    apply()


def apply() -> None:
    """Tells the core what the switches say."""
    _C._set_fill_uninitialized(are_deterministic_algorithms_enabled() and fills_uninitialized_memory())
