"""Tensors whose dimensions have names: the methods that give, change and use names.

A name is an identifier, and no two dimensions of a tensor have the same; dimensions without a name are None. Operators
check that names fit, and name their results; where no tensor has names, nothing of this is ever asked.

Example:
    >>> import tl_core as tl
    >>> x = tl.zeros(2, 3, names=("N", "C"))
    >>> x.sum("N").names, x.t().names, (x + tl.ones(3)).names
    (('C',), ('C', 'N'), ('N', 'C'))
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tl_core import _C
from tl_core._C import Tensor

__all__ = [
    "align_as", "align_tensors", "align_to", "check_serializing_named_tensor", "diagonal", "flatten", "has_names",
    "refine_names", "rename", "rename_", "unflatten",
]  # fmt: skip


# ---- names with `...` ----------------------------------------------------------------------------------------------
def is_ellipsis(item: Any) -> bool:
    """Whether it is `...`, or the text of it."""
    return item is Ellipsis or item == "..."


def _only_ellipsis(names: Sequence[Any], where: str) -> int | None:
    positions = [i for i, name in enumerate(names) if is_ellipsis(name)]
    if len(positions) > 1:
        raise RuntimeError(f"{where}: More than one Ellipsis ('...') found in names {names}")
    return positions[0] if positions else None


def resolve_ellipsis(names: Sequence[Any], tensor_names: Sequence[Any], where: str) -> tuple[Any, ...]:
    """The names with the tensor's own, from the same positions, for `...`."""
    at = _only_ellipsis(names, where)
    if at is None:
        return tuple(names)
    after = len(names) - at - 1
    return (*names[:at], *tensor_names[at : len(tensor_names) - after], *names[at + 1 :])


def _list(names: tuple[Any, ...]) -> tuple[Any, ...]:
    """`f('N', 'C')` and `f(['N', 'C'])` mean the same."""
    return tuple(names[0]) if len(names) == 1 and isinstance(names[0], (list, tuple)) else names


# ---- giving names --------------------------------------------------------------------------------------------------
def has_names(self: Tensor) -> bool:
    """Whether any dimension has a name.

    Example:
        >>> import tl_core as tl
        >>> tl.zeros(2).has_names(), tl.zeros(2, names=("N",)).has_names()
        (False, True)
    """
    return _C._has_names(self)


def _new_names(self: Tensor, names: tuple[Any, ...], rename_map: Mapping[str, Any], where: str) -> Any:
    if names and rename_map:
        raise RuntimeError(
            f"{where}: takes either positional args or keyword args, all names or new ones by old ones, not both"
        )
    own = _C._names_of(self)
    if not rename_map:
        names = _list(names)
        return None if names == (None,) else resolve_ellipsis(names, own, where)
    for old in rename_map:
        if old not in own:
            raise RuntimeError(
                f"{where}: Tried to rename dim '{old}' to '{rename_map[old]}' in Tensor{list(own)} but dim '{old}' "
                "does not exist"
            )
    return tuple(rename_map.get(name, name) if name is not None else None for name in own)


def rename(self: Tensor, *names: Any, **rename_map: Any) -> Tensor:
    """A view with other names: all of them by position, or some by keywords; `rename(None)` drops them.

    Args:
        names: a name or None a dimension; one `...` stands for the names that the dimensions there have.
        rename_map: new names by old ones.

    Returns:
        Tensor

    Raises:
        RuntimeError: there are both, a name isn't there, is no identifier, occurs twice, or their number isn't that of
            the dimensions.

    Example:
        >>> import tl_core as tl
        >>> x = tl.zeros(2, 3, names=("N", "C"))
        >>> x.rename(N="batch").names, x.rename("A", ...).names, x.rename(None).names
        (('batch', 'C'), ('A', 'C'), (None, None))
    """
    return _C._renamed(self, _new_names(self, names, rename_map, "rename"))


def rename_(self: Tensor, *names: Any, **rename_map: Any) -> Tensor:
    """`rename` in place."""
    return _C._set_names(self, _new_names(self, names, rename_map, "rename_"))


