"""Exporting: programs agree with their modules, sizes stay symbols, files are read and refused."""

import copy
import dataclasses
import io
import os
import re
import stat
import threading
import zipfile

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import fx
from tl_compiler.export import (
    Dim,
    default_decompositions,
    dims,
    export,
    load,
    register_dataclass,
    save,
    unflatten,
)
from tl_compiler.export.dynamic_shapes import refine_dynamic_shapes_from_suggested_fixes
from tl_compiler.export.pass_base import ExportPassBase
from tl_compiler.higher_order.cond import cond
from tl_compiler.symbolic.errors import UserError
from tl_core.dispatch.modes import is_exporting
from tl_core.functions.checks import state, state_size
from tl_core.library import Library
from tl_core.operators.packets import aten
from tl_core.subclasses import config
from tl_core.symbolic.numbers import SymInt


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.norm, self.b = nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 3)
        self.constant = tl.ones(3)

    def forward(self, x, *, flag=True):
        y = tl.relu(self.norm(self.a(x)))
        z = self.b(y) + self.constant
        return {"twice": tl.cat([z, z]).reshape(x.shape[0] * 2, -1), "more": [tl.zeros(x.shape[0]), 3]}


def exported(net):
    batch = Dim("batch", min=2, max=64)
    return export(net, (tl.randn(5, 4),), {"flag": False}, dynamic_shapes={"x": {0: batch}, "flag": None})


@pytest.mark.parametrize("size", [2, 7, 64])
def test_a_dynamic_batch_agrees_with_the_module(size):
    net = Net().eval()
    program = exported(net)
    x = tl.randn(size, 4)
    for module in (program.module(), through_a_file(program).module()):
        result, expected = module(x, flag=False), net(x, flag=False)
        assert tl.equal(result["twice"], expected["twice"])
        assert tuple(result["more"][0].shape) == (size,)
        assert result["more"][1] == 3


def through_a_file(program):
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    return load(file)


def test_training_writes_buffers_as_the_module_does():
    net = Net()
    program, twin = exported(net), copy.deepcopy(net)
    x = tl.randn(6, 4)
    module = program.module()
    module(x, flag=False)
    twin(x, flag=False)
    assert tl.equal(module.norm.running_mean, twin.norm.running_mean)
    assert module.norm.num_batches_tracked == 1


def test_operators_are_whole_and_sizes_are_symbols():
    program = exported(Net().eval())
    names = [str(n.target) for n in program.graph.nodes if n.op == "call_function"]
    assert "aten.linear.default" in names
    assert "aten.batch_norm.default" in names
    shapes = {n.name: n.meta["val"].shape for n in program.graph.nodes if hasattr(n.meta.get("val"), "shape")}
    assert str(shapes["reshape"]) == "torch.Size([2*s0, 3])"
    assert {str(k): str(v) for k, v in program.range_constraints.items()} == {"s0": "VR[2, 64]"}


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((65, 4), "to be <= 64, but got 65"),
        ((5, 3), "to be equal to 4, but got 3"),
        ((5, 4, 1), "number of dimensions"),
    ],
)
def test_inputs_are_checked(shape, said):
    module = exported(Net()).module()
    with pytest.raises(RuntimeError, match=said):
        module(tl.randn(*shape), flag=False)
    with pytest.raises(RuntimeError, match="to be equal to False, but got True"):
        module(tl.randn(5, 4), flag=True)


class Sliced(nn.Module):
    def forward(self, x, y):
        if x.shape[0] <= 5:
            x = x + 1
        return x + y[1:]


def test_what_was_promised_too_much_is_named_with_fixes():
    x, y = dims("dx", "dy")
    with pytest.raises(UserError) as error:
        export(Sliced(), (tl.ones(4), tl.ones(5)), dynamic_shapes=({0: x}, {0: y}))
    text = str(error.value)
    assert "Constraints violated (dx, dy)!" in text
    assert "  dx = Dim('dx', max=5)\n  dy = dx + 1" in text
    x = Dim("dx", max=5)
    program = export(Sliced(), (tl.ones(4), tl.ones(5)), dynamic_shapes=({0: x}, {0: x + 1}))
    assert tl.equal(program.module()(tl.ones(3), tl.ones(4)), tl.full((3,), 3.0))


