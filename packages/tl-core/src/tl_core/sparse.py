"""Tensors of which only some elements are stored: by coordinates (COO), or in compressed rows or columns.

>>> import tl_core as tl
>>> tl.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
tensor(indices=tensor([[0, 1],
                       [2, 0]]),
       values=tensor([3., 4.]),
       size=(2, 3), nnz=2, layout=torch.sparse_coo)
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tl_core.base.public_names import listed_names

if TYPE_CHECKING:
    from tl_core.sparse_layouts.functions import (
        addmm,
        log_softmax,
        mm,
        sampled_addmm,
        softmax,
        spdiags,
        spsolve,
        sum,  # noqa: A004 - the reference's name
    )
    from tl_core.sparse_layouts.gradcheck import as_sparse_gradcheck
    from tl_core.sparse_layouts.invariants import check_sparse_tensor_invariants
    from tl_core.sparse_layouts.semi_structured import (
        SparseSemiStructuredTensor,
        SparseSemiStructuredTensorCUSPARSELT,
        SparseSemiStructuredTensorCUTLASS,
        to_sparse_semi_structured,
    )
    from tl_core.sparse_layouts.tensor_types import (
        BFloat16Tensor,
        ByteTensor,
        CharTensor,
        DoubleTensor,
        FloatTensor,
        HalfTensor,
        IntTensor,
        LongTensor,
        ShortTensor,
    )

__all__ = [
    "BFloat16Tensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "SparseSemiStructuredTensor",
    "SparseSemiStructuredTensorCUSPARSELT",
    "SparseSemiStructuredTensorCUTLASS",
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "spsolve",
    "sum",
    "to_sparse_semi_structured",
]

__path__: list[str] = []  # PyTorch has modules below it, which the façade serves
# Which module has a name: it is loaded when the name is asked for.
_CONSTRUCTORS = (
    "sparse_coo_tensor",
    "sparse_compressed_tensor",
    "sparse_csr_tensor",
    "sparse_csc_tensor",
    "sparse_bsr_tensor",
    "sparse_bsc_tensor",
)
_TYPES = ("BFloat16", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")
_HOMES = {
    **dict.fromkeys(_CONSTRUCTORS, "construction"),
    **{f"{name}Tensor": "tensor_types" for name in _TYPES},
    "as_sparse_gradcheck": "gradcheck",
    "check_sparse_tensor_invariants": "invariants",
    "SparseSemiStructuredTensor": "semi_structured",
    "SparseSemiStructuredTensorCUSPARSELT": "semi_structured",
    "SparseSemiStructuredTensorCUTLASS": "semi_structured",
    "to_sparse_semi_structured": "semi_structured",
}
_HOMES = {**dict.fromkeys(__all__, "functions"), **_HOMES}


def __getattr__(name: str) -> Any:
    if name == "semi_structured":
        return import_module("tl_core.sparse_layouts.semi_structured")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    attribute = getattr(import_module(f"tl_core.sparse_layouts.{home}"), name)
    globals()[name] = attribute
    return attribute


def __dir__() -> list[str]:
    return listed_names(sys.modules[__name__], _HOMES)
