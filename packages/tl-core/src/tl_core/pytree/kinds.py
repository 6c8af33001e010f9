"""Which objects are nodes of trees: tuples with names, dataclasses, constants; structures made by hand."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tl_core.pytree import trees
from tl_core.pytree.paths import GetAttrKey
from tl_core.pytree.trees import KEYED_CHILDREN, SERIALIZED_NODES, SUPPORTED_NODES, SerializedNode, TreeSpec

__all__ = [
    "BUILTIN_TYPES",
    "STANDARD_DICT_TYPES",
    "ConstantNode",
    "_deregister_pytree_node",
    "_is_leaf",
    "_is_namedtuple_instance",
    "_private_register_pytree_node",
    "_register_namedtuple",
    "is_constant_class",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "map_only",
    "register_constant",
    "register_dataclass",
    "tree_is_leaf",
    "tree_map_only_",
    "treespec_dict",
    "treespec_leaf",
    "treespec_pprint",
    "treespec_tuple",
]

BUILTIN_TYPES = frozenset({tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque})
STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})

_is_namedtuple_instance = trees._is_namedtuple_instance
_private_register_pytree_node = trees.register_pytree_node


def is_namedtuple_class(cls: type) -> bool:
    """Whether a class was made by `namedtuple`, or derives from one that was.

    Args:
        cls: the class.
    """
    fields = getattr(cls, "_fields", None)
    named = isinstance(fields, tuple) and all(isinstance(name, str) for name in fields)
    return (
        isinstance(cls, type) and issubclass(cls, tuple) and named and callable(getattr(cls, "_make", None))
    )


def is_namedtuple_instance(obj: object) -> bool:
    """Whether an object is a tuple whose elements have names.

    Args:
        obj: the object.
    """
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: object | type) -> bool:
    """The same of an object or a class.

    Args:
        obj: the object or the class.
    """
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: type) -> bool:
    """Whether a class is one of the tuples with names that are written in C: what operators with several results give.

    Args:
        cls: the class.
    """
    counts = ("n_fields", "n_sequence_fields", "n_unnamed_fields")
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and all(isinstance(getattr(cls, name, None), int) for name in counts)
    )


def is_structseq_instance(obj: object) -> bool:
    """Whether an object is a tuple of such a class.

    Args:
        obj: the object.
    """
    return is_structseq_class(type(obj))


def is_structseq(obj: object | type) -> bool:
    """The same of an object or a class.

    Args:
        obj: the object or the class.
    """
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def by_fields(
    cls: type[Any], names: list[str], keep_none: bool = False
) -> tuple[Callable[[Any], tuple[list[Any], Any]], Callable[[Iterable[Any], Any], Any]]:
    """What flattens objects to their fields, and makes them anew; fields that are None are left out.

    Args:
        cls: the class.
        names: the fields.
        keep_none: whether fields that are None are children, too.
    """

    def flatten(obj: Any) -> tuple[list[Any], Any]:
        present = [name for name in names if keep_none or getattr(obj, name) is not None]
        return [getattr(obj, name) for name in present], [present, [n for n in names if n not in present]]

    def unflatten(children: Iterable[Any], context: Any) -> Any:
        present, absent = context
        return cls(**dict(zip(present, children, strict=True)), **dict.fromkeys(absent))

    return flatten, unflatten


def register_dataclass(
    cls: type[Any],
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Makes a dataclass a container of its fields; those that are None when it is flattened are left out.

    Args:
        cls: the class.
        field_names: the fields that are children; None for all that its constructor takes.
        drop_field_names: those that are lost.
        serialized_type_name: the name by which files call the class.

    Raises:
        ValueError: it is no dataclass and has no names given, or the names are not those of its fields.
    """
    dropped = drop_field_names or []
    if dataclasses.is_dataclass(cls):
        own = [field.name for field in dataclasses.fields(cls) if field.init]
        names = [name for name in own if name not in dropped] if field_names is None else field_names
        if sorted({*names, *dropped}) != sorted(own):
            raise ValueError(
                f"register_dataclass: field_names and drop_field_names are {[*names, *dropped]}, the fields {own}"
            )
    elif field_names is None:
        raise ValueError(
            f"field_names must be specified with a list of all fields used to initialize {cls}, as it is not a "
            "dataclass."
        )
    else:
        names = field_names

    flatten, unflatten = by_fields(cls, names)

    def flatten_with_keys(obj: Any) -> tuple[list[tuple[Any, Any]], Any]:
        children, context = flatten(obj)
        return [(GetAttrKey(name), child) for name, child in zip(context[0], children)], context

    trees.register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=flatten_with_keys,
    )