def test_a_branch_on_a_value_names_the_line_and_cond():
    class Branch(nn.Module):
        def forward(self, x):
            if x.sum() > 0:
                return x
            return -x

    with pytest.raises(UserError, match=r"if x\.sum\(\) > 0:(.|\n)*torch\.cond"):
        export(Branch(), (tl.ones(3),))


def test_damaged_files_are_refused_or_hold_the_program():
    file, x = io.BytesIO(), tl.randn(3, 4)
    program = exported(Net().eval())
    save(program, file)
    data = bytearray(file.getvalue())
    expected = program.module()(x, flag=False)["twice"]
    offsets, refusals = range(0, len(data), 499), 0
    for at in offsets:
        broken = bytearray(data)
        broken[at] ^= 0x5A
        try:
            result = load(io.BytesIO(broken)).module()(x, flag=False)["twice"]
        except RuntimeError as error:
            assert re.search("record|pt2 file|constant", str(error))
            refusals += 1
        else:
            assert tl.equal(result, expected)
    assert refusals > 0.8 * len(offsets)
    with pytest.raises(RuntimeError, match="pt2 file"):
        load(io.BytesIO(b"nothing"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("torch.ops.aten.relu.default", "os.system"),
        ("torch.ops.aten.relu.default", "torch.ops.aten.relu.__class__"),
        ("torch.ops.aten.relu.default", "builtins.eval"),
        ('"name": "relu"', '"name": "x); import os #"'),
        ("a.weight", 'a.weight\\")+exec(\\"'),
        ("Symbol('s0'", "__import__('os'"),
    ],
)
def test_names_in_files_are_data(old, new):
    with pytest.raises(RuntimeError):
        load(_forged(old, new))


def _forged(old, new):
    file = io.BytesIO()
    save(exported(Net()), file)
    forged = io.BytesIO()
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(forged, "w") as target:
        for info in source.infolist():
            content = source.read(info)
            if info.filename.endswith("model.json"):
                assert old.encode() in content
                content = content.replace(old.encode(), new.encode())
            target.writestr(info.filename, content)
    forged.seek(0)
    return forged


def test_a_program_is_verified_once_however_often_its_file_says_so():
    many = load(
        _forged('"verifiers": ["TRAINING"]', '"verifiers": [' + ", ".join(['"TRAINING"'] * 1000) + "]")
    )
    assert len(many.verifiers) == 1
    with pytest.raises(RuntimeError, match="verifiers is a list of texts"):
        load(_forged('"verifiers": ["TRAINING"]', '"verifiers": "TRAINING"'))


class Writes(nn.Module):
    def __init__(self):
        super().__init__()
        self.seq = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Flatten())
        self.out = nn.Linear(144, 5)
        self.twice = nn.Linear(5, 5)
        self.register_buffer("count", tl.zeros(5))

    def forward(self, x):
        y = self.out(self.seq(x))
        self.count.add_(1.0)
        y[:, 0] = 7
        return self.twice(self.twice(y)) + self.count


@pytest.mark.parametrize("table", [None, {}], ids=["core", "none"])
def test_decomposed_programs_return_what_they_write(table):
    net, x = Writes(), tl.randn(2, 3, 8, 8)
    program = export(net, (x,), dynamic_shapes=({0: Dim("batch", max=9)},)).run_decompositions(table)
    assert set(program.graph_signature.buffers_to_mutate.values()) == {
        *("count", "seq.1.running_mean", "seq.1.running_var", "seq.1.num_batches_tracked"),
    }
    twin, module = copy.deepcopy(net), copy.deepcopy(program.module())
    assert tl.allclose(module(x), twin(x))
    assert tl.equal(module.count, twin.count)
    assert tl.allclose(module.seq.get_submodule("1").running_mean, twin.seq[1].running_mean)
    assert not any(
        str(n.target).split(".")[1].endswith("_")
        for n in program.graph.nodes
        if n.op == "call_function" and "." in str(n.target)
    )


