"""Names for operators of Triton kernels, which need a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

__all__ = ["triton_op", "wrap_triton"]


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(
        f"torch.library.{name} takes kernels of Triton, which run on GPUs; tl has none. torch.library.custom_op makes "
        "operators of Python functions"
    )


def triton_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    schema: str | None = None,
) -> Callable[..., Any]:
    """Raises RuntimeError: kernels of Triton need a GPU.

    Args:
        name: the operator's name.
        fn: the function that calls the kernels.
        mutates_args: the arguments that it writes.
        schema: its schema.

    Raises:
        RuntimeError: always.

    Example:
        >>> import tl_core
        >>> tl_core.library.triton_op("project::add", mutates_args=())  # doctest: +SKIP
    """
    _refuse("triton_op")


def wrap_triton(triton_kernel: Callable[..., Any], /) -> Any:
    """Raises RuntimeError: kernels of Triton need a GPU.

    Args:
        triton_kernel: the kernel.

    Raises:
        RuntimeError: always.

    Example:
        >>> import tl_core
        >>> tl_core.library.wrap_triton(kernel)[(1,)](x, y)  # doctest: +SKIP
    """
    _refuse("wrap_triton")
