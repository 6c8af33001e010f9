"""The functions of this package as operators of the namespace aten."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor
from tl_core.operators.composites import add

from . import (
    creation,
    fake_quantization,
    functions,
    learnable_fake_quantization,
    observed_fake_quantization,
    recurrent_functions,
)

__all__: list[str] = []

_BOUNDS = "int quant_min, int quant_max"
_TENSORS = "Tensor self, Tensor scale, Tensor zero_point"
_LEARNED = f"Tensor self, Tensor scale, Tensor zero_point, {{axis}}{_BOUNDS}, float grad_factor=1."
_OBSERVED = (
    "Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor(a!) running_min, Tensor(b!) running_max, "
    f"Tensor(c!) scale, Tensor(d!) zero_point, float averaging_const, {_BOUNDS}, int ch_axis, "
    "bool per_row_fake_quant=False, bool symmetric_quant=False"
)
_NETWORK = (
    "__torch__.torch.classes.rnn.CellParamsBase[] params, bool has_biases, int num_layers, float dropout, bool train, "
    "bool bidirectional"
)
_SIDES = ("{}_ih", "{}_hh")
_CELL = ", ".join(
    f"{kind} {name.format(side)}"
    for kind, side in (
        *(("Tensor", side) for side in ("w", "b", "packed", "col_offsets")),
        *(("Scalar", side) for side in ("scale", "zero_point")),
    )
    for name in _SIDES
)
_POOL = "Tensor self, int[{n}] kernel_size, int[{n}] stride=[], int[{n}] padding=0, int[{n}] dilation=1"


def _with_mask(name: str) -> Any:
    """A fake quantization that also returns the mask of numbers in the range."""

    def call(self: Tensor, *args: Any) -> tuple[Tensor, Tensor]:
        x = self.detach().requires_grad_()
        result = getattr(fake_quantization, name)(x, *args)
        (inside,) = result.grad_fn.saved_tensors
        return result.detach(), inside

    return call


def _mask_gradient(grad: Tensor, mask: Tensor) -> Tensor:
    return grad * mask


_FAKE = {
    "fake_quantize_per_tensor_affine": f"Tensor self, float scale, int zero_point, {_BOUNDS}",
    "fake_quantize_per_channel_affine": f"Tensor self, Tensor scale, Tensor zero_point, int axis, {_BOUNDS}",
}
add(
    [
        *((f"{name}({takes}) -> Tensor", getattr(fake_quantization, name)) for name, takes in _FAKE.items()),
        (
            f"fake_quantize_per_tensor_affine.tensor_qparams({_TENSORS}, {_BOUNDS}) -> Tensor",
            fake_quantization.fake_quantize_per_tensor_affine,
        ),
        *(
            (f"{name}_cachemask({takes}) -> (Tensor output, Tensor mask)", _with_mask(name))
            for name, takes in _FAKE.items()
        ),
        *(
            (f"{name}_cachemask_backward(Tensor grad, Tensor mask) -> Tensor", _mask_gradient)
            for name in _FAKE
        ),
        (
            f"_fake_quantize_learnable_per_tensor_affine({_LEARNED.format(axis='')}) -> Tensor",
            learnable_fake_quantization._fake_quantize_learnable_per_tensor_affine,
        ),
        (
            f"_fake_quantize_learnable_per_channel_affine({_LEARNED.format(axis='int axis, ')}) -> Tensor",
            learnable_fake_quantization._fake_quantize_learnable_per_channel_affine,
        ),
        (
            f"fused_moving_avg_obs_fake_quant({_OBSERVED}) -> Tensor",
            observed_fake_quantization.fused_moving_avg_obs_fake_quant,
        ),
        (
            (
                "choose_qparams_optimized(Tensor input, int numel, int n_bins, float ratio, int bit_width) -> "
                "(Tensor, Tensor)"
            ),
            observed_fake_quantization.choose_qparams_optimized,
        ),
        (
            "quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> Tensor",
            functions.quantize_per_tensor,
        ),
        (
            f"quantize_per_tensor.tensor_qparams({_TENSORS}, ScalarType dtype) -> Tensor",
            functions.quantize_per_tensor,
        ),
        (
            (
                "quantize_per_tensor.tensors(Tensor[] tensors, Tensor scales, Tensor zero_points, ScalarType "
                "dtype) -> Tensor[]"
            ),
            lambda *args: list(functions.quantize_per_tensor(*args)),
        ),
        (
            (
                "quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, ScalarType dtype) "
                "-> Tensor"
            ),
            functions.quantize_per_channel,
        ),
        (
            "_make_per_tensor_quantized_tensor(Tensor self, float scale, int zero_point) -> Tensor",
            creation._make_per_tensor_quantized_tensor,
        ),
        (
            "_make_per_channel_quantized_tensor(Tensor self, Tensor scale, Tensor zero_point, int axis) -> Tensor",
            creation._make_per_channel_quantized_tensor,
        ),
        (
            "quantize_per_tensor_dynamic(Tensor self, ScalarType dtype, bool reduce_range) -> Tensor",
            functions.quantize_per_tensor_dynamic,
        ),
        *(
            (
                f"quantized_max_pool{n}d({_POOL.format(n=n)}, bool ceil_mode=False) -> Tensor",
                getattr(functions, f"quantized_max_pool{n}d"),
            )
            for n in (1, 2, 3)
        ),
        (
            (
                "quantized_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, float eps, "
                "float output_scale, int output_zero_point) -> Tensor"
            ),
            functions.quantized_batch_norm,
        ),
        *(
            (
                f"quantized_{mode}.{form}({x}, {hx} hx, {_NETWORK}{end}) -> ({', '.join(['Tensor'] * results)})",
                getattr(recurrent_functions, f"quantized_{mode}"),
            )
            for mode, hx, more, results in (
                ("lstm", "Tensor[]", ", *, ScalarType? dtype=None, bool use_dynamic=False", 3),
                ("gru", "Tensor", "", 2),
            )
            for form, x, end in (
                ("input", "Tensor input", f", bool batch_first{more}"),
                ("data", "Tensor data, Tensor batch_sizes", more),
            )
        ),
        *(
            (
                f"quantized_{cell}_cell(Tensor input, {hx} hx, {_CELL}) -> {result}",
                getattr(recurrent_functions, f"quantized_{cell}_cell"),
            )
            for cell, hx, result in (
                ("lstm", "Tensor[]", "(Tensor, Tensor)"),
                ("gru", "Tensor", "Tensor"),
                ("rnn_relu", "Tensor", "Tensor"),
                ("rnn_tanh", "Tensor", "Tensor"),
            )
        ),
    ]
)
