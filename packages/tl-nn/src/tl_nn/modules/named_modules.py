"""Walking the tree of modules and finding one thing in it by its dotted name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

from tl_core import Tensor

from ..parameter import Parameter
from .registration import _RegistrationMixin


class _NamedModulesMixin(_RegistrationMixin):
    """The iterators over a module's parameters, buffers and submodules, and look-up by path."""

    # Iterating

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Iterable[tuple[str, Any]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """Yield the members that `get_members_fn` returns for this module and, with `recurse`, all submodules."""
        visited: set[Any] = set()
        owners = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else ((prefix, self),)
        )
        for path, owner in owners:
            for name, member in get_members_fn(owner):
                if member is None or member in visited:
                    continue
                if remove_duplicate:
                    visited.add(member)
                yield _join(path, name), member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield each parameter with its dotted name, this module's own first.

        Args:
            prefix (str): Put before every name, with a dot.
            recurse (bool): Whether submodules are included.
            remove_duplicate (bool): Whether a parameter reached in two ways is yielded only the first time.

        Example:
            >>> import tl_nn
            >>> [name for name, _ in tl_nn.Linear(2, 3).named_parameters(prefix="out")]
            ['out.weight', 'out.bias']
        """
        yield from self._named_members(_own_parameters, prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield each parameter once, for an optimizer.

        Example:
            >>> import tl_nn
            >>> [tuple(parameter.shape) for parameter in tl_nn.Linear(2, 3).parameters()]
            [(3, 2), (3,)]
        """
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield each buffer with its dotted name. See `named_parameters` for the arguments."""
        yield from self._named_members(_own_buffers, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield each buffer once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """Yield each direct submodule once, with its name."""
        visited = set()
        for name, module in self._modules.items():
            if module is not None and module not in visited:
                visited.add(module)
                yield name, module

    def children(self) -> Iterator[Any]:
        """Yield each direct submodule once."""
        for _, module in self.named_children():
            yield module

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Yield this module and every module below it, parents first, with dotted names.

        Args:
            memo (set, optional): Modules to leave out. The iteration adds its modules to the set.
            prefix (str): The name of this module, put before the others with a dot.
            remove_duplicate (bool): Whether a module reached in two ways is yielded only the first time.

        Example:
            >>> import tl_nn
            >>> model = tl_nn.Sequential(tl_nn.Linear(2, 2), tl_nn.Tanh())
            >>> [name for name, _ in model.named_modules()]
            ['', '0', '1']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, _join(prefix, name), remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """Yield this module and every module below it, parents first."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def apply(self, fn: Callable[[Any], Any]) -> Self:
        """Call `fn(module)` for every module, children before their parent. Returns self.

        Example:
            >>> import tl_nn
            >>> def zero(module):
            ...     if isinstance(module, tl_nn.Linear):
            ...         tl_nn.init.zeros_(module.weight)
            >>> tl_nn.Linear(2, 1, bias=False).apply(zero).weight
            Parameter containing:
            tensor([[0., 0.]], requires_grad=True)
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # Looking up

    def get_submodule(self, target: str) -> Any:
        """The submodule at the dotted path `target`. The empty path is this module.

        Raises:
            AttributeError: If the path leads nowhere, or to something that isn't a module.

        Example:
            >>> import tl_nn
            >>> model = tl_nn.Sequential(tl_nn.Sequential(tl_nn.Tanh()))
            >>> model.get_submodule("0.0")
            Tanh()
        """
        module: Any = self
        for name in target.split(".") if target else ():
            module = _attribute(module, name)
            if not isinstance(module, _RegistrationMixin):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Any, strict: bool = False) -> None:
        """Put `module` at the dotted path `target`.

        Args:
            target (str): The path. All but its last name must exist.
            module (Module): The new submodule.
            strict (bool): Whether there must already be a submodule at the path.

        Raises:
            ValueError: If the path is empty or `module` isn't a module.
            AttributeError: If the path leads nowhere or to something that isn't a module.
        """
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, _RegistrationMixin):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict or hasattr(parent, name):
            parent.get_submodule(name)
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at the dotted path `target`.

        Raises:
            AttributeError: If the path leads nowhere, or to something that isn't a parameter.
        """
        path, _, name = target.rpartition(".")
        parameter = _attribute(self.get_submodule(path), name)
        if not isinstance(parameter, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return parameter

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at the dotted path `target`.

        Raises:
            AttributeError: If the path leads nowhere, or to something that isn't a buffer.
        """
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        buffer = _attribute(owner, name)
        if name not in owner._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return buffer


def _own_parameters(module: _RegistrationMixin) -> Iterable[tuple[str, Any]]:
    return module._parameters.items()


def _own_buffers(module: _RegistrationMixin) -> Iterable[tuple[str, Any]]:
    return module._buffers.items()


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _attribute(module: Any, name: str) -> Any:
    if not hasattr(module, name):
        raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
    return getattr(module, name)
