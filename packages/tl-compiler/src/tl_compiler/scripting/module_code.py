# ruff: noqa: E501 - a signature is one line
"""The methods of layers as programs, for layers whose own methods use more of Python than programs have."""

from __future__ import annotations

from .attention_code import TRANSFORMERS
from .sequence_code import PACKED_LAYERS

__all__ = ["LAYERS"]

_CONV = """
def forward(self, input: Tensor) -> Tensor:
    return self._conv_forward(input, self.weight, self.bias)

def _conv_forward(self, input: Tensor, weight: Tensor, bias: Optional[Tensor]) -> Tensor:
    if self.padding_mode != "zeros":
        return aten.conv{n}d(aten.pad(input, self._reversed_padding_repeated_twice, self.padding_mode), weight, bias, self.stride, [0], self.dilation, self.groups)
    return aten.conv{n}d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)
"""

_TRANSPOSED = """
def forward(self, input: Tensor, output_size: Optional[List[int]] = None) -> Tensor:
    if output_size is None:
        padding = list(self.output_padding)
    else:
        padding = self._padding_of(input, output_size)
    return aten.conv_transpose{n}d(input, self.weight, self.bias, self.stride, self.padding, padding, self.groups, self.dilation)

def _padding_of(self, input: Tensor, output_size: List[int]) -> List[int]:
    result: List[int] = []
    count = len(self.kernel_size)
    strides, paddings, kernels, dilations = list(self.stride), list(self.padding), list(self.kernel_size), list(self.dilation)
    for d in range(count):
        least = (input.size(d + input.dim() - count) - 1) * strides[d] - 2 * paddings[d] + dilations[d] * (kernels[d] - 1) + 1
        result.append(output_size[d + len(output_size) - count] - least)
    return result
"""

_BATCH_NORM = """
def forward(self, input: Tensor) -> Tensor:
    if input.dim() not in {dims}:
        raise ValueError(f"expected {words} input (got {{input.dim()}}D input)")
    factor = 0.0
    if self.momentum is not None:
        factor = self.momentum
    if self.training and self.track_running_stats:
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                factor = 1.0 / float(self.num_batches_tracked)
    if self.running_mean is None and self.running_var is None:
        return aten.batch_norm(input, self.weight, self.bias, None, None, True, factor, self.eps, True)
    return aten.batch_norm(input, self.weight, self.bias, self.running_mean, self.running_var, self.training, factor, self.eps, True)
"""

_INSTANCE_NORM = """
def forward(self, input: Tensor) -> Tensor:
    if input.dim() not in {dims}:
        raise ValueError(f"expected {words} input (got {{input.dim()}}D input)")
    own = input
    if input.dim() == {single}:
        own = input.unsqueeze(0)
    factor = 0.0
    if self.momentum is not None:
        factor = self.momentum
    result = aten.instance_norm(own, self.weight, self.bias, self.running_mean, self.running_var, self.training or not self.track_running_stats, factor, self.eps, True)
    if input.dim() == {single}:
        return result.squeeze(0)
    return result
"""

_POOL = """
def forward(self, input: Tensor):
    return F.{function}(input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode, return_indices=self.return_indices)
"""

_AVERAGE = """
def forward(self, input: Tensor) -> Tensor:
    return F.{function}(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override)
"""

_ADAPTIVE = """
def forward(self, input: Tensor) -> Tensor:
    return F.{function}(input, self.output_size)
"""

_ADAPTIVE_MAXIMUM = """
def forward(self, input: Tensor):
    return F.{function}(input, self.output_size, self.return_indices)
"""

_NORM_POOL = """
def forward(self, input: Tensor) -> Tensor:
    return F.lp_pool{n}d(input, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)
"""

_FRACTIONAL = """
def forward(self, input: Tensor):
    return F.fractional_max_pool{n}d(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples)
"""

_UNPOOL = """
def forward(self, input: Tensor, indices: Tensor, output_size: Optional[List[int]] = None) -> Tensor:
    return F.max_unpool{n}d(input, indices, self.kernel_size, self.stride, self.padding, output_size)
"""

