"""Properties of a tensor ask `__torch_function__` and modes before they answer."""

import subprocess
import sys

import pytest

import tl_autograd  # noqa: F401 - its properties
import tl_core as tl
from tl_core.overrides import TorchFunctionMode, get_testing_overrides, resolve_name

READ = [
    "grad",
    "grad_fn",
    "is_leaf",
    "output_nr",
    "requires_grad",
    "retains_grad",
    "_backward_hooks",
    "_post_accumulate_grad_hooks",
    "grad_dtype",
    "_cdata",
    "_grad",
    "__cuda_array_interface__",
    "data",
    "shape",
]
WRITTEN = {
    "grad": tl.ones(2),
    "requires_grad": False,
    "data": tl.ones(2),
    "real": tl.ones(2),
    "grad_dtype": tl.float64,
}


class Noting(tl.Tensor):
    calls = []  # noqa: RUF012 - of all objects

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append((getattr(func, "__self__", func).__name__, func.__name__, args[1:]))
        return super().__torch_function__(func, types, args, kwargs or {})


@pytest.fixture
def noting():
    t = tl.zeros(2).as_subclass(Noting)
    Noting.calls.clear()
    return t


class Names(TorchFunctionMode):
    def __init__(self):
        self.calls = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.calls.append((getattr(func, "__self__", None), func.__name__))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", READ)
def test_reading_asks_the_class_and_the_modes(noting, name):
    getattr(noting, name, None)
    assert Noting.calls == [(name, "__get__", ())]
    with Names() as mode:
        plain = tl.zeros(2)
        mode.calls.clear()
        getattr(plain, name, None)
    assert mode.calls[:1] == [(getattr(tl.Tensor, name), "__get__")]


@pytest.mark.parametrize("name", WRITTEN)
def test_writing_asks_the_class_and_the_modes(noting, name):
    setattr(noting, name, WRITTEN[name])
    assert [call[:2] for call in Noting.calls] == [(name, "__set__")]
    assert Noting.calls[0][2] == (WRITTEN[name],) or Noting.calls[0][2][0] is WRITTEN[name]
    plain = tl.zeros(2)
    with Names() as mode:
        setattr(plain, name, WRITTEN[name])
    assert [call[1] for call in mode.calls] == ["__set__"]


def test_deleting_asks_too(noting):
    noting.grad = tl.ones(2)
    Noting.calls.clear()
    del noting.grad
    assert Noting.calls == [("grad", "__delete__", ())]
    assert noting.grad is None


def test_an_answer_replaces_the_property():
    class Answering(tl.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return 42

    t = tl.zeros(2).as_subclass(Answering)
    assert t.requires_grad == t.grad == t.is_leaf == 42


def test_gradients_of_a_subclass_are_not_wrapped_anew(noting):
    noting.requires_grad = True
    (noting * 2).sum().backward()
    assert noting.grad.tolist() == [2.0, 2.0]


def test_properties_ask_before_anything_is_recorded():
    program = (
        "import tl_core as tl\n"
        "class Noting(tl.Tensor):\n"
        "    @classmethod\n"
        "    def __torch_function__(cls, func, types, args=(), kwargs=None):\n"
        "        return 7\n"
        "t = tl.zeros(2).as_subclass(Noting)\n"
        "print(t.grad, t.grad_fn, t.requires_grad, t.is_leaf, t.output_nr, t.retains_grad)\n"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["7"] * 6


def test_the_table_for_tests_has_the_readers():
    getters = {f.__self__.__name__ for f in get_testing_overrides() if f.__name__ == "__get__"}
    assert {*READ, "is_ipu", "is_maia", "is_mtia", "is_vulkan", "is_xla", "layout", "_version"} <= getters


def test_names_of_functions_that_take_no_tensor():
    assert resolve_name(tl.ones) == "torch.ones"
    assert resolve_name(tl.add) == "torch.add"
    assert resolve_name(print) is None


def test_what_older_programs_read(noting):
    plain = tl.ones(2)
    with pytest.warns(UserWarning, match="volatile was removed"):
        assert plain.volatile is False
    with pytest.warns(UserWarning, match="has no effect"):
        plain.volatile = True
    assert not hasattr(plain, "__cuda_array_interface__")
    with pytest.warns(UserWarning, match="volatile was removed"):
        noting.volatile  # noqa: B018
    assert Noting.calls[0][0] == "volatile"
    assert resolve_name(tl.Tensor.volatile.__get__) == "torch.Tensor.volatile.__get__"
