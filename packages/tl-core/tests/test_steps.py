"""Sequences of even steps."""

import tl_core as tl


def test_linspace_of_integers_has_whole_ends():
    # Numbers of PyTorch 2.13, which truncates both ends first.
    assert tl.linspace(-3, -1.5, 4, dtype=tl.int64).tolist() == [-3, -2, -1, -1]
    assert tl.linspace(0, -1.5, 4, dtype=tl.int16).tolist() == [0, 0, 0, -1]
    assert tl.linspace(0.5, 10.9, 3, dtype=tl.int32).tolist() == [0, 5, 10]
    assert tl.linspace(0, -1.5, 4).tolist() == [0, -0.5, -1, -1.5]
