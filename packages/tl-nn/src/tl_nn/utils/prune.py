"""Pruning: masks that set parts of a parameter to zero."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tl_core
from tl_core import Tensor

from ..modules.module import Module

# PyTorch has these names in this module, too.
from .pruning_amounts import _compute_nparams_toprune as _compute_nparams_toprune
from .pruning_amounts import _validate_pruning_amount as _validate_pruning_amount
from .pruning_amounts import _validate_pruning_amount_init as _validate_pruning_amount_init
from .pruning_amounts import _validate_pruning_dim as _validate_pruning_dim
from .pruning_amounts import _validate_structured_pruning as _validate_structured_pruning
from .pruning_methods import (
    BasePruningMethod,
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    PruningContainer,
    RandomStructured,
    RandomUnstructured,
    _take_hook,
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
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


def identity(module: Module, name: str) -> Module:
    """Make mask and original of a parameter without pruning it.

    Example:
        >>> import tl_nn
        >>> from tl_nn.utils import prune
        >>> prune.identity(tl_nn.Linear(2, 1), "bias").bias_mask
        tensor([1.])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Any) -> Module:
    """Prune elements of a parameter, chosen at random.

    Args:
        module (Module): The module, which is changed.
        name (str): The parameter.
        amount (int or float): How many elements, or which share of them.

    Returns:
        Module: `module`

    Raises:
        ValueError, TypeError: If the amount isn't a number of elements there are, or a share.

    Example:
        >>> import tl_nn
        >>> from tl_nn.utils import prune
        >>> int((prune.random_unstructured(tl_nn.Linear(2, 3), "weight", amount=1).weight == 0).sum())
        1
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: Any, importance_scores: Tensor | None = None
) -> Module:
    """Prune the elements of a parameter with the smallest absolute values. See `random_unstructured`.

    `importance_scores`, of the parameter's shape, decide instead of it.

    Args:
        module: the module.
        name: the parameter's name.
        amount: how many are pruned: a number of them, or a share from 0.0 to 1.0.
        importance_scores: scores that replace the parameter's values, of its shape. None selects the values.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.utils import prune
        >>> layer = tl_nn.Linear(4, 1, bias=False)
        >>> _ = layer.weight.data.copy_(tl_core.tensor([[0.1, -2.0, 3.0, -0.2]]))
        >>> prune.l1_unstructured(layer, "weight", amount=0.5).weight_mask
        tensor([[0., 1., 1., 0.]])
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Any, dim: int) -> Module:
    """Prune slices of a parameter along `dim`, chosen at random. See `random_unstructured`.

    Args:
        module: the module.
        name: the parameter's name.
        amount: how many are pruned: a number of them, or a share from 0.0 to 1.0.
        dim: the dimension whose slices are pruned.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.utils import prune
        >>> layer = tl_nn.Linear(4, 1, bias=False)
        >>> _ = layer.weight.data.copy_(tl_core.tensor([[0.1, -2.0, 3.0, -0.2]]))
        >>> int(prune.random_structured(layer, "weight", amount=1, dim=1).weight_mask.sum())
        3
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: Any, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Module:
    """Prune the slices of a parameter along `dim` with the smallest n-norms. See `l1_unstructured`.

    Args:
        module: the module.
        name: the parameter's name.
        amount: how many are pruned: a number of them, or a share from 0.0 to 1.0.
        n: the exponent of the norm.
        dim: the dimension whose slices are pruned.
        importance_scores: scores that replace the parameter's values, of its shape. None selects the values.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.utils import prune
        >>> layer = tl_nn.Linear(4, 1, bias=False)
        >>> _ = layer.weight.data.copy_(tl_core.tensor([[0.1, -2.0, 3.0, -0.2]]))
        >>> prune.ln_structured(layer, "weight", amount=1, n=2, dim=1).weight_mask
        tensor([[0., 1., 1., 1.]])
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune the elements of a parameter where a mask of its shape is 0.

    Args:
        module: the module.
        name: the parameter's name.
        mask: 1 for elements that stay, 0 for others.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.utils import prune
        >>> layer = prune.custom_from_mask(tl_nn.Linear(5, 3), "bias", tl_core.tensor([0, 1, 0]))
        >>> layer.bias_mask
        tensor([0., 1., 0.])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune elements of several parameters as if they were one.

    Args:
        parameters (iterable of (Module, str)): The parameters.
        pruning_method (type): A class that prunes elements, such as `L1Unstructured`.
        importance_scores (dict, optional): Scores that replace the parameters' values, for each of the pairs.
        **kwargs: Arguments of the method's constructor, such as `amount`.

    Raises:
        TypeError: If `parameters` isn't iterable, or the method prunes slices.

    Example:
        >>> import tl_nn
        >>> from tl_nn.utils import prune
        >>> layers = tl_nn.Linear(10, 4), tl_nn.Linear(4, 1)
        >>> prune.global_unstructured([(layer, "weight") for layer in layers], prune.L1Unstructured, amount=10)
        >>> int(sum((layer.weight == 0).sum() for layer in layers))
        10
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    pairs = list(parameters)
    importances = {} if importance_scores is None else importance_scores
    if not isinstance(importances, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    scores = [importances.get(pair, getattr(*pair)).reshape(-1) for pair in pairs]
    masks = [
        getattr(module, f"{name}_mask", tl_core.ones_like(getattr(module, name))).reshape(-1)
        for module, name in pairs
    ]
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    mask = container.compute_mask(tl_core.cat(scores), default_mask=tl_core.cat(masks))
    start = 0
    for module, name in pairs:
        parameter = getattr(module, name)
        end = start + parameter.numel()
        custom_from_mask(module, name, mask[start:end].view(parameter.shape))
        start = end


def remove(module: Module, name: str) -> Module:
    """Make the pruning of a parameter permanent, and the parameter one again.

    Raises:
        ValueError: If it isn't pruned.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.utils import prune
        >>> layer = tl_nn.Linear(4, 1, bias=False)
        >>> _ = layer.weight.data.copy_(tl_core.tensor([[0.1, -2.0, 3.0, -0.2]]))
        >>> _ = prune.remove(prune.l1_unstructured(layer, "weight", amount=0.5), "weight")
        >>> layer.weight.data
        tensor([[ 0., -2.,  3., -0.]])
    """
    hook = _take_hook(module, name)
    if hook is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    hook.remove(module)
    return module


def is_pruned(module: Module) -> bool:
    """Whether a module has pruned parameters.

    Example:
        >>> import tl_nn
        >>> tl_nn.utils.prune.is_pruned(tl_nn.Linear(5, 7))
        False
    """
    hooks = (hook for each in module.modules() for hook in each._forward_pre_hooks.values())
    return any(isinstance(hook, BasePruningMethod) for hook in hooks)
