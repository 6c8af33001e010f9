import tl_core as tl
import tl_quantization as tq
from tl_core.testing import assert_close
from tl_quantization import functions


def test_facts_as_functions():
    x = tq.quantize_per_tensor(tl.tensor([0.5, 1.0]), 0.5, 2, tq.qint8)
    assert functions.q_scale(x) == 0.5
    assert functions.q_zero_point(x) == 2
    assert functions.int_repr(x).tolist() == [3, 4]
    y = tq.quantize_per_channel(tl.ones(2, 2), tl.tensor([1.0, 0.5]), tl.tensor([0, 1]), 0, tq.qint8)
    assert functions.q_per_channel_axis(y) == 0
    assert functions.q_per_channel_scales(y).tolist() == [1.0, 0.5]
    assert functions.q_per_channel_zero_points(y).tolist() == [0, 1]


def test_largest_elements_of_boxes():
    x = tq.quantize_per_tensor(tl.arange(64.0).view(1, 1, 4, 4, 4), 0.5, 0, tq.qint32)
    result = functions.quantized_max_pool3d(x, [2, 2, 2])
    assert_close(result.dequantize(), tl.max_pool3d(x.dequantize(), [2, 2, 2]))
