"""Archives of TorchScript: what PyTorch wrote is read and computes the same, as modules of tl."""

import copy
import io
import pathlib
import pickle
import zipfile

import pytest

import tl_autograd  # noqa: F401 - gradients of loaded modules
import tl_checkpoint
import tl_core
import tl_nn
from tl_compiler import jit

ARCHIVES = pathlib.Path(__file__).parent / "archives"
NAMES = sorted(
    path.name.removesuffix(".pt") for path in ARCHIVES.glob("*.pt") if not path.name.endswith(".io.pt")
)


def load(name):
    return jit.load(ARCHIVES / f"{name}.pt")


def recorded(name):
    return tl_checkpoint.load(ARCHIVES / f"{name}.io.pt", weights_only=False)


def agrees(value, expected):
    if isinstance(expected, tl_core.Tensor):
        return value.dtype is expected.dtype and bool(tl_core.allclose(value, expected, rtol=1e-5, atol=1e-6))
    if isinstance(expected, dict):
        return value.keys() == expected.keys() and all(agrees(value[k], expected[k]) for k in expected)
    if isinstance(expected, (list, tuple)):
        return len(value) == len(expected) and all(map(agrees, value, expected))
    return value == expected


@pytest.mark.parametrize("name", NAMES)
def test_programs_compute_what_pytorch_computed(name):
    arguments, expected = recorded(name)
    with tl_core.no_grad():
        assert agrees(load(name)(*arguments), expected)


def test_there_are_programs_of_all_kinds():
    assert len(NAMES) == 13


def test_modules_are_modules():
    model = load("perceptron_script")
    assert isinstance(model, (jit.ScriptModule, tl_nn.Module)) and isinstance(
        model, jit.RecursiveScriptModule
    )
    assert [name for name, _ in model.named_parameters()] == ["a.weight", "a.bias", "b.weight", "b.bias"]
    assert type(model.a).__name__ == "RecursiveScriptModule" and model.a.original_name == "Linear"
    assert repr(model.a) == "RecursiveScriptModule(original_name=Linear)"
    assert model.train().a.training and not model.eval().a.training
    assert all(p.requires_grad and p.is_leaf for p in model.parameters())


def test_code_is_that_of_the_archive():
    model = load("perceptron_trace")
    assert model.code.startswith(
        "def forward(self,\n    x: Tensor) -> Tensor:\n  b = self.b\n  bias = b.bias\n"
    )
    assert "torch.relu" in model.code and model.code.endswith("\n  return _1\n")
    with pytest.raises(RuntimeError, match="Method 'forward' is not defined"):
        model.a.code  # noqa: B018
    code, constants = load("frozen").code_with_constants
    assert constants and all(f"CONSTANTS.{name}" in code for name in constants)


def test_state_dicts_and_hooks_work():
    model, other = load("perceptron_script"), load("perceptron_trace")
    x = tl_core.ones(2, 4)
    assert not agrees(model(x), other(x))
    assert other.load_state_dict(model.state_dict()) is not None
    assert agrees(other(x), model(x))
    calls = []
    model.register_forward_hook(lambda module, inputs, output: calls.append(output))
    assert model(x) is calls[0]


def test_loaded_modules_are_trained():
    model = load("perceptron_script")
    optimizer = tl_nn.optim.SGD(model.parameters(), lr=0.1)
    x, before = tl_core.ones(2, 4), None
    for _ in range(5):
        optimizer.zero_grad()
        loss = model(x).pow(2).sum()
        loss.backward()
        optimizer.step()
        assert before is None or loss.item() < before
        before = loss.item()


def test_buffers_and_attributes_change_with_calls():
    model = load("control")
    first = int(model.calls.item())
    for count in (first + 1, first + 2):
        model(tl_core.ones(3, 3), 1)
        assert model.calls.item() == count and dict(model.named_buffers())["calls"].item() == count
    assert model.counts == {"a": 1, "bc": 2}
    model.calls = tl_core.full((1,), 7.0)
    model(tl_core.ones(3, 3), 1)
    assert model.calls.item() == 8


def test_shared_weights_stay_shared():
    model = load("shared")
    assert model.first.weight is model.second.weight and len(list(model.parameters())) == 3


def test_failures_are_errors_of_the_program():
    model = load("control")
    with pytest.raises(jit.Error, match="AssertionError: x must have two dimensions"):
        model(tl_core.ones(3, 3, 3), 0)
    with pytest.raises(RuntimeError, match=r"forward\(\) is missing value for argument 'x'"):
        model()


def test_copies_are_apart_and_pickles_are_refused():
    model = load("control")
    for other in (copy.deepcopy(model), copy.copy(model)):
        assert type(other) is type(model) and agrees(
            other(tl_core.ones(3, 3), 2), model(tl_core.ones(3, 3), 2)
        )
    deep = copy.deepcopy(model)
    deep.w.data.zero_()
    assert model.w.abs().sum() > 0
    with pytest.raises(pickle.PickleError, match="ScriptModules cannot be"):
        pickle.dumps(model)


@pytest.mark.parametrize("name", NAMES)
def test_archives_are_written_again(name):
    arguments, expected = recorded(name)
    again = jit.load(io.BytesIO(load(name).save_to_buffer()))
    with tl_core.no_grad():
        assert agrees(again(*arguments), expected)


@pytest.mark.parametrize("opened", [str, pathlib.Path, lambda path: io.BytesIO(path.read_bytes())])
def test_files_are_paths_and_buffers(opened):
    model = jit.load(opened(ARCHIVES / "perceptron_trace.pt"), map_location=tl_core.device("cpu"))
    arguments, expected = recorded("perceptron_trace")
    assert agrees(model(*arguments), expected)


def test_extra_files_and_devices(tmp_path):
    path = tmp_path / "extra.pt"
    path.write_bytes((ARCHIVES / "perceptron_trace.pt").read_bytes())
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("perceptron_trace/extra/labels.txt", "a b")
    extra = {"labels.txt": "", "absent.txt": ""}
    model = jit.load(path, map_location="meta", _extra_files=extra)
    assert extra == {"labels.txt": b"a b", "absent.txt": ""} and model.a.weight.is_meta


def test_other_files_say_what_they_are(tmp_path):
    with pytest.raises(ValueError, match="does not exist"):
        jit.load(tmp_path / "nowhere.pt")
    with pytest.raises(ValueError, match="is a directory"):
        jit.load(tmp_path)
    tl_checkpoint.save({"a": tl_core.ones(2)}, tmp_path / "data.pt")
    with pytest.raises(RuntimeError, match=r"holds data and no program: torch.load reads it"):
        jit.load(tmp_path / "data.pt")
    (tmp_path / "text.pt").write_text("no archive")
    with pytest.raises(RuntimeError):
        jit.load(tmp_path / "text.pt")
    with pytest.raises(RuntimeError, match=r"TorchScript archive.*torch\.jit\.load"):
        tl_checkpoint.load(ARCHIVES / "control.pt")