def test_unflattened_programs_have_the_modules():
    net, x = Writes().eval(), tl.randn(2, 3, 8, 8)
    result = unflatten(export(net, (x,)))
    assert [n for n, _ in result.named_children()] == ["seq", "out", "twice"]
    assert set(result.state_dict()) == set(net.state_dict())
    twin = copy.deepcopy(net)
    assert tl.allclose(result(x), twin(x))


def test_dataclasses_are_containers():
    @dataclasses.dataclass
    class Pair:
        x: tl.Tensor
        bias: int

    register_dataclass(Pair, serialized_type_name="tests.Pair")

    class Sum(nn.Module):
        def forward(self, pair):
            return Pair(pair.x + pair.bias, 2)

    program = export(Sum(), (Pair(tl.ones(2), 1),))
    out = through_a_file(program).module()(Pair(tl.zeros(2), 1))
    assert tl.equal(out.x, tl.ones(2))


def test_fixes_are_put_into_what_was_said():
    x, y = dims("dx", "dy")
    texts = {"x": {0: x}, "y": {0: y}}
    with pytest.raises(UserError) as error:
        export(Sliced(), (tl.ones(4), tl.ones(5)), dynamic_shapes=texts)
    better = refine_dynamic_shapes_from_suggested_fixes(str(error.value), texts)
    export(Sliced(), (tl.ones(4), tl.ones(5)), dynamic_shapes=better)
    assert str(better["y"][0]) == "Derived dim: dx + 1"


def test_what_is_said_of_sizes_is_checked():
    net = Net()
    for text, words in (
        ({"y": None}, "top-level keys must be the arg names"),
        (({0: Dim("b")},) * 3, "one entry for each argument"),
        ({"x": {7: Dim("b")}, "flag": None}, "Unexpected dimension 7"),
        ({"x": [None], "flag": None}, "same length"),
        ({"x": {0: "b"}, "flag": None}, "Unexpected dimension mapped to index 0"),
    ):
        with pytest.raises(UserError, match=words):
            export(net, (tl.ones(2, 4),), {"flag": True}, dynamic_shapes=text)


class Counted(nn.Module):
    def forward(self, x):
        count = x.item()
        state_size(count)
        state(count < 10)
        return tl.zeros(count) + 1


def test_numbers_that_data_decide_are_nodes():
    program = export(Counted(), (tl.tensor(3),))
    for module in (program.module(), through_a_file(program).module()):
        assert tl.equal(module(tl.tensor(5)), tl.ones(5))
        with pytest.raises(RuntimeError, match="expression u0 < 10"):
            module(tl.tensor(12))


def test_inputs_whose_names_collide():
    class Collides(nn.Module):
        def __init__(self):
            super().__init__()
            self.param = nn.Parameter(tl.ones(2))

        def forward(self, p_param):
            return p_param + self.param

    assert tl.equal(export(Collides(), (tl.ones(2),)).module()(tl.ones(2)), tl.full((2,), 2.0))


