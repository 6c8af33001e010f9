"""The parts of distributed tensors: rules as texts, steps between layouts, operators without rules."""

from __future__ import annotations

import pytest

import tl_core as tl
import tl_distributed as dist
import tl_nn as nn
from tl_core.library import Library
from tl_distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from tl_distributed.tensor.api import _shard_tensor
from tl_distributed.tensor.dispatch import _is_data_dependent, plan_of
from tl_distributed.tensor.dtensor_spec import DTensorSpec, TensorMeta
from tl_distributed.tensor.layout import cut_order, whole_stride
from tl_distributed.tensor.operator_call import Operand, Strategy, operator_named
from tl_distributed.tensor.parallel.style import ParallelStyle
from tl_distributed.tensor.placement_types import _StridedShard
from tl_distributed.tensor.random_operators import share_generator
from tl_distributed.tensor.redistribute import Step, chain_of
from tl_distributed.tensor.replication import (
    gathers,
    is_implicit,
    missing_rule_error,
    mixture_error,
    warn_of_gathering,
)
from tl_distributed.tensor.shard_language import Pattern, Rule, Subscript, dimension_keys, parse
from tl_distributed.tensor.strategies import has_rule, is_random, rule_of

ATEN = tl.ops.aten

# ---- texts


def test_a_text_is_a_rule():
    rule = parse("ik, kj -> ij; terms: self | mat2")
    assert rule == Rule(
        patterns=(Pattern((Subscript(("i", "k")), Subscript(("k", "j"))), (Subscript(("i", "j")),)),),
        terms=(frozenset({"self"}), frozenset({"mat2"})),
    )
    named = parse("reduction dim; reduce: sum")
    assert (named.base, named.words, named.reduce, named.patterns) == ("reduction", ("dim",), "sum", ())
    assert len(parse("i -> i / ij -> ij").patterns) == 2
    with pytest.raises(ValueError, match="other: x"):
        parse("i -> i; other: x")


def test_conditions_of_a_pattern():
    pattern = Pattern((), (), (("keepdim", "True"), ("dim", "0")))
    assert pattern.holds({"keepdim": True, "dim": 0, "more": 1})
    assert not pattern.holds({"keepdim": False, "dim": 0}) and Pattern((), ()).holds({})


@pytest.mark.parametrize(
    ("tokens", "ndim", "keys"),
    [
        (("i", "_"), 2, ["i", None]),
        (("i",), 2, None),
        (("...", "k"), 3, [-2, -1, "k"]),
        (("i", "*", "k"), 4, ["i", None, None, "k"]),
        (("...", "k"), 0, None),
        (("i", "{dim}"), 3, ["i", None, None]),
    ],
)
def test_the_dimensions_of_an_operand(tokens, ndim, keys):
    assert dimension_keys(Subscript(tokens), ndim, {"dim": [0, 1]}) == keys


def test_operands_that_stay_whole_or_are_summands():
    assert dimension_keys(Subscript(("i",), is_whole=True), 3, {}) == [None] * 3
    assert dimension_keys(Subscript(("i", "j"), is_summand=True), 1, {}) == ["j"]


# ---- operators


def test_operators_by_name():
    assert operator_named("add.Tensor") is ATEN.add.Tensor and operator_named("relu") is ATEN.relu.default
    operand, strategy = Operand("self", tl.ones(1)), Strategy((Shard(0),), (Shard(0),))
    assert (operand.name, strategy.local, strategy.is_exclusive) == ("self", None, False)


def test_operators_with_rules():
    assert rule_of(ATEN.mm.default).patterns and has_rule(ATEN.mm.default)
    assert rule_of(ATEN.add.Scalar).base == "elementwise"
    assert is_random(ATEN.bernoulli_.float) and not is_random(ATEN.mm.default)
    library = Library("placement_parts", "DEF")
    library.define("odd(Tensor x) -> Tensor")
    odd = tl.ops.placement_parts.odd.default
    assert rule_of(odd) is None and not has_rule(odd) and not is_random(odd)