def refine_names(self: Tensor, *names: Any) -> Tensor:
    """A view in which dimensions without a name have one; those with a name keep it.

    Args:
        names: a name or None a dimension; one `...` stands for the names that the dimensions there have.

    Returns:
        Tensor

    Raises:
        RuntimeError: a dimension has another name already, or the number of names isn't that of the dimensions.

    Example:
        >>> import tl_core as tl
        >>> tl.zeros(2, 3, 5, 7).refine_names("A", ..., "B").names
        ('A', None, None, 'B')
    """
    own = _C._names_of(self)
    target = resolve_ellipsis(_list(names), own, "refine_names")
    if len(target) != len(own):
        raise RuntimeError(
            f"refine_names: cannot coerce Tensor{list(own)} to Tensor{list(target)} because they have a different "
            f"number of dims ({len(own)} and {len(target)})"
        )
    for i, (old, new) in enumerate(zip(own, target, strict=True)):
        if old is not None and new != old:
            reason = (
                f"'{old}' is more specific than None" if new is None else f"'{old}' is different from '{new}'"
            )
            raise RuntimeError(
                f"refine_names: cannot coerce Tensor{list(own)} to Tensor{list(target)} because {reason} at index {i}"
            )
    return _C._renamed(self, target)


# ---- the order of dimensions ---------------------------------------------------------------------------------------
def _check_alignable(own: Sequence[Any], target: Sequence[Any], where: str) -> None:
    if None in own:
        raise RuntimeError(
            f"{where}: All input dims must be named. Found unnamed dim at index {list(own).index(None)} of "
            f"Tensor{list(own)}"
        )
    _check_order(own, target, where)
    for name in own:
        if name not in target:
            raise RuntimeError(f"{where}: Cannot find dim '{name}' of Tensor{list(own)} in {list(target)}")


def _check_order(own: Sequence[Any], target: Sequence[Any], where: str) -> None:
    if None in target:
        raise RuntimeError(
            f"{where}: the desired order of dimensions cannot contain a None name, but got {list(target)} for "
            f"Tensor{list(own)}"
        )
    if len(set(target)) != len(target):
        raise RuntimeError(f"{where}: {list(target)} has duplicate names")


def _in_order(self: Tensor, order: Sequence[Any]) -> Tensor:
    """The dimensions whose numbers are given; for a name, a new one of size one."""
    own = _C._names_of(self)
    plain = _C._renamed(self, None).permute([d for d in order if not isinstance(d, str)])
    for i, d in enumerate(order):
        if isinstance(d, str):
            plain = plain.unsqueeze(i)
    return _C._renamed(plain, tuple(d if isinstance(d, str) else own[d] for d in order))


def _align(self: Tensor, target: Sequence[Any], where: str) -> Tensor:
    own = _C._names_of(self)
    _check_alignable(own, target, where)
    return _in_order(self, [own.index(name) if name in own else name for name in target])


def align_to(self: Tensor, *names: Any) -> Tensor:
    """A view with its dimensions in this order, and dimensions of size one for names that it hasn't.

    Args:
        names: the names in the order that is wanted, all of the tensor's among them; one `...` stands for the
            dimensions that aren't mentioned, with or without a name, in the tensor's order.

    Returns:
        Tensor

    Raises:
        RuntimeError: a dimension has no name, or one of the tensor's names isn't among these.

    Example:
        >>> import tl_core as tl
        >>> x = tl.zeros(2, 3, 5, names=("N", "H", "C"))
        >>> x.align_to("C", ...).shape, x.align_to("N", "C", "D", "H").shape
        (torch.Size([5, 2, 3]), torch.Size([2, 5, 1, 3]))
    """
    own = _C._names_of(self)
    target = _list(names)
    at = _only_ellipsis(target, "align_to")
    if at is None:
        return _align(self, target, "align_to")
    _check_order(own, (*target[:at], *target[at + 1 :]), "align_to")
    rest = [d for d, name in enumerate(own) if name is None or name not in target]
    order = [own.index(name) if name in own else name for name in target]
    return _in_order(self, [*order[:at], *rest, *order[at + 1 :]])


