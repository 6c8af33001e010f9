"""Functions of `torch` whose names begin with an underscore and that programs call all the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.functions import checks
from tl_core.overrides import overridable
from tl_core.symbolic.numbers import SymBool

__all__: list[str] = []


@overridable
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape.

    Example:
        >>> import tl_core
        >>> from tl_core.functions import private
        >>> private.is_same_size(tl_core.ones(2, 3), tl_core.zeros(2, 3))
        True
    """
    return input.is_same_size(other)


@overridable
def detach_(input: Tensor) -> Tensor:
    """`Tensor.detach_`: takes the tensor itself out of the graph that made it."""
    return input.detach_()


@overridable
def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made under inference mode.

    Example:
        >>> import tl_core
        >>> from tl_core.functions import private
        >>> private.is_inference(tl_core.ones(2))
        False
    """
    return input.is_inference()


@overridable
def _assert_async(
    input: Tensor, assert_msg: str = "Expected Tensor with single nonzero value, but got zero"
) -> None:
    """Raises RuntimeError with the text unless the tensor's only element is not zero.

    On a CPU there is nothing to wait for: it is checked at once; in a trace, when the program runs.
    """
    if input.numel() != 1:
        raise RuntimeError(
            f"Boolean value of Tensor with {'no values' if input.numel() == 0 else 'more than one value'} is ambiguous"
        )
    element = input.item()
    checks.state(element if isinstance(element, SymBool) else element != 0, lambda: assert_msg)


def _has_compatible_shallow_copy_type(input: Tensor, from_: Tensor) -> bool:
    """Whether `input.data = from_` can be: both have the same layout, and both elements or neither."""
    return input.layout == from_.layout and input.is_meta == from_.is_meta


def _is_zerotensor(t: Tensor) -> bool:
    """Whether it is zeros without memory, which no program can write."""
    return t._is_zerotensor()


def _shape_as_tensor(self: Tensor) -> Tensor:
    """The sizes as a tensor of int64."""
    return tl_core.tensor(list(self.shape), dtype=tl_core.int64)


def _reshape_from_tensor(self: Tensor, shape: Tensor) -> Tensor:
    """`reshape` to sizes that a tensor holds."""
    return self.reshape(shape.tolist())


def _addmm_activation(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
    use_gelu: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """`addmm`, and of what it gives the positive part, or gelu."""
    sum = tl_core.addmm(input, mat1, mat2, beta=beta, alpha=alpha)
    if use_gelu:
        return tl_core._C._nn.gelu(sum, out=out)
    return tl_core.clamp_min(sum, 0, out=out)


def _masked_softmax(
    input: Tensor, mask: Tensor, dim: int | None = None, mask_type: int | None = None
) -> Tensor:
    """The softmax of the elements that a mask leaves.

    Args:
        input: numbers; of masks of the types 0 and 1 (batch, heads, queries, keys), or as the mask.
        mask: True where an element is left out; its probability is 0, or NaN where all of them are.
        dim: the dimension of the softmax, by default the last.
        mask_type: 0 for a mask of (queries, keys), 1 for one of (batch, keys), 2 for one of the input's shape.

    Raises:
        RuntimeError: the mask isn't of bools, has no type, or does not fit.
    """
    if mask.dtype is not tl_core.bool:
        raise RuntimeError(f"Mask should be a boolean tensor, got {mask.dtype}")
    if mask_type not in (0, 1, 2):
        raise RuntimeError(
            f"Mask Type should be 0 (src_mask), 1 (src_key_padding_mask), or 2 (default_mask), got {mask_type}"
        )
    if mask_type == 1 and mask.dim() == 2 and input.dim() == 4:
        mask = mask[:, None, None, :]
    scores = input.masked_fill(mask.expand(input.shape), -math.inf)
    return scores.softmax(input.dim() - 1 if dim is None else dim)


def _compute_linear_combination(input: Tensor, coefficients: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sums of `input` along its first dimension, weighted by each row of `coefficients`.

    Raises:
        RuntimeError: the input has no dimension.
    """
    if input.dim() == 0:
        raise RuntimeError(
            "_compute_linear_combination(): input must have a dimension, got a tensor without any"
        )
    rows = coefficients.to(input.dtype) @ input.reshape(len(input), -1)
    sums = rows.reshape(len(rows), *input.shape[1:])
    return sums if out is None else out.add_(sums)


