"""The module that an object says it belongs to."""

from __future__ import annotations

from typing import Any

__all__ = ["PublicModuleName", "own_module_of", "set_module"]


class PublicModuleName(str):
    """The name of the module from which users import a class, as its `__module__`. A pickle has the name of the module
    that the class lies in, so that it is read without the façade too.

    Args:
        public: the name that is shown.
        own: that of the module that the class lies in.

    Example:
        >>> import pickle
        >>> name = PublicModuleName("torch.nn.modules.linear", "tl_nn.modules.linear")
        >>> name, pickle.loads(pickle.dumps(name))
        ('torch.nn.modules.linear', 'tl_nn.modules.linear')
    """

    own: str

    def __new__(cls, public: str, own: str) -> PublicModuleName:
        name = super().__new__(cls, public)
        name.own = own
        return name

    def __reduce_ex__(self, protocol: Any) -> Any:
        return str, (self.own,)


def own_module_of(kind: Any) -> str:
    """The name of the module that a class or function lies in, whatever it says to users.

    Args:
        kind: the class or function.

    Example:
        >>> own_module_of(PublicModuleName)
        'tl_core.base.public_names'
    """
    name: str = kind.__module__
    return getattr(name, "own", name)


def set_module(obj: Any, mod: str) -> None:
    """Says that an object belongs to a module, as it is printed and pickled: the one from which users import it.

    Args:
        obj: a class or function.
        mod: the module's full name.

    Raises:
        TypeError: the name isn't a str.

    Example:
        >>> def made_elsewhere(): ...
        >>> set_module(made_elsewhere, "public.module")
        >>> made_elsewhere.__module__
        'public.module'
    """
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod
