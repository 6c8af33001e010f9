"""Random sparse tensors for benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tl_core
from tl_utils.benchmark.utils.fuzzer import FuzzedTensor

if TYPE_CHECKING:
    import numpy

__all__ = ["FuzzedSparseTensor"]


class FuzzedSparseTensor(FuzzedTensor):
    """A sparse tensor in coordinates, whose sizes and density are numbers or names of parameters.

    Args:
        name: its name.
        size: the size of each dimension.
        min_elements: sets of parameters that give fewer elements are refused, counting those that are zero.
        max_elements: those that give more.
        dim_parameter: the name of the parameter of the number of dimensions. None means all.
        sparse_dim: the name of the parameter of the number of sparse dimensions.
        nnz: the name of the parameter of the number of stored elements.
        density: the name of the parameter of the share of stored elements, which applies without `nnz`.
        coalesced: the name of the parameter of sorted, unique indices.
        dtype: element type.
        cuda: whether to allocate on the accelerator.

    Example:
        >>> import numpy
        >>> fuzzed = FuzzedSparseTensor("x", size=(6, 5), density="d", sparse_dim="s", coalesced="c")
        >>> x, known = fuzzed._make_tensor({"d": 0.5, "s": 2, "c": True}, numpy.random.RandomState(0))
        >>> x._nnz(), known["is_coalesced"]
        (15, True)
    """

    def __init__(self, name: str, size: tuple[str | int, ...], min_elements: int | None = None,
                 max_elements: int | None = None, dim_parameter: str | None = None, sparse_dim: str | None = None,
                 nnz: str | None = None, density: str | None = None, coalesced: str | None = None,
                 dtype: tl_core.dtype = tl_core.float32, cuda: bool = False) -> None:  # fmt: skip
        super().__init__(name, size, min_elements=min_elements, max_elements=max_elements,
                         dim_parameter=dim_parameter, dtype=dtype, cuda=cuda)  # fmt: skip
        self._sparse_dim, self._nnz, self._density, self._coalesced = sparse_dim, nnz, density, coalesced

    @staticmethod
    def sparse_tensor_constructor(size: Sequence[int], dtype: tl_core.dtype, sparse_dim: int, nnz: int,
                                  is_coalesced: bool) -> tl_core.Tensor:  # fmt: skip
        """A sparse tensor with `nnz` stored elements at random indices.

        Without `is_coalesced`, some indices occur twice, where there are two elements at least.
        """
        size = tuple(size)
        shape = [nnz, *size[sparse_dim:]]
        if dtype.is_floating_point or dtype.is_complex:
            values = tl_core.rand(size=shape, dtype=dtype)
        else:
            values = tl_core.randint(1, 127, size=tuple(shape), dtype=dtype)
        positions = 1
        for n in size[:sparse_dim]:
            positions *= n
        different = max(nnz if is_coalesced else nnz - nnz // 2, min(nnz, 1))
        flat = tl_core.randperm(positions)[:different]
        if not is_coalesced and nnz > different:
            flat = tl_core.cat([flat, flat[: nnz - different]])
        indices = []
        for n in reversed(size[:sparse_dim]):
            indices.append(flat % n)
            flat = flat // n
        x = tl_core.sparse_coo_tensor(tl_core.stack(indices[::-1]), values, size)
        return x.coalesce() if is_coalesced else x

    def _make_tensor(self, params: dict[str, Any], state: numpy.random.RandomState
                     ) -> tuple[tl_core.Tensor, dict[str, Any]]:  # fmt: skip
        size, _, _ = self._get_size_and_steps(params)
        sparse_dim = min(int(params[self._sparse_dim]) if self._sparse_dim else len(size), len(size))
        positions = 1
        for n in size[:sparse_dim]:
            positions *= n
        if self._nnz is not None:
            nnz = min(int(params[self._nnz]), positions)
        else:
            nnz = int(positions * (params[self._density] if self._density else 0.5))
        coalesced = bool(params[self._coalesced]) if self._coalesced else True
        x = self.sparse_tensor_constructor(size, self._dtype, sparse_dim, nnz, coalesced)
        if self._cuda:
            x = x.cuda()
        return x, {
            "numel": int(x.numel()),
            "shape": tuple(x.size()),
            "is_coalesced": x.is_coalesced(),
            "density": self._share(nnz, positions),
            "sparsity": 1.0 - self._share(nnz, positions),
            "sparse_dim": x.sparse_dim(),
            "dense_dim": x.dense_dim(),
            "is_hybrid": x.dense_dim() > 0,
            "dtype": str(self._dtype),
        }

    @staticmethod
    def _share(nnz: int, positions: int) -> float:
        return nnz / positions if positions else 0.0
