"""Names that the reference keeps private and other libraries use: each is the object that it stands for."""

import importlib

import pytest

import tl

STANDS_FOR = {
    "_C.DisableTorchFunctionSubclass": "tl_core.overrides.DisableTorchFunctionSubclass",
    "_C.Function": "tl_autograd.Function",
    "_C.TensorBase": "tl_core.Tensor",
    "_subclasses.fake_tensor.is_fake": "tl_backends.compiler.is_fake",
    "_tensor_str.PRINT_OPTS": "tl_core.printing.PRINT_OPTS",
    "_utils._rebuild_parameter": "tl_checkpoint.rebuild.parameter",
    "_utils._rebuild_tensor_v2": "tl_checkpoint.rebuild.tensor",
    "_tensor._rebuild_from_type_v2": "tl_checkpoint.rebuild.from_type",
    "utils.hooks.BackwardHook": "tl_nn.modules.backward_hook.BackwardHook",
    "utils.hooks.RemovableHandle": "tl_autograd.hooks.RemovableHandle",
    "_VF.lstm": "tl_core.lstm",
}


@pytest.mark.parametrize(("name", "real"), STANDS_FOR.items())
def test_a_private_name_is_its_object(name, real):
    place, _, last = name.rpartition(".")
    module, _, real_name = real.rpartition(".")
    assert getattr(importlib.import_module(f"tl.{place}"), last) is getattr(
        importlib.import_module(module), real_name
    )


def test_a_metaclass_may_derive_from_that_of_tensors():
    class Meta(tl._C._TensorMeta):
        pass

    class Marked(tl.Tensor, metaclass=Meta):
        pass

    assert type(Marked) is Meta and isinstance(tl.ones(1).as_subclass(Marked), tl.Tensor)


def test_the_size_of_an_element():
    assert tl._utils._element_size(tl.bfloat16) == 2


@pytest.mark.parametrize(
    ("name", "kind"),
    [("_check", RuntimeError), ("_check_index", IndexError), ("_check_value", ValueError),
     ("_check_type", TypeError), ("_check_not_implemented", NotImplementedError)],
)  # fmt: skip
def test_a_condition_raises_its_error(name, kind):
    check = getattr(tl, name)
    check(True, lambda: 1 / 0)
    with pytest.raises(kind, match="why"):
        check(False, lambda: "why")
    with pytest.raises(kind, match="Expected cond to be True"):
        check(False)
    with pytest.raises(TypeError, match="cond must be a bool"):
        check(1)


def test_conditions_on_tensors():
    tl._check_tensor_all(tl.tensor([True, True]))
    with pytest.raises(RuntimeError, match="rows"):
        tl._check_tensor_all(tl.tensor([True, False]), lambda: "rows")
    with pytest.raises(AssertionError, match="odd"):
        tl._assert(tl.tensor(False), "odd")
