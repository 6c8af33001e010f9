"""Operators whose functions may call Triton kernels. The kernels themselves need a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tl_core.library.custom_ops import CustomOpDef, custom_op

__all__ = ["triton_op", "wrap_triton"]


def triton_op(
    name: str,
    fn: Callable[..., object] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    schema: str | None = None,
) -> Any:
    """Makes an operator of a function that may call Triton kernels.

    The function runs on devices without a kernel of their own, and computes the shapes of fake tensors. Kernels for
    other devices are registered as for `custom_op`, so libraries that define an operator this way run on a CPU.

    Args:
        name: the operator's name with a namespace: `mylib::sinc`.
        fn: the function; without it, the result is a decorator.
        mutates_args: the names of the tensors that it writes; "unknown" where any may be.
        schema: the arguments and results, `(Tensor x) -> Tensor`; by default the annotations say them.

    Returns:
        The operator, a `CustomOpDef`, or the decorator.

    Raises:
        ValueError: annotations are missing, or disagree with `mutates_args`.

    Example:
        >>> import tl_core as tl
        >>> @triton_op("plane::tripled", mutates_args=())
        ... def tripled(x: tl.Tensor) -> tl.Tensor:
        ...     return x * 3
        >>> tripled(tl.tensor([2.0, 4.0]))
        tensor([ 6., 12.])
    """

    def define(function: Callable[..., object]) -> CustomOpDef:
        operator = custom_op(name, function, mutates_args=mutates_args, schema=schema)
        operator.register_fake(function)
        return operator

    return define if fn is None else define(fn)


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
    raise RuntimeError(
        "torch.library.wrap_triton takes a Triton kernel, which runs on GPUs; tl has none. torch.library.custom_op "
        "makes operators of Python functions"
    )
