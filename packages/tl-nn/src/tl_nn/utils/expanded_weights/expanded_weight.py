"""A weight whose gradient is kept for each sample."""

from __future__ import annotations

from typing import Any, ClassVar

from tl_core import Tensor

__all__ = ["ExpandedWeight"]


class ExpandedWeight(Tensor):
    """A weight that gets, in place of a gradient, one for each sample of the batch.

    It has the memory of the weight. The functions that support it (`per_sample_function.py`) store the gradients in
    `orig_weight.grad_sample`, with the samples along the first dimension. `orig_weight.grad` stays unchanged.

    Args:
        orig_weight (Tensor): The weight, which requires a gradient.
        batch_size (int): How many samples each input has.
        loss_reduction ({"sum", "mean"}): How the loss joins the samples. With "mean" the gradients are multiplied by
            `batch_size`.

    Raises:
        RuntimeError: `orig_weight` is no tensor that requires a gradient; if a function is called on it that doesn't
            know it.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.utils.expanded_weights import ExpandedWeight
        >>> w, x = tl_core.ones(1, 2, requires_grad=True), tl_core.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> tl_nn.functional.linear(x, ExpandedWeight(w, 2, "sum")).sum().backward()
        >>> w.grad_sample.tolist()
        [[[1.0, 2.0]], [[3.0, 4.0]]]
    """

    _call: ClassVar[Any]  # the function of per_sample_function.py that handles calls with these weights
    orig_weight: Any
    batch_size: int
    batch_first: bool
    allow_smaller_batches: bool
    loss_reduction: str

    def __new__(cls, orig_weight: Any, batch_size: int, loss_reduction: str) -> ExpandedWeight:
        if not isinstance(orig_weight, Tensor):
            raise RuntimeError(
                f"Can only make Expanded Weights of Tensors, got {type(orig_weight).__name__}: orig_weight"
            )
        if not orig_weight.requires_grad:
            raise RuntimeError(
                "Can only build ExpandedWeights objects of tensors that require_grad: orig_weight requires none"
            )
        kind: Any = Tensor
        weight: ExpandedWeight = kind._make_subclass(cls, orig_weight, True)
        return weight

    def __init__(self, orig_weight: Any, batch_size: int, loss_reduction: str) -> None:
        self.orig_weight = orig_weight
        self.batch_size = batch_size
        self.batch_first = True
        self.allow_smaller_batches = False
        self.loss_reduction = loss_reduction

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return cls._call(func, args, kwargs or {})

    @property
    def dtype(self) -> Any:  # type: ignore[override]
        """The weight's."""
        return self.orig_weight.dtype

    @property
    def data(self) -> Any:  # type: ignore[override]
        """The weight's."""
        return self.orig_weight.data

    @property
    def shape(self) -> Any:  # type: ignore[override]
        """The weight's."""
        return self.orig_weight.shape

    @property
    def device(self) -> Any:  # type: ignore[override]
        """The weight's."""
        return self.orig_weight.device

    @property
    def is_cuda(self) -> bool:  # type: ignore[override]
        """The weight's."""
        return bool(self.orig_weight.is_cuda)