@overridable
def nuclear_norm(
    input: Tensor, dim: tuple[int, int] = (-2, -1), keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The sum of the singular values of matrices, as `linalg.matrix_norm` gives it.

    Args:
        input: the matrices, of shape (..., m, n).
        dim: the two dimensions of a matrix.
        keepdim: whether they stay, with size 1.
        out: takes the result.

    Example:
        >>> import tl_core
        >>> from tl_core.functions import private
        >>> private.nuclear_norm(tl_core.tensor([[3.0, 0.0], [0.0, 4.0]]))
        tensor(7.)
    """
    return tl_core.linalg.matrix_norm(input, "nuc", tuple(dim), keepdim, out=out)


def _assert_tensor_metadata(
    a: Tensor,
    size: Any = None,
    stride: Any = None,
    dtype: tl_core.dtype | None = None,
    *,
    device: tl_core.device | None = None,
    layout: tl_core.layout | None = None,
) -> None:
    """Raises RuntimeError unless the tensor has all of what is given."""
    actual = {
        "sizes": list(a.shape),
        "strides": list(a.stride()),
        "dtype": a.dtype,
        "device": a.device,
        "layout": a.layout,
    }
    lists = {"sizes": size and list(size), "strides": stride and list(stride)}
    expected = {**lists, "dtype": dtype, "device": device, "layout": layout}
    for name, value in expected.items():
        if value is not None and actual[name] != value:
            raise RuntimeError(f"Tensor {name} mismatch! Expected: {value}, Got: {actual[name]}")


def _nnpack_available() -> bool:
    """Whether NNPACK is there: never."""
    return False


def _running_with_deploy() -> bool:
    """Whether the interpreter is one of several in a process: never."""
    return False


def _disable_dynamo(fn: Any = None, recursive: bool = True) -> Any:
    """A decorator that leaves functions as they are: nothing looks into their code."""
    return (lambda function: function) if fn is None else fn


@overridable
def is_distributed(input: Tensor) -> bool:
    """Whether the tensor's elements lie on several machines: no tensor's do in this sense.

    Example:
        >>> import tl_core
        >>> from tl_core.functions import private
        >>> private.is_distributed(tl_core.ones(2))
        False
    """
    return False


# ---- parts of tensors as tensors of their own
@overridable
def indices_copy(input: Tensor) -> Tensor:
    """A copy of a sparse tensor's `indices()`.

    Example:
        >>> import tl_core
        >>> from tl_core.functions import private
        >>> private.indices_copy(tl_core.tensor([0.0, 2.0]).to_sparse().coalesce())
        tensor([[1]])
    """
    return input.indices().clone()


@overridable
def values_copy(input: Tensor) -> Tensor:
    """A copy of a sparse tensor's `values()`.

    Example:
        >>> import tl_core
        >>> from tl_core.functions import private
        >>> private.values_copy(tl_core.tensor([0.0, 2.0]).to_sparse().coalesce())
        tensor([2.])
    """
    return input.values().clone()


@overridable
def crow_indices_copy(input: Tensor) -> Tensor:
    """A copy of a sparse tensor's `crow_indices()`.

    Example:
        >>> import tl_core
        >>> from tl_core.functions import private
        >>> x = tl_core.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse_csr()
        >>> private.crow_indices_copy(x)
        tensor([0, 1, 2])
    """
    return input.crow_indices().clone()


@overridable
def col_indices_copy(input: Tensor) -> Tensor:
    """A copy of a sparse tensor's `col_indices()`.

    Example:
        >>> import tl_core
        >>> from tl_core.functions import private
        >>> x = tl_core.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse_csr()
        >>> private.col_indices_copy(x)
        tensor([1, 0])
    """
    return input.col_indices().clone()


@overridable
def ccol_indices_copy(input: Tensor) -> Tensor:
    """A copy of a sparse tensor's `ccol_indices()`.

    Example:
        >>> import tl_core
        >>> from tl_core.functions import private
        >>> x = tl_core.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse_csc()
        >>> private.ccol_indices_copy(x)
        tensor([0, 1, 2])
    """
    return input.ccol_indices().clone()


@overridable
def row_indices_copy(input: Tensor) -> Tensor:
    """A copy of a sparse tensor's `row_indices()`.

    Example:
        >>> import tl_core
        >>> from tl_core.functions import private
        >>> x = tl_core.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse_csc()
        >>> private.row_indices_copy(x)
        tensor([1, 0])
    """
    return input.row_indices().clone()


@overridable
def _indices_copy(input: Tensor) -> Tensor:
    """A copy of a sparse tensor's `_indices()`."""
    return input._indices().clone()


@overridable
def _values_copy(input: Tensor) -> Tensor:
    """A copy of a sparse tensor's `_values()`."""
    return input._values().clone()


@overridable
def _conj_copy(input: Tensor) -> Tensor:
    """The conjugate, computed."""
    return input.conj_physical()


@overridable
def _neg_view_copy(input: Tensor) -> Tensor:
    """The negative, computed."""
    return input.neg()


@overridable
def _unique2(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """`unique` as three tensors: positions and counts are empty unless they are asked for."""
    return tl_core._C._call_operator(("_unique2",), input, sorted, return_inverse, return_counts)


@overridable
def _unique(input: Tensor, sorted: bool = True, return_inverse: bool = False) -> tuple[Tensor, Tensor]:
    """`unique` as a pair: the positions are an empty tensor unless they are asked for."""
    result = tl_core.unique(input, sorted, return_inverse)
    return result if return_inverse else (result, tl_core.empty(0, dtype=tl_core.int64, device=input.device))


@overridable
def _foreach_norm(self: Sequence[Tensor], ord: float = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """The norm of each tensor, all elements of which count as one vector."""
    return tuple(tl_core.linalg.vector_norm(t, ord, dtype=dtype) for t in self)


def slice_inverse(
    self: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """The tensor of which `self` is the slice: a view of its memory with the sizes and strides of `src`.

    Args:
        self: the slice.
        src: what has the sizes and strides of the whole.
        dim, start, end, step: of the slice.
    """
    piece: Any = self
    result: Tensor = piece.slice_inverse(src, dim, start, end, step)
    return result


def _cslt_compress(input: Tensor) -> Tensor:
    """Packs a matrix for NVIDIA's cuSPARSELt, which computes on CUDA devices only."""
    raise NotImplementedError(
        "_cslt_compress packs for cuSPARSELt, which needs a CUDA device; torch.sparse.to_sparse_semi_structured "
        "keeps a matrix for the CPU"
    )


def _cslt_sparse_mm(compressed_A: Tensor, dense_B: Tensor, *options: Any, **keywords: Any) -> Tensor:
    """The product with a matrix that `_cslt_compress` has packed."""
    raise NotImplementedError("_cslt_sparse_mm is a function of cuSPARSELt, which needs a CUDA device")