def align_as(self: Tensor, other: Tensor) -> Tensor:
    """A view with its dimensions in the order of another tensor's, and of size one where it hasn't them.

    Args:
        other: a tensor whose names have all of this one's among them.

    Returns:
        Tensor

    Raises:
        RuntimeError: a dimension of either has no name, or one of this tensor's names isn't among the other's.

    Example:
        >>> import tl_core as tl
        >>> scale, images = tl.zeros(3, names=("C",)), tl.zeros(2, 3, 5, names=("N", "C", "H"))
        >>> scale.align_as(images).shape
        torch.Size([1, 3, 1])
    """
    return _align(self, _C._names_of(other), "align_as")


def align_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors with their dimensions in the order of that with the most.

    Args:
        tensors: tensors with names.

    Returns:
        tuple of Tensor

    Example:
        >>> import tl_core as tl
        >>> a, b = align_tensors(tl.zeros(3, names=("C",)), tl.zeros(3, 2, names=("C", "N")))
        >>> a.shape, b.shape
        (torch.Size([3, 1]), torch.Size([3, 2]))
    """
    tensors = _list(tensors)
    if not tensors:
        return ()
    longest = max(tensors, key=lambda t: t.dim())
    return tuple(_align(t, _C._names_of(longest), "align_tensors") for t in tensors)


def check_serializing_named_tensor(tensor: Tensor) -> None:
    """Raises RuntimeError for a tensor with names: no file and no message holds them.

    Args:
        tensor: what is to be written.
    """
    if _C._has_names(tensor):
        raise RuntimeError(
            "NYI: Named tensors don't support serialization. Please drop names via `tensor = tensor.rename(None)` "
            "before serialization."
        )


def diagonal(self: Tensor, *, outdim: str, dim1: Any, dim2: Any, offset: int = 0) -> Tensor:
    """`diagonal` of two dimensions, given by name, as one that has a name.

    Args:
        outdim: the name of the diagonal's dimension.
        dim1: the first dimension, a name or a number.
        dim2: the second.
        offset: which diagonal: that many above the main one, below it where negative.

    Returns:
        Tensor

    Example:
        >>> import tl_core as tl
        >>> tl.zeros(2, 3, 5, names=("A", "B", "C")).diagonal(outdim="D", dim1="A", dim2="C").names
        ('B', 'D')
    """
    result = self.diagonal(offset, dim1, dim2)
    return _C._renamed(result, (*_C._names_of(result)[:-1], outdim))


# ---- several dimensions as one -------------------------------------------------------------------------------------
def _dim(names: Sequence[Any], dim: Any) -> int:
    if not isinstance(dim, str):
        n = max(len(names), 1)
        if not -n <= dim < n:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})"
            )
        return dim % n
    if dim not in names:
        raise RuntimeError(f"Name '{dim}' not found in Tensor{list(names)}.")
    return list(names).index(dim)


def flatten(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """`flatten(dims, out_dim)` or `flatten(start_dim, end_dim, out_dim)`: dimensions as one, which has a name.

    Args:
        dims: names or numbers of dimensions that follow each other.
        start_dim: the first of them.
        end_dim: the last of them.
        out_dim: the name of the one that they become.

    Returns:
        Tensor

    Raises:
        RuntimeError: a name isn't there, or the dimensions don't follow each other.

    Example:
        >>> import tl_core as tl
        >>> x = tl.zeros(2, 3, 5, names=("N", "C", "H"))
        >>> x.flatten(["C", "H"], "features").names
        ('N', 'features')
    """
    names = _C._names_of(self)
    dims, out_dim = _flatten_arguments(names, args, kwargs)
    if dims != list(range(dims[0], dims[0] + len(dims))):
        shown = [names[d] if names[d] is not None else d for d in dims]
        raise RuntimeError(
            f"flatten(tensor, dims, out_dim): dims {shown} must be consecutive in Tensor{list(names)}"
        )
    flat = _C._renamed(self, None).flatten(dims[0], dims[-1])
    return _C._renamed(flat, (*names[: dims[0]], out_dim, *names[dims[-1] + 1 :]))


def _flatten_arguments(
    names: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[int], Any]:
    arguments = dict(kwargs)
    first = args[0] if args else arguments.get("dims")
    order = ("dims", "out_dim") if isinstance(first, (list, tuple)) else ("start_dim", "end_dim", "out_dim")
    for name, value in zip(order, args):
        if name in arguments:
            raise TypeError(f"flatten() got multiple values for argument '{name}'")
        arguments[name] = value
    if arguments.keys() != set(order) or len(args) > len(order):
        raise TypeError(
            "flatten() takes (start_dim=0, end_dim=-1), (dims, out_dim) or (start_dim, end_dim, out_dim), but got "
            f"({', '.join([repr(a) for a in args] + [f'{k}={v!r}' for k, v in kwargs.items()])})"
        )
    if order[0] == "dims":
        if not arguments["dims"]:
            raise RuntimeError("flatten(tensor, dims, out_dim): dims cannot be empty")
        return [_dim(names, d) for d in arguments["dims"]], arguments["out_dim"]
    start, end = _dim(names, arguments["start_dim"]), _dim(names, arguments["end_dim"])
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    return list(range(start, end + 1)), arguments["out_dim"]


def unflatten(self: Tensor, dim: Any, sizes: Any, names: Sequence[Any] | None = None) -> Tensor:
    """A dimension as several that have names: `unflatten('features', [('C', 3), ('H', 5)])`.

    Args:
        dim: the dimension, a name or a number.
        sizes: pairs of a name and a size, or sizes.
        names: the names of these sizes, where `sizes` has none.

    Returns:
        Tensor

    Raises:
        TypeError: sizes aren't pairs or numbers.
        RuntimeError: a name isn't there, or the sizes don't multiply to the dimension's.

    Example:
        >>> import tl_core as tl
        >>> x = tl.zeros(2, 15, names=("N", "features"))
        >>> x.unflatten("features", [("C", 3), ("H", 5)]).names
        ('N', 'C', 'H')
    """
    own = _C._names_of(self)
    names, sizes = unzip_namedshape(sizes) if names is None else (tuple(names), tuple(sizes))
    if len(names) != len(sizes):
        raise RuntimeError(f"unflatten: expected as many names as sizes, got {list(names)} and {list(sizes)}")
    at = _dim(own, dim)
    _check_product(self.shape[at], sizes, f"dim {at} ({own[at]!r}: {self.shape[at]}) in Tensor{list(own)}")
    result = _C._renamed(self, None).unflatten(at, sizes)
    return _C._renamed(result, (*own[:at], *names, *own[at + 1 :]))


def _check_product(size: int, sizes: Sequence[int], where: str) -> None:
    product = math.prod(n for n in sizes if n != -1)
    if -1 in sizes and product == 0 == size:
        raise RuntimeError(
            f"unflatten: cannot unflatten {where} into {list(sizes)} because the unspecified dimension size -1 can be "
            "any value and is ambiguous"
        )
    fits = size == product if -1 not in sizes else product != 0 and size % product == 0
    if not fits:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of {where}"
        )


def unzip_namedshape(namedshape: Any) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The names and the sizes of `[('C', 3), ('H', 5)]`, or of a mapping.

    Raises:
        TypeError: it is neither.
    """
    pairs = list(namedshape.items()) if isinstance(namedshape, Mapping) else namedshape
    if pairs is None or pairs in ([], ()):
        raise RuntimeError("unflatten: sizes must be non-empty")
    if not isinstance(pairs, (list, tuple)) or not all(
        isinstance(p, (list, tuple)) and len(p) == 2 for p in pairs
    ):
        raise TypeError(
            "unflatten(): argument 'sizes' must be a tuple of ints, pairs of a name and a size, or a mapping, got "
            f"{namedshape!r}"
        )
    return tuple(name for name, _ in pairs), tuple(size for _, size in pairs)
