"""Recurrent layers and cells: LSTM, GRU and Elman."""

from opgen.row import Composite, Op

LAYERS = "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"
CELL = "Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None"
SAVED = (
    "Tensor h0, Tensor? c0, Tensor w_hh, Tensor? b_hh, Tensor output, Tensor saved, Tensor cells, int mode, "
    "bool reverse, int[] batch_sizes) -> (Tensor, Tensor, Tensor, Tensor, Tensor)"
)
UNRECORDED = "none:only runs where nothing is recorded"


def _packed(hx):
    """The rule of a layer over packed sequences."""
    states = ["hx[0].shape", "hx[1].shape"] if hx == "Tensor[]" else ["hx.shape"]
    width = f"{states[0]}[-1] * (2 if bidirectional else 1)"
    return f"[[data.shape[0], {width}], {', '.join(states)}]"


def _layers(name, hx, results, text, autocast):
    """A layer over padded and over packed sequences."""
    return [
        Composite(
            f"{name}.input(Tensor input, {hx} hx, {LAYERS}, bool batch_first) -> {results}",
            method=False, random=True, autocast=autocast,
        shape=(
            f"recurrent(input.shape, {'[h.shape for h in hx]' if hx == 'Tensor[]' else '[hx.shape]'}, "
            f"bidirectional)"
        ),
            doc=f"{text} over sequences.",
        ),
        Composite(
            f"{name}.data(Tensor data, Tensor batch_sizes, {hx} hx, {LAYERS}) -> {results}",
            method=False, random=True, autocast=autocast,
            shape=_packed(hx),
            doc=f"{text} over packed sequences.",
        ),
    ]  # fmt: skip


def _cell(name, text, autocast):
    return Composite(
        f"{name}(Tensor input, Tensor hx, {CELL}) -> Tensor",
        method=False,
        autocast=autocast,
        shape="hx.shape",
        doc=f"One step of {text}.",
    )


ROWS = [
    Op(
        (
            "_recurrent_layer(Tensor gates, Tensor h0, Tensor? c0, Tensor w_hh, Tensor? b_hh, int mode, bool "
            "reverse, int[] batch_sizes) -> (Tensor output, Tensor hidden, Tensor state, Tensor saved, "
            "Tensor cells)"
        ),
        function=False, method=False,
        grad={
            "gates, h0, c0, w_hh, b_hh": (
                "_recurrent_layer_gradients(g0, g1, g2, g3, g4, h0, c0, w_hh, b_hh, output, saved, cells, "
                "mode, reverse, batch_sizes)"
            ),
        },
        jvp="double-vjp", batch="loop",
        doc=(
            "One direction of one layer, from the gates' products with the input; mode 0 LSTM, 1 GRU, 2 "
            "tanh, 3 relu."
        ),
    ),
    Op(
        f"_recurrent_layer_backward(Tensor? grad_output, Tensor? grad_hidden, Tensor? grad_state, {SAVED}",
        function=False, method=False,
        grad=UNRECORDED,
        jvp="none:not implemented: only runs where nothing is differentiated", batch="loop",
        doc="The gradients of _recurrent_layer, by backpropagation through time.",
    ),
    Composite(
        (
            "_recurrent_layer_gradients(Tensor? grad_output, Tensor? grad_hidden, Tensor? grad_state, "
            "Tensor? grad_saved, Tensor? grad_cells, "
            f"{SAVED}"
        ),
        function=False, method=False,
        doc="The gradients of _recurrent_layer, in operators where they are recorded.",
    ),
    *_layers("lstm", "Tensor[]", "(Tensor, Tensor, Tensor)", "Long short-term memory", "lower"),
    *_layers("gru", "Tensor", "(Tensor, Tensor)", "Gated recurrent units", "widest"),
    *_layers("rnn_tanh", "Tensor", "(Tensor, Tensor)", "A recurrent layer with tanh", "lower"),
    *_layers("rnn_relu", "Tensor", "(Tensor, Tensor)", "A recurrent layer with relu", "lower"),
    Composite(
        f"lstm_cell(Tensor input, Tensor[] hx, {CELL}) -> (Tensor, Tensor)",
        shape="[hx[0].shape, hx[1].shape]",
        method=False, autocast="widest",
        doc="One step of long short-term memory.",
    ),
    _cell("gru_cell", "gated recurrent units", "widest"),
    _cell("rnn_tanh_cell", "a recurrent layer with tanh", "lower"),
    _cell("rnn_relu_cell", "a recurrent layer with relu", "lower"),
]  # fmt: skip
