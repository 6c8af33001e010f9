"""Distributed tensors: every layout to every other, operators on pieces, gradients, modules."""

import itertools

import pytest

import tl_core as tl
from tl_core.testing import assert_close
from tl_distributed.groups.device_mesh import DeviceMesh, init_device_mesh
from tl_distributed.nn import functional_collectives as funcol
from tl_distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
    full,
    ones,
    randn,
    zeros,
)
from tl_distributed.tensor.layout import compute_local_shape_and_global_offset

PLACEMENTS = (Shard(0), Shard(1), Replicate())


def grid(*shape):
    size = 1
    for n in shape:
        size *= n
    return tl.arange(size, dtype=tl.float32).reshape(shape)


@pytest.mark.parametrize("shape", [(8, 4), (5, 3), (2, 1)])
def test_each_layout_to_each_other_on_one_dimension(ranks, shape):
    def body(rank):
        mesh = init_device_mesh("cpu", (3,))
        for before, after in itertools.product(PLACEMENTS, repeat=2):
            x = distribute_tensor(grid(*shape), mesh, [before]).redistribute(placements=[after])
            assert x.placements == (after,) and x.shape == shape
            size, offset = compute_local_shape_and_global_offset(shape, mesh, [after])
            expected = grid(*shape)[offset[0] : offset[0] + size[0], offset[1] : offset[1] + size[1]]
            assert x.to_local().tolist() == expected.tolist(), (before, after)
            assert x.full_tensor().tolist() == grid(*shape).tolist()

    ranks(3, body)


def test_each_layout_to_each_other_on_two_dimensions(ranks):
    def body(rank):
        mesh = init_device_mesh("cpu", (2, 2))
        for before in itertools.product(PLACEMENTS, repeat=2):
            for after in itertools.product(PLACEMENTS, repeat=2):
                x = distribute_tensor(grid(7, 6), mesh, before).redistribute(placements=after)
                size, offset = compute_local_shape_and_global_offset((7, 6), mesh, after)
                expected = grid(7, 6)[offset[0] : offset[0] + size[0], offset[1] : offset[1] + size[1]]
                assert x.to_local().tolist() == expected.tolist(), (before, after)
                assert x.full_tensor().tolist() == grid(7, 6).tolist()

    ranks(4, body)


@pytest.mark.parametrize(
    "kind, expected", [("sum", 6.0), ("avg", 2.0), ("max", 3.0), ("min", 1.0), ("product", 6.0)]
)
def test_terms_are_reduced(ranks, kind, expected):
    def body(rank):
        mesh = init_device_mesh("cpu", (3,))
        terms = DTensor.from_local(tl.full((4, 2), rank + 1.0), mesh, [Partial(kind)])
        assert terms.full_tensor().tolist() == tl.full((4, 2), expected).tolist()
        piece = terms.redistribute(placements=[Shard(0)])
        assert piece.to_local().tolist() == [[expected] * 2] * [2, 2, 0][rank]

    ranks(3, body)


