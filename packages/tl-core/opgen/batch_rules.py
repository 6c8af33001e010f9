"""Formulas and words by which operators take batches, where the row's own word does not do: see opgen/rules.py.

Physical tensors have the batch as dimension 0. Beside what formulas have, `(name := value)` keeps a value, `given(x)`
is an argument as it came (without a batch dimension if it has none), and `all(call)` lists all results of a call.
"""

from __future__ import annotations

# ---- parts of formulas ------------------------------------------------------------------------------------------

FLAT = "self.reshape([batch_size, prod(self.shape[1:])])"
# Losses over classes: what is ignored, the dimension of the classes, the targets that can be read, the weights.
_CLASSES = (
    "(ignored := target == ignore_index), (cd := 1 if self.ndim == 2 else 2), "
    "(safe := target.masked_fill(ignored, 0)), "
    "(w := weight.gather(1, safe.reshape([batch_size, prod(safe.shape[1:])])).reshape(safe.shape)"
    ".masked_fill(ignored, 0) if weight is not None else "
    "ones_like(safe, dtype=self.dtype).masked_fill(ignored, 0)), "
    "(total := w.reshape([batch_size, prod(w.shape[1:])]).sum(1, False))"
)
_REDUCED = (
    "(losses if reduction == 0 else (s := losses.reshape([batch_size, prod(losses.shape[1:])]).sum(1, False)) "
    "if reduction == 2 else losses.reshape([batch_size, prod(losses.shape[1:])]).sum(1, False) / total)"
)


def _after(steps: str, result: str) -> str:
    """The result, a tuple or one value, after steps that only keep values."""
    return f"after([{steps}], {result})"


def _folded(name: str) -> str:
    return f"{name}.reshape([{name}.shape[0] * {name}.shape[1]] + {name}.shape[2:])"


def _as_channels(name: str) -> str:
    """(B, N, C, …) as (N, B · C, …)."""
    return (
        f"{name}.transpose(0, 1).reshape([{name}.shape[1], batch_size * {name}.shape[2]] + {name}.shape[3:])"
    )


def _joined_rows(name: str) -> str:
    """(B, C, …) as (B · C, …)."""
    return f"{name}.reshape([batch_size * {name}.shape[1]] + {name}.shape[2:])"


def _added(matrix: str, rank: int) -> str:
    """beta · self + alpha · matrix, with self's dimensions behind the batch."""
    own = f"self.reshape([batch_size] + [1] * ({rank + 1} - self.ndim) + self.shape[1:])"
    alone = f"m.expand([batch_size] + m.shape) if m.ndim == {rank} else m"  # the batch may be self's only
    return f"(({alone}) if beta == 0 else {own} * beta + m) if defined(m := {matrix} * alpha) else None"


def _strided(name: str) -> str:
    """Geometry on a storage: the examples lie far enough apart."""
    apart = (
        "1 + sum([(n - 1) * t for n, t in zip(input_sizes, input_strides)]) + "
        "sum([(n - 1) * t for n, t in zip(size, stride)]) + "
        "(max(storage_offset - input_offset, 0) if storage_offset is not None else 0)"
    )
    return (
        f"after([(apart := {apart})], {name}(grad, [batch_size] + input_sizes, [apart] + input_strides, input_offset, "
        "[batch_size] + size, [apart] + stride, storage_offset))"
    )


# ---- numbers between tensors --------------------------------------------------------------------------------


def _between(start: str, end: str, power: bool = False) -> str:
    """`linspace`, or powers of the base by it, computed in double precision."""
    wide = "_to_copy({0}, dtype='complex128') if {0}.is_complex() else _to_copy({0}, dtype='float64')"
    a, b = (wide.format(x) for x in ("start", "end"))
    first = f"({a})" if start == "tensor" else "(zeros_like(b) + start)"
    last = f"({b})" if end == "tensor" else "(zeros_like(a) + end)"
    ends = [f"(a := {first})", f"(b := {last})"]
    steps = ends if start == "tensor" else ends[::-1]
    y = (
        "(a.unsqueeze(1) if steps == 1 else "
        "where(i < steps // 2, a.unsqueeze(1) + d * i, b.unsqueeze(1) - d * (steps - 1 - i)))"
    )
    made = f"pow(_to_copy(a, dtype=a.dtype).new_full([], base), {y})" if power else y
    return (
        f"after([{', '.join(steps)}, (i := arange(steps, device=a.device)), "
        "(d := ((b - a) / max(steps - 1, 1)).unsqueeze(1))], "
        f"_to_copy({made}, dtype=dtype if dtype is not None else zeros([1]).dtype))"
    )


