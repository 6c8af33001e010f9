"""What modules are made of, as arguments for nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_nn
from tl_core.base.public_names import own_module_of

from ..graph_module import GraphModule

__all__ = [
    "default_matching",
    "extract_attrs_for_lowering",
    "lift_lowering_attrs_to_nodes",
    "module_fetch_book",
]


def default_matching(name: str, target_version: int) -> str:
    """The name of an attribute that has been the same in all versions.

    Args:
        name: the attribute.
        target_version: the version of the module's state.

    Returns:
        The name.

    Example:
        >>> default_matching("kernel_size", 1)
        'kernel_size'
    """
    return name


_CONVOLUTION = (
    *("weight", "bias", "kernel_size", "stride", "padding", "dilation", "groups", "padding_mode"),
)
_NORM = ("weight", "bias", "running_mean", "running_var", "eps")

# For each class the version of its state that is known, the attributes, and what they were called.
module_fetch_book: dict[type, tuple[int, list[str], Callable[[str, int], str]]] = {
    tl_nn.Linear: (1, ["weight", "bias"], default_matching),
    tl_nn.Conv2d: (1, list(_CONVOLUTION), default_matching),
    tl_nn.BatchNorm2d: (2, list(_NORM), default_matching),
    tl_nn.AdaptiveAvgPool2d: (1, [], default_matching),
    tl_nn.MaxPool2d: (
        1,
        ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"],
        default_matching,
    ),
    tl_nn.ReLU: (1, ["inplace"], default_matching),
}


def extract_attrs_for_lowering(mod: tl_nn.Module) -> dict[str, Any]:
    """The attributes that say what a module does, with its class as `name`.

    Args:
        mod: the module.

    Returns:
        The attributes by name.

    Raises:
        RuntimeError: the class isn't in `module_fetch_book`, or its state is of a later version.

    Example:
        >>> sorted(extract_attrs_for_lowering(tl_nn.Linear(1, 2)))
        ['bias', 'name', 'weight']
    """
    attrs: dict[str, Any] = {"name": qualified_class_name(mod)}
    if type(mod) not in module_fetch_book:
        raise RuntimeError(f"{type(mod)} is not in the module_fetch_book yet.")
    version, names, matching = module_fetch_book[type(mod)]
    if version < mod._version:
        raise RuntimeError(
            f"Fetcher version {version} try to fetch {type(mod)} version {mod._version}, please upgrade "
            "the module_fetch_book"
        )
    for name in names:
        attrs[name] = getattr(mod, matching(name, mod._version))
    return attrs


def qualified_class_name(mod: tl_nn.Module) -> str:
    """The path under which users find a module's class.

    Args:
        mod: the module.

    Returns:
        The path.
    """
    kind = type(mod)
    own = own_module_of(kind)
    if own.startswith("tl_nn.modules"):
        return f"torch.nn.modules.{own.rpartition('.')[2]}.{kind.__name__}"
    return f"{kind.__module__}.{kind.__name__}"


def lift_lowering_attrs_to_nodes(fx_module: GraphModule) -> None:
    """Gives each node that calls a module an attribute `attrs_for_lowering`; submodules that are graphs too.

    Args:
        fx_module: the module.
    """
    modules = dict(fx_module.named_modules())
    for node in fx_module.graph.nodes:
        if node.op != "call_module":
            continue
        called = modules[str(node.target)]
        if isinstance(called, GraphModule):
            lift_lowering_attrs_to_nodes(called)
        else:
            node.attrs_for_lowering = extract_attrs_for_lowering(called)
