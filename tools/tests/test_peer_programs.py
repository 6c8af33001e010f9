"""Drawn programs: the seed decides them, the worker runs them, and the comparison tells what differs."""

import pytest

np = pytest.importorskip("numpy", reason="results are compared as arrays of numpy")

import tl_autograd  # noqa: E402, F401 - gradients of the program
import tl_core as tl  # noqa: E402
from tools.peer_programs.__main__ import difference  # noqa: E402
from tools.peer_programs.drawing import draw_program  # noqa: E402
from tools.peer_programs.worker import run  # noqa: E402


def test_seeds_decide_the_program() -> None:
    assert draw_program("1 2") == draw_program("1 2") != draw_program("1 3")


def test_a_program_runs() -> None:
    statements = [
        "0 0: m.tensor([1.0, 2.0], dtype=m.float64).requires_grad_()",
        "0 0: x * 3",
        "1 0: x.mul_(y)",
        "0 0: without gradients x + 1",
        "0 0: x.view(3)",
    ]
    *facts, numbers, gradients = run(tl, statements)
    assert [kind for kind, *_ in facts] == ["returns"] * 4 + ["raises"]
    assert facts[2][1] == ((2,), (1,), 0, True, False, "float64")
    assert facts[3][1][3] is False
    assert [array.tolist() for array in numbers[1][1:4]] == [[3, 12], [3, 12], [2, 3]]
    # Twice x itself and twice 3x^2, with weights cos(0) and cos(1).
    assert gradients[1][0] == pytest.approx([14, 26 * np.cos(1)])


def test_differences() -> None:
    one, other = np.array([1.0]), np.array([2.0])
    returns, raises = ("returns", ((1,),)), ("raises", "RuntimeError", "")
    assert difference([returns, ("numbers", [one])], [returns, ("numbers", [one])]) is None
    assert difference([returns, ("numbers", [one])], [returns, ("numbers", [other])]) == ("other numbers", 1)
    assert difference([raises, ("numbers", [one])], [returns, ("numbers", [one])]) == ("accepted", 0)
    assert difference([returns, raises], [returns, ("gradients", [one])]) == ("differentiated", 1)
    assert difference([returns, ("gradients", [None])], [returns, ("gradients", [one])]) == (
        "other gradients",
        1,
    )
