"""Every operator by its full name: `ops.aten.add.Tensor(a, b)`; `ops.aten.add(a, b)` takes the overload that fits."""

from __future__ import annotations

import sys
from importlib import import_module
from threading import get_ident
from typing import Any

from tl_core import _C
from tl_core.base import backend_registry, operator_hooks


def _split(full: str) -> tuple[str, str, str]:
    """`mylib::sinc.out` → (`mylib`, `sinc`, `out`); the core's own names have no namespace."""
    space, _, rest = full.rpartition("::")
    base, _, overload = rest.partition(".")
    return space or "aten", base, overload or "default"


class OpOverload(_C._Operator):
    """One operator: a name with its overload."""

    def __init__(self, packet: OpOverloadPacket, overload: str, name: str, schema: str) -> None:
        super().__init__((name,))
        self._describe(packet, overload, name, schema)

    def _describe(self, packet: OpOverloadPacket, overload: str, name: str, schema: str) -> None:
        self.overloadpacket = self._overloadpacket = packet
        self._overloadname, self._native_name, self._schema_text = overload, name, schema
        self._name = name if "::" in name else f"aten::{name}"
        self.__name__ = f"{packet.__name__}.{overload}"
        self.__qualname__, self.__module__ = self._name, packet.__module__

    def __reduce__(self) -> Any:
        return getattr, (self.overloadpacket, self._overloadname)

    def __deepcopy__(self, memo: Any = None) -> OpOverload:
        return self

    def name(self) -> str:
        """The name as schemas write it: `aten::add.Tensor`."""
        return self._name

    @property
    def namespace(self) -> str:
        """The library's name: `aten`."""
        return self.overloadpacket._namespace

    @property
    def op(self) -> OpOverload:
        """The operator itself, without what Python adds."""
        return self

    _op = op

    @property
    def _schema(self) -> Any:
        """What it takes and returns."""
        from tl_core.schemas.parser import parse_schema

        text = self._schema_text
        return parse_schema(text if "::" in self._native_name else f"aten::{text}")

    @property
    def tags(self) -> list[Any]:
        """What is known of it beyond its schema: a list of `Tag`."""
        from tl_core.schemas.tags import tags_of

        return tags_of(self._native_name)

    _tags = tags

    @property
    def _defined_in_python(self) -> bool:
        """Whether it came from Python."""
        return "::" in self._native_name

    @property
    def is_view(self) -> bool:
        """Whether its results share memory with an argument that it doesn't write."""
        return any(a.alias_info and not a.is_write for a in self._schema.arguments)

    @property
    def __signature__(self) -> Any:
        from tl_core.schemas.signatures import signature_of

        return signature_of(self._schema)

    def has_kernel_for_dispatch_key(self, k: Any) -> bool:
        """Whether a function is registered for a dispatch key.

        Args:
            k: the key, or its name.
        """
        from tl_core.dispatch.queries import has_kernel

        return has_kernel(self._native_name, k if isinstance(k, str) else k.name)

    def has_kernel_for_any_dispatch_key(self, ks: Any) -> bool:
        """Whether a function is registered for one of several keys.

        Args:
            ks: the set of keys.
        """
        return any(self.has_kernel_for_dispatch_key(k) for k in ks)

    def redispatch(self, keyset: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Calls it past the layers whose keys are not in the set.

        Args:
            keyset: the keys that the call may still meet.
            *args: the arguments.
            **kwargs: those by keyword.
        """
        from tl_core.dispatch.fallbacks import passed_on
        from tl_core.dispatch.layers import layers_outside

        with layers_outside(keyset), passed_on(keyset):
            return self(*args, **kwargs)

    def py_impl(self, k: Any) -> Any:
        """A decorator that registers a function for a dispatch key, for the rest of the process.

        Args:
            k: the key.
        """
        from tl_core.dispatch.queries import implemented

        return implemented(self._native_name, k)

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the operators that it is made of; NotImplemented if it is made of none.

        A mode above autograd sees these operators and not the call itself.

        Args:
            *args: the arguments.
            **kwargs: those by keyword.
        """
        if not self._can_decompose():
            return NotImplemented
        _C._pass_modes_once(self._native_name)
        try:
            return self(*args, **kwargs)
        finally:
            _C._pass_modes_once(None)

    def _can_decompose(self) -> bool:
        return self.has_kernel_for_dispatch_key("CompositeImplicitAutograd")

    def __str__(self) -> str:
        return f"{self.overloadpacket}.{self._overloadname}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.overloadpacket}', overload='{self._overloadname}')>"

    def __hash__(self) -> int:
        return hash(self._name)

    def __eq__(self, other: object) -> bool:
        return self is other


class _Conversion(OpOverload):
    """The conversion that names a layout, which must be the tensor's own, and whether memory is pinned."""

    def _describe(self, packet: OpOverloadPacket, overload: str, name: str, schema: str) -> None:
        named = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
        schema = schema.replace("ScalarType? dtype=None, Device? device=None", named)
        super()._describe(packet, overload, name, schema)

    def __call__(self, *args: Any, layout: Any = None, pin_memory: bool | None = None, **kwargs: Any) -> Any:
        result = super().__call__(*args, **kwargs)
        if layout is not None and layout != result.layout:
            raise RuntimeError(
                "to(options) doesn't support converting to a different layout, but got self.layout being "
                f"{result.layout} and options.layout set as {layout}"
            )
        return result.pin_memory() if pin_memory else result


_CLASSES = {"to.dtype_layout": _Conversion}

# Where an operator takes a tensor or a number, the overload by which the reference calls it with a number.
_OF_NUMBERS = {
    f"{name}{form}.Tensor": "Scalar"
    for name in (
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "remainder",
        "fmod",
    )
    for form in ("", "_")
}
_OF_NUMBERS |= {f"{full}_out": "Scalar_out" for full in _OF_NUMBERS if not full.endswith("_.Tensor")} | {
    "pow.Tensor_Tensor": "Tensor_Scalar",
    "pow.Tensor_Tensor_out": "Tensor_Scalar_out",
    "pow_.Tensor_Tensor": "Scalar",
}

_NUMBER_FIRST = {"pow.Tensor_Tensor": "Scalar"} | {
    f"{name}.Tensor": "Scalar_Tensor" for name in ("remainder", "bitwise_left_shift", "bitwise_right_shift")
}


def _with_number(packet: OpOverloadPacket, overload: str, full: str, schema: str) -> OpOverload:
    """The same operator under the name that it has with a number."""
    base, _, rest = schema.partition("(")
    operator = OpOverload(
        packet, overload, full, f"{base.partition('.')[0]}.{overload}({_second_is_number(rest)}"
    )
    operator._name = f"aten::{base.partition('.')[0]}.{overload}"
    operator.__qualname__ = operator._name
    return operator


def _second_is_number(rest: str) -> str:
    first, comma, tail = rest.partition(", ")
    return first + comma + tail.replace("Tensor", "Scalar", 1)


class OpOverloadPacket(_C._Operator):
    """All overloads of one name; `default` is the one whose schema names none.

    Args:
        namespace: the namespace.
        name: the name.
        overloads: the overloads by name.
    """

    def __init__(self, namespace: str, name: str, overloads: dict[str, tuple[str, str]]) -> None:
        super().__init__(tuple(full for full, _ in overloads.values()))
        self.__name__, self._namespace = name, namespace
        self.__qualname__, self.__module__ = name, f"torch._ops.{namespace}"
        self._qualified_op_name = f"{namespace}::{name}"
        self._overload_names = list(overloads)
        for overload, (full, schema) in overloads.items():
            setattr(self, overload, _CLASSES.get(full, OpOverload)(self, overload, full, schema))
            if (of_number := _OF_NUMBERS.get(full)) and of_number not in overloads:
                setattr(self, of_number, _with_number(self, of_number, full, schema))
                self._overload_names.append(of_number)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"'{self}' has no attribute {name!r}")
        if self.__dict__.get("_namespace") == "aten":
            operator = operator_hooks.maker("overload beside rows")(self, name)
            if operator is not None:
                setattr(self, name, operator)
                return operator
        raise AttributeError(
            f"The underlying op of '{self.__dict__.get('_qualified_op_name', '?')}' has no overload name '{name}'"
        )

    def __reduce__(self) -> Any:
        return _packet, (self._namespace, self.__name__)

    def __deepcopy__(self, memo: Any = None) -> OpOverloadPacket:
        return self

    def overloads(self) -> list[str]:
        """The overloads' names."""
        return list(self)

    @property
    def op(self) -> OpOverloadPacket:
        """The operator itself, without what Python adds."""
        return self

    _op = op

    @property
    def _schemas(self) -> dict[str, Any]:
        """The schema of each overload."""
        return {name: getattr(self, name)._schema for name in self}

    def __iter__(self) -> Any:
        names = list(self._overload_names)
        if self._namespace == "aten":
            names += [n for n in operator_hooks.maker("overloads beside rows")(self) if n not in names]
        return iter(names)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self})

    def __hash__(self) -> int:
        return hash(self._qualified_op_name)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __str__(self) -> str:
        return f"{self._namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


