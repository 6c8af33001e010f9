"""`torch._prims`: the operators `prims::…`, which PyTorch's decompositions end in.

They are strict: tensors have one type and one shape, dimensions are counted from 0. Handlers of `__torch_dispatch__`,
`make_fx` and fake tensors see them as operators of their own. They have no derivatives, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from tl_core import Tensor, library
from tl_core.compat import prims_common as utils
from tl_core.operators import packets
from tl_core.schemas.tags import Tag

from . import arithmetic, creation, reductions, shapes

__all__ = ["RETURN_TYPE", "expand_dims", "utils"]

_library = library.Library("prims", "DEF")
_RANDOM = ("normal", "uniform")
# The names of the module that differ from those of the operators.
_NAMES = {"view_element_type": "view_of_dtype", "_uniform_helper": "uniform"}


class RETURN_TYPE(Enum):
    """What an operator returns: a new tensor, a view of the argument, or the argument, which it writes to."""

    NEW = (0,)
    VIEW = (1,)
    INPLACE = (2,)
    NONE = (3,)


def _define() -> list[str]:
    names = []
    for module in (arithmetic, shapes, reductions, creation):
        for schema, function in module.rows():
            name = schema.partition("(")[0]
            tags = (
                (Tag.nondeterministic_seeded, Tag.pt2_compliant_tag)
                if name in _RANDOM
                else (Tag.pt2_compliant_tag,)
            )
            _library.define(schema, tags=tags)
            _library.impl(name, function, "CompositeExplicitAutograd")
            names.append(name)
    return names


_OPERATORS = frozenset(_define())


def expand_dims(a: Tensor, dimensions: Sequence[int], ndim: int | None = None) -> Tensor:
    """A view with further dimensions of size 1.

    Args:
        a: the tensor.
        dimensions: where the further dimensions are in the view.
        ndim: the number of dimensions of the view.

    Raises:
        ValueError: a dimension occurs twice.

    Example:
        >>> import tl_core
        >>> expand_dims(tl_core.ones(3), [0, 2]).shape
        torch.Size([1, 3, 1])
    """
    rank = a.dim() + len(dimensions) if ndim is None else ndim
    indices = sorted(utils.canonicalize_dims(rank, list(dimensions)))
    if len(set(indices)) != len(indices):
        raise ValueError(f"Received duplicate dimensions to expand in {dimensions}")
    own = [d for d in range(rank) if d not in indices]
    sizes = [1] * rank
    for d, n in zip(own, a.shape, strict=True):
        sizes[d] = n
    result: Tensor = __getattr__("broadcast_in_dim")(a, sizes, own)
    return result


def __getattr__(name: str) -> Any:
    own = _NAMES.get(name, name)
    if own in _OPERATORS:
        return getattr(packets.prims, own).default
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_OPERATORS, *_NAMES})
