"""Sources written for the headers of PyTorch's stable interface, compiled against tl."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import tl_core as tl
from tl_core.extensions import cpp_extension
from tl_core.schemas.tags import Tag

SOURCE = Path(__file__).parent / "extensions" / "stable_source" / "stable_source.cpp"


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("pybind11", reason="the headers of pybind11 are not installed")
    if shutil.which(cpp_extension.get_cxx_compiler()) is None:
        pytest.skip("there is no compiler")
    cpp_extension.load(
        "tl_stable_source",
        str(SOURCE),
        extra_cflags=["-O0"],
        build_directory=str(tmp_path_factory.mktemp("stable")),
        is_python_module=False,
    )
    return tl.ops.tl_stable_source


@pytest.mark.parametrize("dtype", [tl.float64, tl.float32, tl.float16, tl.int32])
def test_kernels_with_types(space: Any, dtype: tl.dtype) -> None:
    x = tl.arange(12, dtype=dtype).reshape(4, 3).t()
    assert space.clip(x, 5.0).tolist() == [[0, 3, 5, 5], [1, 4, 5, 5], [2, 5, 5, 5]]
    assert space.clip(x, 5.0).dtype is dtype
    assert space.clip.default.tags == [Tag.pt2_compliant_tag]
    with pytest.raises(RuntimeError, match="clip: x must have 2 dimensions, got 1"):
        space.clip(x[0], 5.0)
    with pytest.raises(NotImplementedError, match="\"clip\" not implemented for 'Long'"):
        space.clip(x.long(), 5.0)


def test_values(space: Any) -> None:
    x = tl.arange(6.0).reshape(2, 3)
    turned, total, strides = space.describe(x, tl.ones(5), None, "four")
    assert turned.tolist() == x.t().tolist() and total == -1 + 5 + 4 and strides == [3, 1]
    assert space.describe(x, None, 7, "")[1] == 7
    y = tl.ones(3)
    before = y._version
    assert space.doubled_(y) is y and y.tolist() == [2, 2, 2] and y._version > before
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        space.doubled_(y.double())
    assert space.total(tl.arange(4, dtype=tl.float64)) == 6.0
    assert space.borrowed().tolist() == [2, 3, 4]


def test_operators(space: Any) -> None:
    x = tl.tensor([[1.0, 4.0], [3.0, 2.0]])
    # Sums of columns less twice their maxima, times a matrix of 2.5, between a padding that is not copied.
    products = ((1 + 3) - 2 * 3) * 2.5 + ((4 + 2) - 2 * 4) * 2.5
    result = space.composed(x, [2, 3])
    assert result.dtype is tl.float64 and result.tolist() == [0, *[products] * 3, 0]


def test_kernels_on_words(space: Any) -> None:
    x = tl.tensor([1.0, 2.0])
    scaled, count = space.scaled(x, 3.0, [2, 1], tl.float64)
    assert scaled.tolist() == [[3], [6]] and scaled.dtype is tl.float64 and count == 2
    scaled, count = space.scaled(x, None, [2], tl.float64)
    assert scaled.tolist() == [10, 20] and count is None


def test_calls_by_name(space: Any) -> None:
    x = tl.tensor([2.0, 3.0])
    assert space.by_name(x, 3.0).tolist() == [8, 27]


def test_no_accelerator(space: Any) -> None:
    with pytest.raises(RuntimeError, match="getCurrentDeviceIndex: there is no accelerator"):
        space.current_device()
