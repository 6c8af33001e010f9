"""Sizes as symbols of compiled functions: which are, for which calls a graph holds, and that it is right there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sizes import same

import tl_core as tl
import tl_nn
from tl_compiler import compiler
from tl_compiler.compat import dynamo
from tl_compiler.compiler import dynamo_config as config
from tl_compiler.compiler import warn_once as warnings_once
from tl_compiler.fx.experimental.proxy_tensor import make_fx
from tl_compiler.fx.experimental.symbolic_shapes import (
    ConstraintViolationError,
    DimDynamic,
    ShapeEnv,
    StatelessSymbolicContext,
)
from tl_core.subclasses import FakeTensorMode


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(warnings_once, "_texts", set())
    compiler.reset()


class Backend:
    """Keeps the graphs and examples that it gets."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.examples: list[Any] = []

    def __call__(self, graph: Any, examples: Any) -> Any:
        self.graphs.append(graph)
        self.examples.append(examples)
        return graph.forward


def compiled(function: Callable[..., Any], **options: Any) -> tuple[Callable[..., Any], Backend]:
    backend = Backend()
    return compiler.compile(function, backend=backend, **options), backend


def rows(n: int, columns: int = 4) -> Any:
    return tl.linspace(-1, 1, n * columns).reshape(n, columns)


def double(x: Any) -> Any:
    return 2 * x


def mean(x: Any) -> Any:
    return x.view(x.shape[0] * 2, -1).sum(1) / x.shape[0], x.shape[0] + 1


# ---- dynamic=
@pytest.mark.parametrize(
    ("dynamic", "graphs"),
    [
        (None, [1, 2, 2, 2, 3, 3]),  # numbers; the size that changes; that graph again; one for a row alone
        (True, [1, 1, 1, 1, 2, 2]),
        (False, [1, 2, 3, 4, 5, 5]),
    ],
)
def test_graphs_by_sizes(dynamic, graphs):
    f, backend = compiled(mean, dynamic=dynamic)
    result = []
    for n in (4, 6, 8, 9, 1, 4):
        actual = f(rows(n, 10))
        same(actual, mean(rows(n, 10)), f"of {n} rows")
        assert type(actual[1]) is int
        result.append(len(backend.graphs))
    assert result == graphs


def test_equal_sizes_share_a_symbol_where_all_are_symbols():
    f, backend = compiled(lambda x, y: x + y, dynamic=True)
    for n in (3, 4):
        f(tl.ones(n), tl.ones(n))
    assert len(backend.graphs) == 1
    f(tl.ones(5), tl.ones(1))
    assert len(backend.graphs) == 2


def test_numbers_among_the_arguments():
    f, backend = compiled(lambda x, n: x[:n] * n)
    for n in (2, 3, 4, 5):
        assert f(tl.ones(8), n).tolist() == [n] * n
    assert len(backend.graphs) == 2
    assert backend.examples[1][0] == 3 and backend.examples[1][1].shape == (8,)
    assert f(tl.ones(8), 1).tolist() == [1] and len(backend.graphs) == 2


def test_a_number_that_decides_makes_a_graph_each():
    f, backend = compiled(lambda x, n: sum(x * i for i in range(n)), dynamic=True)
    assert [f(tl.ones(1), n).item() for n in (3, 4, 3)] == [3, 6, 3]
    assert len(backend.graphs) == 2


def test_guards_choose_the_graph():
    def program(x):
        return x + 1 if x.shape[0] > 5 else x - 1

    f, backend = compiled(program, dynamic=True)
    assert [f(tl.zeros(n))[0].item() for n in (3, 4, 6, 7, 5, 8)] == [-1, -1, 1, 1, -1, 1]
    assert len(backend.graphs) == 2


def test_strides_are_guarded():
    f, backend = compiled(lambda x: x.contiguous().view(-1) * 2, dynamic=True)
    for x in (rows(3), rows(5), rows(4, 6).T, rows(3, 7).T):
        assert tl.equal(f(x), x.reshape(-1) * 2)
    assert len(backend.graphs) == 2


def test_parameters_and_what_a_module_holds_have_numbers():
    model = tl_nn.Sequential(tl_nn.Linear(4, 3), tl_nn.BatchNorm1d(3)).eval()
    f, backend = compiled(model, dynamic=True)
    for n in (2, 5, 7):
        assert tl.allclose(f(rows(n)), model(rows(n)))
    assert len(backend.graphs) == 1


def test_gradients_flow_through_graphs_of_symbols():
    f, backend = compiled(lambda x: (x * x.shape[0]).sum(), dynamic=True)
    for n in (3, 5):
        x = tl.ones(n, requires_grad=True)
        f(x).backward()
        assert x.grad.tolist() == [n] * n
    assert len(backend.graphs) == 1


def test_sizes_that_only_data_decide_break():
    f, backend = compiled(lambda x: x[x > 0] + 1, dynamic=True)
    assert f(tl.tensor([1.0, -1.0])).tolist() == [2.0] and not backend.graphs


def test_settings_of_sizes():
    with config.patch(automatic_dynamic_shapes=False):
        f, backend = compiled(mean)
        for n in (4, 5, 6):
            f(rows(n))
        assert len(backend.graphs) == 3
    with config.patch(assume_static_by_default=False):
        f, backend = compiled(mean)
        for n in (4, 5, 6):
            f(rows(n, 10))
        assert len(backend.graphs) == 1


