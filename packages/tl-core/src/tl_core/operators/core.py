"""Operators of the namespace aten that programs of other tools are made of: statistics, distances, masked indices.

Each is made of the operators of this library. PyTorch keeps most of them to itself, but graphs and files name them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tl_core
from tl_core.operators.composites import add, function
from tl_core.operators.packets import aten

# ---- batch norm
_STATED = "Tensor input, Tensor? weight, Tensor? bias, {mean}, {var}"
_RULE = "float momentum, float eps"
_WRITTEN = _STATED.format(mean="Tensor(a!) running_mean", var="Tensor(b!) running_var")
_READ = _STATED.format(mean="Tensor running_mean", var="Tensor running_var")
_OPTIONAL = _STATED.format(mean="Tensor? running_mean", var="Tensor? running_var")
_RUNNING_OUT = "Tensor running_mean_out, Tensor running_var_out"


def _norm(*args: Any) -> Any:
    return aten.native_batch_norm.default(*args)


def _norm_alone(x: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float) -> Any:
    return _norm(x, weight, bias, None, None, training, momentum, eps)


def _norm_of_running(x: Any, weight: Any, bias: Any, mean: Any, var: Any, momentum: float, eps: float) -> Any:
    return _norm(x, weight, bias, mean, var, False, momentum, eps)


def _empty_reserve(x: Any) -> Any:
    """What only kernels of other devices fill."""
    return x.new_empty([0], dtype=tl_core.uint8)


def _norm_with_update(
    x: Any, weight: Any, bias: Any, mean: Any, var: Any, momentum: float, eps: float
) -> Any:
    return *_norm(x, weight, bias, mean, var, True, momentum, eps), _empty_reserve(x)


def _norm_no_update(x: Any, weight: Any, bias: Any, mean: Any, var: Any, momentum: float, eps: float) -> Any:
    return *_norm(x, weight, bias, mean, var, False, momentum, eps), _empty_reserve(x)


def _functional(norm: Callable[..., Any]) -> Callable[..., Any]:
    """The norm with running statistics as results in the place of writes."""

    def call(x: Any, weight: Any, bias: Any, mean: Any, var: Any, *rest: Any) -> Any:
        mean, var = mean.clone(), var.clone()
        return *norm(x, weight, bias, mean, var, *rest), mean, var

    return call


add(
    [
        (
            f"_native_batch_norm_legit({_WRITTEN}, bool training, {_RULE}) -> (Tensor, Tensor, Tensor)",
            _norm,
        ),
        (
            (
                "_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, "
                f"{_RULE}) -> (Tensor, Tensor, Tensor)"
            ),
            _norm_alone,
        ),
        (
            f"_native_batch_norm_legit_no_training({_READ}, {_RULE}) -> (Tensor, Tensor, Tensor)",
            _norm_of_running,
        ),
        (
            (
                f"_native_batch_norm_legit_functional({_READ}, bool training, {_RULE}) -> (Tensor, Tensor, "
                f"Tensor, {_RUNNING_OUT})"
            ),
            _functional(_norm),
        ),
        (
            f"_batch_norm_with_update({_WRITTEN}, {_RULE}) -> (Tensor, Tensor, Tensor, Tensor)",
            _norm_with_update,
        ),
        (
            (
                f"_batch_norm_with_update_functional({_READ}, {_RULE}) -> (Tensor, Tensor, Tensor, Tensor, "
                f"{_RUNNING_OUT})"
            ),
            _functional(_norm_with_update),
        ),
        (
            f"_batch_norm_no_update({_OPTIONAL}, {_RULE}) -> (Tensor, Tensor, Tensor, Tensor)",
            _norm_no_update,
        ),
    ],
    core="_native_batch_norm_legit _native_batch_norm_legit.no_stats _native_batch_norm_legit_no_training",
)


# ---- distances
_MODES = (
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)


def _cdist(x1: Any, x2: Any, p: float, compute_mode: int | None) -> Any:
    return tl_core.cdist(x1, x2, p, _MODES[compute_mode or 0])


def _cdist_gradient(grad: Any, x1: Any, x2: Any, p: float, cdist: Any) -> Any:
    return aten._distances_gradient.default(grad, x1, x2, cdist, p, False, False, False)


def _pdist_gradient(grad: Any, self: Any, p: float, pdist: Any) -> Any:
    both = (
        aten._distances_gradient.default(grad, self, self, pdist, p, False, True, second)
        for second in (False, True)
    )
    return sum(both)


add(
    [
        ("_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor", _cdist),
        (
            "_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor",
            _cdist_gradient,
        ),
        ("_euclidean_dist(Tensor x1, Tensor x2) -> Tensor", lambda x1, x2: _cdist(x1, x2, 2.0, 1)),
        ("_pdist_forward(Tensor self, float p=2.) -> Tensor", lambda self, p: tl_core.pdist(self, p)),
        ("_pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist) -> Tensor", _pdist_gradient),
    ],
    core="_cdist_forward _pdist_forward",
)


# ---- connectionist temporal classification
def _target_rows(targets: Any, lengths: Any) -> Any:
    """A row of labels for each sample."""
    counts = [int(n) for n in lengths]
    longest = max(counts, default=0)
    if targets.dim() == 2:
        return targets[:, :longest]
    rows = targets.new_zeros([len(counts), longest])
    for row, count, labels in zip(rows, counts, targets.split(counts), strict=True):
        row[:count] = labels
    return rows


def _ctc_operands(log_probs: Any, targets: Any, inputs: Any, lengths: Any) -> tuple[Any, ...]:
    rows = _target_rows(targets, lengths)
    return log_probs, rows, *(tl_core.as_tensor(n, dtype=tl_core.int64) for n in (inputs, lengths))


def _ctc(log_probs: Any, targets: Any, inputs: Any, lengths: Any, blank: int, zero_infinity: bool) -> Any:
    return aten.ctc_losses.default(*_ctc_operands(log_probs, targets, inputs, lengths), blank)


def _ctc_gradient(
    grad: Any,
    log_probs: Any,
    targets: Any,
    inputs: Any,
    lengths: Any,
    losses: Any,
    alphas: Any,
    blank: int,
    zero_infinity: bool,
) -> Any:
    operands = _ctc_operands(log_probs, targets, inputs, lengths)
    return aten._ctc_gradient.default(grad, *operands, losses, alphas, blank)


_CTC = "Tensor log_probs, Tensor targets, {0} input_lengths, {0} target_lengths"
_CTC_RULE = "int blank=0, bool zero_infinity=False"
_CTC_RESULTS = "Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False"

add(
    [
        *(
            (f"_ctc_loss{overload}({_CTC.format(kind)}, {_CTC_RULE}) -> (Tensor, Tensor)", _ctc)
            for overload, kind in (("", "int[]"), (".Tensor", "Tensor"))
        ),
        *(
            (
                f"_ctc_loss_backward{overload}(Tensor grad, {_CTC.format(kind)}, {_CTC_RESULTS}) -> Tensor",
                _ctc_gradient,
            )
            for overload, kind in (("", "int[]"), (".Tensor", "Tensor"))
        ),
    ]
)


# ---- indices
def _clamp_indices(self: Any, indices: Sequence[Any]) -> list[Any]:
    """Indices that lie in the tensor."""
    return [i if i is None else i.clamp(-self.shape[d], self.shape[d] - 1) for d, i in enumerate(indices)]


def _masked_index(self: Any, mask: Any, indices: Sequence[Any], fill: Any) -> Any:
    if not self.numel():
        tensors = [i for i in indices if i is not None]
        sizes = tl_core.broadcast_tensors(mask, *tensors)[0].shape
        return self.new_full(sizes, fill)
    return aten.index.Tensor(self, _clamp_indices(self, indices)).masked_fill(mask.logical_not(), fill)


def _masked_index_put(self: Any, mask: Any, indices: Sequence[Any], values: Any) -> Any:
    if not self.numel():
        return self.clone()
    return aten.index_put.default(
        self, _clamp_indices(self, indices), values.masked_fill(mask.logical_not(), 0), True
    )


_INDICES = "Tensor self, Tensor?[] indices"
_MASKED = "Tensor self, Tensor mask, Tensor?[] indices"

add(
    [
        (f"_unsafe_index.Tensor({_INDICES}) -> Tensor", aten.index.Tensor),
        (
            f"_unsafe_index_put({_INDICES}, Tensor values, bool accumulate=False) -> Tensor",
            aten.index_put.default,
        ),
        (f"_unsafe_masked_index({_MASKED}, Scalar fill) -> Tensor", _masked_index),
        (
            f"_unsafe_masked_index_put_accumulate({_MASKED}, Tensor values) -> Tensor",
            _masked_index_put,
        ),
    ]
)


# ---- lists
def _chunk_cat(tensors: Sequence[Any], dim: int, num_chunks: int) -> Any:
    """Tensors in as many chunks of a dimension, of which the i-th of all lie beside each other."""
    if num_chunks < 1:
        raise RuntimeError(f"_chunk_cat expects positive num_chunks, got {num_chunks}")
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if any(t.dtype is not tensors[0].dtype for t in tensors):
        raise RuntimeError("_chunk_cat expects all input tensors with the same dtype")
    parts = []
    for t in tensors:
        axis = dim % t.ndim
        missing = -t.shape[axis] % num_chunks
        padded = tl_core.constant_pad_nd(t, [0, 0] * (t.ndim - axis - 1) + [0, missing]) if missing else t
        parts.append(padded.reshape(*t.shape[:axis], num_chunks, -1))
    return tl_core.cat(parts, dim % tensors[0].ndim + 1)


def _copies(self: Sequence[Any], src: Sequence[Any], non_blocking: bool) -> list[Any]:
    return [t.clone().copy_(s, non_blocking) for t, s in zip(self, src, strict=True)]


add(
    [
        ("_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor", _chunk_cat),
        (
            "_foreach_zero(Tensor[] self) -> Tensor[] self_out",
            lambda self: [tl_core.zeros_like(t) for t in self],
        ),
        (
            "_foreach_copy(Tensor[] self, Tensor[] src, bool non_blocking=False) -> Tensor[] self_out",
            _copies,
        ),
    ]
)


# ---- others
def _solve_ex(A: Any, B: Any, *, left: bool, check_errors: bool) -> Any:
    lu, pivots, info = tl_core.linalg.lu_factor_ex(A, check_errors=check_errors)
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])
    solved = tl_core.linalg.lu_solve(lu, pivots, B.unsqueeze(-1) if vector else B, left=left)
    return solved.squeeze(-1) if vector else solved, lu, pivots, info


def _prelu_gradient(grad_output: Any, self: Any, weight: Any) -> Any:
    positive = self > 0
    return (
        tl_core.where(positive, grad_output, weight * grad_output),
        tl_core.where(positive, 0, self * grad_output),
    )


def _trilinear(
    i1: Any,
    i2: Any,
    i3: Any,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    _unroll: int,
) -> Any:
    def widen(t: Any, dims: Sequence[int]) -> Any:
        for d in sorted(dims):
            t = t.unsqueeze(d)
        return t

    product = widen(i1, expand1) * widen(i2, expand2) * widen(i3, expand3)
    return product.sum(list(sumdim)) if sumdim else product


def _trace_gradient(grad: Any, sizes: Sequence[int]) -> Any:
    return grad * tl_core.eye(*sizes, dtype=grad.dtype, device=grad.device)


_KINDS = {"Byte": "uint8", "Char": "int8", "Double": "float64", "Float": "float32", "Half": "float16",
          "Int": "int32", "Long": "int64", "Short": "int16"}  # fmt: skip


def _cast(dtype: str) -> Callable[..., Any]:
    return lambda self, non_blocking: self.to(getattr(tl_core, dtype), non_blocking=non_blocking)


add(
    [
        (
            (
                "_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> "
                "(Tensor result, Tensor LU, Tensor pivots, Tensor info)"
            ),
            _solve_ex,
        ),
        (
            "_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)",
            _prelu_gradient,
        ),
        (
            (
                "_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, "
                "int[] sumdim, int unroll_dim=1) -> Tensor"
            ),
            _trilinear,
        ),
        ("trace_backward(Tensor grad, SymInt[] sizes) -> Tensor", _trace_gradient),
        (
            "sym_is_contiguous(Tensor self, MemoryFormat memory_format=contiguous_format) -> SymBool",
            lambda self, memory_format: self.is_contiguous(
                memory_format=memory_format or tl_core.contiguous_format
            ),
        ),
        *(
            (f"_cast_{kind}(Tensor self, bool non_blocking=False) -> Tensor", _cast(dtype))
            for kind, dtype in _KINDS.items()
        ),
    ]
)


# ---- methods and functions that stand beside the public ones
def _method(name: str) -> Callable[..., Any]:
    return lambda self, *args, **kwargs: getattr(self, name)(*args, **kwargs)


def _own(name: str) -> Callable[..., Any]:
    return function(f"functions.private.{name}")


def _dequantize(tensors: Any) -> Any:
    """Numbers in the place of quantized tensors, in a list or tuple."""
    if not isinstance(tensors, (list, tuple)):
        raise RuntimeError(
            f"Unsupported type in dequantize, only List[Tensor] and Tuple[Tensor] are supported, got {type(tensors)}"
        )
    return type(tensors)(t.dequantize() for t in tensors)


_SPARSE = "int[2] blocksize, int? dense_dim=None"
_COPIES = ["_conj_copy", "_neg_view_copy", "_shape_as_tensor", "_indices_copy", "_values_copy"]
_COPIES += [f"{part}_copy" for part in ("values", "indices")]
_COPIES += [f"{part}_indices_copy" for part in ("crow", "col", "ccol", "row")]
_QUANTIZED = "q_per_channel_scales q_per_channel_zero_points int_repr"

add(
    [
        *((f"{name}(Tensor self) -> bool", _method(name)) for name in ("is_conj", "is_neg", "is_inference")),
        ("is_distributed(Tensor self) -> bool", _own("is_distributed")),
        ("chalf(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", _method("chalf")),
        ("smm(Tensor self, Tensor mat2) -> Tensor", lambda self, mat2: tl_core.smm(self, mat2)),
        ("hspmm(Tensor mat1, Tensor mat2) -> Tensor", lambda mat1, mat2: tl_core.hspmm(mat1, mat2)),
        (
            "sspaddmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
            lambda *args, **kwargs: tl_core.sspaddmm(*args, **kwargs),
        ),
        ("polygamma_(Tensor(a!) self, int n) -> Tensor(a!)", _method("polygamma_")),
        ("retain_grad(Tensor(a!) self) -> ()", _method("retain_grad")),
        ("retains_grad(Tensor self) -> bool", lambda self: self.retains_grad),
        ("to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor", _method("to_sparse")),
        (
            (
                "to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> "
                "Tensor"
            ),
            _method("to_sparse"),
        ),
        *(
            (f"to_sparse_{k}(Tensor self, {_SPARSE}) -> Tensor", _method(f"to_sparse_{k}"))
            for k in ("bsc", "bsr")
        ),
        *(
            (f"to_sparse_{k}(Tensor self, int? dense_dim=None) -> Tensor", _method(f"to_sparse_{k}"))
            for k in ("csc", "csr")
        ),
        *((f"{name}(Tensor self) -> Tensor", _own(name)) for name in _COPIES),
        ("_reshape_from_tensor(Tensor self, Tensor shape) -> Tensor", _own("_reshape_from_tensor")),
        (
            "_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)",
            _own("_unique"),
        ),
        (
            "_masked_softmax(Tensor self, Tensor mask, int? dim=None, int? mask_type=None) -> Tensor",
            _own("_masked_softmax"),
        ),
        (
            (
                "_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, "
                "bool use_gelu=False) -> Tensor"
            ),
            _own("_addmm_activation"),
        ),
        ("_nnpack_available() -> bool", _own("_nnpack_available")),
        ("dequantize.self(Tensor self) -> Tensor", _method("dequantize")),
        ("dequantize.tensor(Tensor qtensor) -> Tensor", _method("dequantize")),
        ("dequantize.tensors(Tensor[] tensors) -> Tensor[]", _dequantize),
        ("dequantize.list(Tensor[] qtensors) -> Tensor[]", _dequantize),
        ("dequantize.any(Any tensors) -> Any", _dequantize),
        *((f"{name}(Tensor self) -> Tensor", _method(name)) for name in _QUANTIZED.split()),
        ("q_scale(Tensor self) -> float", _method("q_scale")),
        *((f"{name}(Tensor self) -> int", _method(name)) for name in ("q_zero_point", "q_per_channel_axis")),
        ("qscheme(Tensor self) -> QScheme", _method("qscheme")),
    ],
    sizes="_unique to_sparse to_sparse.sparse_dim",
)