_RECURRENT = """
def forward(self, input: Tensor, hx: Optional[{state}] = None) -> Tuple[Tensor, {state}]:
    batched = input.dim() == 3
    own = input
    if not batched:
        own = input.unsqueeze({batch})
    directions = 2 if self.bidirectional else 1
    count = own.size(0) if self.batch_first else own.size(1)
    rows = self.num_layers * directions
{states}
    result = aten.{function}(own, {hidden}, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional, self.batch_first)
    output = result[0]
    if not batched:
        output = output.squeeze({batch})
    return output, {last}
"""

_LSTM_STATES = """    real = self.proj_size if self.proj_size > 0 else self.hidden_size
    first = aten.zeros([rows, count, real], dtype=own.dtype, device=own.device)
    second = aten.zeros([rows, count, self.hidden_size], dtype=own.dtype, device=own.device)
    if hx is not None:
        first, second = hx
        if not batched:
            first, second = first.unsqueeze(1), second.unsqueeze(1)"""
_GRU_STATES = """    first = aten.zeros([rows, count, self.hidden_size], dtype=own.dtype, device=own.device)
    if hx is not None:
        first = hx
        if not batched:
            first = hx.unsqueeze(1)"""

_CELL = """
def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tensor:
    batched = input.dim() == 2
    own = input if batched else input.unsqueeze(0)
    if hx is None:
        state = aten.zeros([own.size(0), self.hidden_size], dtype=own.dtype, device=own.device)
    else:
        state = hx if batched else hx.unsqueeze(0)
{step}
    return result if batched else result.squeeze(0)
"""

_RNN_STEP = """    if self.nonlinearity == "tanh":
        result = aten.rnn_tanh_cell(own, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
    else:
        result = aten.rnn_relu_cell(own, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)"""
_GRU_STEP = (
    "    result = aten.gru_cell(own, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)"
)

