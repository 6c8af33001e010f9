"""Lists and dictionaries that refuse to change: the containers in the arguments of nodes.

Whoever changed one in place would bypass the lists of users that nodes keep; a new value has to be assigned.
"""

from __future__ import annotations

from typing import Any, NoReturn

from tl_core import pytree

from . import _pytree as fx_pytree

__all__ = ["immutable_dict", "immutable_list"]


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Not supported: raises NotImplementedError, as nodes could not see the change."""
    raise NotImplementedError(
        f"'{type(self).__name__}' object does not support mutation. If you are attempting to modify the kwargs or "
        "args of a torch.fx.Node object,\ninstead create a new copy of it and assign the copy to the node:\n"
        "    new_args = ...  # copy and mutate args\n    node.args = new_args"
    )


class immutable_list(list[Any]):
    """A list whose methods of change raise NotImplementedError.

    Example:
        >>> immutable_list([1, 2]) == [1, 2]
        True
    """

    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return (immutable_list, (tuple(self),))


class immutable_dict(dict[Any, Any]):
    """A dictionary whose methods of change raise NotImplementedError.

    Example:
        >>> immutable_dict(a=1)["a"]
        1
    """

    __delitem__ = __ior__ = __setitem__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return (immutable_dict, (tuple(self.items()),))


pytree.register_pytree_node(
    immutable_list,
    lambda values: (list(values), None),
    lambda values, _: immutable_list(values),
    serialized_type_name="torch.fx.immutable_collections.immutable_list",
)
pytree.register_pytree_node(
    immutable_dict,
    lambda mapping: (list(mapping.values()), list(mapping)),
    lambda values, keys: immutable_dict(zip(keys, values, strict=True)),
    serialized_type_name="torch.fx.immutable_collections.immutable_dict",
)
fx_pytree.register_pytree_flatten_spec(
    immutable_list, lambda values, spec: [values[i] for i in range(spec.num_children)]
)
fx_pytree.register_pytree_flatten_spec(
    immutable_dict, lambda mapping, spec: [mapping[key] for key in spec.context]
)