OPERATORS = {
    "add": lambda x, y, w: x + y,
    "scale": lambda x, y, w: x * 2 - 1,
    "relu": lambda x, y, w: tl.relu(x - 5),
    "matmul": lambda x, y, w: x @ w,
    "transpose": lambda x, y, w: (x.t() + 1).t(),
    "sum": lambda x, y, w: x.sum(),
    "sum of rows": lambda x, y, w: x.sum(1, keepdim=True),
    "mean": lambda x, y, w: x.mean(0),
    "largest": lambda x, y, w: x.amax(1),
    "softmax": lambda x, y, w: tl.softmax(x, 1),
    "view": lambda x, y, w: x.reshape(3, 8),
    "cat": lambda x, y, w: tl.cat([x, y], 1),
    "sort": lambda x, y, w: x.sort(dim=1, descending=True).values,
    "permuted": lambda x, y, w: x.unsqueeze(0).permute(2, 0, 1),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_on_pieces_is_that_on_the_whole(ranks, name):
    f = OPERATORS[name]
    x, y, w = grid(6, 4), grid(6, 4) / 2, grid(4, 5) / 10
    expected = f(x, y, w)

    def body(rank):
        mesh = init_device_mesh("cpu", (2,))
        for a, b, c in itertools.product(PLACEMENTS, repeat=3):
            placed = [distribute_tensor(t, mesh, [p]) for t, p in ((x, a), (y, b), (w, c))]
            result = f(*placed)
            assert isinstance(result, DTensor) and result.shape == expected.shape
            assert_close(result.full_tensor(), expected)

    ranks(2, body)


def test_products_of_pieces_need_no_communication(ranks, monkeypatch):
    from tl_distributed.tensor import redistribute

    moved = []
    for name in ("all_gather", "all_reduce", "all_to_all", "reduce_scatter"):
        monkeypatch.setattr(redistribute.collectives, name, lambda *a, name=name, **k: moved.append(name))

    def body(rank):
        mesh = init_device_mesh("cpu", (2,))
        first = DTensor.from_local(tl.ones(3, 4), mesh, [Shard(1)])
        second = DTensor.from_local(tl.ones(4, 5), mesh, [Shard(0)])
        assert (first @ second).placements == (Partial("sum"),)
        rows = DTensor.from_local(tl.ones(3, 4), mesh, [Shard(0)])
        assert (rows @ DTensor.from_local(tl.ones(4, 5), mesh)).placements == (Shard(0),)

    ranks(2, body)
    assert moved == []


def test_gradients_of_pieces_are_pieces_of_the_gradient(ranks):
    x, w = grid(6, 4).requires_grad_(), (grid(4, 5) / 10).requires_grad_()
    ((x @ w).relu() ** 2).sum().backward()

    def body(rank):
        mesh = init_device_mesh("cpu", (2,))
        for a, b in itertools.product(PLACEMENTS, repeat=2):
            px = distribute_tensor(x.detach().clone().requires_grad_(), mesh, [a])
            pw = distribute_tensor(w.detach().clone().requires_grad_(), mesh, [b])
            ((px @ pw).relu() ** 2).sum().full_tensor().backward()
            assert_close(px.grad.full_tensor(), x.grad)
            assert_close(pw.grad.full_tensor(), w.grad)

    ranks(2, body)


def test_gradients_through_local_tensors(ranks):
    def body(rank):
        mesh = init_device_mesh("cpu", (2,))
        local = tl.ones(2, 3, requires_grad=True)
        x = DTensor.from_local(local, mesh, [Shard(0)])
        (x * 3).redistribute(placements=[Replicate()]).to_local().sum().backward()
        assert local.grad.tolist() == [[3.0] * 3] * 2
        y = distribute_tensor(tl.ones(4, 3, requires_grad=True), mesh, [Shard(0)])
        (y.to_local() * (rank + 1)).sum().backward()
        assert y.grad.placements == (Shard(0),)
        assert y.grad.full_tensor().tolist() == [[1.0] * 3] * 2 + [[2.0] * 3] * 2

    ranks(2, body)


def test_what_is_written_keeps_its_layout(ranks):
    def body(rank):
        mesh = init_device_mesh("cpu", (2,))
        x = zeros(4, 2, device_mesh=mesh, placements=[Shard(0)])
        x.add_(ones(4, 2, device_mesh=mesh)).mul_(3)
        assert x.placements == (Shard(0),) and x.to_local().tolist() == [[3.0, 3.0]] * 2
        terms = DTensor.from_local(tl.ones(2), mesh, [Partial()])
        with pytest.raises(NotImplementedError, match=r"writes to a DTensor that is Partial\(sum\)"):
            terms.exp_()

    ranks(2, body)


def test_factories_and_random_numbers_are_one_process_s(ranks):
    def body(rank):
        mesh = init_device_mesh("cpu", (2,))
        tl.manual_seed(rank)
        x = randn(4, 3, device_mesh=mesh, placements=[Shard(0)])
        dropped = tl.dropout(full([100], 1.0, device_mesh=mesh), 0.5, True)
        return x.full_tensor().tolist(), dropped.full_tensor().tolist()

    first, second = ranks(2, body)
    assert first == second and 0 < first[1].count(0.0) < 100


def test_modules(ranks):
    nn = pytest.importorskip("tl_nn")
    tl.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
    x = grid(3, 4)
    expected = model(x)
    state = {name: value.detach().clone() for name, value in model.state_dict().items()}

    def partition(name, module, mesh):
        for key, parameter in list(module.named_parameters(recurse=False)):
            placement = Shard(0) if name == "0" else Shard(1) if key == "weight" else Replicate()
            placed = distribute_tensor(parameter.detach(), mesh, [placement])
            module.register_parameter(key, nn.Parameter(placed))

    def body(rank):
        mesh = init_device_mesh("cpu", (2,))
        own = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
        own.load_state_dict(state)
        distribute_module(own, mesh, partition, lambda m, i, mesh: DTensor.from_local(i[0], mesh))
        out = own(x)
        assert_close(out.full_tensor(), expected.detach())
        out.full_tensor().sum().backward()
        assert own[0].weight.grad.placements == (Shard(0),)
        with pytest.raises(RuntimeError, match="only be called once"):
            distribute_module(own, mesh)

    ranks(2, body)


@pytest.mark.parametrize(
    "name", ["SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "Adadelta", "NAdam", "Adamax"]
)
@pytest.mark.parametrize("options", [{}, {"foreach": True}, {"foreach": False}])
def test_optimizers_step_on_pieces(ranks, name, options):
    """Parameters, gradients and states in pieces, gradients also in another layout: the step of one process."""
    optim = pytest.importorskip("tl_nn.optim")
    nn = pytest.importorskip("tl_nn")
    shapes, kind = ((5, 3), (3,)), getattr(optim, name)
    momentum = {"momentum": 0.9} if name == "SGD" else {}

    def steps(parameters, lay):
        optimizer = kind(parameters, lr=0.1, **momentum, **options)
        for number in range(3):
            for parameter in parameters:
                parameter.grad = lay((grid(*parameter.shape) - number) / 8)
            optimizer.step()
        return optimizer

    plain = [nn.Parameter(grid(*shape)) for shape in shapes]
    steps(plain, lambda gradient: gradient)

    def body(rank):
        mesh = init_device_mesh("cpu", (2,))
        pieces = [nn.Parameter(distribute_tensor(grid(*shape), mesh, [Shard(0)])) for shape in shapes]
        optimizer = steps(pieces, lambda gradient: distribute_tensor(gradient, mesh))
        for piece, expected in zip(pieces, plain, strict=True):
            assert piece.placements == (Shard(0),)
            assert_close(piece.full_tensor(), expected, rtol=1e-6, atol=1e-6)
            for key, value in optimizer.state[piece].items():
                if isinstance(value, tl.Tensor) and value.dim():
                    assert isinstance(value, DTensor)
                    assert value.placements == (Shard(0),) or key == "momentum_buffer"  # the first gradient

    ranks(2, body)


def test_wrong_uses(ranks):
    def body(rank):
        mesh = init_device_mesh("cpu", (2,))
        x = distribute_tensor(grid(4, 2), mesh, [Shard(0)])
        with pytest.raises(RuntimeError, match=r"got mixed torch\.Tensor and DTensor"):
            x + tl.ones(4, 2)
        with pytest.raises(ValueError, match=r"same length as `device_mesh\.ndim`"):
            distribute_tensor(grid(4, 2), mesh, [Shard(0), Shard(1)])
        with pytest.raises(IndexError, match="2 dimensions"):
            distribute_tensor(grid(4, 2), mesh, [Shard(2)])
        with pytest.raises(RuntimeError, match="expected a Shard, Replicate or Partial"):
            distribute_tensor(grid(4, 2), mesh, ["rows"])
        with pytest.raises(RuntimeError, match="non-leaf"):
            distribute_tensor(grid(4, 2).requires_grad_() * 2, mesh, [Shard(0)])
        with pytest.raises(RuntimeError, match="redistributing to Partial"):
            x.redistribute(placements=[Partial()])
        with pytest.raises(RuntimeError, match="both shape and stride"):
            DTensor.from_local(tl.ones(2), mesh, [Shard(0)], shape=(4,))
        with pytest.raises(ValueError, match="to a different placements"):
            distribute_tensor(x, mesh, [Replicate()])

    ranks(2, body)


def test_functional_collectives(ranks):
    def body(rank):
        mesh = init_device_mesh("cpu", (2,))
        own = tl.full((2, 2), rank + 1.0)
        assert funcol.all_reduce(own, "sum", mesh).tolist() == [[3.0, 3.0]] * 2
        assert own.tolist() == [[rank + 1.0] * 2] * 2
        name = mesh.get_group().group_name
        assert funcol.all_reduce(own, "sum", name).tolist() == [[3.0, 3.0]] * 2
        assert funcol.broadcast(own, 1, (mesh, 0)).tolist() == [[2.0, 2.0]] * 2
        assert funcol.all_gather_tensor(own, 1, None).tolist() == [[1.0, 1.0, 2.0, 2.0]] * 2
        assert funcol.reduce_scatter_tensor(own, "sum", 0, mesh).tolist() == [[3.0, 3.0]]
        data = tl.arange(3.0) + 10 * rank
        actual = funcol.all_to_all_single(data, [[1, 1], [2, 2]][rank], [1, 2], mesh)
        assert actual.tolist() == [[0.0, 10.0], [1.0, 2.0, 11.0, 12.0]][rank]
        assert funcol.permute_tensor(own, [1, 0], mesh).tolist() == [[2.0 - rank] * 2] * 2
        leaf = tl.full((2,), rank + 1.0, requires_grad=True)
        (funcol.all_gather_tensor_autograd(leaf, 0, mesh) * tl.arange(4.0)).sum().backward()
        assert leaf.grad.tolist() == [[0.0, 2.0], [4.0, 6.0]][rank]
        with pytest.raises(ValueError, match="expected one of sum"):
            funcol.all_reduce(own, "median", mesh)
        with pytest.raises(AssertionError, match="multiple of group_size 2"):
            funcol.reduce_scatter_tensor(tl.ones(3), "sum", 0, mesh)

    ranks(2, body)


def test_types_and_gradients_of_moves(ranks):
    def body(rank):
        mesh = init_device_mesh("cpu", (2,))
        local = tl.full((2, 2), rank + 1.0, requires_grad=True)
        x = DTensor.from_local(local, mesh, [Partial()], grad_placements=[Replicate()])
        y = x.redistribute(placements=[Shard(0)], forward_dtype=tl.bfloat16, backward_dtype=tl.float64)
        assert y.dtype == tl.bfloat16 and y.to_local().tolist() == [[3, 3]]
        (y * 2).sum().full_tensor().backward()
        assert local.grad.dtype == tl.float32 and local.grad.tolist() == [[2, 2], [2, 2]]

    ranks(2, body)


def test_a_distributed_module_takes_another_type(ranks):
    nn = pytest.importorskip("tl_nn")

    def body(rank):
        mesh = init_device_mesh("cpu", (2,))
        model = distribute_module(nn.Linear(4, 4), mesh).to(tl.bfloat16)
        assert model.weight.dtype == model.weight.to_local().dtype == tl.bfloat16
        x = distribute_tensor(grid(4, 2), mesh, [Shard(0)])
        y = x.bfloat16().type_as(x)
        assert y.placements == (Shard(0),) and y.full_tensor().tolist() == grid(4, 2).tolist()

    ranks(2, body)


def test_a_module_without_data_is_distributed(ranks):
    nn = pytest.importorskip("tl_nn")

    def partition(name, module, mesh):
        for key, parameter in list(module.named_parameters(recurse=False)):
            part = distribute_tensor(parameter, mesh, [Shard(0)])
            module.register_parameter(key, nn.Parameter(tl.empty_like(part, device="cpu")))

    def body(rank):
        mesh = init_device_mesh("cpu", (2,))
        model = distribute_module(nn.Linear(3, 4, device="meta"), mesh, partition)
        assert [each.device.type for each in model.parameters()] == ["cpu", "cpu"]
        assert model.weight.placements == (Shard(0),) and model.weight.to_local().shape == (2, 3)

    ranks(2, body)


def test_functions_without_a_module_warn(ranks):
    nn = pytest.importorskip("tl_nn")

    def body(rank):
        mesh = init_device_mesh("cpu", (1,))
        functions = (
            lambda inputs, mesh: DTensor.from_local(inputs[0], mesh, [Shard(0)]),
            lambda outputs, mesh: outputs.to_local(),
        )
        with pytest.warns(FutureWarning, match=r"input_fn|output_fn"):
            model = distribute_module(nn.Linear(2, 2), mesh, None, *functions)
        result = model(grid(3, 2))
        assert type(result) is tl.Tensor and result.shape == (3, 2)
        with pytest.raises(
            ValueError, match=r"input_fn takes 1 arguments, expected module, inputs, device_mesh"
        ):
            distribute_module(nn.Linear(2, 2), mesh, None, lambda inputs: inputs)

    ranks(1, body)


def test_a_rank_outside_of_a_mesh_holds_nothing(ranks):
    def body(rank):
        mesh = DeviceMesh("cpu", [0, 2])
        x, y = (
            zeros(4, 2, device_mesh=mesh, placements=[Shard(0)]),
            distribute_tensor(grid(4, 2), mesh, [Shard(0)]),
        )
        assert x.shape == y.shape == (4, 2)
        rows = [2 * rank, 2 * rank + 1, 2 * rank + 2, 2 * rank + 3]
        expected = [] if rank == 1 else [rows[:2], rows[2:]]
        assert y.to_local().tolist() == expected
        assert x.to_local().shape == ((0,) if rank == 1 else (2, 2))

    ranks(3, body)


def test_a_tensor_is_on_another_mesh(ranks):
    def body(rank):
        x = distribute_tensor(grid(4, 2), init_device_mesh("cpu", (2,)), [Shard(0)])
        with pytest.raises(ValueError, match="to a different device mesh"):
            distribute_tensor(x, init_device_mesh("cpu", (2, 1)), [Shard(0), Replicate()])

    ranks(2, body)


def test_counts_have_the_names_of_both_namespaces():
    import tl_distributed.collectives.functional_operators  # noqa: F401 - registers the operators

    assert tl.ops.c10d_functional.all_reduce is tl.ops._c10d_functional.all_reduce
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tl.ops.c10d_functional.nothing


def test_one_hot_codes(ranks):
    functional = pytest.importorskip("tl_nn.functional", reason="one_hot is tl-nn's")

    def body(rank):
        classes = distribute_tensor(
            tl.tensor([[0, 2, 1], [3, 1, 1]]), init_device_mesh("cpu", (2,)), [Shard(0)]
        )
        codes = functional.one_hot(classes, 4)
        assert codes.dtype == tl.int64
        assert codes.full_tensor().argmax(-1).tolist() == [[0, 2, 1], [3, 1, 1]]
        assert codes.full_tensor().sum(-1).tolist() == [[1, 1, 1], [1, 1, 1]]

    ranks(2, body)