# ---- convolutions -----------------------------------------------------------------------------------------------


# How many patches im2col finds along each axis; a result of padding="same" may have one more.
_PATCHES = (
    "[(n + 2 * p - d * (k - 1) - 1) // s + 1 "
    "for n, k, s, p, d in zip(input.shape[3:], weight_size[2:], stride, padding, dilation)]"
)


def _convolved(call: str, first: str, sizes: str = "") -> str:
    """One filter for all: the batch is more samples. A filter each: the batch is more groups."""
    more = f"[{sizes}[0] * batch_size] + {sizes}[1:]"
    wider = f"[{sizes}[0], {sizes}[1] * batch_size] + {sizes}[2:]"
    plain = call.format(x=_folded(first), w="given(weight)", b="None", groups="groups", sizes=more)
    many = call.format(
        x=_as_channels(first), w=_joined_rows("weight"), b="None", groups="groups * batch_size", sizes=wider
    )
    shape_plain = f"reshape([batch_size, {first}.shape[1]] + y.shape[1:])"
    shape_many = "reshape([y.shape[0], batch_size, y.shape[1] // batch_size] + y.shape[2:]).transpose(0, 1)"
    result = f"(y := {plain}).{shape_plain} if not batched(weight) else (y := {many}).{shape_many}"
    added = (
        "(z + bias.reshape([batch_size, 1, bias.shape[1]] + [1] * (z.ndim - 3)) if bias is not None else z)"
    )
    return f"after([(z := {result})], {added})"


