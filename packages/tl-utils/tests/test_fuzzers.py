"""Random inputs for benchmarks."""

from __future__ import annotations

import importlib

import pytest

import tl_core

numpy = pytest.importorskip("numpy")

from tl_utils.benchmark import (  # noqa: E402 - after the skip
    BinaryOpFuzzer,
    BinaryOpSparseFuzzer,
    FuzzedParameter,
    FuzzedTensor,
    Fuzzer,
    ParameterAlias,
    SpectralOpFuzzer,
    UnaryOpFuzzer,
    UnaryOpSparseFuzzer,
)


def test_distributions_stay_within_bounds():
    state = numpy.random.RandomState(0)
    log = [FuzzedParameter("n", 4, 64, "loguniform").sample(state) for _ in range(300)]
    even = [FuzzedParameter("n", 4, 64, "uniform").sample(state) for _ in range(300)]
    real = [FuzzedParameter("n", 0.0, 1.0, "uniform").sample(state) for _ in range(10)]
    choice = [FuzzedParameter("n", distribution={"a": 0.9, "b": 0.1}).sample(state) for _ in range(300)]
    assert all(4 <= n <= 64 and isinstance(n, int) for n in log + even)
    assert sum(n <= 16 for n in log) > 1.5 * sum(n <= 16 for n in even)
    assert all(0 <= x <= 1 for x in real)
    assert 240 < choice.count("a") < 298


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"distribution": "normal"}, "'uniform', 'loguniform'"),
        ({"distribution": "uniform", "minval": 1}, "minval and maxval"),
        ({"distribution": "loguniform", "minval": 0, "maxval": 1}, "can't draw"),
        ({"distribution": {1: 0.5}}, "add up to 1"),
        ({"distribution": {1: 1.5, 2: -0.5}}, "negative"),
        ({"distribution": {1: 1.0}, "minval": 1}, "takes no minval"),
    ],
)
def test_wrong_parameters(arguments, message):
    with pytest.raises(ValueError, match=message):
        FuzzedParameter("n", **arguments)


def test_the_same_seed_gives_the_same():
    def drawn():
        return [(t["x"], t["y"], p) for t, _, p in BinaryOpFuzzer(seed=3).take(2)]

    for (x, y, p), (x2, y2, p2) in zip(drawn(), drawn(), strict=True):
        assert p == p2
        assert tl_core.equal(x, x2)
        assert tl_core.equal(y, y2)
        assert x.stride() == x2.stride()


def test_sizes_are_the_parameters_whatever_the_layout():
    fuzzer = Fuzzer(
        [FuzzedParameter(n, 2, 9, "uniform") for n in "abc"] + [FuzzedParameter("s", distribution={2: 1.0})],
        [FuzzedTensor("x", ("a", "b", "c"), ("s", 1, 1), probability_contiguous=0.0)],
        seed=1,
    )
    for tensors, properties, p in fuzzer.take(20):
        assert tensors["x"].shape == (p["a"], p["b"], p["c"])
        assert properties["x"]["steps"] == (2, 1, 1)
        assert properties["x"]["order"] != [0, 1, 2]
        assert properties["x"]["numel"] == tensors["x"].numel()


def test_aliases_constraints_and_names():
    n = FuzzedParameter("n", 1, 8, "uniform")
    alias = FuzzedParameter("m", distribution={ParameterAlias("n"): 1.0})
    fuzzer = Fuzzer([n, alias], [], [lambda n, m: n > 4], seed=0)
    assert all(p["n"] == p["m"] > 4 for _, _, p in fuzzer.take(20))
    assert 0.1 < fuzzer.rejection_rate < 0.9
    with pytest.raises(ValueError, match="1000 sets"):
        next(Fuzzer([n], [], [lambda n: False]).take(1))
    with pytest.raises(ValueError, match="more than once"):
        Fuzzer([n, n], [])
    with pytest.raises(ValueError, match="circle"):
        next(Fuzzer([FuzzedParameter("m", distribution={ParameterAlias("m"): 1.0})], []).take(1))


def test_fuzzers_of_operators():
    for tensors, properties, p in UnaryOpFuzzer(seed=0).take(4):
        assert tensors["x"].dim() == p["dim"]
        assert tensors["x"].numel() >= 4096
        assert properties["x"]["is_contiguous"] == tensors["x"].is_contiguous()
    for tensors, _, _ in SpectralOpFuzzer(seed=0).take(4):
        assert tensors["x"].dtype == tl_core.float64
        for n in tensors["x"].shape:
            for factor in (2, 3, 5):
                while n % factor == 0:
                    n //= factor
            assert n == 1


@pytest.mark.parametrize("fuzzer", [UnaryOpSparseFuzzer, BinaryOpSparseFuzzer])
def test_sparse_fuzzers(fuzzer):
    kinds = set()
    for tensors, properties, p in fuzzer(seed=0, dtype=tl_core.float64).take(6):
        x, facts = tensors["x"], properties["x"]
        assert x.sparse_dim() == min(p["sparse_dim"], p["dim"])
        assert x.is_coalesced() == facts["is_coalesced"] == p["coalesced"]
        assert facts["density"] + facts["sparsity"] == pytest.approx(1)
        assert x.coalesce().indices().shape[1] <= x._nnz()
        kinds.add(p["coalesced"])
    assert kinds == {True, False}


@pytest.mark.parametrize(("name", "said"), [("fuzzer", "ns an element"), ("op_benchmark", "maximum")])
def test_the_example_programs_run(name, said, capsys):
    program = importlib.import_module(f"tl_utils.benchmark.examples.{name}")
    program.main(1)
    assert said in capsys.readouterr().out
