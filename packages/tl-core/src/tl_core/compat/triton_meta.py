"""Parameters of sparse kernels in Triton, which need a GPU: a table that programs fill and read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["get_meta", "minimize", "update"]

_TABLE: dict[tuple[str, str | None, Any], dict[Any, Any]] = {}


def get_meta(
    op: str, key: Any, device_name: str | None = None, version: Any = (0, None, 0.5), exact: bool = False
) -> Any:
    """The parameters of a kernel, or None without an entry.

    Args:
        op: the name of the operator.
        key: the sizes.
        device_name: the name of the device.
        version: the version of the kernel, with the type and the density.
        exact: whether a key without stars is required, which all keys of the table are.

    Example:
        >>> get_meta("scatter_mm", (1, 2))
    """
    return _TABLE.get((op, device_name, version), {}).get(key)


def update(op: str, device_name: str | None, version: Any, key: Any, value: Any) -> None:
    """Enters the parameters of a kernel.

    Args:
        op: the name of the operator.
        device_name: the name of the device.
        version: the version of the kernel.
        key: the sizes.
        value: the parameters.

    Example:
        >>> update("scatter_mm", "cpu", 0, (1, 2), (4, 8))
        >>> get_meta("scatter_mm", (1, 2), "cpu", 0)
        (4, 8)
    """
    _TABLE.setdefault((op, device_name, version), {})[key] = value


def minimize(target_func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Raises NotImplementedError: parameters are searched by running kernels.

    Args:
        target_func: the function that runs a kernel.
        *args: the parameters to start from.
        **kwargs: the settings of the search.
    """
    raise NotImplementedError("minimize runs kernels in Triton, which need a GPU")
