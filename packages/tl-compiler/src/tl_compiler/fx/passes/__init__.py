"""Passes over graphs; each module is imported when somebody asks for it."""

from tl_core.base.lazy_attributes import attach

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

__getattr__, __dir__, _ = attach(__name__, {}, __all__)
