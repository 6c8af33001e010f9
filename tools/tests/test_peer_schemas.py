"""The comparison of drawn calls: what it draws is decided by the seed, and what it compares differs where it should."""

from types import SimpleNamespace

import pytest

np = pytest.importorskip("numpy", reason="results are compared as arrays of numpy")

from tools.peer_schemas.comparison import difference  # noqa: E402
from tools.peer_schemas.drawing import Argument, Call, DrawnTensor, draw_call, tensors_of  # noqa: E402
from tools.peer_schemas.transforms import TRANSFORMS  # noqa: E402

ADD = [
    Argument("self", "Tensor", False, False),
    Argument("other", "Tensor", False, False),
    Argument("alpha", "number", True, True),
]


def _result(array: np.ndarray) -> tuple[str, list]:
    return "returns", [(str(array.dtype), array)]


def test_seeds_decide_the_draw() -> None:
    first, second = (draw_call("add", ADD, "7 add 3") for _ in range(2))
    assert first == second
    assert any(draw_call("add", ADD, f"7 add {number}") != first for number in range(4, 9))


def test_calls_without_special_numbers_are_finite() -> None:
    for number in range(200):
        call = draw_call("add", ADD, f"1 add {number}", special=False)
        for tensor in tensors_of(call.args):
            assert np.isfinite(np.array(tensor.elements, dtype=complex)).all()


@pytest.mark.parametrize(
    ("own", "text"),
    [
        (np.array([1.0, 2.5]), "elements"),
        (np.array([[1.0, 2.0]]), "shape"),
        (np.array([1.0, 2.0], dtype=np.float32), "dtype"),
    ],
)
def test_other_results_are_differences(own: np.ndarray, text: str) -> None:
    call = Call([DrawnTensor((2,), "float64", [1.0, 2.0], "contiguous")], {})
    expected = _result(np.array([1.0, 2.0]))
    assert difference(call, expected, expected) is None
    verdict = difference(call, expected, _result(own))
    assert verdict is not None and verdict[0] == "other result" and verdict[1].startswith(text)


def test_exceptions_are_compared_by_type() -> None:
    call = Call([], {})
    peer = ("raises", (["RuntimeError", "Exception"], "text"))
    assert difference(call, peer, ("raises", (["RuntimeError", "Exception"], "another text"))) is None
    verdict = difference(call, peer, ("raises", (["TypeError", "Exception"], "text")))
    assert verdict is not None and verdict[0] == "other exception"
    accepted = difference(call, peer, _result(np.array([1.0])))
    assert accepted is not None and accepted[0] == "accepted"


def test_writes_double_the_gradients() -> None:
    core = pytest.importorskip("tl_core", reason="the call runs on tl")
    autograd = pytest.importorskip("tl_autograd", reason="gradients are recorded by it")
    names = ("Tensor", "tensor", "float64")
    library = SimpleNamespace(autograd=autograd, **{name: getattr(core, name) for name in names})
    x = library.tensor([1.0, 2.0, 3.0])
    (gradient,) = TRANSFORMS["writes"](library, lambda tensor: tensor * 3, [x], {})
    weights = [np.cos(1.3 * i + 0.3) for i in range(3)]
    assert np.allclose(gradient.tolist(), 6 * np.array(weights))
