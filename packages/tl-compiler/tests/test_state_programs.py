"""Random programs that change state between calls compute the same when their function is compiled."""

import warnings

import pytest
import state_programs

from tl_compiler import compiler


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("seed", range(0, 120, 10))
def test_random_programs(seed, backend):
    count = 10 if backend == "eager" else 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for each in range(seed, seed + count):
            assert state_programs.difference(each, backend) is None


@pytest.mark.parametrize("seed", range(3000, 3020))
def test_random_programs_with_symbolic_sizes(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert state_programs.difference(seed, dynamic=True) is None


def test_the_comparison_can_fail():
    """A backend that computes something else is noticed."""

    def wrong(graph, examples):
        return lambda *inputs: tuple(out + 1 for out in graph(*inputs))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert any(state_programs.difference(seed, wrong) is not None for seed in range(10))
    compiler.reset()
