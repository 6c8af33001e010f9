"""`Function` inside of transforms."""

from __future__ import annotations

from typing import Any

from tl_autograd.func.custom_function import VmapInfo
from tl_autograd.func.vmap import vmap
from tl_core import Tensor

__all__ = ["CtxWithSavedTensors", "VmapInfo", "custom_function_call", "reductify_leaf"]


def custom_function_call(autograd_function: Any, *args: Any, **kwargs: Any) -> Any:
    """`autograd_function.apply(*args, **kwargs)`.

    Args:
        autograd_function: the class.
        args: its arguments.
        kwargs: its keyword arguments.
    """
    return autograd_function.apply(*args, **kwargs)


class CtxWithSavedTensors:
    """A context of a `Function` with other `saved_tensors`; all else is read from it and written to it.

    Args:
        ctx: the context.
        new_saved_tensors: what `saved_tensors` is instead.

    Raises:
        RuntimeError: the context has an attribute of a name that is needed here.
    """

    _pt_reserved_attrs = ("_pt_reserved_attrs", "_pt_inner_ctx", "_pt_new_saved_tensors")

    def __init__(self, ctx: Any, new_saved_tensors: tuple):
        if not isinstance(ctx, CtxWithSavedTensors):
            for name in self._pt_reserved_attrs:
                if hasattr(ctx, name):
                    raise RuntimeError(
                        f"CtxWithSavedTensors: name collision, the context has an attribute {name}"
                    )
        self._pt_inner_ctx = ctx
        self._pt_new_saved_tensors = new_saved_tensors

    @property
    def saved_tensors(self) -> tuple:
        """What was given here."""
        return self._pt_new_saved_tensors

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pt_inner_ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in type(self)._pt_reserved_attrs:
            self.__dict__[name] = value
        else:
            setattr(self._pt_inner_ctx, name, value)


def reductify_leaf(
    grad_input: Tensor | None,
    grad_input_bdim: int | None,
    input_bdim: int | None,
    batch_size: int,
    target_shape_without_bdim_to_reduce_to: tuple[int, ...] | None = None,
) -> Tensor | None:
    """The gradient of one input of a batched `Function`, with the batch where the input has it.

    Args:
        grad_input: the gradient, or None.
        grad_input_bdim: the dimension of its batch; None: it has none.
        input_bdim: the dimension of the input's batch; None: it has none, and the gradient is summed.
        batch_size: how many examples there are.
        target_shape_without_bdim_to_reduce_to: the shape of one example, to which the gradient is summed too.

    Example:
        >>> reductify_leaf(tl_core.ones(2, 3), 0, None, 2)
        tensor([2., 2., 2.])
    """
    if grad_input is None:
        return None
    if grad_input_bdim is None and input_bdim is None:
        return grad_input
    if grad_input_bdim is not None and input_bdim is None:
        return grad_input.sum(grad_input_bdim)
    assert input_bdim is not None
    if grad_input_bdim is None:
        shape = list(grad_input.shape)
        shape.insert(input_bdim, batch_size)
        grad_input, grad_input_bdim = grad_input.unsqueeze(input_bdim).expand(shape), input_bdim
    if target_shape_without_bdim_to_reduce_to is not None:
        summed = vmap(
            lambda g: g.sum_to_size(target_shape_without_bdim_to_reduce_to), grad_input_bdim, input_bdim
        )
        return summed(grad_input)
    return grad_input if grad_input_bdim == input_bdim else grad_input.movedim(grad_input_bdim, input_bdim)
