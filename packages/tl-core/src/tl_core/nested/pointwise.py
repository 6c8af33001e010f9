"""Operators that work element by element, on jagged nested tensors."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.nested.handlers import as_it_is, is_dense
from tl_core.nested.tensor import JAGGED, NestedTensor, as_nested, raw
from tl_core.operators.elementwise import elementwise_functions

__all__ = ["OF_THE_LANGUAGE", "PLAIN", "POINTWISE", "same_structure"]

# Functions and methods with an element for each element of their inputs, beside the elementwise rows.
_MORE = """
    alpha_dropout bernoulli bfloat16 bool byte cdouble cfloat chalf char conj conj_physical cpu cuda detach
    detach_ double dropout exponential_ feature_alpha_dropout fill_ float half imag int isclose isreal
    logsigmoid long mvlgamma native_dropout normal_ positive rand_like randint_like randn_like random_ real
    relu6 requires_grad_ resolve_conj resolve_neg rrelu short softsign tanhshrink true_divide type_as uniform_
    zero_
""".split()  # noqa: SIM905
_SPECIAL = """
    special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_digamma special_entr
    special_erf special_erfc special_erfcx special_erfinv special_exp2 special_expit special_expm1
    special_gammaln special_i0 special_i0e special_i1 special_i1e special_log1p special_log_ndtr special_logit
    special_ndtr special_ndtri special_polygamma special_psi special_round special_sinc special_xlog1py
    special_xlogy special_zeta
""".split()  # noqa: SIM905
# Elementwise rows that PyTorch's jagged tensors lack.
_ABSENT = {"complex", "empty_like", "polar"}

# All operators whose result has an element for each of their inputs' elements, broadcast.
POINTWISE = (elementwise_functions() - _ABSENT).union(_MORE, _SPECIAL)
# Operators of the language among them.
OF_THE_LANGUAGE = """
    __add__ __radd__ __iadd__ __sub__ __rsub__ __isub__ __mul__ __rmul__ __imul__ __truediv__ __rtruediv__
    __itruediv__ __floordiv__ __rfloordiv__ __ifloordiv__ __mod__ __rmod__ __imod__ __pow__ __rpow__ __ipow__
    __and__ __rand__ __iand__ __or__ __ror__ __ior__ __xor__ __rxor__ __ixor__ __lshift__ __rlshift__ __ilshift__
    __rshift__ __rrshift__ __irshift__ __neg__ __pos__ __invert__ __abs__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__
""".split()  # noqa: SIM905
# What is answered for the tensor that holds the elements.
PLAIN = """
    is_floating_point is_complex is_signed is_inference is_pinned is_shared element_size get_device data_ptr
    backward retain_grad storage_offset untyped_storage storage __hash__ is_conj is_neg item __bool__ __float__
    __int__ _is_view register_post_accumulate_grad_hook is_nonzero type __dir__ __format__ __get__ __set__