class _OpNamespace:
    """The operators whose names begin with `namespace::`; those of tl-core stand in aten."""

    def __init__(self, namespace: str) -> None:
        self.__name__ = self.name = namespace
        self._dir: list[str] = []
        self._loading_threads: set[int] = set()
        self._provider_loaded = False  # whether the package that provides these operators has been loaded

    def __getattr__(self, name: str) -> OpOverloadPacket:
        overloads = {}
        for full, schema in _C._operators().items():
            if name not in full:  # of thousands of names few are split
                continue
            space, base, overload = _split(full)
            if base == name and space == self.__name__:
                overloads[overload] = (full, schema)
        if not overloads and self.__name__ == "aten":
            second: Any = operator_hooks.maker("second name")(name)
            if second is not None:
                setattr(self, name, second)
                return second
        if not overloads and self.__name__ in _OF_FUNCTIONS:
            of_python = python_packet(f"{self.__name__}::{name}")
            if of_python is not None:
                return of_python
        if self.__name__ == "higher_order" and backend_registry.load("higher-order operators"):
            operator: Any = vars(self).get(name)
            if operator is not None:
                return operator
        if not overloads and not self._provider_loaded and self._load_provider():
            return getattr(self, name)
        if not overloads:
            _raise_registration_errors()
            raise AttributeError(f"'_OpNamespace' '{self.__name__}' object has no attribute '{name}'")
        packet = OpOverloadPacket(self.__name__, name, overloads)
        setattr(self, name, packet)
        self._dir.append(name)
        return packet

    def _load_provider(self) -> bool:
        """Loads the package with these operators; another thread that needs it waits for the import."""
        thread = get_ident()
        if thread in self._loading_threads:  # the package looks a name up while it loads
            return False
        self._loading_threads.add(thread)
        try:
            module = operator_hooks.namespaces.get(self.__name__)
            if module is not None:
                import_module(module)
            is_there = backend_registry.load(_OPERATOR_LOADERS.get(self.__name__, "")) or module is not None
        finally:
            self._loading_threads.discard(thread)
        self._provider_loaded = True
        return is_there

    def __iter__(self) -> Any:
        return iter(self._dir)

    def __dir__(self) -> list[str]:
        own = {base for space, base, _ in map(_split, _C._operators()) if space == self.__name__}
        return sorted({*object.__dir__(self), *own})

    def __repr__(self) -> str:
        return f"<torch.ops.{self.__name__}>"


