"""Sobol sequences against scipy's, which has the same direction numbers."""

import pytest

import tl_core as tl
from tl_core.functions.quasirandom import SobolEngine

np = pytest.importorskip("numpy", reason="points are compared as arrays")
qmc = pytest.importorskip("scipy.stats.qmc", reason="the points are held against scipy's")


@pytest.mark.parametrize("dimension", [1, 2, 3, 20, 300])
def test_points_are_those_of_joe_and_kuo(dimension):
    expected = qmc.Sobol(dimension, scramble=False).random(256)
    result = SobolEngine(dimension).draw(256, dtype=tl.float64)
    assert np.array_equal(result.numpy(), expected)


def test_the_last_dimensions():
    expected = qmc.Sobol(21201, scramble=False).random(8)
    assert np.array_equal(SobolEngine(21201).draw(8, dtype=tl.float64).numpy(), expected)


@pytest.mark.parametrize("parts", [(1, 1, 1), (3, 5, 1, 40), (16, 16, 1), (1, 127, 129)])
def test_parts_make_the_whole(parts):
    engine, full = SobolEngine(5), SobolEngine(5).draw(sum(parts))
    assert tl.cat([engine.draw(n) for n in parts]).tolist() == full.tolist()
    assert engine.num_generated == sum(parts)


@pytest.mark.parametrize("scramble", [False, True])
def test_fast_forward_and_reset(scramble):
    engine = SobolEngine(4, scramble, seed=3)
    full = engine.draw(40)
    assert engine.reset().draw(40).tolist() == full.tolist()
    assert engine.reset().fast_forward(7).fast_forward(4).draw(29).tolist() == full[11:].tolist()


def test_scrambled_points_are_those_of_the_reference_stream():
    """Recorded once from the reference implementation."""
    expected = [[0.4802905321121216, 0.11725887656211853, 0.12398969382047653],
              [0.9114733934402466, 0.8686649799346924, 0.5390787124633789],
              [0.5350564122200012, 0.27151042222976685, 0.30786722898483276]]  # fmt: skip
    assert SobolEngine(3, scramble=True, seed=5).draw(3).tolist() == expected


def test_scrambled_points_stay_balanced():
    points = SobolEngine(6, scramble=True, seed=1).draw_base2(8)
    assert ((points * 256).long().sort(0).values == tl.arange(256).unsqueeze(-1)).all()


def test_out_dtype_and_text():
    out = tl.empty(0)
    assert SobolEngine(2).draw(3, out=out) is out
    assert out.shape == (3, 2)
    assert SobolEngine(2).draw(3, dtype=tl.float16).dtype == tl.float16
    assert SobolEngine(2).draw(0).shape == (0, 2)
    assert repr(SobolEngine(3, scramble=True, seed=5)) == "SobolEngine(dimension=3, scramble=True, seed=5)"


def test_refusals():
    for dimension in (0, 21202):
        with pytest.raises(
            ValueError, match=r"Supported range of dimensionality for SobolEngine is \[1, 21201\]"
        ):
            SobolEngine(dimension)
    engine = SobolEngine(2)
    engine.draw(3)
    with pytest.raises(ValueError, match="require n to be a power of 2"):
        engine.draw_base2(2)
