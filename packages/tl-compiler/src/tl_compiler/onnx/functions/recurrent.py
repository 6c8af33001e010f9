"""Recurrent layers and cells that the function library lacks."""

from __future__ import annotations

from typing import Any

from .registry import translates

__all__: list[str] = []  # the functions enter the table of translations by the names of operators


@translates("aten::rnn_tanh.input", "aten::rnn_relu.input")
def rnn(
    op: Any,
    input: Any,
    hx: Any,
    params: Any,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Any:
    """A recurrent layer without gates, as one node of `RNN` a layer."""
    kind = "Relu" if "relu" in str(op.node.target) else "Tanh"
    directions = 2 if bidirectional else 1
    step = 4 if has_biases else 2
    value = op.Transpose(input, perm=[1, 0, 2]) if batch_first else input
    finals = []
    for layer in range(num_layers):
        parts = [params[step * (layer * directions + d) :][:step] for d in range(directions)]
        weights = [op.Concat(*(op.Unsqueeze(p[i], [0]) for p in parts), axis=0) for i in (0, 1)]
        bias = None
        if has_biases:
            bias = op.Concat(*(op.Unsqueeze(op.Concat(p[2], p[3], axis=0), [0]) for p in parts), axis=0)
        start, end = layer * directions, (layer + 1) * directions
        state = op.Slice(hx, [start], [end], [0])
        hidden = int(parts[0][1].shape[1])
        y, final = op.RNN(
            value, *weights, bias, None, state,
            hidden_size=hidden,
            direction="bidirectional" if bidirectional else "forward",
            activations=[kind] * directions,
            _outputs=2,
        )  # fmt: skip
        # (time, direction, batch, hidden) to (time, batch, direction * hidden)
        value = op.Reshape(op.Transpose(y, perm=[0, 2, 1, 3]), [0, 0, -1])
        finals.append(final)
    result = op.Transpose(value, perm=[1, 0, 2]) if batch_first else value
    return [result, op.Concat(*finals, axis=0) if num_layers > 1 else finals[0]]


def _sums(op: Any, value: Any, weight: Any, bias: Any) -> Any:
    product = op.MatMul(value, op.Transpose(weight, perm=[1, 0]))
    return product if bias is None else op.Add(product, bias)


@translates("aten::lstm_cell")
def lstm_cell(
    op: Any,
    input: Any,
    hx: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any = None,
    b_hh: Any = None,
) -> Any:
    """One step of an LSTM."""
    hidden, cell = hx
    gates = op.Add(_sums(op, input, w_ih, b_ih), _sums(op, hidden, w_hh, b_hh))
    i, f, g, o = op.Split(gates, axis=-1, num_outputs=4, _outputs=4)
    old = op.Mul(op.Sigmoid(f), cell)
    new_cell = op.Add(old, op.Mul(op.Sigmoid(i), op.Tanh(g)))
    return [op.Mul(op.Sigmoid(o), op.Tanh(new_cell)), new_cell]


@translates("aten::gru_cell")
def gru_cell(
    op: Any,
    input: Any,
    hx: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any = None,
    b_hh: Any = None,
) -> Any:
    """One step of a GRU."""
    r, z, n = op.Split(_sums(op, input, w_ih, b_ih), axis=-1, num_outputs=3, _outputs=3)
    hr, hz, hn = op.Split(_sums(op, hx, w_hh, b_hh), axis=-1, num_outputs=3, _outputs=3)
    update = op.Sigmoid(op.Add(z, hz))
    new = op.Tanh(op.Add(n, op.Mul(op.Sigmoid(op.Add(r, hr)), hn)))
    return op.Add(new, op.Mul(update, op.Sub(hx, new)))


@translates("aten::rnn_tanh_cell", "aten::rnn_relu_cell")
def rnn_cell(
    op: Any,
    input: Any,
    hx: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any = None,
    b_hh: Any = None,
) -> Any:
    """One step of a recurrent layer without gates."""
    total = op.Add(_sums(op, input, w_ih, b_ih), _sums(op, hx, w_hh, b_hh))
    return op.Relu(total) if "relu" in str(op.node.target) else op.Tanh(total)
