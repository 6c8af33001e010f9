"""Formulas by which tangents go through operators, where a row's own `jvp` does not say it: see opgen/rules.py."""

from __future__ import annotations

# The tangent of the values that indices along a dimension chose.
_CHOSEN = "(t_self.gather(dim, result1), None)"
_CHOSEN_ONE = (
    "(t_self.gather(dim, result1.unsqueeze(dim)).squeeze(dim) if not keepdim and self.ndim > 0 else "
    "t_self.gather(dim, result1), None)"
)

_CONVOLVED = "stride, padding, dilation, transposed, output_padding, groups"

JVP: dict[str, str] = {
    "mm": "mm(t_self, mat2) + mm(self, t_mat2)",
    "bmm": "bmm(t_self, mat2) + bmm(self, t_mat2)",
    "mv": "mv(t_self, vec) + mv(self, t_vec)",
    "dot": "dot(t_self, tensor) + dot(self, t_tensor)",
    "addmm": "t_self * beta + (mm(t_mat1, mat2) + mm(mat1, t_mat2)) * alpha",
    "baddbmm": "t_self * beta + (bmm(t_batch1, batch2) + bmm(batch1, t_batch2)) * alpha",
    "addmv": "t_self * beta + (mv(t_mat, vec) + mv(mat, t_vec)) * alpha",
    "linear": (
        "linear(t_input, weight, t_bias) + linear(input, t_weight, None) if defined(t_input) else "
        "linear(input, t_weight, t_bias) if defined(t_weight) else t_bias"
    ),
    "sort": _CHOSEN,
    "sort.stable": _CHOSEN,
    "topk": _CHOSEN,
    "cummax": _CHOSEN,
    "cummin": _CHOSEN,
    "native_dropout": (
        "(native_dropout_backward(t_input, result1, 1.0 if train == False else 0.0 if p == 1 else 1 / (1 - p)), None)"
    ),
    "masked_fill.Scalar": "masked_fill(t_self, mask, 0)",
    "masked_fill.Tensor": (
        "masked_fill(t_self if defined(t_self) else zeros_like(self), mask, "
        "t_value if defined(t_value) else zeros_like(value))"
    ),
    "scatter.value": "scatter(t_self, dim, index, 0)",
    "constant_pad_nd": "constant_pad_nd(t_self, pad, 0)",
    "nextafter": "elementwise",
    "sgn": "sgn_backward(self, t_self, result)",
    "view_as_real": "view_as_real(resolve_conj(t_self))",
    "_unpool": "_unpool(t_source, indices, output_size)",
    # In logarithms, of tangents that a number has made positive: the weights of each sum add up to one.
    # In logarithms, of tangents that a number has made positive: the weights of each sum add up to one.
    "logcumsumexp": (
        "after([(k := (t_self.abs().amax([dim], True) + 1).detach()), "
        "(x := self if self.is_complex() else "
        "self - masked_fill(self.amax([dim], True), isneginf(self.amax([dim], True)), 0).detach()), "
        "(y := logcumsumexp(x + log(t_self + k), dim)), (r := logcumsumexp(x, dim))], "
        "exp(y - r) - k if self.is_complex() else "
        "masked_fill(exp(y - masked_fill(r, isneginf(r), 0)) - k, isneginf(r), 0))"
    ),
    "linalg_vector_norm": (
        "after([(g := linalg_vector_norm_backward(ones_like(result), self, ord, result, dim, keepdim)), "
        "(p := g.conj() * t_self), (q := real(p) if p.is_complex() else p)], "
        "sum(q, dim, keepdim) if dim is not None else sum(q).reshape(result.shape))"
    ),
    "convolution": (
        f"convolution(t_input, weight, t_bias, {_CONVOLVED}) + convolution(input, t_weight, None, {_CONVOLVED}) "
        f"if defined(t_input) else convolution(input, t_weight, t_bias, {_CONVOLVED}) if defined(t_weight) else "
        "t_bias.reshape([t_bias.shape[0]] + [1] * (input.ndim - 2))"
    ),
    # Without its weight, the Jacobian of a normalization is symmetric: the gradient's operator takes tangents too.
    "_batch_norm": (
        "after([(v := [1, input.shape[1]] + [1] * (input.ndim - 2)), "
        "(h := all(_batch_norm_backward(t_input, input, result1, result2, None, training, eps, True, False, False))[0] "
        "if defined(t_input) else t_input), "
        "(x := (input - result1.reshape(v)) * result2.reshape(v) "
        "if defined(t_weight) and not training else all(_batch_norm(input, None, None, None, None, True, 0.0, eps))[0] "
        "if defined(t_weight) else input)], "
        "((h * weight.reshape(v) if weight is not None else h) + x * t_weight.reshape(v) + t_bias.reshape(v), "
        "None, None))"
    ),
    "_sample_norm": (
        "after([(h := all(_sample_norm_backward(t_input, input, result1, result2, None, None, N, C, S, groups, eps, "
        "centered, True, False, False))[0].reshape([N, C, S]) if defined(t_input) else t_input), "
        "(x := all(_sample_norm(input, None, None, N, C, S, groups, eps, centered))[0].reshape([N, C, S]) "
        "if defined(t_weight) else input)], "
        "(((h * weight.reshape([1, C, 1]) if weight is not None else h) + x * t_weight.reshape([1, C, 1]) + "
        "t_bias.reshape([1, C, 1])).expand([N, C, S]).reshape(input.shape), None, None))"
    ),
    "polar": "complex(cos(angle), sin(angle)) * t_abs + result * 1j * t_angle",
    "max.dim": _CHOSEN_ONE,
    "min.dim": _CHOSEN_ONE,
}
