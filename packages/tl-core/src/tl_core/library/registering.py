"""What can be added to any operator, by its name: `register_kernel`, `register_fake`, …"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

from tl_core.dispatch import registrations
from tl_core.library import autocast_rules, derivatives
from tl_core.library.custom_ops import CustomOpDef, find
from tl_core.library.libraries import Library, kept_library, keys_of_devices, operator_of
from tl_core.operators import packets as ops
from tl_core.operators.names import lookup_op
from tl_core.schemas import signatures

__all__ = [
    "impl_abstract",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _check_operator(op: Any, caller: str) -> None:
    if not isinstance(op, (str, ops.OpOverload, CustomOpDef)):
        raise ValueError(f"{caller}(op): got unexpected type for op: {type(op)}")


@overload
def register_kernel(
    op: Any,
    device_types: str | Sequence[str] | None,
    func: None = None,
    /,
    *,
    lib: Library | None = None,
) -> Callable[[_Function], _Function]: ...
@overload
def register_kernel(
    op: Any,
    device_types: str | Sequence[str] | None,
    func: _Function,
    /,
    *,
    lib: Library | None = None,
) -> _Function: ...
def register_kernel(
    op: Any,
    device_types: str | Sequence[str] | None,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Adds a function for types of devices to an operator; a decorator without `func`.

    Args:
        op: the operator, or its name.
        device_types: one or several; None for all.
        func: the function.
        lib: the library with which this goes; without one it stays.

    Raises:
        ValueError: `op` is no operator.

    Example:
        >>> import tl_core as tl
        >>> tl.library.define("line::length", "(Tensor x) -> Tensor")
        >>> @register_kernel("line::length", "cpu")
        ... def _(x):
        ...     return x.abs().sum()
        >>> tl.ops.line.length(tl.tensor([1.0, -2.0]))
        tensor(3.)
    """
    _check_operator(op, "register_kernel")
    if (definition := find(op)) is not None:
        return definition.register_kernel(device_types, func)
    if func is None:
        return lambda f: (register_kernel(op, device_types, f, lib=lib), f)[1]
    namespace, name = operator_of(op, "register_kernel")
    for key in dict.fromkeys(keys_of_devices(device_types)):
        kept_library(namespace, lib).impl(name, func, key)
    return None


@overload
def register_fake(
    op: Any,
    func: None = None,
    /,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
    allow_override: bool = False,
) -> Callable[[_Function], _Function]: ...
@overload
def register_fake(
    op: Any,
    func: _Function,
    /,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
    allow_override: bool = False,
) -> _Function: ...
def register_fake(
    op: Any,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
    allow_override: bool = False,
) -> Any:
    """Says what sizes and types an operator's results have, for tensors without elements; a decorator without `func`.

    Args:
        op: the operator, or its name.
        func: takes the operator's arguments and returns tensors like its results, without reading elements.
        lib: the library with which this goes; without one it stays.
        allow_override: whether it may take the place of another.

    Raises:
        ValueError: `op` is no operator.
        RuntimeError: something of this kind is registered already.

    Example:
        >>> import tl_core as tl
        >>> tl.library.define("line::twice", "(Tensor x) -> Tensor")
        >>> @register_fake("line::twice")
        ... def _(x):
        ...     return x.new_empty(2 * x.shape[0])
        >>> tl.ops.line.twice(tl.empty(3, device="meta")).shape
        torch.Size([6])
    """
    _check_operator(op, "register_fake")
    if (definition := find(op)) is not None:
        return definition.register_fake if func is None else definition.register_fake(func)
    if func is None:
        options: Any = {"lib": lib, "_stacklevel": _stacklevel + 1, "allow_override": allow_override}
        return lambda f: (register_fake(op, f, **options), f)[1]
    namespace, name = operator_of(op, "register_fake")
    kept_library(namespace, lib)._register_fake(
        name, func, _stacklevel=_stacklevel + 1, allow_override=allow_override
    )
    return func


def impl_abstract(
    qualname: str, func: Callable[..., Any] | None = None, *, lib: Library | None = None, _stacklevel: int = 1
) -> Any:
    """An older name of `register_fake`.

    Args:
        qualname: the operator's name.
        func: the function.
        lib: the library with which this goes.

    Example:
        >>> import tl_core
        >>> tl_core.library.impl_abstract("project::double")  # doctest: +SKIP
    """
    warnings.warn(
        "torch.library.impl_abstract was renamed to torch.library.register_fake. Please use that instead; we will "
        "remove torch.library.impl_abstract in a future version of PyTorch.",
        FutureWarning,
        stacklevel=2,
    )
    return register_fake(qualname, func, lib=lib, _stacklevel=_stacklevel + 1)


def register_autograd(
    op: Any,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
) -> None:
    """Says how gradients go back through an operator.

    Args:
        op: the operator, or its name.
        backward: gets a context and a gradient for each result; returns one, or None, for each argument.
        setup_context: gets the context, the arguments as `inputs` and the results as `output`, and keeps what
            `backward` needs; arguments after a `*` come as `keyword_only_inputs`.
        lib: the library with which this goes; without one it stays.

    Raises:
        ValueError: `op` is no operator.
        RuntimeError: the operator writes arguments or returns what shares memory with them.

    Example:
        >>> import tl_core as tl
        >>> tl.library.define("line::sine", "(Tensor x) -> Tensor")
        >>> tl.library.impl("line::sine", "cpu", lambda x: x.sin())
        >>> def setup_context(ctx, inputs, output):
        ...     ctx.save_for_backward(*inputs)
        >>> register_autograd("line::sine", lambda ctx, g: g * ctx.saved_tensors[0].cos(), setup_context=setup_context)
        >>> tl.ops.line.sine(tl.tensor(0.0))
        tensor(0.)
    """
    _check_operator(op, "register_autograd")
    if (definition := find(op)) is not None:
        definition.register_autograd(backward, setup_context=setup_context)
        return
    namespace, name = operator_of(op, "register_autograd")
    overload = lookup_op(f"{namespace}::{name}")
    schema = overload._schema
    if not signatures.is_functional(schema):
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {overload} with schema {schema}. Please "
            "create a functional operator and register an autograd formula for that."
        )
    if signatures.has_kwarg_only_tensors(schema):
        raise NotImplementedError(
            f"register_autograd with kwarg-only Tensor args. In the original definition of the op, please make your "
            f"tensors not kwarg-only. Got: {schema}"
        )
    formula = _formula_of(overload)
    formula._backward_fn, formula._setup_context_fn = backward, setup_context
    derivatives.invalidate(formula)
    derivatives.install(kept_library(namespace, lib), overload, formula)