class Linear(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(tl.ones(3, 2))
        self.constant = self.same = tl.ones(3)

    def forward(self, x):
        return nn.functional.linear(x, self.weight) + self.constant


def test_what_is_noted_of_nodes_survives_another_export_and_decompositions():
    program = export(Linear(), (tl.ones(4, 2),))
    assert set(program.constants) == {"constant", "same"}
    graph_module = copy.deepcopy(program.graph_module)
    graph_module.meta["custom"] = {"f": 1}
    for node in graph_module.graph.nodes:
        if node.target is tl.ops.aten.linear.default:
            node.meta["custom"] = "marked"
    again = export(program._update(graph_module, program.graph_signature).module(), (tl.ones(4, 2),))
    assert again.graph_module.meta["custom"] == {"f": 1}
    marked = [n.target for n in again.graph.nodes if "custom" in n.meta]
    assert marked == [tl.ops.aten.linear.default]
    apart = again.run_decompositions()
    marked = [n for n in apart.graph.nodes if "custom" in n.meta]
    assert {n.target for n in marked} == {tl.ops.aten.permute.default, tl.ops.aten.mm.default}
    assert all("in forward" in n.meta["stack_trace"] for n in marked)


def test_a_program_knows_that_it_is_exported():
    class Asks(nn.Module):
        def forward(self, x):
            return x * 2 if is_exporting() else x * 3

    assert Asks()(tl.ones(1)).item() == 3
    assert export(Asks(), (tl.ones(1),)).module()(tl.ones(1)).item() == 2
    assert not is_exporting()


def test_masks_as_indices_and_columns_of_nonzero():
    class Masked(nn.Module):
        def forward(self, x):
            return x[x > 0], x[:, x[0] > 0], x.masked_select(x > 0), x.nonzero(as_tuple=True)

    program = export(Masked(), (tl.randn(4, 3),), dynamic_shapes={"x": {0: Dim("n", max=10)}})
    assert 30 in [r.upper for r in program.range_constraints.values()]
    for rows in (2, 9):
        x = tl.randn(rows, 3)
        for result, expected in zip(program.module()(x), Masked()(x), strict=True):
            assert all(tl.equal(a, b) for a, b in zip(result, expected, strict=True))


def test_too_many_arguments_are_refused():
    module = export(Linear(), (tl.ones(4, 2),)).module()
    with pytest.raises(ValueError, match="Trying to flatten user inputs"):
        module(tl.ones(4, 2), tl.ones(4, 2))


def test_each_call_of_a_module_has_its_signature():
    class Chosen(nn.Module):
        def forward(self, x, up):
            return x + 1 if up else x - 2

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = Chosen()

        def forward(self, x):
            return self.n(self.n(x, True) * 2, False)

    program = export(Outer(), (tl.ones(1),), preserve_module_call_signature=("n",))
    assert [e.fqn for e in program.module_call_graph] == ["", "n", "n@1"]
    module = unflatten(program)
    module.set_submodule("n", Chosen())
    assert module(tl.ones(1)).item() == 2


def test_names_of_inputs_come_first():
    class Collides(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(tl.ones(1))

        def forward(self, p_weight):
            return self.weight + p_weight

    program = export(Collides(), (tl.ones(1),))
    assert [s.arg.name for s in program.graph_signature.input_specs] == ["p_weight_1", "p_weight"]


def test_operators_of_libraries_are_in_the_table():
    lib = Library("of_the_table", "FRAGMENT")  # goes at the end
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x.sin(), "CompositeImplicitAutograd")
    op, table = tl.ops.of_the_table.f.default, default_decompositions()
    assert op in table
    del table[op]
    assert op not in table
    assert op not in table.materialize()


def test_values_that_real_tensors_tell():
    class Branches(nn.Module):
        def forward(self, x):
            return x + 1 if x.sum() > 2 else x - 1

    with config.patch(fake_tensor_propagate_real_tensors=True):
        assert export(Branches(), (tl.ones(3),)).module()(tl.ones(3)).tolist() == [2.0] * 3
        assert export(Branches(), (tl.ones(1),)).module()(tl.ones(1)).tolist() == [0.0]
    with pytest.raises(UserError):
        export(Branches(), (tl.ones(3),))


def test_checks_in_a_branch_belong_to_it():
    class M(nn.Module):
        def forward(self, flag, x, y):
            def limited(x, y):
                n = x.item()
                state(n >= 2)
                return y * n

            return cond(flag, limited, lambda x, y: y.clone(), (x, y))

    program = export(M(), (tl.tensor(True), tl.tensor(3), tl.ones(2)))
    run = program.module()
    assert run(tl.tensor(True), tl.tensor(4), tl.ones(2)).tolist() == [4.0, 4.0]
    assert run(tl.tensor(False), tl.tensor(1), tl.ones(2)).tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="u0 >= 2"):
        run(tl.tensor(True), tl.tensor(1), tl.ones(2))


