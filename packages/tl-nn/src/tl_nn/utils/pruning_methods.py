"""Methods of pruning: the masks that they compute, and the hooks that apply the masks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import tl_core
from tl_core import Tensor

from ..modules.module import Module
from .pruning_amounts import (
    _compute_nparams_toprune,
    _validate_pruning_amount,
    _validate_pruning_amount_init,
    _validate_pruning_dim,
    _validate_structured_pruning,
)

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
]


class BasePruningMethod(ABC):
    """A method of pruning. Each subclass defines `compute_mask` and the class attribute `PRUNING_TYPE`.

    Applied to a module, it is a hook that computes the tensor from `<name>_orig` and `<name>_mask` before each call.

    Attributes:
        PRUNING_TYPE (str): "unstructured" chooses elements, "structured" slices, "global" elements of the whole
            tensor, whatever has been pruned before.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.utils import prune
        >>> layer = tl_nn.Linear(4, 1, bias=False)
        >>> _ = layer.weight.data.copy_(tl_core.tensor([[0.1, -2.0, 3.0, -0.2]]))
        >>> issubclass(prune.L1Unstructured, prune.BasePruningMethod)
        True
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for a tensor.

        Args:
            t (Tensor): The importance of each element.
            default_mask (Tensor): The mask of earlier pruning.

        Returns:
            Tensor, of the shape of `t`: 1 for elements that stay, 0 for pruned elements.
        """

    def apply_mask(self, module: Module) -> Tensor:
        """The pruned tensor.

        Raises:
            AssertionError: If the module hasn't been pruned.
        """
        name = getattr(self, "_tensor_name", None)
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        original: Tensor = getattr(module, f"{name}_orig")
        mask: Tensor = getattr(module, f"{name}_mask")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> Any:
        """Prune a parameter: move it to `<name>_orig`, add the buffer `<name>_mask` and the hook.

        Args:
            module (Module): The module.
            name (str): The parameter.
            *args, **kwargs: Arguments of the method's constructor.
            importance_scores (Tensor, optional): Scores that replace the parameter's values, of its shape.

        Returns:
            The method, in a `PruningContainer` if there was one already.

        Raises:
            AssertionError: If the scores have another shape.
        """
        before = _take_hook(module, name)
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        if before is not None:
            method = _combine(before, method, name)
        original = getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}"
            )
        try:
            _prune(module, name, original, method, scores, before is None)
        except Exception:
            if before is None:
                _restore(module, name, original)
            raise
        return method

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None
    ) -> Tensor:
        """A pruned copy of a tensor.

        Args:
            t (Tensor): The tensor.
            default_mask (Tensor, optional): The mask of earlier pruning.
            importance_scores (Tensor, optional): Scores that replace the tensor's values, of its shape.
        """
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        mask = tl_core.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=mask)

    def remove(self, module: Module) -> None:
        """Make the pruning permanent: the parameter is one again, with zeros."""
        name = getattr(self, "_tensor_name", None)
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        original = module._parameters[f"{name}_orig"]
        if original is None:
            raise AssertionError(f"Module {module} has no parameter {name}_orig")
        original.data = self.apply_mask(module).data
        _restore(module, name, original)


def _take_hook(module: Module, name: str) -> BasePruningMethod | None:
    """Take the pruning hook of a parameter off a module."""
    hooks = [
        (number, hook)
        for number, hook in module._forward_pre_hooks.items()
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
    ]
    if len(hooks) > 1:
        raise AssertionError(
            f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. "
            "Use a PruningContainer."
        )
    for number, hook in hooks:
        del module._forward_pre_hooks[number]
        return hook
    return None


def _combine(before: BasePruningMethod, method: BasePruningMethod, name: str) -> PruningContainer:
    if isinstance(before, PruningContainer):
        before.add_pruning_method(method)
        return before
    container = PruningContainer(before)
    container.add_pruning_method(method)
    return container


def _prune(module: Module, name: str, original: Any, method: Any, scores: Tensor, first: bool) -> None:
    if first:
        del module._parameters[name]
        module.register_parameter(f"{name}_orig", original)
        mask = tl_core.ones_like(original)
    else:
        mask = getattr(module, f"{name}_mask").detach().clone(memory_format=tl_core.contiguous_format)
    module.register_buffer(f"{name}_mask", method.compute_mask(scores, default_mask=mask))
    setattr(module, name, method.apply_mask(module))
    module.register_forward_pre_hook(method)


def _restore(module: Module, name: str, original: Any) -> None:
    """Make the original the parameter again."""
    if hasattr(module, name):
        delattr(module, name)
    module._parameters.pop(f"{name}_orig", None)
    module._buffers.pop(f"{name}_mask", None)
    setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several pruning methods of one tensor, each for the elements that remain.

    Args:
        *args (BasePruningMethod): The methods, or a list of them.

    Raises:
        TypeError: If something isn't a pruning method.
        ValueError: If a method is for another tensor.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.utils import prune
        >>> layer = tl_nn.Linear(4, 1, bias=False)
        >>> _ = layer.weight.data.copy_(tl_core.tensor([[0.1, -2.0, 3.0, -0.2]]))
        >>> _ = prune.l1_unstructured(layer, "weight", 1)
        >>> _ = prune.l1_unstructured(layer, "weight", 1)
        >>> methods = list(layer._forward_pre_hooks.values())
        >>> type(methods[0]).__name__, layer.weight_mask
        ('PruningContainer', tensor([[0., 1., 1., 0.]]))
    """

    PRUNING_TYPE = "container"

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        methods = args[0] if len(args) == 1 and not isinstance(args[0], BasePruningMethod) else args
        if isinstance(methods, Iterable):
            for method in methods:
                if not hasattr(self, "_tensor_name") and isinstance(method, BasePruningMethod):
                    self._tensor_name = method._tensor_name
                self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a method at the end."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask after the last method, applied to the remaining elements."""
        method = self._pruning_methods[-1]
        index = _left(method, default_mask)
        mask = default_mask.clone()
        partial_mask = method.compute_mask(t[index], default_mask=default_mask[index])
        mask[index] = partial_mask.to(dtype=mask.dtype)
        return mask


