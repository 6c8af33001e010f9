"""What tracing has to know of a module besides its parameters and buffers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .constant_attributes import ConstantAttrMap, gather_constants

__all__: list[str] = []


def _gather_constant_attrs(m: Any) -> ConstantAttrMap:
    """The tensors that a module and those in it hold as plain attributes, with the dotted names of these."""
    return gather_constants(m)


@contextlib.contextmanager
def _fakify_script_objects(mod: Any, args: Any, kwargs: Any, fake_mode: Any) -> Iterator[Any]:
    """What a trace takes: the module, its arguments, its constants, and for objects that stand for others the others.

    There are no objects of script classes here, so that everything stands for itself.
    """
    yield mod, args, kwargs, gather_constants(mod), {}
