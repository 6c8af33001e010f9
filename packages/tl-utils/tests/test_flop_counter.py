"""Counts of floating-point operations, against their closed forms."""

from __future__ import annotations

import pytest

import tl_core as tl
import tl_nn
import tl_nn.functional as F
from tl_utils.flop_counter import FlopCounterMode, flop_registry, register_flop_formula


def count(function):
    with FlopCounterMode(display=False) as counter:
        function()
    return counter


@pytest.mark.parametrize(
    ("function", "flops"),
    [
        (lambda: tl.mm(tl.ones(4, 5), tl.ones(5, 6)), 2 * 4 * 5 * 6),
        (lambda: tl.mm(tl.ones(4, 5), tl.ones(5, 6), out=tl.empty(4, 6)), 2 * 4 * 5 * 6),
        (lambda: tl.addmm(tl.ones(6), tl.ones(4, 5), tl.ones(5, 6)), 2 * 4 * 5 * 6),
        (lambda: tl.bmm(tl.ones(3, 4, 5), tl.ones(3, 5, 6)), 3 * 2 * 4 * 5 * 6),
        (lambda: tl.baddbmm(tl.ones(3, 4, 6), tl.ones(3, 4, 5), tl.ones(3, 5, 6)), 3 * 2 * 4 * 5 * 6),
        (lambda: tl.einsum("ab,bc->ac", tl.ones(6, 7), tl.ones(7, 8)), 2 * 6 * 7 * 8),
        (lambda: F.linear(tl.ones(2, 3, 4), tl.ones(5, 4)), 2 * 6 * 4 * 5),
        (lambda: F.conv2d(tl.ones(2, 3, 6, 6), tl.ones(6, 3, 4, 4), padding=1), 2 * 2 * 25 * 6 * 3 * 16),
        (lambda: F.conv2d(tl.ones(2, 4, 6, 6), tl.ones(6, 2, 3, 3), groups=2), 2 * 2 * 16 * 6 * 2 * 9),
        (lambda: F.conv_transpose2d(tl.ones(1, 4, 5, 5), tl.ones(4, 8, 2, 2), stride=2), 2 * 25 * 4 * 8 * 4),
        (lambda: F.scaled_dot_product_attention(tl.ones(2, 3, 4, 8), tl.ones(2, 3, 6, 8), tl.ones(2, 3, 6, 8)),
         2 * 6 * (4 * 6 * 8) * 2),
        (lambda: tl.ones(5).sin(), 0),
    ],
)  # fmt: skip
def test_operators(function, flops):
    assert count(function).get_total_flops() == flops


def test_backwards_count_twice():
    layers = [tl_nn.Linear(3, 4), tl_nn.Conv1d(3, 4, 2), tl_nn.ConvTranspose2d(3, 4, 2)]
    for layer, shape in zip(layers, [(5, 3), (2, 3, 7), (1, 3, 4, 4)], strict=True):
        x = tl.ones(*shape, requires_grad=True)
        forward = count(lambda layer=layer, x=x: layer(x)).get_total_flops()
        both = count(lambda layer=layer, x=x: layer(x).sum().backward()).get_total_flops()
        assert both == 3 * forward > 0


def test_recurrent_layers():
    steps, batch, inputs, hidden = 3, 2, 4, 5
    lstm = tl_nn.LSTM(inputs, hidden)
    flops = count(lambda: lstm(tl.ones(steps, batch, inputs))).get_total_flops()
    assert flops == 2 * steps * batch * 4 * hidden * (inputs + hidden)


def test_counts_go_to_modules():
    model = tl_nn.Sequential(tl_nn.Linear(2, 3), tl_nn.Linear(3, 4, bias=False))
    with FlopCounterMode(display=False) as counter:
        model(tl.ones(5, 2, requires_grad=True)).sum().backward()
    counts = counter.get_flop_counts()
    first, second = 2 * 5 * 2 * 3, 2 * 5 * 3 * 4
    assert counts["Sequential.0"][tl.ops.aten.addmm] == first
    assert counts["Sequential.1"][tl.ops.aten.mm] == 3 * second
    assert sum(counts["Sequential.0"].values()) == 3 * first
    assert sum(counts["Global"].values()) == 3 * (first + second)
    table = counter.get_table()
    assert table.index("Sequential.0") < table.index("Sequential.1")
    assert "Sequential.0" not in counter.get_table(depth=1)


def test_what_no_module_calls_is_global(capsys):
    with FlopCounterMode() as counter:
        tl_nn.Linear(2, 2)(tl.ones(1, 2))
        tl.mm(tl.ones(2, 2), tl.ones(2, 2))
    printed = capsys.readouterr().out
    assert printed.splitlines()[2].split() == ["Global", "24.000", "100.00%"]
    with counter:
        pass
    assert counter.get_total_flops() == 0


def test_formulas_of_ones_own():
    def by_value(*args, out_val):
        return out_val.numel()

    by_value._get_raw = True
    for formula, flops in ((lambda *args, out_shape: 5, 5), (by_value, 20)):
        with FlopCounterMode(display=False, custom_mapping={tl.ops.aten.add: formula}) as counter:
            tl.ones(4, 5) + tl.ones(4, 5)
        assert counter.get_total_flops() == flops

    @register_flop_formula([tl.ops.aten.sin], get_raw=True)
    def sines(x, out_val=None):
        return 10 * x.numel()

    try:
        assert count(lambda: tl.ones(3).sin()).get_total_flops() == 30
        with pytest.raises(RuntimeError, match="has a formula already"):
            register_flop_formula(tl.ops.aten.sin)(lambda: 0)
    finally:
        del flop_registry[tl.ops.aten.sin]
    with pytest.raises(ValueError, match="expected each target to be OpOverloadPacket"):
        register_flop_formula(tl.ops.aten.sin.default)
    with pytest.warns(UserWarning, match="not needed"):
        FlopCounterMode(tl_nn.Linear(1, 1))
    with pytest.raises(RuntimeError, match="before it was entered"):
        FlopCounterMode().__exit__()
