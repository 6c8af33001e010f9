"""The module that an object says it belongs to."""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any

from tl_core._C import _without_frames as without_frames

__all__ = [
    "PublicModuleName",
    "listed_names",
    "name_constructor",
    "own_module_of",
    "set_module",
    "without_frames",
]


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


def listed_names(module: ModuleType, further: Iterable[str] = ()) -> list[str]:
    """The names that `dir` lists of a public module: those of `__all__`, or else those that its package defines.

    The module's imports are not among them. Each public module has this list, its package or the façade says so.

    Args:
        module: the module.
        further: names that the module loads when they are first read, such as public modules below it.

    Example:
        >>> import tl_core
        >>> "svd" in listed_names(tl_core.linalg), "Any" in listed_names(tl_core.linalg)
        (True, False)
    """
    namespace = vars(module)
    listed = namespace.get("__all__")
    own = listed if listed is not None else [name for name in namespace if _defines(module, name)]
    return sorted({*own, *further, *(name for name in namespace if name.startswith("__"))})


_CONSTANTS = (bool, int, float, str, tuple, list, dict, frozenset, type(None))


def _defines(module: ModuleType, name: str) -> bool:
    """Whether a value of a module without `__all__` is of its package, and not one that it imports to use it."""
    value = vars(module)[name]
    if name.startswith("_") or name == "TYPE_CHECKING" or isinstance(value, ModuleType):
        return False
    if isinstance(value, _CONSTANTS):
        return name.isupper() or hasattr(module, "__path__")
    home = getattr(value, "__module__", None)
    home = getattr(home, "own", home) if isinstance(home, str) else type(value).__module__
    package = module.__name__.partition(".")[0]
    # The façade names operators after PyTorch's modules, and tl_core defines them.
    return home.partition(".")[0] in ((package, "torch") if package == "tl_core" else (package,))


def name_constructor(kind: type) -> None:
    """Names the constructor that a public class inherits from a private one after the public class, for errors.

    Args:
        kind: the class.

    Example:
        >>> class _Pair:
        ...     def __init__(self, left, right): ...
        >>> class Pair(_Pair): ...
        >>> name_constructor(Pair)
        >>> Pair(1)
        Traceback (most recent call last):
        TypeError: Pair.__init__() missing 1 required positional argument: 'right'
    """
    inherited: Any = kind.__init__  # type: ignore[misc]  # of no instance
    private = isinstance(inherited, FunctionType) and inherited.__qualname__.startswith("_")
    if not private or kind.__name__.startswith("_"):
        return
    own = FunctionType(
        inherited.__code__,
        inherited.__globals__,
        inherited.__name__,
        inherited.__defaults__,
        inherited.__closure__,
    )
    for attribute in ("__kwdefaults__", "__annotations__", "__doc__", "__module__"):
        setattr(own, attribute, getattr(inherited, attribute))
    own.__qualname__ = f"{kind.__qualname__}.__init__"
    kind.__init__ = own  # type: ignore[misc]
