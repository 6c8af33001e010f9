"""Functions that write operators as ONNX: kept by name and operator set, arguments converted."""

import pytest

from tl_backends.compat import onnx
from tl_backends.compat.onnx import symbolic_registry
from tl_backends.compat.onnx.symbolic_helper import parse_args


def test_the_latest_set_that_is_no_later_than_asked():
    first, second = (lambda g, x: (g, x)), (lambda g, x: x)
    onnx.register_custom_op_symbolic("mine::op", first, 9)
    onnx.register_custom_op_symbolic("mine::op", second, 13)
    assert symbolic_registry.find_symbolic("mine::op", 12) is first
    assert symbolic_registry.find_symbolic("mine::op") is second
    onnx.unregister_custom_op_symbolic("mine::op", 13)
    assert symbolic_registry.find_symbolic("mine::op") is first
    onnx.unregister_custom_op_symbolic("mine::op", 9)
    assert symbolic_registry.find_symbolic("mine::op") is None


@pytest.mark.parametrize("name", ["op", "mine::", "::op"])
def test_a_name_has_a_namespace(name):
    with pytest.raises(ValueError, match="domain::name"):
        onnx.register_custom_op_symbolic(name, print, 9)


def test_arguments_are_converted():
    @parse_args("v", "i", "fs", "none")
    def symbolic(g, x, n, scales, unused=None):
        return x, n, scales, unused

    assert symbolic(None, "x", 2.0, [1, 2], 5) == ("x", 2, [1.0, 2.0], None)
    assert symbolic(None, "x", n=3.0, scales=(4,)) == ("x", 3, [4.0], None)
    assert symbolic(None, "x", None, None) == ("x", None, None, None)
    with pytest.raises(AssertionError, match="A mismatch between the number of arguments"):
        symbolic(None, 1, 2, [], None, 5)
    with pytest.raises(ValueError, match="unknown descriptors"):
        parse_args("q")


def test_what_is_not_written_says_so():
    from tl_backends.compat.onnx import symbolic_opset11

    with pytest.raises(AttributeError, match="not written yet"):
        symbolic_opset11.squeeze  # noqa: B018
