"""Names without documentation that client libraries import or override: they have to exist."""

import inspect
import typing

import pytest

import tl_nn as nn
from tl_core import Tensor
from tl_nn.modules.module import Module

STATE = [
    "_backward_hooks",
    "_backward_pre_hooks",
    "_buffers",
    "_forward_hooks",
    "_forward_hooks_always_called",
    "_forward_hooks_with_kwargs",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_is_full_backward_hook",
    "_load_state_dict_post_hooks",
    "_load_state_dict_pre_hooks",
    "_modules",
    "_non_persistent_buffers_set",
    "_parameters",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "training",
]

METHODS = {
    "_apply": ["self", "fn", "recurse"],
    "_call_impl": ["self", "args", "kwargs"],
    "_get_name": ["self"],
    "_load_from_state_dict": [
        "self",
        "state_dict",
        "prefix",
        "local_metadata",
        "strict",
        "missing_keys",
        "unexpected_keys",
        "error_msgs",
    ],
    "_named_members": ["self", "get_members_fn", "prefix", "recurse", "remove_duplicate"],
    "_register_load_state_dict_pre_hook": ["self", "hook", "with_module"],
    "_register_state_dict_hook": ["self", "hook"],
    "_replicate_for_data_parallel": ["self"],
    "_save_to_state_dict": ["self", "destination", "prefix", "keep_vars"],
}


def test_state_of_a_module():
    assert sorted(vars(nn.Module())) == sorted(STATE)


def test_subclasses_own_all_other_names():
    further = {
        "_compiled_call_impl",
        "_get_backward_hooks",
        "_get_backward_pre_hooks",
        "_version",
        "_wrapped_call_impl",
    }
    private = {name for name in dir(nn.Module()) if name.startswith("_") and not name.endswith("__")}
    assert private == {*STATE, *METHODS, *further} - {"training"}


@pytest.mark.parametrize("name", METHODS)
def test_signatures(name):
    assert list(inspect.signature(getattr(Module, name)).parameters) == METHODS[name]


def test_module_level_names():
    from tl_nn.modules.loss import _Loss, _WeightedLoss
    from tl_nn.modules.module import (
        _EXTRA_STATE_KEY_SUFFIX,
        _global_buffer_registration_hooks,
        _global_forward_hooks,
        _global_module_registration_hooks,
        _global_parameter_registration_hooks,
        _IncompatibleKeys,
    )
    from tl_nn.modules.utils import _ntuple, _pair, _quadruple, _reverse_repeat_tuple, _single, _triple
    from tl_nn.optim.lr_scheduler import LRScheduler, _LRScheduler

    for hooks, register in (
        (_global_buffer_registration_hooks, nn.modules.module.register_module_buffer_registration_hook),
        (_global_module_registration_hooks, nn.modules.module.register_module_module_registration_hook),
        (_global_parameter_registration_hooks, nn.modules.module.register_module_parameter_registration_hook),
    ):
        with register(print):
            assert list(hooks.values()) == [print]
    assert issubclass(_WeightedLoss, _Loss) and issubclass(_LRScheduler, LRScheduler)
    assert _IncompatibleKeys([], [])._fields == ("missing_keys", "unexpected_keys")
    assert _EXTRA_STATE_KEY_SUFFIX == "_extra_state" and not _global_forward_hooks
    assert [make(3) for make in (_single, _pair, _triple, _quadruple)] == [(3,) * n for n in range(1, 5)]
    assert _pair([1, 2]) == (1, 2) and _ntuple(5)("ab") == ("a", "b")
    assert _reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)


def test_replica_shares_all_but_the_dictionaries():
    module = nn.Sequential(nn.Linear(1, 1))
    replica = module._replicate_for_data_parallel()
    assert replica._modules is not module._modules and replica[0] is module[0]
    assert replica._parameters == {} and replica._is_replica


def test_classes_name_their_package():
    for name in nn.__all__:
        value = getattr(nn, name)
        if inspect.isclass(value) and issubclass(value, nn.Module):
            assert value.__module__.startswith(("tl_nn.modules.", "tl_nn.parallel.")), name


def test_types_of_a_layer_can_be_read_elsewhere():
    names = {"Tensor": Tensor, **vars(typing)}  # what a library that asks has imported
    layers = [getattr(nn, name) for name in nn.__all__]
    for layer in (c for c in layers if inspect.isclass(c) and issubclass(c, nn.Module)):
        # An instance has no module of its own in which its types would be looked up.
        hints = typing.get_type_hints(layer.__new__(layer), globalns=names, localns={})
        assert "__constants__" not in hints, layer