BATCH = {
    # reductions of all elements
    "sum": f"{FLAT}.sum(1, False, dtype=dtype)",
    "mean": f"{FLAT}.mean(1, False, dtype=dtype)",
    "prod": f"{FLAT}.prod(1, False, dtype=dtype)",
    "max": f"{FLAT}.amax(1, False)",
    "min": f"{FLAT}.amin(1, False)",
    "any": f"{FLAT}.any(1, False)",
    "all": f"{FLAT}.all(1, False)",
    "median": f"median({FLAT}, 1, False)",
    "nanmedian": f"nanmedian({FLAT}, 1, False)",
    # views
    "squeeze": "self.squeeze([i for i, n in enumerate(self.shape) if n == 1 and i > 0])",
    "squeeze.dims": (
        "self.squeeze([d + 1 if d >= 0 else d for d in dim]) if self.ndim > 1 else self.view(self.shape)"
    ),
    "expand": (
        "self.view([batch_size] + [1] * (len(size) + 1 - self.ndim) + self.shape[1:]).expand([batch_size] + size)"
    ),
    "permute": "self.permute([0] + [d + 1 if d >= 0 else d for d in dims])",
    "permute_backward": "permute_backward(grad, [0] + [d + 1 if d >= 0 else d for d in dims])",
    "t": "self.transpose(1, 2) if self.ndim > 2 else self.view(self.shape)",
    "as_strided": "self.as_strided([batch_size] + size, [self.stride(0)] + stride, storage_offset)",
    "new_empty_strided": (
        "self.new_empty_strided([batch_size] + size, "
        "[1 + sum([(n - 1) * s for n, s in zip(size, stride)]) if prod(size) > 0 else 0] + stride, "
        "dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)"
    ),
    "view_as_real": "view_as_real(resolve_conj(self))",
    "view_as_complex": "view_as_complex(self if self.ndim > 1 else new_zeros(self, []))",  # which says what is wrong
    # products
    # Products of columns with rows, such as the gradient of a sample's weights, are bound by what they write.
    "mm": (
        "self * mat2 if batched(self) and batched(mat2) and self.shape[2] == 1 else matmul(given(self), given(mat2))"
    ),
    "bmm": "matmul(given(self), given(mat2))",
    "mv": (
        "matmul(self, vec.unsqueeze(-1)).squeeze(-1) if batched(vec) and batched(self) else "
        "matmul(vec, given(self).t()) if batched(vec) else matmul(given(self), given(vec))"
    ),
    "dot": "matmul(self.unsqueeze(1), tensor.unsqueeze(2)).reshape([batch_size])",
    "addmm": _added("matmul(given(mat1), given(mat2))", 2),
    "baddbmm": _added("matmul(given(batch1), given(batch2))", 3),
    "addmv": _added(
        "(matmul(mat, vec.unsqueeze(-1)).squeeze(-1) if batched(vec) and batched(mat) else "
        "matmul(vec, given(mat).t()) if batched(vec) else matmul(given(mat), given(vec)))",
        1,
    ),
    "linear": (
        "linear(given(input), weight, bias) if not batched(weight) and not batched(bias) else "
        "after([(x := input.reshape([batch_size, prod(input.shape[1:-1]), input.shape[-1]]) if batched(input) else "
        "input.reshape([prod(input.shape[:-1]), input.shape[-1]])), "
        "(m := weight.unsqueeze(1) if batched(weight) and weight.ndim == 2 else "
        "weight.unsqueeze(0) if not batched(weight) and weight.ndim == 1 else weight), "
        "(y := matmul(x, m.transpose(-1, -2))), "
        "(lead := input.shape[1:-1] if batched(input) else input.shape[:-1]), "
        "(tail := [] if weight.ndim == (2 if batched(weight) else 1) else [y.shape[-1]]), "
        "(z := y.reshape([batch_size] + lead + tail) if y.ndim == 3 else "
        "y.reshape(lead + tail).unsqueeze(0).expand([batch_size] + lead + tail))], "
        "z if bias is None else z + bias.reshape([batch_size] + [1] * len(lead) + tail) if batched(bias) else z + bias)"
    ),
    "masked_fill.Tensor": (
        "after([(r := max(self.ndim, mask.ndim))], where(mask.reshape([batch_size] + [1] * (r - mask.ndim) + "
        "mask.shape[1:]), _to_copy(value, dtype=self.dtype).reshape([batch_size] + [1] * (r - 1)), "
        "self.reshape([batch_size] + [1] * (r - self.ndim) + self.shape[1:])))"
    ),
    "fill.Tensor": (
        "_to_copy(value, dtype=self.dtype).reshape([batch_size] + [1] * (self.ndim - 1)).expand(self.shape).clone()"
    ),
    "fill_.Tensor": "copy_(self, value.reshape([batch_size] + [1] * (self.ndim - 1)))",
    "as_strided_scatter": (
        "self.as_strided_scatter(src, [batch_size] + size, [self.stride(0)] + stride, storage_offset) "
        "if batched(self) else after([(x := self.unsqueeze(0).expand([batch_size] + self.shape).contiguous())], "
        "x.as_strided_scatter(src, [batch_size] + size, [self.numel()] + stride, "
        "storage_offset - self.storage_offset() if storage_offset is not None else 0))"
    ),
    "_distances": (
        "after([(r := max(x1.ndim, x2.ndim)), "
        "(a := x1.reshape([batch_size] + [1] * (r - x1.ndim) + x1.shape[1:])), "
        "(b := x2.reshape([batch_size] + [1] * (r - x2.ndim) + x2.shape[1:]))], "
        "after([(n := a.shape[1]), (pairs := triu_indices(n, n, 1))], "
        "_distances(a, b, p, product, False).reshape([batch_size, n * n]).index_select("
        "1, pairs.select(0, 0) * n + pairs.select(0, 1))) if later else _distances(a, b, p, product, False))"
    ),
    # indices
    "embedding": (
        "embedding(weight, given(indices), padding_idx, scale_grad_by_freq, sparse) if not batched(weight) else "
        "after([(o := (arange(batch_size, device=weight.device) * weight.shape[1])), "
        "(i := indices if batched(indices) else indices.unsqueeze(0).expand([batch_size] + indices.shape))], "
        "embedding(weight.reshape([batch_size * weight.shape[1], weight.shape[2]]), "
        "i + o.reshape([batch_size] + [1] * (i.ndim - 1)), -1, False, False))"
    ),
    "embedding_dense_backward": (
        "embedding_dense_backward(grad_output.masked_fill((indices == padding_idx).unsqueeze(-1), 0), "
        "indices + (arange(batch_size, device=indices.device) * num_weights).reshape("
        "[batch_size] + [1] * (indices.ndim - 1)), batch_size * num_weights, -1, scale_grad_by_freq)"
        ".reshape([batch_size, num_weights, grad_output.shape[-1]])"
    ),
    "index_select": (
        "after([(n := self.ndim), (d := dim + 1 if dim >= 0 else dim + max(n, 2))], "
        "self.unsqueeze(1).index_select(1, index).reshape([batch_size]) if not batched(index) and n == 1 else "
        "self.index_select(d, index) if not batched(index) else "
        "after([(i := index.reshape([batch_size, index.shape[1] if index.ndim == 2 else 1])), (k := i.shape[1])], "
        "self.unsqueeze(1).gather(1, i).reshape([batch_size]) if n == 1 else "
        "self.gather(d, i.reshape([batch_size] + [1] * (d - 1) + [k] + [1] * (n - 1 - d))"
        ".expand(self.shape[:d] + [k] + self.shape[d + 1:]))))"
    ),
    "index_select_backward": (
        "grad.reshape([batch_size]) if len(input_sizes) == 0 else "
        "after([(d := dim + 1 if dim >= 0 else dim + 1 + len(input_sizes))], "
        "index_select_backward(grad, [batch_size] + input_sizes, d, index) if not batched(index) else "
        "grad.new_zeros([batch_size] + input_sizes).scatter_add(d, index.reshape([batch_size] + [1] * (d - 1) + "
        "[grad.shape[d]] + [1] * (grad.ndim - 1 - d)).expand(grad.shape), grad))"
    ),
    "unfold_backward": (
        "grad.sum([1], False) if len(input_sizes) == 0 else "
        "unfold_backward(grad, [batch_size] + input_sizes, dim + 1 if dim >= 0 else dim, size, step)"
    ),
    "searchsorted.Tensor": (
        "searchsorted(sorted_sequence, self.reshape([batch_size, prod(self.shape[1:])]), out_int32=out_int32, "
        "right=right, side=side, sorter=sorter).reshape(self.shape) if sorted_sequence.ndim == 2 else "
        "searchsorted(sorted_sequence, self, out_int32=out_int32, right=right, side=side, sorter=sorter)"
    ),
    "searchsorted.Scalar": (
        "after([(v := sorted_sequence.new_zeros([batch_size, 1]) + self)], "
        "searchsorted(_to_copy(sorted_sequence, dtype=v.dtype), v, out_int32=out_int32, right=right, side=side, "
        "sorter=sorter).reshape([batch_size]))"
    ),
    "bucketize.Scalar": (
        "after([(v := boundaries.new_zeros([batch_size, 1]) + self)], "
        "searchsorted(_to_copy(boundaries, dtype=v.dtype), v, out_int32=out_int32, right=right)"
        ".reshape([batch_size]))"
    ),
    "bucketize.Tensor": (
        "bucketize(self, boundaries, out_int32=out_int32, right=right) if not batched(boundaries) else "
        "searchsorted(boundaries, self.reshape([batch_size, prod(self.shape[1:])]), out_int32=out_int32, right=right)"
        ".reshape(self.shape)"
    ),
    # losses
    "nll_loss_forward": _after(
        f"{_CLASSES}, (losses := (-self.gather(cd, safe.unsqueeze(cd)).squeeze(cd) * w).masked_fill(ignored, 0))",
        f"({_REDUCED}, total)",
    ),
    "_nll_loss_backward": _after(
        "(ignored := target == ignore_index), (cd := 1 if len(sizes) == 1 else 2), "
        "(safe := target.masked_fill(ignored, 0)), "
        "(w := weight.gather(1, safe.reshape([batch_size, prod(safe.shape[1:])])).reshape(safe.shape)"
        ".masked_fill(ignored, 0) if weight is not None else "
        "ones_like(safe, dtype=grad.dtype).masked_fill(ignored, 0)), "
        "(h := grad if reduction == 0 else "
        "(grad / total_weight if reduction == 1 else grad).reshape([batch_size] + [1] * (target.ndim - 1)))",
        "grad.new_zeros([batch_size] + sizes).scatter_add(cd, safe.unsqueeze(cd), "
        "(-(h * w)).masked_fill(ignored, 0).unsqueeze(cd))",
    ),
    "_cross_entropy": _after(
        f"{_CLASSES}, (log_sums := self.logsumexp(cd, False)), "
        "(losses := ((log_sums - self.gather(cd, safe.unsqueeze(cd)).squeeze(cd)) * w).masked_fill(ignored, 0))",
        f"({_REDUCED}, log_sums, total)",
    ),
    "_cross_entropy_backward": _after(
        f"{_CLASSES}, (h := grad if reduction == 0 else "
        "(grad / total_weight if reduction == 1 else grad).reshape([batch_size] + [1] * (target.ndim - 1))), "
        "(c := (h * w).masked_fill(ignored, 0).unsqueeze(cd))",
        # Not by log_sums, through which a derivative below would not see the input.
        "(softmax(self, cd) * c).scatter_add(cd, safe.unsqueeze(cd), -c)",
    ),
    # normalization
    "_sample_norm": (
        "after([(w := given(weight)), (b := given(bias)), (plain := not batched(weight) and not batched(bias)), "
        "(r := all(_sample_norm(input, w if plain else None, b if plain else None, N * batch_size, C, S, groups, eps, "
        "centered))), (y := r[0] if plain else r[0].reshape([batch_size, N, C, S])), "
        "(y2 := y if plain or weight is None else y * (weight.reshape([batch_size, 1, C, 1]) if batched(weight) else "
        "weight.reshape([1, 1, C, 1]))), "
        "(y3 := y2 if plain or bias is None else y2 + (bias.reshape([batch_size, 1, C, 1]) if batched(bias) else "
        "bias.reshape([1, 1, C, 1])))], "
        "(y3.reshape(input.shape), r[1].reshape([batch_size, N, groups]), r[2].reshape([batch_size, N, groups])))"
    ),
    "_sample_norm_backward": (
        # Normalized again rather than by mean and rstd, through which a derivative below would not see the input.
        "after([(h := grad.reshape([batch_size, N, C, S])), "
        "(normed := all(_sample_norm(input, None, None, N * batch_size, C, S, groups, eps, centered))[0]"
        ".reshape([batch_size, N, C, S]) if want_weight and weight is not None else h), "
        "(weighted := h if weight is None else h * weight.reshape([batch_size, 1, C, 1])), "
        "(r := all(_sample_norm_backward(weighted.reshape(input.shape), input, mean.reshape([batch_size * N, groups]), "
        "rstd.reshape([batch_size * N, groups]), None, None, N * batch_size, C, S, groups, eps, centered, want_input, "
        "False, False)))], "
        "(r[0].reshape(input.shape) if want_input else None, "
        "(h * normed).sum([1, 3], False).reshape(weight.shape) if want_weight and weight is not None else None, "
        "h.sum([1, 3], False).reshape(bias.shape) if want_bias and bias is not None else None))"
    ),
    "_batch_norm": (
        f"after([(r := all(_batch_norm({_as_channels('input')}, "
        "weight.reshape([batch_size * input.shape[2]]) if weight is not None else None, "
        "bias.reshape([batch_size * input.shape[2]]) if bias is not None else None, "
        "running_mean.reshape([batch_size * input.shape[2]]) if running_mean is not None else None, "
        "running_var.reshape([batch_size * input.shape[2]]) if running_var is not None else None, "
        "training, momentum, eps)))], "
        "(r[0].reshape([input.shape[1], batch_size] + input.shape[2:]).transpose(0, 1), "
        "r[1].reshape([batch_size, input.shape[2]]), r[2].reshape([batch_size, input.shape[2]])))"
    ),
    "_batch_norm_backward": (
        f"after([(r := all(_batch_norm_backward({_as_channels('grad')}, {_as_channels('input')}, "
        "mean.reshape([batch_size * input.shape[2]]), rstd.reshape([batch_size * input.shape[2]]), "
        "weight.reshape([batch_size * input.shape[2]]) if weight is not None else None, training, eps, "
        "want_input, want_weight, want_bias)))], "
        "(r[0].reshape([input.shape[1], batch_size] + input.shape[2:]).transpose(0, 1) if want_input else None, "
        "r[1].reshape([batch_size, input.shape[2]]) if want_weight else None, "
        "r[2].reshape([batch_size, input.shape[2]]) if want_bias else None))"
    ),
    # convolutions
    "convolution": _convolved(
        "convolution({x}, {w}, {b}, stride, padding, dilation, transposed, output_padding, {groups})",
        "input",
    ),
    "_convolve": _convolved(
        "_convolve({x}, {w}, {b}, {sizes}, stride, padding, dilation, {groups})", "input", "output_size"
    ),
    "_convolve_input": _convolved(
        "_convolve_input({x}, {w}, {b}, {sizes}, stride, padding, dilation, {groups})",
        "grad_output",
        "input_size",
    ),
    "_convolve_weight": (
        # One product for each sample of patches with gradients, where nothing but the samples is grouped.
        "after([(n := input.shape[1]), "
        f"(patches := im2col({_folded('input')}, weight_size[2:], dilation, padding, stride)), "
        "(h := grad_output.reshape([batch_size * n, grad_output.shape[2], prod(grad_output.shape[3:])])), "
        "(w := h.bmm(patches.transpose(1, 2)))], "
        "w.reshape([batch_size] + weight_size) if n == 1 else w.reshape([batch_size, n] + weight_size).sum(1, False)) "
        f"if groups == 1 and len(stride) == 2 and not input.is_complex() and grad_output.shape[3:] == {_PATCHES} else "
        f"_convolve_weight({_as_channels('grad_output')}, {_as_channels('input')}, "
        "[weight_size[0] * batch_size] + weight_size[1:], stride, padding, dilation, groups * batch_size)"
        ".reshape([batch_size] + weight_size)"
    ),
    # attention
    "_attention_rng_state": (
        f"after([(s := _attention_rng_state({_folded('query')}, {_folded('key')}))], "
        "s.reshape([batch_size, s.shape[0] // batch_size] + s.shape[1:]))"
    ),
    # geometry of strided gradients
    "as_strided_backward": _strided("as_strided_backward"),
    "_as_strided_gather": _strided("_as_strided_gather"),
    # numbers between tensors, bins
    "linspace.Tensor_Tensor": _between("tensor", "tensor"),
    "linspace.Tensor_Scalar": _between("tensor", "number"),
    "linspace.Scalar_Tensor": _between("number", "tensor"),
    "logspace.Tensor_Tensor": _between("tensor", "tensor", power=True),
    "logspace.Tensor_Scalar": _between("tensor", "number", power=True),
    "logspace.Scalar_Tensor": _between("number", "tensor", power=True),
    "masked_scatter": (
        "after([(r := max(self.ndim, mask.ndim)), "
        "(m := mask.reshape([batch_size] + [1] * (r - mask.ndim) + mask.shape[1:])), "
        "(x := self.reshape([batch_size] + [1] * (r - self.ndim) + self.shape[1:])), "
        "(taken := m | zeros_like(x, dtype='bool')), "
        "(ones := _to_copy(taken, dtype='int64').reshape([batch_size, prod(taken.shape[1:])])), "
        "(from_ := source.reshape([batch_size, prod(source.shape[1:])]))], "
        "where(taken, cat([from_.new_zeros([batch_size, 1]), from_], 1)"
        ".gather(1, ones.cumsum(1) * ones).reshape(taken.shape), x))"
    ),
    "histc": (
        f"after([(x := {FLAT}), "
        "(low := x.amin([1], True) if min == max and x.shape[1] > 0 else x.new_full([batch_size, 1], min)), "
        "(high := x.amax([1], True) if min == max and x.shape[1] > 0 else x.new_full([batch_size, 1], max)), "
        "(same := low == high), (a := where(same, low - 1, low)), (b := where(same, high + 1, high)), "
        "(inside := (x >= a) & (x <= b)), "
        "(bin := _to_copy((x - a) * bins / (b - a), dtype='int64').clamp_max(bins - 1))], "
        "_to_copy(x.new_zeros([batch_size, bins], dtype='float64').scatter_add(1, bin.masked_fill(~inside, 0), "
        "_to_copy(inside, dtype='float64')), dtype=self.dtype))"
    ),
    "_int_mm": "matmul(_to_copy(self, dtype='int32'), _to_copy(mat2, dtype='int32'))",
    # random numbers
    "multinomial": (
        "self.multinomial(num_samples, replacement, generator=generator) if self.ndim == 2 else "
        "self.reshape([batch_size * self.shape[1], self.shape[2]]).multinomial(num_samples, replacement, "
        "generator=generator).reshape([batch_size, self.shape[1], num_samples])"
    ),
}