@pytest.mark.parametrize(
    ("holds", "text"),
    [(lambda n: n >= 2, "u0 >= 2"), (lambda n: n == 3, r"Eq\(u0, 3\)"), (lambda n: n <= 3, "u0 <= 3")],
)
def test_a_branch_checks_numbers_from_around_it_where_it_runs(holds, text):
    class M(nn.Module):
        def forward(self, flag, x, y):
            n = x.item()

            def limited(y):
                state(holds(n))
                return y * n

            return cond(flag, limited, lambda y: y - n, (y,)) + n

    program = export(M(), (tl.tensor(True), tl.tensor(3), tl.ones(2)))
    assert not any("_assert" in str(node.target) for node in program.graph.nodes)
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    for run in (program.module(), load(file).module()):
        assert run(tl.tensor(True), tl.tensor(3), tl.ones(2)).tolist() == [6.0, 6.0]
        for n in (1, 5):
            assert run(tl.tensor(False), tl.tensor(n), tl.ones(2)).tolist() == [1.0, 1.0]
        refused = next(n for n in (1, 5) if not holds(n))
        with pytest.raises(RuntimeError, match=text):
            run(tl.tensor(True), tl.tensor(refused), tl.ones(2))


def test_what_both_sides_of_a_branch_state_is_stated_twice():
    class M(nn.Module):
        def forward(self, flag, x, y):
            n = x.item()

            def limited(y):
                state(n >= 2)
                return y * n

            out = cond(flag, limited, limited, (y,))
            state(n >= 2)
            return out

    run = export(M(), (tl.tensor(True), tl.tensor(3), tl.ones(2))).module()
    checks = [
        sum("_assert" in str(n.target) for n in g.graph.nodes)
        for g in (run, run.true_graph_0, run.false_graph_0)
    ]
    assert checks == [1, 1, 1]


def test_a_graph_with_checks_runs_on_fakes_again():
    class M(nn.Module):
        def forward(self, n, y):
            k = n.item()
            state_size(k)
            state(k < y.size(0))
            return y[:k]

    program = export(M(), (tl.tensor(4), tl.randn(10)))
    fakes = [node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"]
    with fakes[0].fake_mode:
        result = fx.Interpreter(program.module()).run(*fakes)
    assert isinstance(result.shape[0], SymInt)
    with pytest.raises(RuntimeError, match="u0 >= 0"):
        program.module()(tl.tensor(-1), tl.randn(10))


class AsModule(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def test_a_pass_that_rebuilds_keeps_names_and_notes():
    class Cosine(ExportPassBase):
        def call_operator(self, op, args, kwargs, meta):
            if op is not aten.sin.default:
                return super().call_operator(op, args, kwargs, meta)
            assert meta["val"].shape == (2,)
            return super().call_operator(aten.cos.default, args, kwargs, meta)

    program = export(AsModule(lambda x: x.exp().sin() + 1), (tl.zeros(2),))
    result = program._transform_do_not_use(Cosine())
    assert [n.name for n in result.graph.nodes] == ["x", "exp", "cos_default", "add", "output"]
    assert all(n.meta["val"].shape == (2,) for n in result.graph.nodes if n.op == "call_function")
    assert result.module()(tl.zeros(2)).tolist() == (tl.ones(2).cos() + 1).tolist()


def test_a_signature_follows_a_node_that_is_renamed():
    program = export(AsModule(lambda x: x.exp()), (tl.zeros(2),))
    module, signature = program.graph_module, program.graph_signature
    with module._set_replace_hook(signature.get_replace_hook()):
        module.graph.find_nodes(op="call_function", target=aten.exp.default)[0].name = "power"
    assert list(signature.user_outputs) == ["power"]


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda x: tl.tensor(x.shape[0]), lambda n: tl.tensor(n)),
        (lambda x: tl.tensor(x.shape), lambda n: tl.tensor([n, 2])),
        (lambda x: tl.tensor([[x.shape[0], 0.5], [True, 2]]), lambda n: tl.tensor([[n, 0.5], [1.0, 2.0]])),
        (lambda x: tl.tensor([x.shape[0] * 2], dtype=tl.int32), lambda n: tl.tensor([2 * n], dtype=tl.int32)),
        (lambda x: tl.tensor([x.shape[0], tl.ones((), dtype=tl.int64)]), lambda n: tl.tensor([n, 1])),
    ],
)
def test_tensors_of_sizes_stay_dynamic(make, wanted):
    program = export(AsModule(make), (tl.zeros(3, 2),), dynamic_shapes={"x": {0: Dim("rows")}})
    for rows in (3, 7):
        result, expected = program.module()(tl.zeros(rows, 2)), wanted(rows)
        assert result.dtype == expected.dtype and result.tolist() == expected.tolist()


