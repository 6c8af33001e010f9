"""What has to hold of a sparse tensor's parts, and whether new ones are looked at."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from tl_core import _C
from tl_core._C import Tensor
from tl_core.sparse_layouts.parts import BLOCKED, BY_ROWS, NAMES

__all__ = ["check_sparse_tensor_invariants"]

F = TypeVar("F", bound=Callable[..., Any])


class check_sparse_tensor_invariants:
    """Whether the parts of new sparse tensors are looked at: for the process, in a `with` block, in a function.

    Args:
        enable: what the block, or the function that this decorates, switches to.

    Raises:
        RuntimeError: if a block is entered by an instance that is in one already.

    Example:
        >>> import tl_core as tl
        >>> with tl.sparse.check_sparse_tensor_invariants():
        ...     tl.sparse_coo_tensor([[5]], [1.0], (2,))
        Traceback (most recent call last):
        RuntimeError: size is inconsistent with indices: for dim 0, size is 2 but found index 5
    """

    _on = False

    def __init__(self, enable: bool = True) -> None:
        self._enable = enable
        self._before: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Whether parts are looked at."""
        return check_sparse_tensor_invariants._on

    @staticmethod
    def enable() -> None:
        """Look at the parts of sparse tensors from now on.

        Other libraries may rely on checks being off where they make many tensors; a `with` block is kinder to them.
        """
        check_sparse_tensor_invariants._on = True

    @staticmethod
    def disable() -> None:
        """Do not look at the parts of sparse tensors from now on."""
        check_sparse_tensor_invariants._on = False

    def __enter__(self) -> None:
        if self._before is not None:
            raise RuntimeError(
                "This context manager instance is already activated."
                " Use a different context manager instance for context nesting."
            )
        self._before = self.is_enabled()
        check_sparse_tensor_invariants._on = self._enable

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        check_sparse_tensor_invariants._on = bool(self._before)
        self._before = None

    def __call__(self, function: F) -> F:
        """The function, run in a block of its own at each call."""

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self._enable):
                return function(*args, **kwargs)

        return run  # type: ignore[return-value]


def _require(good: Any, message: str) -> None:
    if not bool(good):
        raise RuntimeError(message)


# ---- COO ----------------------------------------------------------------------------------------------------
def check_coo(indices: Tensor, values: Tensor, size: Any, is_coalesced: bool = False) -> None:
    """Raises RuntimeError unless the parts make a COO tensor of that size."""
    size = tuple(size)
    _require(
        not indices.dtype.is_floating_point and not indices.dtype.is_complex and indices.dtype is not _C.bool,
        f"indices must be an integer tensor, got {indices.dtype}",
    )
    if indices.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    sparse, dense = indices.shape[0], values.dim() - 1
    if sparse + dense != len(size):
        raise RuntimeError(
            "'len(size) == sparse_dim + dense_dim' is not satisfied: "
            f"len(size) = {len(size)}, sparse_dim = {sparse}, dense_dim = {dense}"
        )
    if indices.numel() == 0 or indices.is_meta:
        return
    check_not_negative(indices)
    for dim, (most, length) in enumerate(zip(indices.amax(1).tolist(), size, strict=False)):
        if most >= length:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {length} but found index {most}"
            )
    if is_coalesced and not in_order(indices):
        raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")


def check_not_negative(indices: Tensor) -> None:
    """Raises RuntimeError for a negative index."""
    for dim, least in enumerate(indices.amin(1).tolist() if indices.numel() else ()):
        if least < 0:
            raise RuntimeError(f"found negative index {least} for dim {dim}")


def in_order(indices: Tensor) -> bool:
    """Whether the columns rise in lexicographic order, no two alike."""
    later = _C.zeros(max(indices.shape[1] - 1, 0), dtype=_C.bool)
    for row in reversed(list(indices)):
        left, right = row[:-1], row[1:]
        later = (left < right) | ((left == right) & later)
    return bool(later.all())