# The loaders of the operators of namespaces, by their names in the backend registry.
_OPERATOR_LOADERS = {
    "_c10d_functional": "collective operators",
    "_c10d_functional_autograd": "collectives with gradients",
    "_dtensor": "collective operators",
    "c10d": "operators of groups",
    "symm_mem": "operators of groups",
    "c10d_functional": "collective operators",
    "_quantized": "quantized operators",
    "onednn": "quantized operators",
    "quantized": "quantized operators",
    "quantized_decomposed": "quantized operators",
}
# The namespaces of operators that are functions of Python.
_OF_FUNCTIONS = ("aten", "prim", "profiler", "mkldnn")
# Operators that are functions of Python, by full name: `aten::sym_size`.
PACKETS: dict[str, OpOverloadPacket] = {}


def python_packet(name: str) -> OpOverloadPacket | None:
    """An operator that is a function of Python: of the core, or of a package above it."""
    for module in operator_hooks.python_operators:
        if name in PACKETS:
            break
        import_module(module)
    return PACKETS.get(name)


def _packet(namespace: str, name: str) -> OpOverloadPacket:
    """The overloads of an operator, for pickles."""
    return getattr(aten if namespace == "aten" else __getattr__(namespace), name)


def _overload(full: str, number: int = -1) -> OpOverload:
    """The operator of that name, such as `add.Tensor` or `mylib::sinc`; as called with a number, or `number` is -1."""
    space, base, overload = _split(full)
    if number == 0:
        overload = _NUMBER_FIRST.get(full, overload)
    elif number == 1:
        overload = _OF_NUMBERS.get(full, overload)
    return getattr(_packet(space, base), overload)


def _forget(full: str) -> None:
    """After an operator came or went: its name is looked up again."""
    space, base, _ = _split(full)
    namespace = globals().get(space)
    if isinstance(namespace, _OpNamespace):
        namespace.__dict__.pop(base, None)
        if base in namespace._dir:
            namespace._dir.remove(base)


aten = _OpNamespace("aten")
loaded_libraries: set[str] = set()


def load_library(path: Any) -> None:
    """Loads a shared library, which may register operators when it is loaded.

    A binary that is built for PyTorch runs on tl if it uses PyTorch's stable C interface only.

    Args:
        path: the file.

    Raises:
        OSError: it can't be loaded.
        ImportError: it needs PyTorch's C++ libraries or functions of the stable interface that tl lacks, or it was
            compiled for another version of tl-core.
    """
    import ctypes

    from tl_core.extensions import stable_abi

    if not stable_abi.load(path):
        ctypes.CDLL(str(path))
        stable_abi.raise_errors()
    loaded_libraries.add(str(path))


def _raise_registration_errors() -> None:
    """Raises what kept an extension that was imported from registering its operators."""
    registrations = sys.modules.get("tl_core.extensions.stable_abi")
    if registrations is not None:
        registrations.raise_errors()


def __getattr__(name: str) -> _OpNamespace:
    """Namespaces of operators that other libraries register."""
    if name.startswith("__"):
        raise AttributeError(name)
    return globals().setdefault(name, _OpNamespace(name))