# ---- marks
def marked(x: Any, dim: int = 0, **said: Any) -> Any:
    dynamo.mark_dynamic(x, dim, **said)
    return x


def test_a_marked_size_is_a_symbol_at_once():
    f, backend = compiled(mean)
    for x in (marked(rows(4)), rows(6), marked(rows(8))):
        same(f(x), mean(x), "marked")
    assert len(backend.graphs) == 1
    f, backend = compiled(mean)
    f(rows(4)), f(marked(rows(4)))
    assert len(backend.graphs) == 2, "a graph of numbers doesn't do for a marked tensor"


def test_dynamic_sizes_that_the_program_fixes():
    f, _ = compiled(lambda x: x.view(5) + 1)
    with pytest.raises(ConstraintViolationError, match=r"\.size\(\)\[0\] as dynamic but .* a constant \(5\)"):
        f(marked(tl.ones(5)))
    f, _ = compiled(lambda x: x + 1 if x.shape[0] < 9 else x)
    with pytest.raises(ConstraintViolationError, match=r"needs 2 <= .* <= 8"):
        f(marked(tl.ones(5)))
    assert f(marked(tl.ones(5), min=2, max=8)).tolist() == [2] * 5
    with pytest.raises(ConstraintViolationError, match="outside of the range"):
        compiled(double)[0](marked(tl.ones(5), min=6))
    x = tl.ones(5)
    dynamo.maybe_mark_dynamic(x, 0)
    assert compiler.compile(lambda x: x.view(5) + 1, backend="eager")(x).tolist() == [2] * 5


def test_a_static_size_is_a_number():
    f, backend = compiled(lambda x: x + 1, dynamic=True)
    for n in (3, 4):
        x = tl.ones(n)
        dynamo.mark_static(x, 0)
        f(x)
    assert len(backend.graphs) == 2


# ---- every size of a range
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "view": lambda x: x.view(-1, 2),
    "columns": lambda x: x.T.reshape(2, -1),
    "first": lambda x: x[:3] + x[:3].shape[0],
    "last": lambda x: x[-3:].sum(0) / x.shape[0],
    "half": lambda x: x[: x.shape[0] // 2],
    "branch": lambda x: x * 2 if x.shape[0] > 6 else x * 3,
    "even": lambda x: x * 2 if x.shape[0] % 2 == 0 else x * 3,
    "pairs": lambda x: (x[:, None] - x).pow(2).sum(-1),
    "mask": lambda x: tl.ones(x.shape[0], x.shape[0]).tril() @ x,
    "positions": lambda x: x + tl.arange(x.shape[0])[:, None],
    "cat": lambda x: tl.cat([x, x[:1]]).sum(1),
    "chunks": lambda x: x.chunk(2)[0] * 2,
    "pad": lambda x: tl_nn.functional.pad(x, (0, 0, 0, 8 - x.shape[0] % 8)).view(-1, 8, 4),
    "mean": lambda x: x.mean(0) * x.shape[0],
    "softmax": lambda x: x.softmax(0),
    "interpolate": lambda x: tl_nn.functional.interpolate(x.T[None], scale_factor=2.0),
    "conv": lambda x: tl_nn.functional.conv1d(x.T[None], tl.ones(3, 4, 2)),
    "unfold": lambda x: x.unfold(0, 2, 1).sum(-1),
    "solve": lambda x: tl.linalg.solve(tl.eye(x.shape[0]) * 2, x),
    "attention": lambda x: tl_nn.functional.scaled_dot_product_attention(x[None], x[None], x[None]),
}
RANGES = ((2, 64), (3, 9), (4, 5), (6, 6))


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_size_of_a_marked_range(name, low, high):
    f, backend = compiled(PROGRAMS[name])
    example = (low + high) // 2 if high < 60 else 8
    refused = False
    for n in (example, low, high, *range(low, min(high, 12))):
        x = marked(rows(n), min=low, max=high)
        try:
            actual = f(x)
        except ConstraintViolationError:
            refused = True
            actual = f(rows(n))
        same(actual, PROGRAMS[name](rows(n)), f"{name} at {n} of [{low}, {high}]")
    assert refused or len(backend.graphs) <= 2  # those of another way through the program


@pytest.mark.parametrize("name", PROGRAMS)
def test_guards_of_an_environment(name):
    """Where the guards of a trace hold for other sizes, its graph computes what the function does."""
    env = ShapeEnv()
    mode = FakeTensorMode(shape_env=env, allow_non_fake_inputs=True)
    context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC, DimDynamic.STATIC])
    fake = mode.from_tensor(rows(8), symbolic_context=context)
    graph = make_fx(PROGRAMS[name], tracing_mode="symbolic", pre_dispatch=True)(fake)
    value = 0
    for n in (2, 3, 5, 6, 7, 8, 9, 12, 16, 31, 64):
        if env.evaluate_guards_for_args([fake], [rows(n)]):
            same(graph(rows(n)), PROGRAMS[name](rows(n)), f"{name} at {n}")
            value += 1
    assert value >= 2
