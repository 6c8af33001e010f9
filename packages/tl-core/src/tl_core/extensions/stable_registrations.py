"""What extensions register through PyTorch's stable C functions, and the operators that they call by name.

`libtl_stable_abi.so` calls these functions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from tl_core import _C
from tl_core.dispatch import registrations
from tl_core.dispatch.registrations import NativeKernel, Registration
from tl_core.extensions import stable_abi
from tl_core.library.libraries import Library
from tl_core.operators import packets
from tl_core.operators.names import native_name
from tl_core.schemas import tags

__all__ = ["begin", "define", "implement", "resolve", "set_python_module"]

# The library of each block of registrations; they last as long as the process.
_libraries: dict[tuple[str, str, str], Library] = {}

# The numbers of `torch_tag_…`; None: tl has no such tag.
TAGS = (
    tags.Tag.core,
    None,
    tags.Tag.data_dependent_output,
    tags.Tag.dynamic_output_shape,
    tags.Tag.flexible_layout,
    tags.Tag.generated,
    tags.Tag.inplace_view,
    tags.Tag.maybe_aliasing_or_mutating,
    None,
    None,
    tags.Tag.needs_fixed_stride_order,
    tags.Tag.nondeterministic_bitwise,
    tags.Tag.nondeterministic_seeded,
    None,
    tags.Tag.pointwise,
    tags.Tag.pt2_compliant_tag,
    None,
    tags.Tag.view_copy,
)


def _keep(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose errors wait."""

    @wraps(function)
    def keeping(*args: Any) -> Any:
        try:
            return function(*args)
        except Exception as error:  # raised by `load`, once the library's constructors have returned
            stable_abi.errors.append(error)
            return args[1] if args[1:] else ""

    return keeping


def _library(space: str, kind: str, key: str = "") -> Library:
    library = _libraries.get((space, kind, key))
    if library is None:
        library = _libraries[space, kind, key] = Library(space, kind, key)
    return library


@_keep
def begin(space: str, kind: str, key: str) -> None:
    """Begins a block of registrations.

    Args:
        space: the namespace.
        kind: "DEF", "FRAGMENT" or "IMPL".
        key: the dispatch key of its kernels.
    """
    if kind == "DEF":
        _libraries[space, kind, key] = Library(space, kind)
    else:
        _library(space, kind, key)


@_keep
def define(space: str, kind: str, schema: str, numbers: tuple[int, ...]) -> None:
    """Defines an operator.

    Args:
        space: the namespace.
        kind: the kind of block.
        schema: the schema.
        numbers: the numbers of its tags.
    """
    listed = [TAGS[number] for number in numbers if 0 <= number < len(TAGS)]
    _library(space, kind).define(schema, tags=[tag for tag in listed if tag is not None])


@_keep
def implement(space: str, name: str, key: str, capsule: Any) -> str:
    """Registers a kernel.

    Args:
        space: the namespace of the block.
        name: the operator's name with its namespace.
        key: the dispatch key; "" for kernels of every device.
        capsule: the kernel, or `fallthrough_kernel`.

    Returns:
        The operator's native name.
    """
    native = native_name(name)
    key = key or "CompositeImplicitAutograd"
    kernel = capsule if callable(capsule) else NativeKernel(name, key, capsule)
    registrations.put(Registration(native, key, kernel))
    return native


@_keep
def set_python_module(space: str, module: str, context: str) -> None:
    """States the module that registers what operators return for tensors without elements.

    Args:
        space: the namespace.
        module: the module.
        context: a text for messages.
    """
    python_modules[space] = (module, context)


python_modules: dict[str, tuple[str, str]] = {}

# ---- operators by name ----------------------------------------------------------------------------------------------
# The types that the stable interface passes, with the numbers of `TlArgKind` in `tl/c_api.h`.
_KINDS = {
    "Tensor": 0,
    "List[Tensor]": 1,
    "List[Optional[Tensor]]": 2,
    "number": 4,
    "complex": 4,
    "bool": 5,
    "SymBool": 5,
    "int": 6,
    "SymInt": 6,
    "float": 7,
    "SymFloat": 7,
    "str": 8,
    "ScalarType": 9,
    "Device": 10,
    "Layout": 11,
    "MemoryFormat": 12,
    "Generator": 13,
    "List[int]": 14,
    "List[SymInt]": 14,
    "List[float]": 15,
    "List[bool]": 16,
    "List[number]": 17,
}


def resolve(name: str, overload: str) -> tuple[Any, ...]:
    """The operator that an extension calls.

    Args:
        name: its name with the namespace, such as `aten::empty`.
        overload: the overload; "" is the one whose schema names none.

    Returns:
        The native name, or None where it is a function of Python; the operator; for each argument and each result
        (kind, whether it is optional, name); how many arguments come by position.

    Raises:
        RuntimeError: there is none.
        NotImplementedError: its schema has a type that the stable interface cannot pass.
    """
    space, _, base = name.rpartition("::")
    try:
        packet = getattr(packets.aten if space == "aten" else packets.__getattr__(space), base)
        operator = getattr(packet, overload or "default")
    except AttributeError:
        shown = f"{name}.{overload}" if overload else name
        raise RuntimeError(f"Could not find schema for {shown}.") from None
    schema = operator._schema
    arguments = tuple(_slot(name, a) for a in schema.arguments)
    results = tuple(_slot(name, r) for r in schema.returns)
    positional = sum(not a.kwarg_only for a in schema.arguments)
    native = getattr(operator, "_native_name", None)
    plain = type(operator) is packets.OpOverload and native is not None and _C._is_operator(native)
    return native if plain else None, operator, arguments, results, positional


def _slot(operator: str, item: Any) -> tuple[int, bool, str]:
    text = str(item.real_type)
    optional = text.startswith("Optional[")
    kind = _KINDS.get(text.removeprefix("Optional[").removesuffix("]") if optional else text)
    if kind is None:
        raise NotImplementedError(
            f"{operator}: PyTorch's stable interface cannot pass {text} (argument or result {item.name!r})"
        )
    return kind, optional, item.name or ""
