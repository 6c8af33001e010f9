"""Classes of extensions in a program: `torch.classes.namespace.Name`, whose methods are functions of C++."""

from __future__ import annotations

from typing import Any

from tl_core.extensions.custom_classes import Method, method_of
from tl_core.schemas.parser import parse_schema

from ..script.types import Type, parse_type
from .operator_types import NONE
from .signatures import Signature

__all__ = ["signature_of_method"]


def signature_of_method(owner: str, name: str, session: Any) -> Signature | None:
    """Returns the signature of a method of a class that an extension registered.

    Args:
        owner (str): The name of the class in schemas.
        name (str): The name of the method. Attributes have the methods `name_getter` and `name_setter`.
        session (Any): The session, which writes defaults as code.

    Returns:
        Signature | None: The signature without the object; None if there is no such method, or its types have no names.
    """
    method = method_of(owner, name)
    if method is None or not method.schema:
        return None
    schema = parse_schema(f"{_word(name)}{method.schema}")
    kinds = [parse_type(a.type.annotation_str) for a in schema.arguments]
    kinds = kinds if _has_no_object(method) else kinds[1:]
    names = method.names or [f"_{i + len(schema.arguments) - len(kinds)}" for i in range(len(kinds))]
    arguments = [
        (own, kind, session.constant(method.defaults[own]) if own in method.defaults else None)
        for own, kind in zip(names, kinds, strict=True)
    ]
    returns = [parse_type(r.type.annotation_str) for r in schema.returns]
    result = NONE if not returns else returns[0] if len(returns) == 1 else Type("Tuple", tuple(returns))
    return Signature(name, arguments, Type(owner) if name == "__init__" else result)


def _has_no_object(method: Method) -> bool:
    return method.is_static or method.name == "__init__"


def _word(name: str) -> str:
    """A name of an operator for the parser of schemas, which reserves names such as `__init__`."""
    return f"m{name.strip('_')}"
