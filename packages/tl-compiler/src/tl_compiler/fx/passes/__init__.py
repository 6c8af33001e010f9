"""Passes over graphs; each module is imported when somebody asks for it."""

from importlib import import_module
from typing import Any

__all__ = [
    "annotate_getitem_nodes",
    "backends",
    "dialect",
    "fake_tensor_prop",
    "graph_drawer",
    "graph_manipulation",
    "graph_transform_observer",
    "infra",
    "net_min_base",
    "operator_support",
    "param_fetch",
    "pass_manager",
    "reinplace",
    "runtime_assert",
    "shape_prop",
    "split_module",
    "split_utils",
    "splitter_base",
    "tools_common",
    "utils",
]
_MODULES = frozenset(__all__)  # the façade adds names to `__all__`


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
