"""Recurrent layers against their rules in numpy; second derivatives against finite differences."""

import copy
import pickle

import numpy as np
import pytest

import tl_core as tl
import tl_nn as nn
from tl_autograd import grad, gradcheck, gradgradcheck
from tl_nn import func
from tl_nn.utils import rnn

KINDS = [nn.RNN, nn.GRU, nn.LSTM]
CELLS = {nn.RNN: nn.RNNCell, nn.GRU: nn.GRUCell, nn.LSTM: nn.LSTMCell}


def array(tensor):
    return np.array(tensor.tolist())


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(kind, weights, x, state):
    """One step of one layer; the state is a pair for an LSTM."""
    w, u, b, c = weights
    hidden = state[0] if kind is nn.LSTM else state
    source, value = x @ w.T + b, hidden @ u.T + c
    if kind is nn.RNN:
        return np.tanh(source + value)
    if kind is nn.GRU:
        (r, z, n), (s, y, m) = np.split(source, 3, -1), np.split(value, 3, -1)
        update = sigmoid(z + y)
        return (1 - update) * np.tanh(n + sigmoid(r + s) * m) + update * hidden
    i, f, g, o = np.split(source + value, 4, -1)
    cell = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(cell), cell


def run(kind, weights, x, size):
    zeros = np.zeros((x.shape[1], size))
    state, outputs = (zeros, zeros) if kind is nn.LSTM else zeros, []
    for row in x:
        state = step(kind, weights, row, state)
        outputs.append(state[0] if kind is nn.LSTM else state)
    return np.stack(outputs)


def weights_of(layer, suffix):
    return [
        array(getattr(layer, f"{name}_{suffix}")) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    ]


def sample(*shape):
    values = np.random.default_rng(2).normal(size=shape)
    return values, tl.tensor(values.tolist(), dtype=tl.float64)


