"""How Python's own containers are flattened, by names that programs use for classes of their own.

`_dict_flatten`, `_dict_unflatten`, `_dict_flatten_with_keys`, and the same of lists, tuples and the rest.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from typing import Any

from tl_core.pytree.paths import _keyed_children
from tl_core.pytree.trees import SUPPORTED_NODES

_KINDS = {
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "ordereddict": OrderedDict,
    "defaultdict": defaultdict,
    "namedtuple": namedtuple,
    "deque": deque,
}


def _functions(kind: Any) -> dict[str, Callable[..., Any]]:
    _, flatten, unflatten = SUPPORTED_NODES[kind]
    return {
        "flatten": flatten,
        "unflatten": unflatten,
        "flatten_with_keys": lambda tree: (_keyed_children(tree), flatten(tree)[1]),
    }


globals().update(
    {f"_{name}_{what}": f for name, kind in _KINDS.items() for what, f in _functions(kind).items()}
)

__all__ = [f"_{name}_{what}" for name in _KINDS for what in ("flatten", "unflatten", "flatten_with_keys")]