def test_operators_without_rules(world, monkeypatch):
    from tl_distributed.tensor.experimental import implicit_replication

    mesh = dist.init_device_mesh("cpu", (1,))
    x = distribute_tensor(tl.ones(4), mesh, [Shard(0)])
    error = missing_rule_error("aten.odd", [x._spec])
    assert isinstance(error, NotImplementedError) and "aten.odd does not have a sharding strategy" in str(
        error
    )
    assert "Shard(dim=0)" in str(error) and "register_sharding(aten.odd)" in str(error)
    mixed = mixture_error("aten.add", tl.ones(2, 3), x)
    assert isinstance(mixed, RuntimeError) and "size (2, 3) stands beside a DTensor of size (4,)" in str(
        mixed
    )
    with pytest.warns(UserWarning, match="gathers its operands on all ranks"):
        warn_of_gathering("aten.odd")
    assert not gathers() and not is_implicit()
    with implicit_replication():
        assert gathers() and is_implicit()
    monkeypatch.setenv("TL_DTENSOR_GATHER", "1")
    assert gathers() and not is_implicit()


def test_the_plan_of_a_call(world):
    mesh = dist.init_device_mesh("cpu", (1,))
    x, y = (distribute_tensor(tl.ones(4, 4), mesh, [p]) for p in (Shard(0), Replicate()))
    plan = plan_of(ATEN.mm.default, (x, y), {}, [x, y], mesh)
    (result,) = plan.results if isinstance(plan.results, tuple | list) else (plan.results,)
    assert result.placements == (Shard(0),) and tuple(result.shape) == (4, 4)


# ---- layouts


class Mesh:
    """Sizes of a mesh without processes, and the chains that were searched."""

    def __init__(self, *sizes):
        self.sizes, self.ndim, self._chains = sizes, len(sizes), {}

    def size(self, dim):
        return self.sizes[dim]

    def get_coordinate(self):
        return [0] * self.ndim

    def __hash__(self):
        return hash(self.sizes)

    def __eq__(self, other):
        return isinstance(other, Mesh) and self.sizes == other.sizes


def test_the_order_of_cuts():
    assert cut_order(Mesh(2, 2), (Shard(0), Shard(0))) == [0, 1]
    assert cut_order(Mesh(2, 2), (Replicate(), Shard(1))) == [1]
    assert cut_order(Mesh(2, 2), (_StridedShard(0, split_factor=2), Shard(0))) == [1, 0]


def steps(current, target, *sizes, shape=(8, 8)):
    meta = TensorMeta(tl.Size(shape), whole_stride(shape), tl.float32)
    chain = chain_of(DTensorSpec(Mesh(*sizes), current, meta), target)
    assert all(isinstance(step, Step) for step in chain)
    return [(step.mesh_dim, step.new) for step in chain]


def test_steps_between_layouts():
    assert steps((Shard(0),), (Shard(0),), 2) == []
    assert steps((Shard(0),), (Replicate(),), 2) == [(0, Replicate())]
    assert steps((Partial(),), (Shard(1),), 2) == [(0, Shard(1))]
    # the second cut of a dimension is undone before the first one
    assert steps((Shard(0), Shard(0)), (Replicate(), Replicate()), 2, 2) == [
        (1, Replicate()),
        (0, Replicate()),
    ]
    assert steps((Replicate(), Replicate()), (Shard(0), Shard(0)), 2, 2) == [(0, Shard(0)), (1, Shard(0))]