LAYERS: dict[str, str] = {
    "Linear": "def forward(self, input: Tensor) -> Tensor:\n    return aten.linear(input, self.weight, self.bias)\n",
    "Identity": "def forward(self, input: Tensor) -> Tensor:\n    return input\n",
    "Sequential": "def forward(self, input):\n    for module in self:\n        input = module(input)\n    return input\n",
    "Softmax": "def forward(self, input: Tensor) -> Tensor:\n    return F.softmax(input, self.dim, 5)\n",
    "LogSoftmax": "def forward(self, input: Tensor) -> Tensor:\n    return F.log_softmax(input, self.dim, 5)\n",
    "Softmin": "def forward(self, input: Tensor) -> Tensor:\n    return F.softmin(input, self.dim, 5)\n",
    "Softmax2d": "def forward(self, input: Tensor) -> Tensor:\n    return F.softmax(input, -3, 5)\n",
    "Flatten": "def forward(self, input: Tensor) -> Tensor:\n    return input.flatten(self.start_dim, self.end_dim)\n",
    "Unflatten": "def forward(self, input: Tensor) -> Tensor:\n    return aten.unflatten(input, self.dim, "
    "self.unflattened_size)\n",
    **{f"Conv{n}d": _CONV.format(n=n) for n in (1, 2, 3)},
    **{f"ConvTranspose{n}d": _TRANSPOSED.format(n=n) for n in (1, 2, 3)},
    "BatchNorm1d": _BATCH_NORM.format(dims="(2, 3)", words="2D or 3D"),
    "BatchNorm2d": _BATCH_NORM.format(dims="(4,)", words="4D"),
    "BatchNorm3d": _BATCH_NORM.format(dims="(5,)", words="5D"),
    "InstanceNorm1d": _INSTANCE_NORM.format(dims="(2, 3)", words="2D or 3D", single=2),
    "InstanceNorm2d": _INSTANCE_NORM.format(dims="(3, 4)", words="3D or 4D", single=3),
    "InstanceNorm3d": _INSTANCE_NORM.format(dims="(4, 5)", words="4D or 5D", single=4),
    **{f"MaxPool{n}d": _POOL.format(function=f"max_pool{n}d") for n in (1, 2, 3)},
    **{f"AvgPool{n}d": _AVERAGE.format(function=f"avg_pool{n}d") for n in (2, 3)},
    **{f"AdaptiveAvgPool{n}d": _ADAPTIVE.format(function=f"adaptive_avg_pool{n}d") for n in (1, 2, 3)},
    **{f"AdaptiveMaxPool{n}d": _ADAPTIVE_MAXIMUM.format(function=f"adaptive_max_pool{n}d") for n in (1, 2, 3)},
    **{name: "def forward(self, input: Tensor) -> Tensor:\n    return F.pad(input, self.padding, 'constant', self.value)\n"
       for n in (1, 2, 3) for name in (f"ConstantPad{n}d",)},
    **{f"ZeroPad{n}d": "def forward(self, input: Tensor) -> Tensor:\n    return F.pad(input, self.padding, 'constant', 0.0)\n"
       for n in (1, 2, 3)},
    **{f"{word}Pad{n}d": "def forward(self, input: Tensor) -> Tensor:\n    return F.pad(input, self.padding, "
       f"'{mode}')\n" for n in (1, 2, 3)
       for word, mode in (("Reflection", "reflect"), ("Replication", "replicate"), ("Circular", "circular"))},
    "LSTM": _RECURRENT.format(
        state="Tuple[Tensor, Tensor]", batch="0 if self.batch_first else 1", states=_LSTM_STATES, function="lstm",
        hidden="[first, second]",
        last="(result[1] if batched else result[1].squeeze(1), result[2] if batched else result[2].squeeze(1))"),
    **{name: _RECURRENT.format(
        state="Tensor", batch="0 if self.batch_first else 1", states=_GRU_STATES, function=function, hidden="first",
        last="result[1] if batched else result[1].squeeze(1)")
       for name, function in (("GRU", "gru"), ("RNN_TANH", "rnn_tanh"), ("RNN_RELU", "rnn_relu"))},
    "RNNCell": _CELL.format(step=_RNN_STEP),
    "GRUCell": _CELL.format(step=_GRU_STEP),
    "LSTMCell": """
def forward(self, input: Tensor, hx: Optional[Tuple[Tensor, Tensor]] = None) -> Tuple[Tensor, Tensor]:
    batched = input.dim() == 2
    own = input if batched else input.unsqueeze(0)
    if hx is None:
        first = aten.zeros([own.size(0), self.hidden_size], dtype=own.dtype, device=own.device)
        second = first
    else:
        first, second = hx
        if not batched:
            first, second = first.unsqueeze(0), second.unsqueeze(0)
    result = aten.lstm_cell(own, [first, second], self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
    state, cell = result[0], result[1]
    if not batched:
        state, cell = state.squeeze(0), cell.squeeze(0)
    return state, cell
""",
    **{name: f"def forward(self, input: Tensor, target: Tensor) -> Tensor:\n    return F.{function}\n" for name, function in {
        "CrossEntropyLoss": "cross_entropy(input, target, weight=self.weight, ignore_index=self.ignore_index, "
        "reduction=self.reduction, label_smoothing=self.label_smoothing)",
        "NLLLoss": "nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)",
        "BCELoss": "binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)",
        "BCEWithLogitsLoss": "binary_cross_entropy_with_logits(input, target, self.weight, pos_weight=self.pos_weight, "
        "reduction=self.reduction)",
        "MultiMarginLoss": "multi_margin_loss(input, target, p=self.p, margin=self.margin, weight=self.weight, "
        "reduction=self.reduction)",
        "MultiLabelSoftMarginLoss": "multilabel_soft_margin_loss(input, target, weight=self.weight, "
        "reduction=self.reduction)"}.items()},
    **{f"LPPool{n}d": _NORM_POOL.format(n=n) for n in (1, 2, 3)},
    **{f"FractionalMaxPool{n}d": _FRACTIONAL.format(n=n) for n in (2, 3)},
    **{f"MaxUnpool{n}d": _UNPOOL.format(n=n) for n in (1, 2, 3)},
    "EmbeddingBag": """
def forward(self, input: Tensor, offsets: Optional[Tensor] = None, per_sample_weights: Optional[Tensor] = None) -> Tensor:
    return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx)
""",
    "CrossMapLRN2d": """
def forward(self, input: Tensor) -> Tensor:
    if input.dim() != 4:
        raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
    return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)
""",
    "CTCLoss": """
def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor) -> Tensor:
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity)
""",
    "GaussianNLLLoss": """
def forward(self, input: Tensor, target: Tensor, var: Tensor) -> Tensor:
    return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)
""",
    **TRANSFORMERS,
}  # fmt: skip
for _name, _text in PACKED_LAYERS.items():
    LAYERS[_name] += _text