_assert_async = getattr(aten, "_assert_async")  # noqa: B009 - a name that programs call


def test_assertions_of_elements_are_made_when_the_program_runs():
    def f(x):
        _assert_async((x > 0).all(), "not positive")
        _assert_async((x < 9).sum())
        return x + 1

    run = export(AsModule(f), (tl.ones(2),)).module()
    assert run(tl.tensor([1.0, 20.0])).tolist() == [2.0, 21.0]
    for bad in ([-1.0, 2.0], [20.0, 20.0]):
        with pytest.raises(RuntimeError, match="Runtime assertion failed"):
            run(tl.tensor(bad))


def test_a_stated_equality_is_checked():
    def f(x):
        n = x.sum().item()
        state(n == 4)
        state((x > 0).all().item())
        return x * n

    run = export(AsModule(f), (tl.tensor([3, 1]),)).module()
    assert run(tl.tensor([2, 2])).tolist() == [8, 8]
    for bad in ([2, 3], [5, -1]):
        with pytest.raises(RuntimeError, match="Runtime assertion failed"):
            run(tl.tensor(bad))


def test_an_entry_that_a_table_does_not_have():
    table = default_decompositions()
    table.pop(aten.linear.default)
    assert table.pop(aten.linear.default, None) is None
    with pytest.raises(KeyError, match=r"aten\.linear\.default is not in the table"):
        table.pop(aten.linear.default)


def test_a_table_answers_for_operators_that_are_made_of_others():
    table = default_decompositions()
    for packet in (aten.relu6, aten.matmul, aten.layer_norm, aten.mse_loss):
        assert packet.default in table and callable(table[packet.default])
    assert table[aten.relu6.default](tl.tensor([-1.0, 9.0])).tolist() == [0.0, 6.0]
    assert aten.add.Tensor not in table and table.get(aten.add.Tensor) is None
    with pytest.raises(KeyError):
        table[aten.add.Tensor]
    assert callable(table.pop(aten.relu6.default))
    assert aten.relu6.default not in table and table.get(aten.relu6.default, 3) == 3


def test_shapes_of_the_only_argument_that_is_a_dict():
    dim = Dim("rows")
    inputs = ({"k": tl.ones(3, 2)},)
    module = AsModule(lambda x: x["k"] + 1)
    with pytest.raises(UserError, match="forgot to enclose `dynamic_shapes` in a list/tuple"):
        export(module, inputs, dynamic_shapes={"k": {0: dim}})
    assert export(module, inputs, dynamic_shapes=({"k": {0: dim}},)).module()({"k": tl.ones(5, 2)}).shape == (
        5,
        2,
    )


class Twice(nn.Module):
    """Two calls of one module, next to each other, that do different things."""

    def __init__(self):
        super().__init__()
        self.inner = Choice()

    def forward(self, x):
        return self.inner(self.inner(x, True), False)


class Choice(nn.Module):
    def forward(self, x, double):
        return x * 2 if double else x + 1


@pytest.mark.parametrize("kept", [(), ("inner",)])
def test_calls_that_follow_each_other_are_two(kept):
    result = unflatten(export(Twice(), (tl.ones(1),), preserve_module_call_signature=kept))
    assert [name for name, _ in result.named_children()] == ["inner", "inner@1"]
    assert result(tl.tensor([3.0])).tolist() == [7.0]
    if kept:
        result.set_submodule("inner", Choice())
        assert result(tl.tensor([3.0])).tolist() == [7.0]


@pytest.mark.parametrize(
    ("shapes", "text"),
    [
        (({"k": [Dim("n"), None]},), r"dynamic_shapes\[0\]\['k'\]\[0\]"),
        (
            ({"k": ((Dim("n"),), None)},),
            r"`inputs\[0\]\['k'\]` is a <class 'list'>, but .* is a <class 'tuple'>",
        ),
        (
            ({"k": Dim("n")},),
            r"`inputs\[0\]\['k'\]` is a <class 'list'>, but `dynamic_shapes\[0\]\['k'\]` is not",
        ),
        ({"x": {"k": [Dim("n"), None]}}, r"dynamic_shapes\['x'\]\['k'\]\[0\]"),
    ],
)
def test_errors_name_arguments_as_the_user_did(shapes, text):
    class M(nn.Module):
        def forward(self, x):
            return x["k"][0] + x["k"][1]

    with pytest.raises(UserError, match=text):
        export(M(), ({"k": [tl.ones(2), tl.ones(2)]},), dynamic_shapes=shapes)