# ---- the compressed layouts ---------------------------------------------------------------------------------
def check_compressed(offsets: Tensor, plain: Tensor, values: Tensor, size: Any, layout: Any) -> None:
    """Raises RuntimeError unless the parts make a tensor of that compressed layout and size."""
    size = tuple(size)
    rows = layout in BY_ROWS
    names = ("crow_indices", "col_indices") if rows else ("ccol_indices", "row_indices")
    block = 2 if layout in BLOCKED else 0
    _check_devices(offsets, plain, values, names)
    _check_ranks(offsets, plain, values, size, names, block)
    batch = offsets.dim() - 1
    shape = values.shape[batch + 1 : batch + 1 + block] or (1, 1)
    _check_shapes(offsets, plain, values, size, names, (batch, rows), shape)
    _check_index_types(offsets, plain, names)
    if not values.is_meta:
        _check_indices(offsets, plain, size, batch, rows, shape)


def _check_devices(offsets: Tensor, plain: Tensor, values: Tensor, names: tuple[str, str]) -> None:
    for name, index in zip(names, (offsets, plain), strict=True):
        if index.device != values.device:
            raise RuntimeError(
                f"device of {name} (={index.device}) must match device of values (={values.device})"
            )
        if index.layout is not _C.strided:
            raise RuntimeError(f"expected {name} to be a strided tensor, got layout {NAMES[index.layout]}")
    if values.layout is not _C.strided:
        raise RuntimeError(f"expected values to be a strided tensor, got layout {NAMES[values.layout]}")


def _check_ranks(
    offsets: Tensor, plain: Tensor, values: Tensor, size: tuple[int, ...], names: tuple[str, str], block: int
) -> None:
    compressed, flat = names
    _require(
        offsets.dim() >= 1,
        f"{compressed} must have dimensionality >= 1 but got {offsets.dim()}",
    )
    _require(
        offsets.dim() == plain.dim(),
        f"{compressed} and {flat} dimensionalities must be equal but got {offsets.dim()} and {plain.dim()}, "
        "respectively",
    )
    least = offsets.dim() + block
    _require(
        values.dim() >= least,
        f"values must have dimensionality > sum of batch and block dimensionalities (={offsets.dim() - 1} + {block}) "
        f"but got {values.dim()}",
    )
    dense = values.dim() - least
    _require(
        len(size) == offsets.dim() - 1 + 2 + dense,
        f"tensor dimensionality must be sum of batch, base, and dense dimensionalities "
        f"(={offsets.dim() - 1} + 2 + {dense}) but got {len(size)}",
    )


def _check_shapes(
    offsets: Tensor,
    plain: Tensor,
    values: Tensor,
    size: tuple[int, ...],
    names: tuple[str, str],
    about: tuple[int, bool],
    shape: Any,
) -> None:
    batch, rows = about
    compressed, flat = names
    for name, part in ((compressed, offsets), (flat, plain), ("values", values)):
        _require(
            tuple(part.shape[:batch]) == size[:batch],
            f"all batch dimensions of {name} (={list(part.shape[:batch])}) must be equal to batch dimensions of size "
            f"(={list(size[:batch])})",
        )
    for i in range(2):
        _require(
            shape[i] > 0 and size[batch + i] % shape[i] == 0,
            f"tensor shape[{batch + i}] (={size[batch + i]}) must be divisible with blocksize[{i}] (={shape[i]}) as "
            "defined by values shape",
        )
    lines = size[batch + (0 if rows else 1)] // shape[0 if rows else 1]
    what = (
        ("nrowblocks" if rows else "ncolblocks")
        if len(values.shape) - batch > 1 and tuple(shape) != (1, 1)
        else ("nrows" if rows else "ncols")
    )
    _require(
        offsets.shape[-1] == lines + 1,
        f"{compressed}.shape[-1] must be equal to the number of {what} + 1 (={lines + 1}), "
        f"but got {offsets.shape[-1]}",
    )
    _require(
        plain.shape[-1] == values.shape[batch],
        f"{flat}.shape[-1] must be equal to nnz (={values.shape[batch]}) as defined by values.shape[{batch}], "
        f"but got {plain.shape[-1]}",
    )
    dense = values.shape[values.dim() - (len(size) - batch - 2) :] if len(size) > batch + 2 else ()
    _require(
        tuple(dense) == size[batch + 2 :],
        f"values dense shape (={list(dense)}) must equal size's (={list(size[batch + 2 :])})",
    )


