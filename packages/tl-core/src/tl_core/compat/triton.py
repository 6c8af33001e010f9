"""Whether kernels in Triton can run, and their parameters. The kernels need a GPU, which tl does not have."""

from __future__ import annotations

import importlib.util
from typing import Any, NoReturn

__all__ = ["get_meta", "has_triton", "has_triton_package", "has_triton_tma", "minimize", "update"]


def has_triton_package() -> bool:
    """Whether the library is installed."""
    return importlib.util.find_spec("triton") is not None


def has_triton() -> bool:
    """Whether there is a device that it compiles for."""
    return False


def has_triton_tma() -> bool:
    """Whether there is one with a tensor memory accelerator."""
    return False


def get_meta(
    op: str, key: Any, device_name: str | None = None, version: Any = None, exact: bool = False
) -> None:
    """The parameters of a kernel for a device.

    Args:
        op: The name of the operation.
        key: The sizes of its inputs.
        device_name: The name of a GPU.
        version: The version of the parameters.
        exact: Whether the parameters of a similar GPU count as well.

    Returns:
        None: there are no parameters for the CPU.

    Example:
        >>> get_meta("bsr_dense_addmm", (64, 64, 64)) is None
        True
    """


def minimize(*args: Any, **kwargs: Any) -> NoReturn:
    """Searches for the parameters of a kernel.

    Raises:
        NotImplementedError: Always.

    Example:
        >>> minimize()
        Traceback (most recent call last):
        NotImplementedError: minimize(): kernels in Triton need a GPU, and tl computes on the CPU
    """
    raise NotImplementedError("minimize(): kernels in Triton need a GPU, and tl computes on the CPU")


def update(*args: Any, **kwargs: Any) -> NoReturn:
    """Stores the parameters of a kernel.

    Raises:
        NotImplementedError: Always.

    Example:
        >>> update()
        Traceback (most recent call last):
        NotImplementedError: update(): kernels in Triton need a GPU, and tl computes on the CPU
    """
    raise NotImplementedError("update(): kernels in Triton need a GPU, and tl computes on the CPU")
