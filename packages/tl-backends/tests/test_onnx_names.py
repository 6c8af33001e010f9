"""Orders of paddings."""

import pytest

from tl_backends.compat.onnx.symbolic_opset9 import _prepare_onnx_paddings


def test_paddings_in_the_order_of_onnx():
    assert _prepare_onnx_paddings(2, [1, 2]) == [0, 1, 0, 2]
    assert _prepare_onnx_paddings(2, [1, 2, 3, 4]) == [3, 1, 4, 2]
    for wrong in ([1], [1, 2, 3, 4, 5, 6]):
        with pytest.raises(ValueError, match="pairs of paddings"):
            _prepare_onnx_paddings(2, wrong)
