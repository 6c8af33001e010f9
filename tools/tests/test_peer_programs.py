"""Drawn programs: the seed decides them, the worker runs them, and the comparison tells what differs."""

import pytest

np = pytest.importorskip("numpy", reason="results are compared as arrays of numpy")

# After the skip without numpy.
import tl  # noqa: E402
from tools.peer_programs.__main__ import difference  # noqa: E402
from tools.peer_programs.drawing import draw_program  # noqa: E402
from tools.peer_programs.loops import draw_loop  # noqa: E402
from tools.peer_programs.trainer import run as train  # noqa: E402
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


def test_a_training_loop_runs() -> None:
    statements = [
        "model = filled(nn.Linear(6, 4))",
        "optimizer = optim.SGD(model.parameters(), lr=0.1)",
        "scheduler = StepLR(optimizer, 1, 0.5)",
        "loss = lambda z, y: z.sum()",
        "step(0, clip='norm', parts=1, scaled=False, to_none=True)",
        "reload(model, optimizer)",
        "step(1, clip='', parts=1, scaled=True, to_none=False)",
    ]
    outcome = train(tl, statements)
    kinds = [kind for kind, *_ in outcome]
    assert kinds == ["returns"] * 4 + ["numbers", "returns", "numbers", "numbers"]
    (first,), (second,) = outcome[4][1], outcome[6][1]
    # The gradient of a bias is the number of rows, and the clipped norm is 0.5.
    assert first[2] == 0.05 and second[1] == 0.025
    bias = [0.4 * np.sin(1.7 * i * 2 + 1) for i in range(4)]
    norm = first[1]
    assert outcome[7][1][1] == pytest.approx(np.array(bias) - 0.1 * 5 * 0.5 / norm - 0.05 * 5)


def test_what_follows_an_error_is_the_error() -> None:
    outcome = train(tl, ["model = nn.Nothing()", "optimizer = None"])
    assert [entry[:2] for entry in outcome] == [("raises", "AttributeError")] * 3


def test_seeds_decide_the_loop() -> None:
    assert draw_loop("1 2") == draw_loop("1 2") != draw_loop("1 3")
