"""Sparse tensors that PyTorch's test files ask their test cases for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

_BLOCK = (2, 1)


def compressed_parts(
    size: Sequence[int],
    count: int,
    layout: Any,
    dtype: Any,
    index_dtype: Any,
    blocksize: Sequence[int],
    dense: int,
) -> tuple[Any, Any, Any]:
    """Compressed indices, plain indices and values of a random tensor.

    Args:
        size: the sizes: of the batch, of the matrix, and of each value.
        count: how many values, or blocks, each matrix has.
        layout: one of the four compressed layouts.
        dtype: the type of the values.
        index_dtype: the type of the indices.
        blocksize: the sizes of a block; none for layouts without blocks.
        dense: how many of the last sizes are those of a value.
    """
    import torch

    first_dense = len(size) - dense
    batch, matrix, value = size[: first_dense - 2], size[first_dense - 2 : first_dense], size[first_dense:]
    rows, columns = (n // b for n, b in zip(matrix, blocksize or (1, 1), strict=True))
    if layout in (torch.sparse_csc, torch.sparse_bsc):
        rows, columns = columns, rows
    compressed, plain = [], []
    for _ in itertools.product(*map(range, batch)):
        positions = torch.randperm(rows * columns)[:count].sort().values
        per_row = torch.bincount(positions // max(columns, 1), minlength=rows)
        compressed.append(torch.cat([torch.zeros(1, dtype=torch.int64), per_row.cumsum(0)]))
        plain.append(positions % max(columns, 1))
    shape = (*batch, count, *blocksize, *value)
    values = torch.testing.make_tensor(shape, dtype=dtype, device="cpu", low=1, high=9)
    return (
        _stacked(compressed, (*batch, rows + 1), index_dtype),
        _stacked(plain, (*batch, count), index_dtype),
        values,
    )


def _stacked(rows: list[Any], shape: tuple[int, ...], dtype: Any) -> Any:
    import torch

    return (torch.stack(rows).reshape(shape) if rows else torch.empty(shape)).to(dtype)


class SparseSamples:
    """What test cases have for sparse tensors."""

    def genSparseCompressedTensor(self, size: Any, nnz: int, *, layout: Any, device: Any, dtype: Any, index_dtype: Any,
                                  blocksize: Any = (), dense_dims: int = 0) -> Any:  # fmt: skip
        import torch

        blocksize = blocksize or _blocksize(layout)
        parts = compressed_parts(size, nnz, layout, dtype, index_dtype, blocksize, dense_dims)
        return torch.sparse_compressed_tensor(*parts, tuple(size), layout=layout)

    def genSparseCSRTensor(self, size: Any, nnz: int, **how: Any) -> Any:
        return self.genSparseCompressedTensor(size, nnz, layout=_layout("sparse_csr"), **how)

    def genSparseCSCTensor(self, size: Any, nnz: int, **how: Any) -> Any:
        return self.genSparseCompressedTensor(size, nnz, layout=_layout("sparse_csc"), **how)

    def genSparseBSRTensor(self, size: Any, blocksize: Any, nnz: int, **how: Any) -> Any:
        return self.genSparseCompressedTensor(
            size, nnz, layout=_layout("sparse_bsr"), blocksize=blocksize, **how
        )

    def genSparseBSCTensor(self, size: Any, blocksize: Any, nnz: int, **how: Any) -> Any:
        return self.genSparseCompressedTensor(
            size, nnz, layout=_layout("sparse_bsc"), blocksize=blocksize, **how
        )

    def generate_simple_inputs(self, layout: Any, device: Any = None, dtype: Any = None, index_dtype: Any = None,
                               enable_batch: bool = True, enable_hybrid: bool = True, enable_zero_sized: bool = True,
                               enable_non_contiguous_indices: bool = True,
                               enable_non_contiguous_values: bool = True, output_tensor: bool = True,
                               **_: Any) -> Iterator[Any]:  # fmt: skip
        import torch

        dtype, index_dtype = dtype or torch.get_default_dtype(), index_dtype or torch.int64
        is_compressed = layout not in (torch.strided, torch.sparse_coo)
        batches = [(), (2,), (2, 3)] if enable_batch and is_compressed else [()]
        values = [(), (2,), (2, 3)] if enable_hybrid else [()]
        matrices = [((4, 3), 5), ((2, 2), 1), *([((0, 0), 0), ((4, 2), 0)] if enable_zero_sized else [])]
        strides = [(False, False), (enable_non_contiguous_indices, enable_non_contiguous_values)]
        for batch, value, (matrix, count), spread in itertools.product(batches, values, matrices, strides):
            size, blocksize = (*batch, *matrix, *value), _blocksize(layout)
            count = min(count, matrix[0] // 2 * matrix[1]) if blocksize else count
            if layout is torch.strided:
                yield torch.testing.make_tensor(size, dtype=dtype, device="cpu")
                continue
            if layout is torch.sparse_coo:
                indices = torch.ones(matrix).nonzero()[:count].t()
                given = torch.testing.make_tensor((count, *value), dtype=dtype, device="cpu", low=1, high=9)
                parts: tuple[Any, ...] = (indices.contiguous(), given)
            else:
                parts = compressed_parts(size, count, layout, dtype, index_dtype, blocksize, len(value))
            if any(spread):
                parts = (*(_spread(i) if spread[0] else i for i in parts[:-1]), _spread(parts[-1]))
            if not output_tensor:
                yield parts, {"device": device, "dtype": dtype, "size": size}
            elif layout is torch.sparse_coo:
                yield torch.sparse_coo_tensor(*parts, size)
            else:
                yield torch.sparse_compressed_tensor(*parts, size, layout=layout)


def _layout(name: str) -> Any:
    import torch

    return getattr(torch, name)


def _blocksize(layout: Any) -> tuple[int, ...]:
    return _BLOCK if layout in (_layout("sparse_bsr"), _layout("sparse_bsc")) else ()


def _spread(x: Any) -> Any:
    """The same elements, not contiguous."""
    import torch

    return torch.stack([x, x], -1)[..., 0]


def coordinate_tensor(
    size: Sequence[int], sparse_dims: int, count: int, is_uncoalesced: bool, device: Any, dtype: Any
) -> tuple[Any, Any, Any]:
    """A random tensor of coordinates, its indices and its values.

    Args:
        size: the sizes: of the coordinates, and of each value.
        sparse_dims: how many of the first sizes are those of coordinates.
        count: how many values it has; none if a size of the coordinates is 0.
        is_uncoalesced: whether each coordinate occurs twice.
        device: the device.
        dtype: the type of the values.
    """
    import torch

    number = 0 if 0 in size[:sparse_dims] else count
    extents = torch.tensor(size[:sparse_dims], dtype=torch.float64).unsqueeze(1)
    indices = (torch.rand(sparse_dims, number, dtype=torch.float64) * extents).to(torch.int64)
    values = torch.testing.make_tensor(
        [number, *size[sparse_dims:]], device=device, dtype=dtype, low=-1, high=1
    )
    if is_uncoalesced:
        indices, values = torch.cat([indices, indices], 1), torch.cat([values, values.flip(0)])
    result = torch.sparse_coo_tensor(indices, values, torch.Size(size), device=device)
    result = result if is_uncoalesced else result.coalesce()
    return result, result._indices().clone(), result._values().clone()


def is_sorted(x: Any) -> bool:
    """Whether the coordinates of a tensor rise, so that each occurs once."""
    columns = [tuple(column) for column in x._indices().t().tolist()]
    return all(first < second for first, second in itertools.pairwise(columns))
