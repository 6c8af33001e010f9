"""Utilities of distributions: broadcasting of parameters, probabilities and log-odds, values computed once."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any, Generic, TypeVar, overload

import tl_core
from tl_core import Size, Tensor
from tl_core.functions import nn as nn_functions

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

SCALAR = Size()  # the shape of a single number
_IDENTITY_FROM = 40  # log(1 + exp(x)) is x in double precision
euler_constant = 0.57721566490153286060

Owner = TypeVar("Owner", contravariant=True)
Value = TypeVar("Value", covariant=True)


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Parameters as tensors of one shape.

    Numbers become tensors of the first tensor's type and device, or of the default type where there is no tensor.

    Args:
        *values: tensors, numbers, or objects that implement `__torch_function__`.

    Returns:
        A tensor for each value. Tensors that have the common shape are returned unchanged.

    Raises:
        ValueError: a value is neither a tensor nor a number.

    Example:
        >>> broadcast_all(1.0, tl_core.zeros(2))
        (tensor([1., 1.]), tensor([0., 0.]))
    """
    if not all(isinstance(value, Tensor) for value in values):
        values = tuple(_from_numbers(values))
    shape = values[0].shape
    if all(value.shape == shape for value in values):
        return values
    return tuple(tl_core.broadcast_tensors(*values))


def _from_numbers(values: tuple[Any, ...]) -> list[Any]:
    for value in values:
        if not isinstance(value, (Tensor, Number)) and not hasattr(type(value), "__torch_function__"):
            raise ValueError(
                f"parameters of a distribution must be tensors or numbers, but got {type(value).__name__}"
            )
    first = next((v for v in values if not isinstance(v, Number)), None)
    like: dict[str, Any] = {"dtype": tl_core.get_default_dtype()}
    if isinstance(first, Tensor):
        like = {"dtype": first.dtype, "device": first.device}
    return [tl_core.tensor(v, **like) if isinstance(v, Number) else v for v in values]


def _standard_normal(shape: Size, dtype: tl_core.dtype, device: tl_core.device) -> Tensor:
    """Independent samples of the standard normal distribution."""
    return tl_core.empty(shape, dtype=dtype, device=device).normal_()


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last `dim` dimensions."""
    return value if dim == 0 else value.sum(tuple(range(-dim, 0)))


def _expand_to(value: Tensor, shape: Size) -> Tensor:
    """Expands a tensor to a shape, without a new view if it has the shape."""
    return value if value.shape == shape else value.expand(shape)


def _log_sigmoid(x: Tensor) -> Tensor:
    """log(1 / (1 + exp(-x))), exact in both tails."""
    return nn_functions.log_sigmoid(x)


def _softplus(x: Tensor) -> Tensor:
    """log(1 + exp(x)), exact in both tails."""
    return nn_functions.softplus(x, 1, _IDENTITY_FROM)


def plain_value(tensor: Tensor) -> Tensor:
    """The tensor with the batches of the surrounding `vmap`s as dimensions.

    Args:
        tensor: any tensor.

    Example:
        >>> plain_value(tl_core.ones(2))
        tensor([1., 1.])
    """
    if not tensor._hides_batch():
        return tensor
    from tl_autograd.func import levels  # the transform has loaded it

    return levels.plain_value(tensor)


def holds(valid: Tensor) -> bool:
    """Whether all elements of a condition are True, in all examples of the surrounding `vmap`s.

    Args:
        valid (Tensor of bool): the elements. Elements on the device meta are True.

    Example:
        >>> holds(tl_core.tensor([True, False]))
        False
    """
    return valid.is_meta or bool(plain_value(valid).all())


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities moved away from 0 and 1 by the precision of their type, so that their logarithms are finite.

    Args:
        probs: probabilities, of a floating type.

    Returns:
        The same probabilities within [eps, 1 - eps].

    Example:
        >>> clamp_probs(tl_core.tensor([0.0, 0.5])) > 0
        tensor([True, True])
    """
    eps = tl_core.finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities from log-odds, or from unnormalized log probabilities.

    Args:
        logits: log-odds if `is_binary`, else log probabilities of the classes along the last dimension.
        is_binary: whether each element is an event of its own.

    Returns:
        The probabilities. The probabilities of classes sum to 1.

    Example:
        >>> logits_to_probs(tl_core.zeros(2))
        tensor([0.5000, 0.5000])
    """
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log-odds or log probabilities from probabilities, which are clamped first so that the result is finite.

    Args:
        probs: probabilities, within [0, 1].
        is_binary: whether each element is an event of its own.

    Returns:
        log(p / (1 - p)) if `is_binary`, else log(p).

    Example:
        >>> probs_to_logits(tl_core.tensor(0.5), is_binary=True)
        tensor(0.)
    """
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


class lazy_property(Generic[Owner, Value]):
    """A property that is computed when it is first read, with gradients recorded, and kept from then on.

    Args:
        wrapped: the method that computes the value.

    Example:
        >>> class Square:
        ...     @lazy_property
        ...     def area(self):
        ...         print("computed")
        ...         return 4.0
        ...
        >>> square = Square()
        >>> square.area, square.area
        computed
        (4.0, 4.0)
    """

    def __init__(self, wrapped: Callable[[Owner], Value]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    @overload
    def __get__(self, instance: None, owner: Any = None) -> lazy_property[Owner, Value]: ...
    @overload
    def __get__(self, instance: Owner, owner: Any = None) -> Value: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return _LazyProperty(self.wrapped)
        with tl_core.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _LazyProperty(lazy_property[Any, Any], property):  # type: ignore[misc] # `__get__` of the two
    """The property that a class shows, so that tools see a property."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        property.__init__(self, wrapped)
        self.wrapped = wrapped


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements on and below a diagonal, row by row.

    Args:
        mat: square matrices, (*, n, n).
        diag: the highest diagonal that is taken: 0 the main one, negative ones below it.

    Returns:
        A vector for each matrix.

    Raises:
        ValueError: `diag` is outside [-n, n).

    Example:
        >>> tril_matrix_to_vec(tl_core.tensor([[1, 2], [3, 4]]))
        tensor([1, 3, 4])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag must be in [{-n}, {n - 1}], but got {diag}")
    rows, columns = tl_core.tril_indices(n, n, diag, device=mat.device)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Lower triangular matrices from vectors of their elements, row by row: the inverse of `tril_matrix_to_vec`.

    Args:
        vec: the elements, (*, m).
        diag: the highest diagonal that is filled.

    Returns:
        The matrices, zero elsewhere.

    Raises:
        ValueError: no matrix has as many elements on and below that diagonal.

    Example:
        >>> vec_to_tril_matrix(tl_core.tensor([1, 3, 4]))
        tensor([[1, 0],
                [3, 4]])
    """
    n = _side(vec.shape[-1], diag)
    rows, columns = tl_core.tril_indices(n, n, diag, device=vec.device)
    matrix = vec.new_zeros((*vec.shape[:-1], n, n))
    matrix[..., rows, columns] = vec
    return matrix


def _side(count: int, diag: int) -> int:
    """The n whose (n, n) matrix has `count` elements on and below a diagonal."""
    n = abs(diag)
    while _below(n, diag) < count:
        n += 1
    if _below(n, diag) != count:
        raise ValueError(f"no square matrix has {count} elements on and below diagonal {diag}")
    return n


def _below(n: int, diag: int) -> int:
    """The number of elements of an (n, n) matrix on and below a diagonal: the others are a triangle."""
    if diag <= 0:
        return (n + diag) * (n + diag + 1) // 2
    return n * n - (n - diag - 1) * (n - diag) // 2
