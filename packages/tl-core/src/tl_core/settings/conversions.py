"""Switches for what is to become the default: how modules change their parameters.

>>> get_swap_module_params_on_conversion()
False
"""

from __future__ import annotations

from tl_core.settings import switches

__all__ = [
    "get_overwrite_module_params_on_conversion",
    "get_swap_module_params_on_conversion",
    "set_overwrite_module_params_on_conversion",
    "set_swap_module_params_on_conversion",
]

OVERWRITE, SWAP = "future.overwrite_module_params", "future.swap_module_params"
switches.declare(OVERWRITE, False, bool)
switches.declare(SWAP, False, bool)


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Sets whether `Module.to` and its like give a module new parameters instead of changing those it has.

    Args:
        value: whether a module gets new parameters.

    Raises:
        TypeError: the value isn't a bool.

    Example:
        >>> set_overwrite_module_params_on_conversion(False)
    """
    switches.set(OVERWRITE, value)


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether `Module.to` and its like give a module new parameters; False unless it was set.

    Returns:
        bool

    Example:
        >>> from tl_core.settings import conversions as conversion_switches
        >>> conversion_switches.get_overwrite_module_params_on_conversion()
        False
    """
    return switches.get(OVERWRITE)


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Sets whether `Module.to`, its like and `load_state_dict` exchange parameters with `utils.swap_tensors`.

    A parameter then stays the same object whatever its conversion makes of it, also another class or device. It comes
    before `set_overwrite_module_params_on_conversion`.

    Args:
        value: whether parameters are swapped.

    Raises:
        TypeError: the value isn't a bool.

    Example:
        >>> set_swap_module_params_on_conversion(False)
    """
    switches.set(SWAP, value)


def get_swap_module_params_on_conversion() -> bool:
    """Whether modules exchange parameters with `utils.swap_tensors`; False unless it was set.

    Returns:
        bool

    Example:
        >>> from tl_core.settings import conversions as conversion_switches
        >>> conversion_switches.get_swap_module_params_on_conversion()
        False
    """
    return switches.get(SWAP)