""".split()  # noqa: SIM905


def _shapes(args: tuple[Any, ...]) -> str:
    texts = [f"({', '.join(map(str, a.shape))})" for a in args if isinstance(a, Tensor)]
    return " and ".join(texts)


def _refuse(name: str, args: tuple[Any, ...]) -> RuntimeError:
    return RuntimeError(
        f"cannot call binary pointwise function {name} with inputs of shapes {_shapes(args)}: nested tensors "
        "must have the same ragged structure, that is one object of offsets, and dense ones must broadcast with it"
    )


def same_structure(name: str, tensors: tuple[Any, ...]) -> NestedTensor:
    """The first nested tensor; RuntimeError unless all nested ones have its structure."""
    nested = [t for t in tensors if isinstance(t, NestedTensor)]
    first = nested[0]
    for other in nested[1:]:
        if (
            not first._ragged.matches(other._ragged)
            or first._ragged_idx != other._ragged_idx
            or first.dim() != other.dim()
        ):
            raise _refuse(name, tensors)
    return first


def _alike(tensors: list[Any]) -> bool:
    """Whether all are nested tensors of one structure, which can be told quickly."""
    first = tensors[0]
    if type(first) is not NestedTensor:
        return False
    ragged, at, n = first._ragged, first._ragged_idx, _dim(first)
    return all(
        type(t) is NestedTensor and t._ragged is ragged and t._ragged_idx == at and _dim(t) == n
        for t in tensors[1:]
    )


_dim = Tensor.dim  # with overrides off, that of the values


def _pointwise(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = operator.__name__
    tensors = [a for a in (*args, *kwargs.values()) if isinstance(a, Tensor)]
    if len(tensors) == 1 and type(tensors[0]) is NestedTensor:
        return _wrapped(operator(*args, **kwargs), tensors[0])
    if _alike(tensors) and "out" not in kwargs and isinstance(tensors[0], NestedTensor):
        return _wrapped(operator(*args, **kwargs), tensors[0])
    like = same_structure(name, tuple(tensors))
    if name.endswith("_") and not name.endswith("__") and not isinstance(args[0], NestedTensor):
        raise RuntimeError(
            f"{name}(): a dense tensor of shape {tuple(args[0].shape)} cannot hold the result, which is nested"
        )

    def fit(a: Any) -> Any:
        if not isinstance(a, Tensor) or isinstance(a, NestedTensor) or a.dim() == 0:
            return a
        return _fit(a, like, name, tuple(tensors))

    if isinstance(kwargs.get("out"), Tensor):
        return _into(operator, args, kwargs, like)
    return _wrapped(operator(*map(fit, args), **{key: fit(value) for key, value in kwargs.items()}), like)


def _into(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any], like: NestedTensor) -> Any:
    """The operator with `out=`, which must be nested."""
    out = kwargs.pop("out")
    if not isinstance(out, NestedTensor):
        raise RuntimeError(
            f"{operator.__name__}(): argument 'out' must be nested like the inputs, got a dense tensor of shape "
            f"{tuple(out.shape)}"
        )
    return Tensor.copy_(out, _pointwise(operator, args, kwargs))


def _wrapped(result: Any, like: NestedTensor) -> Any:
    if isinstance(result, Tensor) and is_dense(result):
        return as_nested(result, like._ragged, like._ragged_idx)
    if isinstance(result, tuple):
        wrapped = [_wrapped(m, like) for m in result]
        return type(result)(wrapped) if hasattr(result, "n_fields") else tuple(wrapped)
    return result


def _fit(dense: Tensor, like: NestedTensor, name: str, tensors: tuple[Any, ...]) -> Tensor:
    """A dense tensor that broadcasts with the nested one, as one that broadcasts with its values."""
    ndim, at, ragged = like.dim(), like._ragged_idx, like._ragged
    missing = ndim - dense.dim()
    if missing < 0:
        raise _refuse(name, tensors)
    along = at - missing  # the ragged dimension among those of `dense`
    if along < 0 or (dense.shape[along] == 1 and missing > 0):
        return dense
    if missing > 0 or dense.shape[0] not in (1, ragged.batch):
        raise _refuse(name, tensors)
    length = dense.shape[at]
    if length == 1 and dense.shape[0] == 1:
        return dense.squeeze(0)
    moved = dense.expand(ragged.batch, *dense.shape[1:]).movedim(at, 1)
    total = _C._as_subclass(Tensor, like).shape[at - 1]
    if length == 1:
        rows = _C._segment_expand(moved.squeeze(1), ragged.offsets, ragged.lengths, total)
    elif length == ragged.max_length:
        rows = _C._padded_to_jagged(moved, ragged.offsets, ragged.lengths, total)
    else:
        raise _refuse(name, tensors)
    return rows.movedim(0, at - 1)


def _foreach(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Operators on lists of tensors, as optimizers call them: each nested one is as its values are."""
    results = operator(*args, **kwargs)
    if not isinstance(results, (list, tuple)):
        return results
    pairs = zip(results, args[0], strict=True)
    return type(results)([_wrapped(m, a) if isinstance(a, NestedTensor) else m for m, a in pairs])


JAGGED.of_all([name for name in dir(_C) if name.startswith(("_foreach_", "_fused_"))], _foreach)
JAGGED.of_all(POINTWISE, _pointwise)
JAGGED.of_all([f"{name}_" for name in POINTWISE if name[-1] != "_"], _pointwise)
JAGGED.of_all(OF_THE_LANGUAGE, _pointwise)


@JAGGED.of("to")
def _to(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    if not isinstance(self, NestedTensor):
        raise RuntimeError(
            "to(): a dense tensor cannot be converted like a nested one; pass dtype and device"
        )
    args = tuple(a.dtype if isinstance(a, NestedTensor) else a for a in args)
    values = raw(Tensor.to, self, *args, **kwargs)
    if not is_dense(values):
        return values
    return as_nested(values, self._ragged.to(values.device), self._ragged_idx)


@JAGGED.of("empty_like")
def _empty_like(self: NestedTensor, *, layout: Any = None, **kwargs: Any) -> NestedTensor:
    values = _C.empty_like(self.values(), **kwargs)
    return as_nested(values, self._ragged.to(values.device), self._ragged_idx)


@JAGGED.of("contiguous")
def _contiguous(self: NestedTensor, memory_format: Any = _C.contiguous_format) -> NestedTensor:
    if self.is_contiguous():
        return self
    if self._ragged.lengths is None:
        return as_nested(self.values().contiguous(), self._ragged, self._ragged_idx)
    rows = self.values().index_select(self._ragged_idx - 1, self._ragged.rows())
    return as_nested(rows.contiguous(), self._ragged.compact(), self._ragged_idx)


@JAGGED.of("copy_")
def _copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    if not isinstance(self, NestedTensor) or not isinstance(src, NestedTensor):
        raise ValueError(
            f"copy_(): both tensors must be nested, of the layout torch.jagged, got {type(self).__name__} and "
            f"{type(src).__name__}"
        )
    same_structure("copy_", (self, src))
    return raw(Tensor.copy_, self, src, non_blocking)


@JAGGED.of("equal")
def _equal(self: Tensor, other: Tensor) -> bool:
    if not (isinstance(self, NestedTensor) and isinstance(other, NestedTensor)) or self.shape != other.shape:
        return False
    return _C.equal(self.contiguous().values(), other.contiguous().values())


@JAGGED.of("allclose")
def _allclose(self: Any, other: Any, *args: Any, **kwargs: Any) -> bool:
    same_structure("allclose", (self, other))
    return _C.allclose(self.contiguous().values(), other.contiguous().values(), *args, **kwargs)


JAGGED.of_all(PLAIN, as_it_is)
