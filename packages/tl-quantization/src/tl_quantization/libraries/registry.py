"""The definition of operators whose arguments may be quantized tensors and packed weights."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tl_core.library import Library

from ..tensor import is_quantized_tensor

__all__ = ["define", "quantized_input", "schema_of"]

_LIBRARIES: dict[str, Library] = {}

# Short names of the classes of packed weights in schemas.
_CLASSES = {
    "Linear": "__torch__.torch.classes.quantized.LinearPackedParamsBase",
    "Cell": "__torch__.torch.classes.rnn.CellParamsBase",
    "Conv2d": "__torch__.torch.classes.quantized.Conv2dPackedParamsBase",
    "Conv3d": "__torch__.torch.classes.quantized.Conv3dPackedParamsBase",
    "SparseLinear": "__torch__.torch.classes.sparse.LinearPackedParamsBase",
    "Embedding": "__torch__.torch.classes.quantized.EmbeddingPackedParamsBase",
}


def schema_of(text: str) -> str:
    """A schema with the full names of classes in place of `%Linear` and so on.

    Args:
        text: the schema.

    Example:
        >>> schema_of("f(Tensor x, %Conv2d w) -> Tensor")
        'f(Tensor x, __torch__.torch.classes.quantized.Conv2dPackedParamsBase w) -> Tensor'
    """
    return re.sub(r"%(\w+)", lambda match: _CLASSES[match[1]], text)


def quantized_input(x: Any, name: str) -> Any:
    """The input of an operator, which must be quantized.

    Args:
        x: the input.
        name: the operator's name in `quantized::`.

    Raises:
        NotImplementedError: it is a plain tensor.
    """
    if not is_quantized_tensor(x):
        raise NotImplementedError(
            f"Could not run 'quantized::{name}' with arguments from the 'CPU' backend: the input must be a quantized "
            "tensor, which quantize_per_tensor makes; in eager mode a QuantStub in front of the layer does"
        )
    return x


def define(
    space: str, schemas: dict[str, Callable[..., Any]], key: str = "CompositeExplicitAutograd"
) -> None:
    """Defines operators.

    Args:
        space: the namespace.
        schemas: the functions by schema. A call without the name of an overload is one of the first.
        key: the dispatch key. "CompositeImplicitAutograd" lets gradients flow through the parts of a function.
    """
    library = _LIBRARIES.get(space)
    if library is None:
        library = _LIBRARIES[space] = Library(space, "FRAGMENT")
    for text, function in schemas.items():
        name = text.partition("(")[0]
        library.define(schema_of(text))
        library.impl(name, function, key)
