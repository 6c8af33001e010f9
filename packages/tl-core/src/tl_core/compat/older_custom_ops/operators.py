"""`torch._custom_op.impl`: an operator, its functions and its derivative, each registered by itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from tl_core import Tensor
from tl_core.compat.older_custom_ops import derivative
from tl_core.dispatch.queries import has_kernel
from tl_core.library import registering
from tl_core.library import schema_inference as inference
from tl_core.library.libraries import Library
from tl_core.operators import packets as ops
from tl_core.operators.names import lookup_op, parse_namespace
from tl_core.pytree import tree_leaves
from tl_core.schemas.function_schema import FunctionSchema
from tl_core.schemas.parser import parse_schema

__all__ = ["CustomOp", "custom_op", "get_op", "infer_schema"]

SUPPORTED_DEVICE_TYPE_TO_KEY = {"cpu": "CPU", "cuda": "CUDA"}
RESERVED_NS = {"prim", "prims", "aten", "at", "torch", "pytorch"}

global_registry: dict[str, CustomOp] = {}


def infer_schema(prototype_function: Callable[..., Any], mutates_args: Any = ()) -> str:
    """As `library.infer_schema`.

    Args:
        prototype_function: the function.
        mutates_args: what it writes.
    """
    return inference.infer_schema(prototype_function, mutates_args=mutates_args)


# ---- what may be defined --------------------------------------------------------------------------------------------
def validate_namespace(ns: str) -> None:
    """Raises ValueError for a namespace that is taken or no name.

    Args:
        ns: the namespace.
    """
    if "." in ns:
        raise ValueError(
            f'custom_op(..., ns="{ns}"): expected ns to not contain any . (and be a valid variable name)'
        )
    if ns in RESERVED_NS:
        raise ValueError(
            f"custom_op(..., ns='{ns}'): '{ns}' is a reserved namespace, please choose something else. "
        )


def parse_qualname(qualname: str) -> tuple[str, str]:
    """`ns::name` → (`ns`, `name`); ValueError for a name with an overload.

    Args:
        qualname: the operator's name.
    """
    ns, name = parse_namespace(qualname)
    if "." in name:
        raise ValueError(
            f"The torch.custom_ops APIs do not handle overloads, i.e. operator names with '.' in them: {qualname}"
        )
    validate_namespace(ns)
    return ns, name


def validate_schema(schema: FunctionSchema) -> None:
    """Raises ValueError for an operator that writes, returns views or nothing, or has an argument `self`.

    Args:
        schema: the operator's schema.
    """
    if not schema.returns or any(a.alias_info for a in (*schema.arguments, *schema.returns)):
        raise ValueError(
            "custom_op only supports functional operators (ops that do not mutate any inputs, do not return views of "
            f"the inputs, and has at least one return). Got the following non-functional schema: {schema}"
        )
    if schema.arguments and schema.arguments[0].name == "self":
        raise ValueError(
            f"custom_op does not support arguments named 'self'. Please rename your argument. Got: {schema}"
        )


def validate_function_matches_schema(schema: FunctionSchema, func: Callable[..., Any]) -> None:
    """Raises ValueError where a function's parameters are not the schema's arguments.

    Args:
        schema: the operator's schema.
        func: the function.
    """
    actual = inspect.signature(func)
    parameters = list(actual.parameters.values())
    allowed = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if not all(p.kind in allowed for p in parameters):
        raise ValueError(
            f"custom_op(..., manual_schema)(func): positional-only args, varargs, and kwargs are not supported. Please "
            f"rewrite `func` to not have them. Got `func` with signature: {actual}"
        )
    if any(p.annotation is not inspect.Parameter.empty for p in parameters):
        raise ValueError(
            f"custom_op(..., manual_schema)(func): When passing in a manual schema, we expect `func` to have no type "
            f"annotations to avoid ambiguity. Got `func` with signature: {actual}"
        )
    if any(p.default is not inspect.Parameter.empty for p in parameters):
        raise ValueError(
            f"custom_op(..., manual_schema)(func): `func` should not have default arguments. Got: {actual}"
        )
    names = [(p.name, p.kind is inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    if names != [(a.name, a.kwarg_only) for a in schema.arguments]:
        raise ValueError(
            f"custom_op(..., manual_schema)(func): When passing in a manual schema, we expect `func`'s signature to "
            f"match `manual_schema` (aside from type annotations). func's signature: {actual}, manual_schema: {schema}"
        )


def define(qualname: str, schema_text: str) -> CustomOp:
    """Defines an operator that has no function yet.

    Args:
        qualname: its name.
        schema_text: its arguments and results.
    """
    ns, name = parse_qualname(qualname)
    try:
        schema = parse_schema(f"{name}{schema_text}")
    except RuntimeError as error:
        raise AssertionError(f"Invalid function schema: {name}{schema_text}") from error
    validate_schema(schema)
    lib = Library(ns, "FRAGMENT")
    lib.define(f"{name}{schema_text}")
    op = CustomOp(lib, ns, schema, name, lookup_op(qualname), _private_access=True)
    lib.impl(name, op._without_function, "CompositeExplicitAutograd")
    derivative.install(op)
    return op


def custom_op(qualname: str, manual_schema: str | None = None) -> Callable[[Callable[..., Any]], CustomOp]:
    """A decorator that makes an operator of a function's annotations, or of a schema.

    Args:
        qualname: the operator's name, of which the function has the last part.
        manual_schema: the arguments and results; the function then has no annotations.
    """

    def inner(func: Callable[..., Any]) -> CustomOp:
        if not inspect.isfunction(func):
            raise ValueError(
                f"custom_op(...)(func): Expected `func` to be a Python function, got: {type(func)}"
            )
        _, name = parse_qualname(qualname)
        if func.__name__ != name:
            raise ValueError(
                f"custom_op(qualname='{qualname}', ...)(func): expected `func` to have name '{name}' but got "
                f"'{func.__name__}'. Please either change the name of `func` or the qualname that is passed to "
                "`custom_op`"
            )
        text = infer_schema(func) if manual_schema is None else manual_schema
        if manual_schema is not None:
            validate_function_matches_schema(parse_schema(f"{name}{text}"), func)
        return define(qualname, text)

    return inner


# ---- the operator ---------------------------------------------------------------------------------------------------
class CustomOp:
    """An operator whose functions are registered one by one. `custom_op` makes it.

    Args:
        lib: the library.
        cpp_ns: the namespace.
        schema: the schema.
        operator_name: the name.
        ophandle: the operator.
    """

    def __init__(
        self,
        lib: Any,
        cpp_ns: Any,
        schema: Any,
        operator_name: Any,
        ophandle: Any,
        *,
        _private_access: bool = False,
    ) -> None:
        if not _private_access:
            raise RuntimeError(
                "The CustomOp constructor is private and we do not guarantee BC for it. Please use custom_op(...) to "
                "create a CustomOp object"
            )
        self._lib, self._cpp_ns, self._schema = lib, cpp_ns, schema
        self._opname, self._ophandle = operator_name, ophandle
        self._qualname = f"{cpp_ns}::{operator_name}"
        self.__name__ = None
        global_registry[self._qualname] = self

    def __repr__(self) -> str:
        return f"<CustomOp(op='{self._qualname}')>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._ophandle(*args, **kwargs)

    def _without_function(self, *args: Any, **kwargs: Any) -> Any:
        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        if not tensors:
            raise NotImplementedError(
                f"{self._qualname}: there were no Tensor inputs, so no function could be chosen for their device"
            )
        device = tensors[0].device.type
        if device == "meta":
            raise NotImplementedError(
                f"{self._qualname}: when running with device='Meta' tensors: there is no fake impl or Meta kernel "
                "registered for it. Register one with torch.library.register_fake"
            )
        raise NotImplementedError(
            f"{self._qualname}: when running with {device} tensors: there is no {device} impl registered for it. "
            "Register one with torch._custom_ops.impl"
        )

    def impl(self, device_types: str | Iterable[str] = ("cpu", "cuda"), _stacklevel: int = 2) -> Any:
        """A decorator that registers a function for types of devices.

        Args:
            device_types: "cpu", "cuda" or both.
        """
        types = [device_types] if isinstance(device_types, str) else list(device_types)
        for device_type in types:
            if device_type not in SUPPORTED_DEVICE_TYPE_TO_KEY:
                raise ValueError(
                    f"CustomOp.impl(device_types=[{device_type}, ...]): we only support device_type in "
                    f"{SUPPORTED_DEVICE_TYPE_TO_KEY.keys()}."
                )

        def inner(f: Any) -> Any:
            for device_type in types:
                self._check_free(device_type)
                self._lib.impl(self._opname, f, SUPPORTED_DEVICE_TYPE_TO_KEY[device_type])
            return f

        return inner

    def _check_free(self, device_type: str) -> None:
        check_free(self._ophandle, device_type, ignored=self._without_function)

    def impl_abstract(self, _stacklevel: int = 2) -> Any:
        """A decorator: `library.register_fake` of this operator."""

        def inner(f: Any) -> Any:
            registering.register_fake(self._qualname, f, lib=self._lib)
            return f

        return inner

    def impl_save_for_backward(self, _stacklevel: int = 2) -> Any:
        """A decorator: the function gets arguments and results and returns what the backward needs."""
        return derivative.part(self._ophandle, "save_for_backward")

    def impl_backward(self, output_differentiability: Any = None, _stacklevel: int = 2) -> Any:
        """A decorator: the function gets a context, what was saved and gradients; returns a dict of gradients.

        Args:
            output_differentiability: for each result, whether it has a gradient.
        """
        return derivative.part(self._ophandle, "backward", output_differentiability)

    def _destroy(self) -> None:
        global_registry.pop(self._qualname, None)
        derivative.forget(self._qualname)
        self._lib._destroy()


def check_free(op: Any, device_type: str, ignored: Any = None) -> None:
    """Raises RuntimeError where an operator has a function for a type of devices.

    Args:
        op: the operator.
        device_type: the type.
        ignored: a function that doesn't count.
    """
    from tl_core.dispatch import registrations

    name = op._native_name
    for key in (
        SUPPORTED_DEVICE_TYPE_TO_KEY[device_type],
        "CompositeImplicitAutograd",
        "CompositeExplicitAutograd",
    ):
        registration = registrations.of(name, key)
        if (registration and registration.function != ignored) or (
            not registration and has_kernel(name, key)
        ):
            raise RuntimeError(
                f"impl(..., device_types={device_type}): the operator {op._name} already has an implementation for "
                f"this "
                f"device type via a pre-existing registration to DispatchKey::{key}."
            )


def get_op(qualname: str) -> Any:
    """The operator of that name.

    Args:
        qualname: its name.

    Raises:
        ValueError: there is none.
    """
    ns, name = parse_namespace(qualname)
    try:
        return getattr(ops._packet(ns, name), "default")  # noqa: B009
    except AttributeError as error:
        raise ValueError(
            f"Could not find the operator {qualname}. Please make sure you have already registered it"
        ) from error