_WORDS = {
    "front": """
        geqrf linalg_qr _linalg_svd linalg_cholesky_ex linalg_lu_factor_ex lu_unpack
        linalg_ldl_factor_ex _linalg_eigh
        linalg_eig _linalg_eigvals _linalg_solve linalg_matrix_exp linalg_inv_ex _linalg_pinv _linalg_det
        _linalg_slogdet linalg_solve_triangular cholesky_solve cholesky_inverse linalg_ldl_solve _linalg_lstsq tril triu
    """,
    "fold": """
        reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d
        _pad_circular _border_adjoint im2col col2im _max_pool _adaptive_max_pool _put_by_index _unpool _avg_pool
        _avg_pool_adjoint _adaptive_avg_pool _adaptive_avg_pool_adjoint _grid_sample _grid_sample_adjoint
        _grid_sample_derivative
        upsample_nearest1d upsample_nearest1d_backward upsample_nearest2d upsample_nearest2d_backward
        upsample_nearest3d upsample_nearest3d_backward _upsample_nearest_exact1d _upsample_nearest_exact1d_backward
        _upsample_nearest_exact2d _upsample_nearest_exact2d_backward _upsample_nearest_exact3d
        _upsample_nearest_exact3d_backward upsample_linear1d upsample_linear1d_backward upsample_bilinear2d
        upsample_bilinear2d_backward upsample_trilinear3d upsample_trilinear3d_backward upsample_bicubic2d
        upsample_bicubic2d_backward _upsample_bilinear2d_aa _upsample_bilinear2d_aa_backward _upsample_bicubic2d_aa
        _upsample_bicubic2d_aa_backward _attention _attention_backward
    """,
    "random": "poisson binomial _standard_gamma _sample_dirichlet",
    "index": "index.Tensor index_put_ index_backward",
}
BATCH |= {name: word for word, names in _WORDS.items() for name in names.split()}

