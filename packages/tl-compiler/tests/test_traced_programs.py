"""`torch.jit.trace`: runs become programs for other sizes, with the modules of the module, and are written."""

import io
import warnings

import models
import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import jit
from tl_nn import functional as F

TRACED_MODELS = [
    "lenet",
    "resnet18",
    "squeezenet",
    "mobilenet_v3",
    "unet",
    "vit",
    "gpt",
    "gru",
    "pointnet",
    "experts",
]


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x):
        return self.b(F.relu(self.a(x))).view(x.size(0), 2, -1)


def archive_of(program):
    return io.BytesIO(program.save_to_buffer())


@pytest.mark.parametrize("name", TRACED_MODELS)
def test_models_are_traced_for_other_sizes(name):
    make, inputs = models.MODELS[name]
    model = make().eval()
    calls = inputs()
    with tl.no_grad():
        program = jit.trace(model, max(calls, key=lambda a: a[0].shape[0]), check_trace=False)
        read = jit.load(archive_of(program))
        for arguments in calls:
            expected = model(*arguments)
            for traced in (program, read):
                assert tl.allclose(traced(*arguments), expected, rtol=1e-5, atol=1e-6)


def test_modules_keep_their_tree():
    model = Perceptron()
    program = jit.trace(model, tl.ones(1, 8))
    assert isinstance(program, jit.TopLevelTracedModule) and isinstance(program.a, jit.TracedModule)
    assert [n for n, _ in program.named_parameters()] == ["a.weight", "a.bias", "b.weight", "b.bias"]
    assert program.a.weight is model.a.weight and repr(program.a) == "Linear(original_name=Linear)"
    assert program.code == (
        "def forward(self,\n    x: Tensor) -> Tensor:\n  linear = (self.a).forward(x)\n  relu = torch.relu(linear)\n"
        "  linear_1 = (self.b).forward(relu)\n  view = torch.view(linear_1, [torch.size(x, 0), 2, -1])\n  return view\n"
    )
    assert "prim::CallMethod" in str(program.graph)
    assert program(tl.ones(5, 8)).shape == (5, 2, 2)


def test_a_shared_module_has_a_method_for_each_call():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(3, 3)

        def forward(self, x):
            return self.a(self.a(x) + 1)

    model = Twice()
    program = jit.trace(model, tl.ones(2, 3))
    assert "(self.a).forward1(" in program.code and tl.equal(program(tl.ones(4, 3)), model(tl.ones(4, 3)))


def test_containers_go_in_and_come_out():
    def function(table, pair):
        return {"sum": table["a"] + pair[0], "product": (table["b"] * pair[1], pair[0])}

    arguments = {"a": tl.ones(2), "b": tl.full((3,), 2.0)}, (tl.ones(2), tl.ones(3))
    with pytest.raises(RuntimeError, match="Encountering a dict at the output of the tracer"):
        jit.trace(function, arguments)
    program = jit.trace(lambda t, p: (t["a"] + p[0], [t["b"] * p[1]]), arguments)
    first, (second,) = program(*arguments)
    assert first.tolist() == [2, 2] and second.tolist() == [2, 2, 2]
    for wrong in (lambda x: 3, lambda x: "a"):
        with pytest.raises(RuntimeError, match="Only tensors, lists, tuples of tensors"):
            jit.trace(wrong, (tl.ones(1),))
    with pytest.raises(RuntimeError, match=r"Type 'Tuple\[Tensor, int\]' cannot be traced"):
        jit.trace(lambda x, n: x * n, (tl.ones(1), 2))
    with pytest.raises(RuntimeError, match="Cannot insert a Tensor that requires grad as a constant"):
        weight = tl.ones(1, requires_grad=True)
        jit.trace(lambda x: x * weight, (tl.ones(1),))