def test_generators_of_ranks(ranks):
    def body(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        generator = tl.Generator().manual_seed(rank)
        share_generator(mesh, generator)
        return tl.rand(3, generator=generator).tolist()

    first, second = ranks(2, body)
    assert first == second == tl.rand(3, generator=tl.Generator().manual_seed(0)).tolist()


def test_styles_of_one_s_own(world):
    class Whole(ParallelStyle):
        def _apply(self, module, device_mesh):
            module.mesh = device_mesh
            return module

    from tl_distributed.tensor.parallel import parallelize_module

    mesh = dist.init_device_mesh("cpu", (1,))
    model = nn.Sequential(nn.Linear(2, 2))
    parallelize_module(model, mesh, {"0": Whole()})
    assert model[0].mesh is mesh and Whole().src_data_rank == 0
    with pytest.raises(TypeError, match="abstract"):
        ParallelStyle()
    assert not isinstance(model[0].weight, DTensor)


def test_operators_whose_sizes_or_numbers_elements_decide():
    operators = (ATEN.nonzero.default, ATEN.masked_select.default, ATEN.mm.default, ATEN.add.Tensor)
    assert [_is_data_dependent(func) for func in operators] == [True, True, False, False]


def test_plain_scores_in_a_parallel_loss(world):
    from tl_distributed.tensor.parallel import loss_parallel

    scores, labels = tl.tensor([[1.0, 2.0, 3.0]], requires_grad=True), tl.tensor([2])
    expected = nn.functional.cross_entropy(scores, labels)
    with loss_parallel():
        loss = nn.functional.cross_entropy(scores, labels)
        mesh = dist.init_device_mesh("cpu", (1,))
        whole_scores = distribute_tensor(scores.detach(), mesh, [Replicate()])
        other = nn.functional.cross_entropy(whole_scores, distribute_tensor(labels, mesh, [Replicate()]))
    assert float(loss.detach()) == float(expected.detach()) == pytest.approx(float(other.full_tensor()))


def test_placements_as_texts():
    placements = (
        Replicate(),
        Shard(1),
        Shard(-2),
        Partial(),
        Partial("max"),
        _StridedShard(1, split_factor=2),
    )
    assert [str(p) for p in placements] == ["R", "S(1)", "S(-2)", "P(sum)", "P(max)", "_S(1, 2)"]
    assert [repr(p) for p in placements[-3:]] == [
        "Partial(sum)",
        "Partial(max)",
        "_StridedShard(dim=1, sf=2)",
    ]


# Rank by rank, the elements 0 to n - 1 that PyTorch 2.13 gives each of c ranks for a factor.
STRIDED = {
    (8, 2, 2): [[0, 1, 4, 5], [2, 3, 6, 7]],
    (8, 3, 2): [[0, 1, 3, 4, 6], [2, 5, 7]],
    (7, 2, 3): [[0, 1, 4], [2, 3, 5], [6]],
    (5, 2, 2): [[0, 1, 3], [2, 4]],
    (5, 3, 3): [[0, 2, 4], [1, 3], []],
    (3, 2, 3): [[0, 2], [1], []],
    (2, 3, 2): [[0, 1], []],
}


@pytest.mark.parametrize(("length", "factor", "count"), STRIDED)
def test_a_piece_of_each_of_several_pieces(ranks, length, factor, count):
    """The runs, and the moves from and to them."""
    cut = _StridedShard(0, split_factor=factor)
    parts = STRIDED[length, factor, count]
    full = tl.arange(float(length))
    for rank, part in enumerate(parts):
        assert [o + i for size, o in cut.runs(length, count, rank) for i in range(size)] == part
        assert cut.piece(full, count, rank).tolist() == part and cut.piece_size(length, count, rank) == len(
            part
        )
    assert cut.join([tl.tensor(part, dtype=tl.float32) for part in parts], length).tolist() == full.tolist()

    def body(rank):
        mesh = dist.init_device_mesh("cpu", (count,))
        rows = full.reshape(-1, 1) + tl.zeros(1, 3)
        x = distribute_tensor(rows, mesh, [cut])
        assert x.to_local()[:, 0].tolist() == parts[rank]
        for other in (Replicate(), Shard(0), Shard(1), _StridedShard(1, split_factor=2)):
            there = x.redistribute(placements=[other])
            assert there.full_tensor().tolist() == rows.tolist(), other
            assert there.redistribute(placements=[cut]).to_local()[:, 0].tolist() == parts[rank], other
        terms = DTensor.from_local(rows, mesh, [Partial()])
        assert terms.redistribute(placements=[cut]).to_local()[:, 0].tolist() == [
            count * n for n in parts[rank]
        ]
        assert (x * 2 + x).full_tensor().tolist() == (3 * rows).tolist()

    ranks(count, body)


@pytest.mark.parametrize("rows", [0, 1, 5, 8])
def test_all_pieces_of_a_tensor(rows):
    """As `chunk` cuts it; the filled pieces have zeros at their ends."""
    tensor = tl.arange(2.0 * rows).view(2, rows).t()
    pieces, counts = Shard(0)._split_tensor(tensor, 4, with_padding=False)
    chunk = -(-rows // 4)
    expected = [list(range(rows))[chunk * rank : chunk * (rank + 1)] for rank in range(4)]
    assert counts == [] and [piece[:, 0].tolist() for piece in pieces] == expected
    assert all(piece.is_contiguous() for piece in pieces)
    filled, counts = Shard(0)._split_tensor(tensor, 4)
    assert counts == [chunk - len(part) for part in expected]
    assert [piece[:, 0].tolist() for piece in filled] == [
        part + [0] * (chunk - len(part)) for part in expected
    ]


def test_a_distributed_tensor_of_own_parts(ranks):
    """Without communication: each rank takes its part of what it has."""

    def body(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        result = _shard_tensor(tl.arange(4.0) + 10 * rank, [Shard(0)], mesh)
        assert result.shape == (4,) and result.to_local().tolist() == [12 * rank, 12 * rank + 1]

    ranks(2, body)
