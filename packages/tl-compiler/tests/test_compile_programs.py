"""A compiled function computes what it computes eagerly, whatever changes between its calls."""

import contextlib
import io

import compile_programs
import pytest

import tl_core as tl
from tl_compiler import compiler
from tl_core import pytree


@pytest.fixture(autouse=True)
def fresh():
    compiler.reset()


def copy_of(value):
    return value.detach().clone() if isinstance(value, tl.Tensor) else value


def run(program, wrap):
    """All that a program yields, and what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        values = [pytree.tree_map(copy_of, value) for value in program(wrap)]
    return values, printed.getvalue()


def assert_same(a, b):
    a, spec_a = pytree.tree_flatten(a)
    b, spec_b = pytree.tree_flatten(b)
    assert spec_a == spec_b
    for x, y in zip(a, b, strict=True):
        if isinstance(x, tl.Tensor):
            assert (x.dtype, x.shape, x.stride()) == (y.dtype, y.shape, y.stride())
            assert tl.equal(x, y), (x, y)
        else:
            assert x == y and type(x) is type(y)


@pytest.mark.filterwarnings("ignore:recompile_limit")
@pytest.mark.parametrize("name", compile_programs.PROGRAMS)
def test_programs(name):
    program, graphs = compile_programs.PROGRAMS[name]
    arguments = []

    def backend(graph, examples):
        arguments.append(graph)
        return graph.forward

    expected = run(program, lambda f: f)
    result = run(program, lambda f: compiler.compile(f, backend=backend))
    assert_same(expected[0], result[0])
    assert expected[1] == result[1]
    if graphs is not None:
        assert len(arguments) == graphs
