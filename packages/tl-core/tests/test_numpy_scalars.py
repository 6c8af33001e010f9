"""Tensors of NumPy's complex scalars, of which complex64 is no Python number."""

import warnings

import pytest

np = pytest.importorskip("numpy", reason="the references are numpy's")

import tl_core as tl  # noqa: E402


@pytest.mark.parametrize("kind", [np.complex64, np.complex128])
def test_complex_scalars_have_both_parts(kind):
    value = kind(1 + 3j)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tl.tensor(value).item() == 1 + 3j
        assert tl.as_tensor(value).item() == 1 + 3j
        assert tl.tensor([[value, 2], [value, 0]]).tolist() == [[1 + 3j, 2], [1 + 3j, 0]]
        assert tl.tensor(value, dtype=tl.complex64).item() == 1 + 3j
        assert tl.tensor([value], dtype=tl.complex128).tolist() == [1 + 3j]