def _left(method: BasePruningMethod, mask: Tensor) -> Any:
    """The index of the elements that a method may still prune."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    if method.PRUNING_TYPE == "structured":
        dim = method.dim % mask.dim()  # type: ignore[attr-defined]  # structured methods have it
        dims = [d for d in range(mask.dim()) if d != dim]
        channels = mask.sum(dims) != 0
        return tuple([slice(None)] * dim + [channels])
    if method.PRUNING_TYPE == "global":
        return (slice(None),) * mask.dim()
    raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")


class Identity(BasePruningMethod):
    """Prunes no elements, but registers mask and original.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.utils import prune
        >>> layer = tl_nn.Linear(4, 1, bias=False)
        >>> _ = layer.weight.data.copy_(tl_core.tensor([[0.1, -2.0, 3.0, -0.2]]))
        >>> _ = prune.Identity.apply(layer, "weight")
        >>> layer.weight_mask
        tensor([[1., 1., 1., 1.]])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The default mask."""
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> Any:  # type: ignore[override]  # names its arguments
        """Register mask and original without pruning."""
        return super().apply(module, name)


class _Amount(BasePruningMethod):
    """A method that prunes a number, or a share, of elements or slices."""

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _count(self, size: int) -> int:
        """The number of the `size` elements to prune."""
        return _compute_nparams_toprune(self.amount, size)


class _Unstructured(_Amount):
    """A method that prunes the elements whose keys are the largest."""

    PRUNING_TYPE = "unstructured"
    _largest = True

    def _keys(self, t: Tensor) -> Tensor:
        """A number for each element."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask, with the chosen elements set to 0."""
        count = self._count(t.nelement())
        _validate_pruning_amount(count, t.nelement())
        mask = default_mask.clone(memory_format=tl_core.contiguous_format)
        if count:
            indices = self._keys(t).reshape(-1).topk(count, largest=self._largest)[1]
            mask.view(-1)[indices] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Prunes elements chosen at random.

    Args:
        amount (int or float): How many, or which share.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.utils import prune
        >>> layer = tl_nn.Linear(4, 1, bias=False)
        >>> _ = layer.weight.data.copy_(tl_core.tensor([[0.1, -2.0, 3.0, -0.2]]))
        >>> _ = prune.RandomUnstructured.apply(layer, "weight", 0.5)
        >>> int(layer.weight_mask.sum())
        2
    """

    def _keys(self, t: Tensor) -> Tensor:
        return tl_core.rand_like(t)

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any) -> Any:  # type: ignore[override]  # names its arguments
        """Prune a parameter. See `random_unstructured`."""
        return super().apply(module, name, amount=amount)


class L1Unstructured(_Unstructured):
    """Prunes the elements with the smallest absolute values.

    Args:
        amount (int or float): How many, or which share.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.utils import prune
        >>> layer = tl_nn.Linear(4, 1, bias=False)
        >>> _ = layer.weight.data.copy_(tl_core.tensor([[0.1, -2.0, 3.0, -0.2]]))
        >>> _ = prune.L1Unstructured.apply(layer, "weight", 2)
        >>> layer.weight_mask
        tensor([[0., 1., 1., 0.]])
    """

    _largest = False

    def _keys(self, t: Tensor) -> Tensor:
        return t.abs()

    @classmethod
    def apply(  # type: ignore[override]  # names its arguments
        cls, module: Module, name: str, amount: Any, importance_scores: Tensor | None = None
    ) -> Any:
        """Prune a parameter. See `l1_unstructured`."""
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(_Amount):
    """A method that prunes slices along a dimension."""

    PRUNING_TYPE = "structured"
    dim: int

    def _with_slices(self, mask: Tensor, slices: Tensor) -> Tensor:
        """The mask, with all slices but these set to 0."""
        only = tl_core.zeros_like(mask)
        index: list[Any] = [slice(None)] * mask.dim()
        index[self.dim] = slices
        only[tuple(index)] = 1
        return only * mask


class RandomStructured(_Structured):
    """Prunes slices chosen at random.

    Args:
        amount (int or float): How many, or which share.
        dim (int): The dimension along which the slices stand.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.utils import prune
        >>> layer = tl_nn.Linear(4, 1, bias=False)
        >>> _ = layer.weight.data.copy_(tl_core.tensor([[0.1, -2.0, 3.0, -0.2]]))
        >>> _ = prune.RandomStructured.apply(layer, "weight", 1, 1)
        >>> int(layer.weight_mask.sum())
        3
    """

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask, with random slices set to 0."""
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        slices = t.shape[self.dim]
        count = self._count(slices)
        _validate_pruning_amount(count, slices)
        if not count:
            return default_mask
        indices = tl_core.rand(slices, device=t.device).topk(slices - count)[1]
        return self._with_slices(default_mask, indices)

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any, dim: int = -1) -> Any:  # type: ignore[override]  # names its arguments
        """Prune a parameter. See `random_structured`."""
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """Prunes the slices with the smallest norms.

    Args:
        amount (int or float): How many, or which share.
        n (int or float): The exponent of the norm.
        dim (int): The dimension along which the slices stand.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.utils import prune
        >>> layer = tl_nn.Linear(4, 1, bias=False)
        >>> _ = layer.weight.data.copy_(tl_core.tensor([[0.1, -2.0, 3.0, -0.2]]))
        >>> _ = prune.LnStructured.apply(layer, "weight", 1, 2, 1)
        >>> layer.weight_mask
        tensor([[0., 1., 1., 1.]])
    """

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.n = n
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask, with the slices of the smallest norms set to 0."""
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        slices = t.shape[self.dim]
        count = self._count(slices)
        _validate_pruning_amount(count, slices)
        if not count:
            return default_mask
        dims = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        norms = t.norm(p=self.n, dim=dims)
        return self._with_slices(default_mask, norms.topk(slices - count)[1])

    @classmethod
    def apply(  # type: ignore[override]  # names its arguments
        cls,
        module: Module,
        name: str,
        amount: Any,
        n: Any,
        dim: int,
        importance_scores: Tensor | None = None,
    ) -> Any:
        """Prune a parameter. See `ln_structured`."""
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes the elements where a mask is 0.

    Args:
        mask (Tensor): 1 for elements that stay, 0 for pruned elements.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.utils import prune
        >>> layer = tl_nn.Linear(4, 1, bias=False)
        >>> _ = layer.weight.data.copy_(tl_core.tensor([[0.1, -2.0, 3.0, -0.2]]))
        >>> _ = prune.CustomFromMask.apply(layer, "weight", tl_core.tensor([[1.0, 0.0, 1.0, 1.0]]))
        >>> layer.weight_mask
        tensor([[1., 0., 1., 1.]])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Both masks together."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"mask shape {self.mask.shape} must match {default_mask.shape}")
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Tensor) -> Any:  # type: ignore[override]  # names its arguments
        """Prune a parameter. See `custom_from_mask`."""
        return super().apply(module, name, mask=mask)