@dataclasses.dataclass(frozen=True)
class ConstantNode:
    """What a structure keeps of a constant: the object itself.

    Args:
        value: the object.
    """

    value: Any


_constants: set[type] = set()


def register_constant(cls: type[Any]) -> None:
    """Makes objects of a class part of structures, where they are compared; they are no leaves.

    Args:
        cls: the class, which has a comparison and a hash of its own.

    Raises:
        TypeError: it has none.
        ValueError: it is registered.

    Example:
        >>> import dataclasses
        >>> @dataclasses.dataclass(frozen=True)
        ... class Scale:
        ...     by: int
        >>> register_constant(Scale)
        >>> trees.tree_leaves([Scale(2), 3])
        [3]
    """
    for name in ("__eq__", "__hash__"):
        if getattr(cls, name) in (getattr(object, name), None):
            raise TypeError(
                f"register_constant(cls) expects `cls` to have a non-default `{name}` implementation."
            )
    trees.register_pytree_node(
        cls,
        lambda value: ([], ConstantNode(value)),
        lambda _, node: node.value,
        flatten_with_keys_fn=lambda value: ([], ConstantNode(value)),
    )
    _constants.add(cls)


def is_constant_class(cls: type[Any]) -> bool:
    """Whether `register_constant` was called with a class.

    Args:
        cls: the class.
    """
    return isinstance(cls, type) and cls in _constants


def _register_namedtuple(cls: type[Any], *, serialized_type_name: str) -> None:
    """Gives the name by which files call a class that `namedtuple` made."""
    if not is_namedtuple_class(cls):
        raise TypeError(f"{cls} is no class that namedtuple made")
    SERIALIZED_NODES[serialized_type_name] = SerializedNode(cls, None, None)


def _deregister_pytree_node(cls: type[Any]) -> None:
    """Makes objects of a class leaves again."""
    del SUPPORTED_NODES[cls]
    KEYED_CHILDREN.pop(cls, None)
    _constants.discard(cls)
    for name in [name for name, node in SERIALIZED_NODES.items() if node.type is cls]:
        del SERIALIZED_NODES[name]


def tree_is_leaf(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether an object is no container.

    Args:
        tree: the object.
        is_leaf: takes a node, says whether it counts as a leaf; None for the registered containers.
    """
    return (is_leaf is not None and is_leaf(tree)) or trees.node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A decorator: the function is called with what has a type, or what a predicate likes; all else stays as it is.

    Args:
        type_or_types_or_pred: a class, a tuple of them, or a function of a leaf.

    Example:
        >>> map_only(int)(lambda x: x + 1)(2), map_only(int)(lambda x: x + 1)("a")
        (3, 'a')
    """

    def decorate(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda leaf: trees.tree_map_only(type_or_types_or_pred, func, leaf, is_leaf=lambda _: True)

    return decorate


def tree_map_only_(
    type_or_types_or_pred: Any,
    /,
    func: Callable[[Any], Any],
    tree: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """Calls a function with the leaves of a type, and gives back the tree itself.

    Args:
        type_or_types_or_pred: a class, a tuple of them, or a function of a leaf.
        func: called with each such leaf.
        tree: nested containers.
        is_leaf: takes a node, says whether it counts as a leaf; None for the registered containers.
    """
    trees.tree_map_only(type_or_types_or_pred, func, tree, is_leaf)
    return tree


def treespec_leaf() -> TreeSpec:
    """The structure of a leaf."""
    return trees.LeafSpec()


def _check_specs(specs: Iterable[Any], kind: str) -> list[TreeSpec]:
    spec_list = list(specs)
    if not all(isinstance(spec, TreeSpec) for spec in spec_list):
        raise ValueError(f"Expected a {kind} of TreeSpec values, got: {spec_list}.")
    return spec_list


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """The structure of a tuple.

    Args:
        iterable: the structures of its elements.
    """
    return TreeSpec(tuple, None, _check_specs(iterable, "tuple"))


def treespec_dict(
    mapping: Mapping[Any, TreeSpec] | Iterable[tuple[Any, TreeSpec]] = (), /, **kwargs: TreeSpec
) -> TreeSpec:
    """The structure of a dictionary.

    Args:
        mapping: the structures of its values by key.
        **kwargs: more of them.
    """
    values = dict(mapping, **kwargs)
    return TreeSpec(dict, list(values), _check_specs(values.values(), "dictionary"))


class _Star:
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """The containers of a structure with a star for each leaf.

    Args:
        treespec: the structure.

    Example:
        >>> treespec_pprint(trees.tree_structure([1, {"a": 2}]))
        "[*, {'a': *}]"
    """
    from pprint import pformat

    return pformat(treespec.unflatten(_Star() for _ in range(treespec.num_leaves)))