def signed(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


def test_values_that_python_reads_become_constants_with_a_warning():
    with pytest.warns(jit.TracerWarning, match="Converting a tensor to a Python boolean") as text:
        program = jit.trace(signed, tl.ones(2))
    assert text[0].filename == __file__ and len(text) == 1
    assert program(-tl.ones(2)).tolist() == [0, 0]


def test_scripted_functions_keep_their_branches():
    scripted = jit.script(signed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = jit.trace(lambda x: scripted(x) * 2, tl.ones(2))
    assert program(tl.ones(2)).tolist() == [4, 4] and program(-tl.ones(2)).tolist() == [-4, -4]

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = jit.script(Gate())

        def forward(self, x):
            return self.inner(x) + 1

    program = jit.trace(Outer(), tl.ones(2))
    for traced in (program, jit.load(archive_of(program))):
        assert traced(tl.ones(2)).tolist() == [3, 3] and traced(-tl.ones(2)).tolist() == [1, 1]


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(tl.full((1,), 2.0))

    def forward(self, x):
        if bool(x.sum() > 0):
            return x * self.scale
        return tl.zeros_like(x)


def test_functions_that_are_compiled_under_a_trace():
    @jit.script_if_tracing
    def grows(x, n: int):
        for _ in range(n):
            x = tl.cat([x, x])
        return x

    assert grows(tl.ones(1), 2).shape == (4,)
    assert jit.trace(lambda x: grows(x, 2), tl.ones(1))(tl.ones(3)).shape == (12,)


def test_checks_of_traces():
    state = []

    def differs(x):
        state.append(0)
        return x * len(state)

    with pytest.raises(jit.TracingCheckError, match="ERROR: Graphs differed across invocations!"):
        jit.trace(differs, tl.ones(2))
    with pytest.warns(jit.TracerWarning) as text:
        jit.trace(lambda x: F.dropout(x, 0.5, True), tl.ones(100))
    texts = [str(w.message) for w in text]
    assert any(
        "Trace had nondeterministic nodes. Did you forget call .eval() on your model?" in t for t in texts
    )
    assert any("Output nr 1. of the traced function does not match" in t for t in texts)


def test_methods_are_traced():
    class Two(nn.Module):
        def forward(self, x):
            return x + 1

        def other(self, x, y):
            return x * y

    inputs = {"forward": tl.ones(2), "other": (tl.ones(2), tl.ones(2))}
    program = jit.trace_module(Two(), inputs)
    assert program(tl.ones(2)).tolist() == [2, 2] and program.other(tl.ones(1), 3 * tl.ones(1)).item() == 3
    assert jit.load(archive_of(program)).other(tl.ones(1), 3 * tl.ones(1)).item() == 3


def test_buffers_change_as_in_the_module():
    model = nn.BatchNorm1d(3)
    program = jit.trace(model, tl.ones(4, 3), check_trace=False)
    assert model.num_batches_tracked.item() == 0  # the trace runs on fakes
    program(tl.ones(4, 3) * 2)
    assert model.num_batches_tracked.item() == 1 and abs(model.running_mean[0].item() - 0.2) < 1e-6


def test_is_tracing_tells():
    records = []

    def function(x):
        records.append(jit.is_tracing())
        return x * 1

    jit.trace(function, tl.ones(1), check_trace=False)
    assert records == [True] and jit.is_tracing() is False
    with pytest.warns(UserWarning, match="already a ScriptModule, tracing it is a no-op"):
        assert jit.trace(jit.script(signed), tl.ones(1)).name == "signed"


def test_keywords_and_methods_of_objects():
    program = jit.trace(lambda x, y: x - y, example_kwarg_inputs={"x": tl.ones(1), "y": tl.zeros(1)})
    assert program(y=tl.ones(1), x=tl.ones(1)).item() == 0
    model = Perceptron()
    assert jit.trace(model.forward, tl.ones(2, 8))(tl.ones(3, 8)).shape == (3, 2, 2)


def test_examples_that_are_the_same_tensor():
    x = tl.ones(2)
    program = jit.trace(lambda a, b: a - b * 2, (x, x))
    assert program(tl.tensor([1.0, 2.0]), tl.tensor([3.0, 4.0])).tolist() == [-5, -6]

    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Parameter(tl.ones(2))
            self.b = self.a

        def forward(self, x):
            return self.a + x * self.b

    model = Sum()
    for example in (model.a, model.a.detach()):
        program = jit.trace(model, example)
        assert program(tl.tensor([3.0, 4.0])).tolist() == [4, 5]


def test_functions_that_ask_which_tensors_their_arguments_are():
    kept = {"weight": tl.tensor([2.0, 3.0], requires_grad=True)}

    def keeps(weight, x):
        assert kept["weight"] is weight
        return (kept["weight"] * x).sum() + weight[0]

    traced = jit.trace(
        keeps, (kept["weight"], tl.ones(2)), check_trace=False
    )  # which would copy the arguments
    other = tl.tensor([5.0, 7.0])
    assert traced(other, tl.tensor([1.0, 2.0])).item() == (5 + 14) + 5

    def fails(weight):
        raise LookupError("of the program")

    with pytest.raises(LookupError, match="of the program"):
        jit.trace(fails, (kept["weight"],))


def test_checks_of_results_that_are_numbers():
    traced = jit.trace(lambda x: x.numel(), tl.ones(2, 3))
    assert int(traced(tl.ones(4, 5))) == 20


def test_arrays_are_constants_of_a_trace():
    numpy = pytest.importorskip("numpy", reason="the arrays are NumPy's")
    x, y = tl.full((2, 2), 2.0), tl.ones(2, 2)
    programs = {
        "asarray": lambda t: t * float(numpy.asarray(t)[0, 0]),
        "of a result": lambda t: t + tl.from_numpy((t * 3).detach().numpy()),
        "of a view": lambda t: t + float(t[0].numpy().sum()),
        "copied": lambda t: t + tl.tensor(numpy.array(t)),
    }
    expected = {"asarray": 2.0, "of a result": 7.0, "of a view": 5.0, "copied": 3.0}
    for name, program in programs.items():
        with pytest.warns(jit.TracerWarning, match="Converting a tensor to a NumPy array might cause"):
            traced = jit.trace(program, (x,), check_trace=False)
        assert traced(y).tolist() == [[expected[name]] * 2] * 2, name
    with warnings.catch_warnings(), pytest.raises(RuntimeError, match="Can't call numpy"):
        warnings.simplefilter("ignore")
        jit.trace(lambda t: t + tl.from_numpy(t.numpy()), (x.requires_grad_(),), check_trace=False)