def _check_index_types(offsets: Tensor, plain: Tensor, names: tuple[str, str]) -> None:
    compressed, flat = names
    _require(
        offsets.dtype is plain.dtype,
        f"{compressed} and {flat} must have the same dtype, but got {offsets.dtype} and {plain.dtype}, respectively",
    )
    _require(
        offsets.dtype in (_C.int32, _C.int64),
        f"{compressed} and {flat} dtype must be Int or Long, but got {offsets.dtype}",
    )


def _check_indices(
    offsets: Tensor, plain: Tensor, size: tuple[int, ...], batch: int, rows: bool, shape: Any
) -> None:
    along, across = (0, 1) if rows else (1, 0)
    check_compressed_indices(
        rows,
        offsets,
        plain,
        size[batch + along] // shape[along],
        size[batch + across] // shape[across],
        plain.shape[-1],
    )


def check_compressed_indices(
    is_crow: bool, compressed_idx: Tensor, plain_idx: Tensor, cdim: int, dim: int, nnz: int
) -> None:
    """Raises RuntimeError unless the indices are those of compressed rows or columns.

    Args:
        is_crow: whether rows are compressed, else columns.
        compressed_idx: the compressed indices, (..., cdim + 1).
        plain_idx: the plain indices, (..., nnz).
        cdim: the number of rows, or columns, that are compressed.
        dim: the number of the others.
        nnz: how many elements each matrix stores.
    """
    compressed, flat = ("crow_indices", "col_indices") if is_crow else ("ccol_indices", "row_indices")
    lines_name, across_name = ("nrows", "ncols") if is_crow else ("ncols", "nrows")
    steps = compressed_idx.diff(dim=-1)
    _require(steps.shape[-1] == cdim, f"expected {cdim + 1} {compressed}, got {compressed_idx.shape[-1]}")
    _require(plain_idx.shape[-1] == nnz, f"expected {nnz} {flat}, got {plain_idx.shape[-1]}")
    _require((compressed_idx[..., 0] == 0).all(), f"`{compressed}[..., 0] == 0` is not satisfied.")
    _require((compressed_idx[..., -1] == nnz).all(), f"`{compressed}[..., -1] == nnz` is not satisfied.")
    _require(
        ((steps >= 0) & (steps <= dim)).all(),
        f"`0 <= {compressed}[..., 1:] - {compressed}[..., :-1] <= {across_name}` is not satisfied.",
    )
    _require(
        ((plain_idx >= 0) & (plain_idx < dim)).all(),
        f"`0 <= {flat} < {across_name}` is not satisfied.",
    )
    if nnz < 2:
        return
    position = _C.arange(nnz - 1) + 1
    batch = math.prod(compressed_idx.shape[:-1])
    starts = compressed_idx[..., 1:-1].reshape(batch, cdim - 1).to(_C.int64)
    first = _C.zeros(batch, nnz + 1, dtype=_C.bool).scatter(1, starts, True)[:, position]
    rising = (plain_idx.diff(dim=-1) > 0).reshape(first.shape)
    _require(
        (rising | first).all(),
        f"`{flat}[..., {compressed}[..., i - 1]:{compressed}[..., i]] for all i = 1, ..., {lines_name} are sorted "
        "and distinct along the last dimension values` is not satisfied.",
    )


# ---- the reference's names ----------------------------------------------------------------------------------
_validate_sparse_coo_tensor_args = check_coo
_validate_compressed_sparse_indices = check_compressed_indices
_validate_sparse_compressed_tensor_args = check_compressed
_validate_sparse_csr_tensor_args = functools.partial(check_compressed, layout=_C.sparse_csr)
_validate_sparse_csc_tensor_args = functools.partial(check_compressed, layout=_C.sparse_csc)
_validate_sparse_bsr_tensor_args = functools.partial(check_compressed, layout=_C.sparse_bsr)
_validate_sparse_bsc_tensor_args = functools.partial(check_compressed, layout=_C.sparse_bsc)
