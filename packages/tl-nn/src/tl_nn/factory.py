"""Arguments of modules that go to the functions that make their tensors."""

from __future__ import annotations

from typing import Any

__all__ = ["factory_kwargs"]

_NAMES = ("device", "dtype", "memory_format")


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments of a module that functions such as `tl.empty` take.

    Args:
        kwargs: `device`, `dtype` and `memory_format`; or those within `factory_kwargs`, where a module has an
            argument of such a name itself. None stands for none.

    Returns:
        A dictionary of `device`, `dtype` and `memory_format`, as far as they are given.

    Raises:
        TypeError: there is another argument, or one is given in both ways.

    Example:
        >>> factory_kwargs({"dtype": "float64", "factory_kwargs": {"device": "cpu"}})
        {'device': 'cpu', 'dtype': 'float64'}
    """
    arguments = dict(kwargs or {})
    options = dict(arguments.pop("factory_kwargs", None) or {})
    unexpected = arguments.keys() - set(_NAMES)
    if unexpected:
        raise TypeError(f"factory_kwargs: unexpected kwargs {', '.join(sorted(unexpected))}")
    for name in _NAMES:
        if name in arguments:
            if name in options:
                raise TypeError(f"factory_kwargs: {name} specified twice, in **kwargs and in factory_kwargs")
            options[name] = arguments[name]
    return options
