"""Operators from Python functions: `custom_op`, and what can be added to them."""

from __future__ import annotations

import contextlib
import logging
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, overload

from tl_core import _C
from tl_core.dispatch.layers import device_key
from tl_core.dispatch.registrations import Registration
from tl_core.library import derivatives
from tl_core.library.libraries import Library
from tl_core.library.schema_inference import infer_schema
from tl_core.operators import packets as ops
from tl_core.schemas import signatures
from tl_core.schemas.tags import Tag
from tl_core.subclasses import fake_impl

__all__ = ["CustomOpDef", "custom_op"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

_log = logging.getLogger("torch._library.custom_ops")

OPDEFS: weakref.WeakValueDictionary[str, CustomOpDef] = weakref.WeakValueDictionary()
_libraries: dict[str, Library] = {}


@overload
def custom_op(
    name: str,
    fn: None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Sequence[Tag] | None = None,
) -> Callable[[Callable[..., object]], CustomOpDef]: ...
@overload
def custom_op(
    name: str,
    fn: Callable[..., object],
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Sequence[Tag] | None = None,
) -> CustomOpDef: ...
def custom_op(
    name: str,
    fn: Callable[..., object] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Sequence[Tag] | None = None,
) -> Any:
    """Makes an operator of a function, which autograd, vmap and tracers see as one.

    Args:
        name: the operator's name with a namespace: `mylib::sinc`.
        fn: the function; without it, this is a decorator.
        mutates_args: the names of the tensors that it writes; "unknown" where any may be.
        device_types: the devices that the function is for; by default all.
        schema: the arguments and results, `(Tensor x) -> Tensor`; by default the annotations say them.
        tags: what else is known of it.

    Returns:
        The operator, a `CustomOpDef`, or the decorator.

    Raises:
        ValueError: annotations are missing, or disagree with `mutates_args`.

    Example:
        >>> import tl_core as tl
        >>> @custom_op("plane::halved", mutates_args=())
        ... def halved(x: tl.Tensor) -> tl.Tensor:
        ...     return x / 2
        >>> @halved.register_fake
        ... def _(x):
        ...     return tl.empty_like(x)
        >>> halved(tl.tensor([2.0, 4.0]))
        tensor([1., 2.])
        >>> tl.ops.plane.halved.default._schema
        plane::halved(Tensor x) -> Tensor
    """

    def make(function: Callable[..., object]) -> CustomOpDef:
        text = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        namespace, colons, opname = name.partition("::")
        if not colons or "::" in opname:
            raise ValueError(f"Expected `name` to be of the form 'namespace::name', but got {name}")
        op = CustomOpDef(namespace, opname, text, function, tags)
        if schema is not None:
            _check_written(op, mutates_args, schema)
        op.register_kernel(device_types)(function)
        return op

    return make if fn is None else make(fn)


def _check_written(op: CustomOpDef, mutates_args: str | Iterable[str], schema: str) -> None:
    mutated = {a.name for a in op._opoverload._schema.arguments if a.is_write}
    if mutated != set(mutates_args):
        raise ValueError(
            f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={schema}. The schema "
            f"suggests that the op mutates {mutated}which is different from what was provided to us in `mutates_args`. "
            "Please make these consistent."
        )


class CustomOpDef(_C._Operator):
    """An operator that was made of a Python function. `custom_op` makes it.

    Args:
        namespace: the operator's namespace.
        name: its name there.
        schema: its arguments and results.
        fn: the function.
        tags: what else is known of it.

    Example:
        >>> import tl_core
        >>> from tl_core.library import custom_op
        >>> @custom_op("examples::cube", mutates_args=())
        ... def cube(x: tl_core.Tensor) -> tl_core.Tensor:
        ...     return x**3
        ...
        >>> type(cube).__name__, cube(tl_core.tensor([2.0]))
        ('CustomOpDef', tensor([8.]))
    """

    def __init__(
        self,
        namespace: str,
        name: str,
        schema: str,
        fn: Callable[..., Any],
        tags: Sequence[Tag] | None = None,
    ) -> None:
        self._tags = [Tag.pt2_compliant_tag, *(tags or ())]
        self._namespace, self._name, self._schema, self._init_fn = namespace, name, schema, fn
        self._backend_fns: dict[str | None, Callable[..., Any]] = {}
        self._registered: dict[str | None, Registration] = {}
        self._disabled_kernel: set[str | None] = set()
        self._abstract_fn: Callable[..., Any] | None = None
        self._setup_context_fn: Callable[..., Any] | None = None
        self._backward_fn: Callable[..., Any] | None = None
        self._vmap_fn: Callable[..., Any] | None = None
        self._autocast: dict[str, Any] = {}
        self._torch_dispatch_fns: dict[type, Callable[..., Any]] = {}
        self._lib = _fresh_library(namespace, name)
        self._define()
        OPDEFS[self._qualname] = self

    @property
    def _qualname(self) -> str:
        return f"{self._namespace}::{self._name}"

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def _define(self) -> None:
        self._lib.define(f"{self._name}{self._schema}", tags=self._tags)
        self._opoverload = ops._overload(self._qualname)
        super().__init__((self._qualname,), self._opoverload)
        if signatures.has_kwarg_only_tensors(self._opoverload._schema):
            self._lib._destroy()
            raise NotImplementedError(
                "custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. Got: "
                f"{self._name}{self._schema}"
            )
        self._lib._register(self._name, _Fake(self), "Meta")
        if signatures.is_functional(self._opoverload._schema):
            derivatives.install(self._lib, self._opoverload, self)

    # ---- functions --------------------------------------------------------------------------------------------------
    @overload
    def register_kernel(
        self, device_types: str | Sequence[str] | None, fn: None = None, /
    ) -> Callable[[_Function], _Function]: ...
    @overload
    def register_kernel(self, device_types: str | Sequence[str] | None, fn: _Function, /) -> _Function: ...
    def register_kernel(
        self, device_types: str | Sequence[str] | None, fn: Callable[..., Any] | None = None, /
    ) -> Any:
        """Adds a function for types of devices; a decorator without `fn`.

        Args:
            device_types: one or several, such as "cpu"; None for all that have no function of their own.
            fn: the function.

        Raises:
            RuntimeError: no device is called so.
            ValueError: the operator takes neither a tensor nor an argument `device` to choose by.

        Example:
            >>> import tl_core as tl
            >>> @custom_op("plane::tripled", mutates_args=(), device_types="cpu")
            ... def tripled(x: tl.Tensor) -> tl.Tensor:
            ...     return x * 3
            >>> @tripled.register_kernel("cuda")
            ... def _(x):
            ...     return x + x + x
            >>> tripled(tl.tensor(1.0))
            tensor(3.)
        """

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            types = [device_types] if device_types is None or isinstance(device_types, str) else device_types
            for device_type in types:
                self._put(device_type, function)
            schema = self._opoverload._schema
            can_select = device_types is None or signatures.has_tensor_arg(schema)
            if not can_select and signatures.device_argument(schema) is None:
                raise ValueError(
                    "Functions without tensor inputs are required to have a `device: torch.device` argument"
                )
            return function

        return register if fn is None else register(fn)

    def _put(self, device_type: str | None, function: Callable[..., Any]) -> None:
        key = "CompositeExplicitAutograd" if device_type is None else device_key(device_type)
        self._backend_fns[device_type] = function
        if before := self._registered.pop(device_type, None):
            self._lib._withdraw(before)
        current = self._init_fn if device_type in self._disabled_kernel else function
        self._registered[device_type] = self._lib._register(self._name, current, key, refuses_aliasing=True)

    @contextlib.contextmanager
    def _enabled_again(self, device_type: str, before: bool) -> Iterator[None]:
        try:
            yield
        finally:
            self._switch(device_type, before)

    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Any:
        """Switches the function for a device off, so that the operator's first function is called, or on again.

        Args:
            device_type: the device.
            enabled: whether its function is called.

        Returns:
            A context at the end of which the switch is as it was before.

        Example:
            >>> import tl_core as tl
            >>> @custom_op("plane::same", mutates_args=())
            ... def same(x: tl.Tensor) -> tl.Tensor:
            ...     return x.clone()
            >>> @same.register_kernel("cpu")
            ... def _(x):
            ...     return x + 0.5
            >>> with same.set_kernel_enabled("cpu", enabled=False):
            ...     same(tl.tensor(1.0))
            tensor(1.)
            >>> same(tl.tensor(1.0))
            tensor(1.5000)
        """
        before = device_type not in self._disabled_kernel
        if device_type not in self._backend_fns:
            _log.warning(
                "Attempted to %s kernel for %s but no kernel was registered for this device type.",
                "enable" if enabled else "disable",
                device_type,
            )
        elif enabled == before:
            state = "enable" if enabled else "disable"
            _log.warning("Attempted to %s kernel for %s but it was already %sd.", state, device_type, state)
        self._switch(device_type, enabled)
        return self._enabled_again(device_type, before)

    def _switch(self, device_type: str, enabled: bool) -> None:
        if enabled:
            self._disabled_kernel.discard(device_type)
        else:
            self._disabled_kernel.add(device_type)
        if device_type in self._backend_fns:
            self._put(device_type, self._backend_fns[device_type])

    # ---- what else the operator does --------------------------------------------------------------------------------
    def register_fake(self, fn: _Function, /) -> _Function:
        """Says what sizes and types the results have, for tensors without elements.

        Args:
            fn: takes the operator's arguments and returns tensors as the operator would, of `meta` or the arguments'
                devices.

        Example:
            >>> import tl_core as tl
            >>> @custom_op("plane::paired", mutates_args=())
            ... def paired(x: tl.Tensor) -> tl.Tensor:
            ...     return tl.stack([x, x])
            >>> @paired.register_fake
            ... def _(x):
            ...     return x.new_empty(2, *x.shape)
            >>> paired(tl.empty(3, device="meta")).shape
            torch.Size([2, 3])
        """
        self._abstract_fn = fn
        fake_impl.entries[self._qualname] = fake_impl.FakeKernel(self._qualname, fn, 2)
        return fn

    def register_torch_dispatch(
        self, torch_dispatch_class: Any, fn: Callable[..., Any] | None = None, /
    ) -> Any:
        """Says what a mode, or a class of tensors, with `__torch_dispatch__` does with this operator.

        Args:
            torch_dispatch_class: the class of the mode or of the tensors.
            fn: gets the mode or the class, the operator, the types, the arguments and those by keyword; without it,
                this is a decorator.
        """
        from tl_core.library import torch_dispatch

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            torch_dispatch.install(self._lib, self._opoverload, torch_dispatch_class, function)
            self._torch_dispatch_fns[torch_dispatch_class] = function
            return function

        return register if fn is None else register(fn)

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Says how gradients go back through the operator.

        Args:
            backward: gets a context and a gradient for each result; returns one, or None, for each argument.
            setup_context: gets the context, the arguments as `inputs`, those after the `*` as `keyword_only_inputs`
                if the operator has any, and the results as `output`; keeps what `backward` needs.

        Raises:
            RuntimeError: the operator writes arguments or returns what shares memory with them.

        Example:
            >>> import tl_core as tl
            >>> @custom_op("plane::cubed", mutates_args=())
            ... def cubed(x: tl.Tensor) -> tl.Tensor:
            ...     return x**3
            >>> def setup_context(ctx, inputs, output):
            ...     ctx.save_for_backward(*inputs)
            >>> def backward(ctx, grad):
            ...     (x,) = ctx.saved_tensors
            ...     return grad * 3 * x * x
            >>> cubed.register_autograd(backward, setup_context=setup_context)
            >>> cubed(tl.tensor(2.0))
            tensor(8.)
        """
        schema = self._opoverload._schema
        if not signatures.is_functional(schema):
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {self} with schema {schema}. Please "
                "create a functional operator and register an autograd formula for that."
            )
        self._backward_fn, self._setup_context_fn = backward, setup_context
        derivatives.invalidate(self)

    @overload
    def register_vmap(self, func: None = None, /) -> Callable[[_Function], _Function]: ...
    @overload
    def register_vmap(self, func: _Function, /) -> _Function: ...
    def register_vmap(self, func: Callable[..., Any] | None = None, /) -> Any:
        """Says what the operator does under `vmap`; a decorator without `func`.

        Args:
            func: gets `info` (`batch_size`, `randomness`), for each argument the dimension of the batch or None, and
                the arguments; returns the results and the dimensions of their batches.

        Example:
            >>> import tl_core as tl
            >>> @custom_op("plane::opposite", mutates_args=())
            ... def opposite(x: tl.Tensor) -> tl.Tensor:
            ...     return -x
            >>> @opposite.register_vmap
            ... def _(info, in_dims, x):
            ...     return opposite(x), in_dims[0]
        """

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self._vmap_fn = function
            derivatives.install_transforms(self._lib, self._opoverload, self)
            return function

        return register if func is None else register(func)

    def register_autocast(self, device_type: str, cast_inputs: Any) -> Callable[..., Any]:
        """Says in which type the operator computes in regions of autocast.

        Args:
            device_type: "cpu" or "cuda".
            cast_inputs: the type to which tensors of floating point are converted.

        Raises:
            ValueError: the device is another, or the type is none.

        Example:
            >>> import tl_core as tl
            >>> @custom_op("plane::doubled", mutates_args=())
            ... def doubled(x: tl.Tensor) -> tl.Tensor:
            ...     return x * 2
            >>> _ = doubled.register_autocast("cpu", tl.bfloat16)
            >>> doubled(tl.ones(2)).dtype
            torch.float32
        """
        from tl_core.library import autocast_rules

        autocast_rules.check(device_type, cast_inputs)
        self._autocast[device_type] = cast_inputs
        return autocast_rules.install(self._lib, self._opoverload, self._autocast)

    def __reduce__(self) -> Any:
        return OPDEFS.__getitem__, (self._qualname,)

    def __hash__(self) -> int:
        return hash(self._qualname)

    def __eq__(self, other: object) -> bool:
        return self is other


class _Fake:
    """The function for `meta`: what `register_fake` gave, or an error that says that nothing did."""

    def __init__(self, definition: CustomOpDef) -> None:
        self.definition = weakref.proxy(definition)
        self.qualname, self.shown, self.init = definition._qualname, repr(definition), definition._init_fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        kernel = fake_impl.entries.get(self.qualname)
        if kernel is not None:
            return kernel(*args, **kwargs)
        if not self.definition._opoverload._schema.returns and self.definition._opoverload._schema.is_mutable:
            return None
        raise RuntimeError(
            f"There was no fake impl registered for {self.shown}. This is necessary for torch.compile/export/fx "
            f"tracing to work. Please use `{getattr(self.init, '__name__', self.init)}.register_fake` to add an fake "
            "impl."
        )


def _fresh_library(namespace: str, name: str) -> Library:
    """A library for one operator, in the place of that of an older operator of the name."""
    qualname = f"{namespace}::{name}"
    if qualname in _libraries:
        _libraries.pop(qualname)._destroy()
        fake_impl.entries.pop(qualname, None)
    library = _libraries[qualname] = Library(namespace, "FRAGMENT")
    return library


def find(op: Any) -> CustomOpDef | None:
    """What `custom_op` made of the operator that is given by name or as such; None if it made none."""
    if isinstance(op, CustomOpDef):
        return op
    return OPDEFS.get(op._name if isinstance(op, ops.OpOverload) else op)