_formulas: dict[str, derivatives.Formula] = {}


def _formula_of(op: Any) -> derivatives.Formula:
    if registrations.of(op._native_name, "Autograd") is None:
        transforms = registrations.of(op._native_name, registrations.TRANSFORMS)
        return transforms.function.formula if transforms else derivatives.Formula()
    kernel = registrations.of(op._native_name, "Autograd").function
    return getattr(kernel, "formula", None) or derivatives.Formula()


@overload
def register_vmap(
    op: Any, func: None = None, /, *, lib: Library | None = None
) -> Callable[[_Function], _Function]: ...
@overload
def register_vmap(op: Any, func: _Function, /, *, lib: Library | None = None) -> _Function: ...
def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None) -> Any:
    """Says what an operator does under `vmap`; a decorator without `func`.

    Args:
        op: the operator, or its name.
        func: gets `info` (`batch_size`, `randomness`), for each argument the dimension of the batch or None, and the
            arguments; returns the results and the dimensions of their batches.
        lib: the library with which this goes; without one it stays.

    Raises:
        ValueError: `op` is no operator.

    Example:
        >>> import tl_core as tl
        >>> tl.library.define("line::negated", "(Tensor x) -> Tensor")
        >>> tl.library.impl("line::negated", "cpu", lambda x: -x)
        >>> @register_vmap("line::negated")
        ... def _(info, in_dims, x):
        ...     return tl.ops.line.negated(x), in_dims[0]
    """
    _check_operator(op, "register_vmap")
    if (definition := find(op)) is not None:
        return definition.register_vmap(func) if func is not None else definition.register_vmap
    if func is None:
        return lambda f: (register_vmap(op, f, lib=lib), f)[1]
    namespace, name = operator_of(op, "register_vmap")
    overload = lookup_op(f"{namespace}::{name}")
    if signatures.has_kwarg_only_tensors(overload._schema):
        raise NotImplementedError(
            "register_vmap with kwarg-only Tensor args. In the original definition of the op, please make your "
            f"tensors not kwarg-only. Got: {overload._schema}"
        )
    formula = _formula_of(overload)
    formula._vmap_fn = func
    derivatives.invalidate(formula)
    derivatives.install_transforms(kept_library(namespace, lib), overload, formula)
    return func


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Library | None = None) -> Any:
    """Says in which type an operator computes in regions of autocast.

    Args:
        op: the operator, or its name.
        device_type: "cpu" or "cuda".
        cast_inputs: the type to which tensors of floating point are converted.
        lib: the library with which this goes; without one it stays.

    Raises:
        ValueError: `op` is no operator, or the device or type is none of autocast's.

    Example:
        >>> import tl_core as tl
        >>> tl.library.define("line::half", "(Tensor x) -> Tensor")
        >>> tl.library.impl("line::half", "cpu", lambda x: x / 2)
        >>> _ = register_autocast("line::half", "cpu", tl.bfloat16)
    """
    _check_operator(op, "register_autocast")
    autocast_rules.check(device_type, cast_inputs)
    if (definition := find(op)) is not None:
        return definition.register_autocast(device_type, cast_inputs)
    namespace, name = operator_of(op, "register_autocast")
    overload = lookup_op(f"{namespace}::{name}")
    return autocast_rules.install(kept_library(namespace, lib), overload, {device_type: cast_inputs})


def register_torch_dispatch(
    op: Any,
    torch_dispatch_class: Any,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Says what a mode, or a class of tensors, with `__torch_dispatch__` does with an operator.

    Args:
        op: the operator, or its name.
        torch_dispatch_class: the class of the mode or of the tensors.
        func: gets the mode or the class, the operator, the types, the arguments and those by keyword; without it, this
            is a decorator.
        lib: the library with which this goes; without one it stays.

    Raises:
        ValueError: `op` is no operator.

    Example:
        >>> import tl_core
        >>> from tl_core.library import custom_op, register_torch_dispatch
        >>> @custom_op("examples::half", mutates_args=())
        ... def half(x: tl_core.Tensor) -> tl_core.Tensor:
        ...     return x / 2
        ...
        >>> class Marked(tl_core.Tensor):
        ...     pass
        ...
        >>> @register_torch_dispatch("examples::half", Marked)
        ... def of_marked(cls, func, types, args, kwargs):
        ...     return "handled"
    """
    from tl_core.library import torch_dispatch

    _check_operator(op, "register_torch_dispatch")
    if (definition := find(op)) is not None:
        return definition.register_torch_dispatch(torch_dispatch_class, func)
    if func is None:
        return lambda f: (register_torch_dispatch(op, torch_dispatch_class, f, lib=lib), f)[1]
    namespace, name = operator_of(op, "register_torch_dispatch")
    overload = lookup_op(f"{namespace}::{name}")
    torch_dispatch.install(kept_library(namespace, lib), overload, torch_dispatch_class, func)
    return func
