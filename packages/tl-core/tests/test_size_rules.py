"""Sizes of results by the functions of shape rules, with the sizes of numpy's and PyTorch's results as references."""

import math

import pytest

import tl_core as tl
from tl_core.operators import shape_functions as sizes

np = pytest.importorskip("numpy", reason="the references are numpy's")


@pytest.mark.parametrize("shape", [(), (3,), (3, 4), (3, 4, 5), (2, 3, 4, 5)])
def test_least_number_of_dimensions(shape):
    x = np.empty(shape)
    for ndim, reference in (1, np.atleast_1d), (2, np.atleast_2d), (3, np.atleast_3d):
        assert tuple(sizes.atleast(list(shape), ndim)) == reference(x).shape


def test_reductions():
    assert sizes.drop([2, 3, 4], -2) == [2, 4]
    assert sizes.extreme([2, 3], 1) == [2] and sizes.extreme([2, 3], 1, True) == [2, 1]
    assert sizes.extreme([0, 3], 1) == [0]
    with pytest.raises(RuntimeError, match="do not fit"):
        sizes.extreme([0, 3], 0)


@pytest.mark.parametrize("bounds", [(0, 7), (2, None), (-3, None), (-20, 20), (5, 2), (1, -1), (None, None)])
@pytest.mark.parametrize("step", [1, 2, 5])
def test_slices(bounds, step):
    assert sizes.slice_length(7, *bounds, step) == len(range(7)[slice(*bounds, step)])


def test_windows():
    assert sizes.pool_length(10, 3, 2, 0, 1, False) == len(range(0, 10 - 3 + 1, 2)) == 4
    assert sizes.pool_length(10, 3, 2, 0, 1, True) == 5
    assert sizes.pool_length(4, 2, 2, 1, 1, True) == 3
    assert sizes.pool_length(3, 2, 3, 1, 1, True) == 2
    assert sizes.pool_length(10, 3, 1, 0, 4, False) == 2
    assert sizes.fold_length([6, 7], [2, 3], 1, 0, 1) == 5 * 5
    assert sizes.fold_length([6, 7], [2, 3], 2, 1, 2) == 3 * 3


def test_transposed_convolutions():
    assert sizes.transposed_convolution([2, 4, 5], [4, 3, 3], 2, 1, 1, 1, 1) == [2, 3, 10]
    assert sizes.transposed_convolution([4, 5, 6], [4, 2, 3, 3], [1, 2], 0, 0, 2, 1) == [4, 7, 13]


def test_padding():
    x = np.empty((2, 3, 4))
    assert tuple(sizes.pad_sizes([2, 3, 4], [1, 2, 0, 3])) == np.pad(x, [(0, 0), (0, 3), (1, 2)]).shape
    assert sizes.pad_sizes([2, 3, 4], [-1, -1]) == [2, 3, 2]
    assert sizes.pad_sizes([2, 3, 4], [3, 3], "reflect") == [2, 3, 10]
    assert sizes.pad_sizes([2, 3, 4], [4, 4], "circular") == [2, 3, 12]


def test_indices():
    x = np.empty((2, 3, 4, 5))
    a, b = np.zeros((6, 1), int), np.zeros(7, int)
    for index in [a, b], [None, a, b], [a, None, b], [None, None, None, b]:
        reference = x[tuple(slice(None) if i is None else i for i in index)].shape
        tensors = [None if i is None else tl.tensor(i) for i in index]
        assert tuple(sizes.gather_index([2, 3, 4, 5], tensors)) == reference


def test_fourier_transforms():
    x = np.empty((4, 6, 10))
    assert tuple(sizes.fourier([4, 6, 10], None, [1, 2], "half")) == np.fft.rfft2(x).shape
    assert tuple(sizes.fourier([4, 6, 10], None, [1, 2], "whole")) == np.fft.irfft2(x).shape
    assert tuple(sizes.fourier([4, 6, 10], [3, 7], None)) == np.fft.fftn(x, (3, 7), axes=(1, 2)).shape
    assert tuple(sizes.fourier([4, 6, 10], [9], [2], "whole")) == np.fft.irfft(x, 9).shape


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (2, 4, 4)])
def test_singular_values(shape):
    left, values, right = np.linalg.svd(np.zeros(shape), full_matrices=False)
    thin = sizes.svd_factors(list(shape), True)
    assert [tuple(s) for s in thin] == [left.shape, values.shape, right.swapaxes(-1, -2).shape]
    left, _, right = np.linalg.svd(np.zeros(shape))
    full = sizes.svd_factors(list(shape), False)
    assert tuple(full[0]) == left.shape and tuple(full[2]) == right.shape


def test_recurrent_layers():
    output, state = sizes.recurrent([7, 2, 10], [[4, 2, 5]], True)
    assert output == [7, 2, 10] and state == [4, 2, 5]
    assert sizes.recurrent([7, 2, 10], [[2, 2, 5], [2, 2, 6]], False)[0] == [7, 2, 5]


def test_bytes_of_other_types():
    x = tl.zeros(3, 4)
    for dtype in (tl.int32, tl.int8, tl.float64):
        assert sizes.reinterpreted(x, dtype) == [3, 4 * 4 // dtype.itemsize]
    assert sizes.reinterpreted(tl.zeros(3, 2), tl.int16) == list(np.zeros((3, 2), "f4").view("i2").shape)


def test_images():
    assert sizes.upsample([2, 3, 5, 7], [4, 4], None) == [2, 3, 4, 4]
    factors = [2.5, 0.3]
    assert sizes.upsample([2, 3, 5, 7], None, factors) == [2, 3, *map(math.floor, (5 * 2.5, 7 * 0.3))]
