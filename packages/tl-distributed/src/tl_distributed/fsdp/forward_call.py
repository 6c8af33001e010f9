"""A forward pass of a module with frozen parameters: its backward pass has ended when its inputs have gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tl_core import Tensor

__all__ = ["ForwardCall"]


class ForwardCall:
    """The inputs of a forward pass, for whose gradients the backward pass needs frozen parameters.

    Args:
        inputs: the inputs that require gradients. Without any, no gradient marks the end of the backward pass.
        after_input: called with the key of an input when its gradient is there.
    """

    def __init__(self, inputs: Sequence[Tensor], after_input: Callable[[object], None]):
        self.keys: list[object] = [object() for _ in inputs] or [object()]
        self._handles: dict[object, Any] = {}
        for tensor, key in zip(inputs, self.keys, strict=False):
            handle = tensor.register_hook(partial(self._arrive, key, after_input))
            if tensor.is_leaf:  # which a program may use again in each step
                self._handles[key] = handle

    def _arrive(self, key: object, after_input: Callable[[object], None], grad: Tensor) -> None:
        if (handle := self._handles.pop(key, None)) is not None:
            handle.remove()
        after_input(key)