@pytest.mark.parametrize(
    ("f", "sizes", "wanted"),
    [
        (lambda x, y: x + y, [(6, 4), (6, 4)], ["a b", "a b"]),
        (lambda x, y: x + y, [(6, 6, 5), (6, 6, 5)], ["a b c", "a b c"]),
        (lambda x, y: x @ y, [(3, 6, 4), (3, 4, 5)], ["a b c", "a c d"]),
        (lambda x, y: tl.cat([x, y], 0), [(6, 4, 7), (6, 4, 7)], ["a b c", "d b c"]),
        (lambda x, y: tl.where(x > 0, x, y), [(6, 4), (4,)], ["a b", "b"]),
        (lambda x, y: x + y[4:], [(6, 4), (10, 4)], ["a b", "a+4 b"]),
        (lambda x, y: x + y + tl.ones(4), [(6, 4), (6, 4)], ["a 4", "a 4"]),
    ],
)
def test_sizes_that_are_related_stay_dynamic(f, sizes, wanted):
    """Letters stand for symbols: the same ones for sizes that must be equal, and only for those."""

    class M(nn.Module):
        def forward(self, x, y):
            return f(x, y)

    shapes = tuple(dict.fromkeys(range(len(s)), Dim.AUTO) for s in sizes)
    ep = export(M(), tuple(tl.randn(*s) for s in sizes), dynamic_shapes=shapes)
    inputs = [n.meta["val"] for n in ep.graph.nodes if n.op == "placeholder"]
    letters, matches = {}, []
    for t in inputs:
        words = []
        for size in map(str, t.shape):
            symbol, plus, number = size.partition(" + ")
            letter = symbol if symbol.isdigit() else letters.setdefault(symbol, "abcdef"[len(letters)])
            words.append(letter + plus.strip() + number)
        matches.append(" ".join(words))
    assert matches == wanted


def test_a_size_that_is_divided_is_a_multiple():
    class M(nn.Module):
        def forward(self, x):
            return x.reshape(-1, 3) if x.shape[0] >= 9 else x

    with pytest.raises(UserError) as error:
        export(M(), (tl.ones(15),), dynamic_shapes=({0: Dim("n")},))
    assert "_n = Dim('_n', min=3)\n  n = 3*_n" in str(error.value)
    n = Dim("_n", min=3)
    run = export(M(), (tl.ones(15),), dynamic_shapes=({0: 3 * n},)).module()
    assert run(tl.ones(21)).shape == (7, 3)


def test_related_sizes_are_said_by_the_one_that_is_divided():
    class M(nn.Module):
        def forward(self, x, y):
            if x.shape[0] >= 5 and x.shape[0] <= 36 and y.shape[0] % 3 == 0:
                return x + y[1:]
            return x

    with pytest.raises(UserError) as error:
        export(M(), (tl.ones(11), tl.ones(12)), dynamic_shapes=({0: Dim("dx")}, {0: Dim("dy")}))
    fixes = str(error.value).partition("Suggested fixes:")[2].split("\n")
    assert [f.strip() for f in fixes if f.strip()] == [
        "_dx = Dim('_dx', max=12)",
        "dx = 3*_dx - 1",
        "dy = 3*_dx",
    ]


def test_a_program_is_written_into_a_pipe(tmp_path):
    path, results = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: results.append(path.read_bytes()))
    reader.start()
    save(export(nn.ReLU(), (tl.ones(2),)), path)
    reader.join()
    assert stat.S_ISFIFO(os.stat(path).st_mode)
    assert load(io.BytesIO(results[0])).module()(tl.tensor([-1.0, 2.0])).tolist() == [0, 2]