_VALUES = (
    "the sizes of the results depend on the values, which differ between examples: vmap cannot batch it; use masks and "
    "torch.where"
)
BATCH |= dict.fromkeys(
    ["nonzero", "_unique2", "unique_dim", "unique_consecutive"],
    "refuse:We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::{}(): "
    + _VALUES,
)
BATCH["_local_scalar_dense"] = (
    "refuse:: It looks like you're calling .item() on a Tensor, or attempting to use a Tensor in some data-dependent "
    "control flow. The value of a batched tensor is one for each example: use torch.where, or move it out of the vmap"
)
BATCH["equal"] = "refuse:() gives one answer for all examples: use eq and all"
_REFUSED = {
    "refuse:() steps an optimizer, which has no examples": """
        _fused_sgd_ _fused_adam_ _fused_adamw_ _fused_adagrad_
    """,
    "refuse:() works on examples of different sizes, a batch of its own": """
        _segment_matmul _segment_products
        _segment_sum _segment_expand _segment_amax _segment_amin _segment_softmax _segment_log_softmax
        _jagged_to_padded _padded_to_jagged _attention_ragged _attention_ragged_backward _attention_ragged_rng_state
    """,
    "refuse:() is done to the batch itself": "resize_ resize_as_",
}
BATCH |= {name: rule for rule, names in _REFUSED.items() for name in names.split()}

_SPARSE = "refuse:() takes or makes sparse tensors, of which there are no batches"


def batch_of(name: str, family: str, word: str) -> str:
    """How a row takes batches."""
    return BATCH.get(name, _SPARSE if family == "sparse" and word == "loop" else word)
