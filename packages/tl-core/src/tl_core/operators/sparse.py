"""Operators of the namespace aten for sparse tensors, by the names that handlers, graphs and other tools have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
from tl_core.operators.composites import add
from tl_core.sparse_layouts import invariants, parts

_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_COALESCED = "bool? is_coalesced=None"
_LAYOUTS = {name: getattr(tl_core, f"sparse_{name}") for name in ("csr", "csc", "bsr", "bsc")}
_BY_ROWS = ("csr", "bsr")


# ---- tensors of their parts
def _convert(values: Any, dtype: Any, device: Any) -> Any:
    return values if dtype is None and device is None else values.to(device=device, dtype=dtype)


def _coo(indices: Any, values: Any, size: Any, **options: Any) -> Any:
    values = _convert(values, options["dtype"], options["device"])
    return parts.coo(indices, values, size, bool(options.get("is_coalesced")))


def _coo_of_dims(
    sparse_dim: int, dense_dim: int, size: Any, indices: Any, values: Any, **options: Any
) -> Any:
    return _coo(indices, values, size, **options)


def _empty_coo(sparse_dim: int, dense_dim: int, size: Any, **options: Any) -> Any:
    dtype, device = options["dtype"], options["device"]
    indices = tl_core.zeros((sparse_dim, 0), dtype=tl_core.int64, device=device)
    values = tl_core.zeros((0, *list(size)[sparse_dim:]), dtype=dtype, device=device)
    return parts.coo(indices, values, size, True)


def _compressed_of_dims(
    nnz: int, dense_dim: int, size: Any, blocksize: Any, index_dtype: Any, **options: Any
) -> Any:
    from tl_core.sparse_layouts.rules.creation import compressed_of_dims

    return compressed_of_dims(nnz, dense_dim, tuple(size), tuple(blocksize), index_dtype, **options)


def _compressed_constructor(layout: Any) -> Callable[..., Any]:
    def call(offsets: Any, plain: Any, values: Any, size: Any, **options: Any) -> Any:
        result_layout = layout or options["layout"]
        if result_layout is None:
            raise RuntimeError(
                "_sparse_compressed_tensor_unsafe: argument 'layout' must be a compressed layout"
            )
        values = _convert(values, options["dtype"], options["device"])
        return parts.compressed(offsets, plain, values, size, result_layout)

    return call


def _indices_of(name: str) -> str:
    first, second = ("crow", "col") if name in _BY_ROWS else ("ccol", "row")
    return f"Tensor {first}_indices, Tensor {second}_indices"


add(
    [
        (
            (
                f"_sparse_coo_tensor_unsafe(Tensor indices, Tensor values, int[] size, *, {_OPTIONS}, "
                f"{_COALESCED}) -> Tensor"
            ),
            _coo,
        ),
        (
            (
                "_sparse_coo_tensor_with_dims_and_tensors(int sparse_dim, int dense_dim, int[] size, Tensor "
                f"indices, Tensor values, *, {_OPTIONS}, {_COALESCED}) -> Tensor"
            ),
            _coo_of_dims,
        ),
        (
            f"_sparse_coo_tensor_with_dims(int sparse_dim, int dense_dim, int[] size, *, {_OPTIONS}) -> Tensor",
            _empty_coo,
        ),
        (
            (
                "_sparse_compressed_tensor_with_dims(int nnz, int dense_dim, int[] size, int[] blocksize, "
                f"ScalarType index_dtype, *, {_OPTIONS}) -> Tensor"
            ),
            _compressed_of_dims,
        ),
        (
            (
                "_sparse_compressed_tensor_unsafe(Tensor compressed_indices, Tensor plain_indices, Tensor "
                f"values, int[] size, *, {_OPTIONS}) -> Tensor"
            ),
            _compressed_constructor(None),
        ),
        *(
            (
                (
                    f"_sparse_{name}_tensor_unsafe({_indices_of(name)}, Tensor values, int[] size, *, {_OPTIONS}) "
                    "-> Tensor"
                ),
                _compressed_constructor(layout),
            )
            for name, layout in _LAYOUTS.items()
        ),
    ]
)


# ---- checks of parts
add(
    [
        (
            (
                "_validate_compressed_sparse_indices(bool is_crow, Tensor compressed_idx, Tensor plain_idx, int cdim, "
                "int dim, int nnz) -> ()"
            ),
            invariants.check_compressed_indices,
        ),
        (
            (
                "_validate_sparse_coo_tensor_args(Tensor indices, Tensor values, int[] size, "
                "bool? is_coalesced=None) -> ()"
            ),
            lambda indices, values, size, coalesced: invariants.check_coo(
                indices, values, size, bool(coalesced)
            ),
        ),
        (
            (
                "_validate_sparse_compressed_tensor_args(Tensor compressed_indices, Tensor plain_indices, Tensor "
                "values, int[] size, Layout layout) -> ()"
            ),
            invariants.check_compressed,
        ),
        *(
            (
                f"_validate_sparse_{name}_tensor_args({_indices_of(name)}, Tensor values, int[] size) -> ()",
                getattr(invariants, f"_validate_sparse_{name}_tensor_args"),
            )
            for name in _LAYOUTS
        ),
    ]
)


# ---- conversions
def _to_sparse(self: Any, layout: Any = None, blocksize: Any = None, dense_dim: Any = None) -> Any:
    return self.to_sparse(layout=layout, blocksize=blocksize, dense_dim=dense_dim)


def _to_layout(layout: Any) -> Callable[..., Any]:
    def call(self: Any, *rest: Any) -> Any:
        blocksize = rest[0] if len(rest) == 2 else None
        return _to_sparse(self, layout, blocksize, rest[-1])

    return call


def _broadcast(self: Any, size: Any) -> Any:
    from tl_core.sparse_layouts.functions import broadcast_to

    return broadcast_to(self, tuple(size))


add(
    [
        ("_to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor", lambda self, n: self.to_sparse(n)),
        (
            (
                "_to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> "
                "Tensor"
            ),
            _to_sparse,
        ),
        *(
            (
                (
                    f"_to_sparse_{name}(Tensor self, {'int[2] blocksize, ' * name.startswith('b')}int? dense_dim=None) "
                    "-> Tensor"
                ),
                _to_layout(layout),
            )
            for name, layout in _LAYOUTS.items()
        ),
        ("_sparse_broadcast_to(Tensor(a) self, int[] size) -> Tensor(a)", _broadcast),
        (
            "_sparse_broadcast_to_copy(Tensor self, int[] size) -> Tensor",
            lambda self, size: _broadcast(self, size).clone(),
        ),
        (
            "_sparse_mask_projection(Tensor self, Tensor mask, bool accumulate_matches=False) -> Tensor",
            lambda self, mask, accumulate: self.sparse_mask(mask),
        ),
    ],
    sizes="_to_sparse _to_sparse.sparse_dim",
)


# ---- products and reductions
def _sample_product(self: Any, mat1: Any, mat2: Any, **factors: Any) -> Any:
    return tl_core.sparse.sampled_addmm(self, mat1, mat2, **factors)


def _softmax(name: str) -> Callable[..., Any]:
    def call(self: Any, dim: int, dtype: Any) -> Any:
        return getattr(tl_core.sparse, name)(self, dim, dtype=dtype)

    return call


def _softmax_of_halves(name: str) -> Callable[..., Any]:
    def call(self: Any, dim: int, half_to_float: bool) -> Any:
        return _softmax(name)(self, dim, tl_core.float32 if half_to_float else None)

    return call


def _sum(self: Any, dim: Any = None, dtype: Any = None) -> Any:
    return tl_core.sparse.sum(self, dim, dtype)


add(
    [
        (
            (
                "sparse_sampled_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> "
                "Tensor"
            ),
            _sample_product,
        ),
        ("_sparse_sparse_matmul(Tensor self, Tensor other) -> Tensor", lambda self, other: self @ other),
        (
            "_spdiags(Tensor diagonals, Tensor offsets, int[] shape, Layout? layout=None) -> Tensor",
            lambda diagonals, offsets, shape, layout: tl_core.sparse.spdiags(
                diagonals, offsets, tuple(shape), layout
            ),
        ),
        *(
            row
            for name in ("softmax", "log_softmax")
            for row in (
                (
                    f"_sparse_{name}.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
                    _softmax(name),
                ),
                (
                    f"_sparse_{name}(Tensor self, int dim, bool half_to_float) -> Tensor",
                    _softmax_of_halves(name),
                ),
            )
        ),
        ("_sparse_sum(Tensor self) -> Tensor", _sum),
        (
            "_sparse_sum.dtype(Tensor self, *, ScalarType dtype) -> Tensor",
            lambda self, dtype: _sum(self, None, dtype),
        ),
        ("_sparse_sum.dim(Tensor self, int[1] dim) -> Tensor", _sum),
        (
            "_sparse_sum.dim_dtype(Tensor self, int[1] dim, *, ScalarType dtype) -> Tensor",
            lambda self, dim, dtype: _sum(self, dim, dtype),
        ),
    ]
)


# ---- what this library refuses
def _refusal(what: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{what} not supported on your machine.")

    return call


add(
    [
        ("_cslt_compress(Tensor input) -> Tensor", _refusal("cuSPARSELt")),
        (
            (
                "_cslt_sparse_mm(Tensor compressed_A, Tensor dense_B, Tensor? bias=None, Tensor? alpha=None, "
                "ScalarType? out_dtype=None, bool transpose_result=False, int alg_id=0, int split_k=1, int "
                "split_k_mode=-1) -> Tensor"
            ),
            _refusal("cuSPARSELt"),
        ),
        (
            (
                "_cslt_sparse_mm_search(Tensor compressed_A, Tensor dense_B, Tensor? bias=None, Tensor? "
                "alpha=None, ScalarType? out_dtype=None, bool transpose_result=False) -> int"
            ),
            _refusal("cuSPARSELt"),
        ),
    ]
)
