"""Overloads of the namespace aten beside those of rows: steps whose rate is a tensor, products in another dtype, and
names that graphs of other tools have.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tl_core
from tl_core._C import Tensor
from tl_core.dispatch.layers import DTYPES
from tl_core.functions.out_tensors import write_results
from tl_core.operators.composites import function
from tl_core.operators.packets import aten

__all__ = ["rows"]

Row = tuple[str, Callable[..., Any]]


# ---- lists of tensors
def _factors(scalars: Tensor, count: int) -> list[Any]:
    """The numbers of a tensor, one for each tensor of a list."""
    if scalars.ndim != 1:
        raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {scalars.ndim} instead.")
    if scalars.shape[0] != count:
        raise RuntimeError(
            f"Expected length of scalars to match input of length {count} but got {scalars.shape[0]} instead."
        )
    return scalars.tolist()


def _foreach(name: str) -> Callable[..., Any]:
    def call(
        self: Sequence[Tensor], first: Sequence[Tensor], second: Sequence[Tensor], scalars: Tensor
    ) -> Any:
        return getattr(aten, name).ScalarList(self, first, second, _factors(scalars, len(self)))

    return call


def _of_lists() -> Iterator[Row]:
    for name in ("_foreach_addcdiv", "_foreach_addcmul"):
        for form, alias, result in (("", "", "Tensor[]"), ("_", "(a!)", "()")):
            lists = f"Tensor{alias}[] self, Tensor[] tensor1, Tensor[] tensor2"
            yield f"{name}{form}.Tensor({lists}, Tensor scalars) -> {result}", _foreach(name + form)


# ---- steps of optimizers
def _step(name: str) -> Callable[..., Any]:
    """The step whose rate is a number, of unscaled gradients; no step where one of them is infinite."""

    def call(
        self: Any,
        grads: Any,
        *state: Any,
        lr: Any,
        grad_scale: Any = None,
        found_inf: Any = None,
        **options: Any,
    ) -> None:
        if found_inf is not None and found_inf.item():
            return
        if grad_scale is not None:
            for grad in grads:
                grad.div_(grad_scale)
        getattr(aten, name).default(self, grads, *state, lr=float(lr), **options)

    return call


_STEPS = {
    "_fused_adam_": (
        "Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, "
        "Tensor lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad"
    ),
    "_fused_sgd_": (
        "Tensor(c!)[] momentum_buffer_list, *, float weight_decay, float momentum, Tensor lr, float dampening, "
        "bool nesterov"
    ),
    "_fused_adagrad_": (
        "Tensor(c!)[] state_sums, Tensor[] state_steps, *, Tensor lr, float lr_decay, float weight_decay, float eps"
    ),
}
_STEPS["_fused_adamw_"] = _STEPS["_fused_adam_"]


def _steps() -> Iterator[Row]:
    for name, rest in _STEPS.items():
        first = "bool maximize, bool is_first_step" if name == "_fused_sgd_" else "bool maximize"
        tail = f"{rest}, {first}, Tensor? grad_scale=None, Tensor? found_inf=None"
        yield f"{name}.tensor_lr(Tensor(a!)[] self, Tensor(b!)[] grads, {tail}) -> ()", _step(name)


# ---- products in another dtype
def _wide(*tensors: Tensor, out_dtype: Any) -> list[Tensor]:
    """The operands of a product in the dtype of its result."""
    for t in tensors:
        halves = t.dtype in (tl_core.float16, tl_core.bfloat16) and out_dtype is tl_core.float32
        if t.dtype is not out_dtype and not halves:
            raise RuntimeError("out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs")
    return [t.to(out_dtype) for t in tensors]


def _product(name: str) -> Callable[..., Any]:
    def call(self: Tensor, mat2: Tensor, out_dtype: Any) -> Tensor:
        return getattr(tl_core, name)(*_wide(self, mat2, out_dtype=out_dtype))

    return call


def _sum_with_product(name: str) -> Callable[..., Any]:
    def call(self: Tensor, first: Tensor, second: Tensor, out_dtype: Any, *, beta: Any, alpha: Any) -> Tensor:
        wide = [self.to(out_dtype), *_wide(first, second, out_dtype=out_dtype)]
        return getattr(tl_core, name)(*wide, beta=beta, alpha=alpha)

    return call


def _products() -> Iterator[Row]:
    for name in ("mm", "bmm"):
        yield f"{name}.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor", _product(name)
    for name, operands in (("addmm", ("mat1", "mat2")), ("baddbmm", ("batch1", "batch2"))):
        tensors = f"Tensor self, Tensor {operands[0]}, Tensor {operands[1]}, ScalarType out_dtype"
        yield (
            f"{name}.dtype({tensors}, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
            _sum_with_product(name),
        )


# ---- indices without None
_PUT = "Tensor[] indices, Tensor values, bool accumulate=False"


def _indices() -> Iterator[Row]:
    index, put, put_ = aten.index.Tensor, aten.index_put.default, aten.index_put_.default
    yield "index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor", index
    yield "_unsafe_index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor", index
    for name in ("index_put", "_unsafe_index_put"):
        yield f"{name}.hacked_twin(Tensor self, {_PUT}) -> Tensor", put
    yield f"index_put_.hacked_twin(Tensor(a!) self, {_PUT}) -> Tensor(a!)", put_
    yield (
        f"_index_put_impl_.hacked_twin(Tensor(a!) self, {_PUT}, bool unsafe=False) -> Tensor(a!)",
        lambda self, indices, values, accumulate, unsafe: put_(self, indices, values, accumulate),
    )


# ---- linear algebra whose tolerances are tensors
_TOLERANCES = "*, {kind}? atol=None, {kind}? rtol=None, bool hermitian=False"


def _tolerances() -> Iterator[Row]:
    for kind, suffix in (("float", "float"), ("Tensor", "tensor")):
        listed = _TOLERANCES.format(kind=kind)
        yield f"linalg_pinv.atol_rtol_{suffix}(Tensor self, {listed}) -> Tensor", function("linalg.pinv")
    yield (
        "linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor",
        lambda self, rcond, hermitian, **out: tl_core.linalg.pinv(
            self, rtol=rcond, hermitian=hermitian, **out
        ),
    )


# ---- samples
def _normal_into(self: Tensor, mean: float, std: float, *, generator: Any, out: Tensor) -> Tensor:
    write_results("normal", [aten.normal_functional(self, mean, std, generator=generator)], [out])
    return out


def _samples() -> Iterator[Row]:
    yield (
        "bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor",
        lambda self, p, *, generator: tl_core.empty_like(self).bernoulli_(p, generator=generator),
    )
    yield (
        (
            "normal.out(Tensor self, float mean=0., float std=1., *, Generator? generator=None, Tensor(a!) out) "
            "-> Tensor(a!)"
        ),
        _normal_into,
    )


# ---- second names, conversions
def _convert(self: Tensor, device: Any, dtype: int | None, non_blocking: bool, copy: bool) -> Tensor:
    to = self.dtype if dtype is None else DTYPES[dtype]
    return self.to(self.device if device is None else device, to, non_blocking=non_blocking, copy=copy)


_COPY = "bool non_blocking=False, bool copy=False) -> Tensor(b|a)"
_SPARSE = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False"
_WINDOW = "int? hop_length=None, int? win_length=None, Tensor? window=None, bool normalized=False"


def _stft(self: Tensor, n_fft: int, *rest: Any) -> Tensor:
    *plain, align_to_window = rest
    hop_length, win_length, window, normalized, onesided, return_complex = plain
    return tl_core.stft(
        self, n_fft, hop_length, win_length, window, center=False, normalized=normalized, onesided=onesided,
        return_complex=return_complex, align_to_window=align_to_window,
    )  # fmt: skip


def _conversions() -> Iterator[Row]:
    for kind in ("int", "float"):
        yield (
            f"copy_.{kind}(Tensor(a!) self, {kind} other) -> Tensor(a!)",
            lambda self, other: self.fill_(other),
        )
    yield "copy_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", lambda self, other: self.copy_(other)
    yield "ldexp_(Tensor(a!) self, Tensor other) -> Tensor(a!)", lambda self, other: self.ldexp_(other)
    for name, attribute in (("mH", "mH"), ("mT", "mT"), ("matrix_H", "H"), ("numpy_T", "T")):
        yield (
            f"{name}.a(Tensor(a) self) -> Tensor(a)",
            lambda self, attribute=attribute: getattr(self, attribute),
        )
    for name in ("size", "stride"):
        yield (
            f"{name}.int(Tensor self, int dim) -> int",
            lambda self, dim, name=name: getattr(self, name)(dim),
        )
    yield (
        "split(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]",
        lambda self, split_sizes, dim: list(self.split(split_sizes, dim)),
    )
    yield f"to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, {_COPY}", _convert
    yield (
        f"to.prim_dtype(Tensor(a) self, int? dtype=None, {_COPY}",
        lambda self, *rest: _convert(self, None, *rest),
    )
    yield f"to.prim_other(Tensor(a) self, {_COPY}", lambda self, *rest: _convert(self, None, None, *rest)
    yield (
        f"sparse_coo_tensor.size(int[] size, *, {_SPARSE}) -> Tensor",
        lambda size, *, dtype, layout, device, pin_memory: tl_core.sparse_coo_tensor(
            size, dtype=dtype, device=device
        ),
    )
    yield (
        (
            f"stft(Tensor self, int n_fft, {_WINDOW}, bool? onesided=None, bool? return_complex=None, "
            "bool? align_to_window=None) -> Tensor"
        ),
        _stft,
    )
    yield (
        (
            "_use_cudnn_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor "
            "target_lengths, int blank) -> bool"
        ),
        lambda *args: False,
    )


@functools.cache
def rows() -> dict[str, Row]:
    """The schemas and functions by name and overload: `mm.dtype`."""
    every = (
        *_of_lists(), *_steps(), *_products(), *_indices(), *_tolerances(), *_samples(), *_conversions(),
    )  # fmt: skip
    return {schema.partition("(")[0]: (schema, call) for schema, call in every}