@pytest.mark.parametrize("kind", KINDS)
def test_layers_and_directions(kind):
    layer = kind(3, 4, num_layers=2, bidirectional=True).double()
    values, x = sample(5, 2, 3)
    for number in range(2):
        forward = run(kind, weights_of(layer, f"l{number}"), values, 4)
        backward = run(kind, weights_of(layer, f"l{number}_reverse"), values[::-1], 4)[::-1]
        values = np.concatenate([forward, backward], -1)
    output, state = layer(x)
    np.testing.assert_allclose(array(output), values, rtol=1e-9, atol=1e-12)
    last = state[0] if kind is nn.LSTM else state
    assert tuple(last.shape) == (4, 2, 4)
    np.testing.assert_allclose(array(last[2]), forward[-1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(array(last[3]), backward[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_batch_first_and_single_sequences(kind):
    layer = kind(3, 4).double()
    first = kind(3, 4, batch_first=True).double()
    first.load_state_dict(layer.state_dict())
    _, x = sample(5, 2, 3)
    expected = array(layer(x)[0])
    np.testing.assert_allclose(array(first(x.transpose(0, 1))[0].transpose(0, 1)), expected)
    output, state = layer(x[:, 0])
    np.testing.assert_allclose(array(output), expected[:, 0], rtol=1e-9)
    assert tuple((state[0] if kind is nn.LSTM else state).shape) == (1, 4)


@pytest.mark.parametrize("kind", KINDS)
def test_packed_sequences_stop_at_their_length(kind):
    layer = kind(3, 4, bidirectional=True).double()
    _, x = sample(5, 3, 3)
    packed = rnn.pack_padded_sequence(x, [3, 5, 1], enforce_sorted=False)
    output, state = layer(packed)
    padded, lengths = rnn.pad_packed_sequence(output)
    assert lengths.tolist() == [3, 5, 1]
    for index, length in enumerate(lengths.tolist()):
        alone, last = layer(x[:length, index : index + 1])
        np.testing.assert_allclose(array(padded[:length, index]), array(alone[:, 0]), rtol=1e-9)
        pair = (state[0], last[0]) if kind is nn.LSTM else (state, last)
        np.testing.assert_allclose(array(pair[0][:, index]), array(pair[1][:, 0]), rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_cells_are_steps(kind):
    cell = CELLS[kind](3, 4).double()
    weights = [array(getattr(cell, name)) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    values, x = sample(2, 3)
    before, h = sample(2, 4)
    state, source = ((before, before), (h, h)) if kind is nn.LSTM else (before, h)
    expected, result = step(kind, weights, values, state), cell(x, source)
    for one, other in zip(expected, result, strict=True) if kind is nn.LSTM else [(expected, result)]:
        np.testing.assert_allclose(array(other), one, rtol=1e-9)
    single = cell(x[0])
    batch = cell(x)
    pair = (single[0], batch[0]) if kind is nn.LSTM else (single, batch)
    np.testing.assert_allclose(array(pair[0]), array(pair[1])[0], rtol=1e-9)


def test_relu_and_missing_biases():
    layer = nn.RNN(3, 4, nonlinearity="relu", bias=False).double()
    values, x = sample(1, 2, 3)
    expected = np.maximum(values[0] @ array(layer.weight_ih_l0).T, 0)
    np.testing.assert_allclose(array(layer(x)[0][0]), expected, rtol=1e-9)
    assert [name for name, _ in layer.named_parameters()] == ["weight_ih_l0", "weight_hh_l0"]
    cell = nn.RNNCell(3, 4, nonlinearity="relu", bias=False)
    assert cell.bias_ih is None and repr(cell) == "RNNCell(3, 4, bias=False, nonlinearity=relu)"


def test_projections():
    layer = nn.LSTM(3, 5, proj_size=2, num_layers=2)
    output, (state, cell) = layer(tl.zeros(4, 1, 3))
    assert [tuple(each.shape) for each in (output, state, cell)] == [(4, 1, 2), (2, 1, 2), (2, 1, 5)]
    assert tuple(layer.weight_hr_l1.shape) == (2, 5) and tuple(layer.weight_ih_l1.shape) == (20, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_reach_all_parameters(kind):
    layer = kind(3, 4, num_layers=2, dropout=0.5)
    layer(tl.ones(5, 2, 3))[0].sum().backward()
    assert all(parameter.grad is not None for parameter in layer.parameters())
    layer.eval()
    x = tl.ones(5, 2, 3)
    assert layer(x)[0].tolist() == layer(x)[0].tolist()


def check_second_derivatives(layer, x, use=lambda x: x):
    """Against finite differences, by the input and by the parameters."""

    def f(x, *_):
        tl.manual_seed(3)  # the same dropout at each call
        output, state = layer(use(x))
        data = output.data if isinstance(output, rnn.PackedSequence) else output
        return data, *(state if isinstance(state, tuple) else (state,))

    assert gradgradcheck(f, (x.requires_grad_(), *layer.parameters()))


@pytest.mark.parametrize(
    ("make", "options"),
    [
        *((kind, {"num_layers": 2, "dropout": 0.5, "batch_first": True}) for kind in KINDS),
        *((kind, {"bias": False, "bidirectional": True}) for kind in KINDS),
        (nn.RNN, {"nonlinearity": "relu", "num_layers": 2}),
        (nn.LSTM, {"proj_size": 1, "num_layers": 2, "bidirectional": True}),
    ],
)
def test_second_derivatives(make, options):
    _, x = sample(3, 2, 2)
    check_second_derivatives(make(2, 2, **options).double(), x)


@pytest.mark.parametrize("kind", KINDS)
def test_second_derivatives_of_packed_sequences(kind):
    _, x = sample(3, 3, 2)
    layer = kind(2, 2, bidirectional=True).double()
    check_second_derivatives(layer, x, lambda x: rnn.pack_padded_sequence(x, [1, 3, 2], enforce_sorted=False))


@pytest.mark.parametrize("kind", KINDS)
def test_second_derivatives_of_cells(kind):
    _, x = sample(2, 2)
    cell = CELLS[kind](2, 2).double()
    assert gradgradcheck(lambda x, *_: cell(x), (x.requires_grad_(), *cell.parameters()))


def in_operators(kind, layer, x):
    """The outputs of a layer, written with operators that have second derivatives of their own."""
    h = c = tl.zeros(x.size(1), layer.hidden_size, dtype=x.dtype)
    outputs = []
    for row in x:
        source = row @ layer.weight_ih_l0.T + layer.bias_ih_l0
        value = h @ layer.weight_hh_l0.T + layer.bias_hh_l0
        if kind is nn.RNN:
            h = (source + value).tanh()
        elif kind is nn.GRU:
            (r, z, n), (s, y, m) = source.chunk(3, -1), value.chunk(3, -1)
            update = (z + y).sigmoid()
            h = (1 - update) * (n + (r + s).sigmoid() * m).tanh() + update * h
        else:
            i, f, g, o = (source + value).chunk(4, -1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        outputs.append(h)
    return tl.stack(outputs)


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_with_a_gradient_penalty(kind):
    layer, (_, x) = kind(3, 4).double(), sample(5, 2, 3)
    x.requires_grad_()

    def gradients(output):
        layer.zero_grad()
        (derivative,) = grad(output.sum(), x, create_graph=True)
        (output.square().mean() + (derivative.flatten(1).norm(dim=1) - 1).square().mean()).backward()
        return [array(parameter.grad) for parameter in layer.parameters()]

    for one, other in zip(gradients(layer(x)[0]), gradients(in_operators(kind, layer, x)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_the_state_holds_the_list_of_weights_that_other_programs_expect():
    layer = nn.GRU(3, 4, bidirectional=True)
    state = layer.__getstate__()
    assert all(a is b for a, b in zip(state["_flat_weights"], layer.parameters(), strict=True))
    assert "_flat_weights" not in copy.deepcopy(layer).__dict__


def test_copies_and_pickles():
    layer = nn.GRU(2, 3)
    x = tl.ones(1, 1, 2)
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert twin(x)[0].tolist() == layer(x)[0].tolist()
        assert twin._flat_weights[0] is twin.weight_ih_l0
    assert layer.all_weights[0][0] is layer.weight_ih_l0


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: nn.RNNBase("ELMAN", 1, 1), ValueError, "Unrecognized RNN mode"),
        (lambda: nn.RNN(1, 1, nonlinearity="gelu"), ValueError, "Unknown nonlinearity 'gelu'"),
        (lambda: nn.GRU(1, 0), ValueError, "hidden_size must be greater than zero, got 0"),
        (lambda: nn.GRU(1, 1, num_layers=0), ValueError, "num_layers must be greater than zero, got 0"),
        (lambda: nn.RNN(1, 1, "relu"), TypeError, "num_layers should be of type int, got: str"),
        (lambda: nn.GRU(1, 1, dropout=2), ValueError, r"dropout should be a number in range \[0, 1\]"),
        (lambda: nn.LSTM(1, 2, proj_size=2), ValueError, "smaller than hidden_size, got 2 and 2"),
        (
            lambda: nn.GRU(2, 3)(tl.zeros(1, 1, 3)),
            RuntimeError,
            "must be equal to input_size. Expected 2, got 3",
        ),
        (lambda: nn.GRU(2, 3)(tl.zeros(2)), ValueError, "Expected input to be 2D or 3D, got 1D"),
        (
            lambda: nn.GRU(2, 3)(tl.zeros(1, 1, 2), tl.zeros(1, 3)),
            RuntimeError,
            "hx should also be 3-D but got 2-D",
        ),
        (lambda: nn.GRU(2, 3)(tl.zeros(1, 1, 2), tl.zeros(2, 1, 3)), RuntimeError, "Expected hidden size"),
        (lambda: nn.GRU(2, 3)(tl.zeros(1, 1, 2).double()), ValueError, "input must have the type"),
        (lambda: nn.GRUCell(2, 3)(tl.zeros(1, 1, 2)), ValueError, "Expected input to be 1D or 2D, got 3D"),
    ],
)
def test_faults(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_dropout_needs_layers():
    with pytest.warns(UserWarning, match="expects num_layers greater than 1"):
        nn.RNN(1, 1, dropout=0.5)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU])
def test_a_program_may_write_to_the_output(kind, layers):
    tl.manual_seed(0)
    layer = kind(4, 3, num_layers=layers).double()

    def doubled(x, *weights):
        output, state = func.functional_call(layer, dict(zip(names, weights)), (x,))
        output.mul_(2)
        output[0].add_(1)
        return output, state

    names, weights = zip(*layer.named_parameters())
    x = tl.rand(5, 2, 4, dtype=tl.float64, requires_grad=True)
    assert gradcheck(doubled, (x, *weights))


def test_a_program_may_write_to_a_packed_output():
    tl.manual_seed(0)
    layer = nn.LSTM(4, 3).double()
    x = tl.rand(5, 2, 4, dtype=tl.float64, requires_grad=True)

    def doubled(x):
        packed, _ = layer(rnn.pack_padded_sequence(x, [5, 3]))
        packed.data.mul_(2)
        return packed.data

    assert gradcheck(doubled, (x,))
