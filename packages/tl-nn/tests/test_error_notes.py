"""What an error that leaves a module says of the module."""

import pytest

import tl_core as tl
import tl_nn as nn


class Steps(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.steps = nn.ModuleList(layers)

    def forward(self, x):
        for layer in self.steps:
            x = layer(x)
        return x


class Raises(nn.Module):
    def __init__(self, error):
        super().__init__()
        self.error = error

    def forward(self, *args, **kwargs):
        raise self.error


def text_of(module, *args, **kwargs):
    with pytest.raises(Exception) as caught:
        module(*args, **kwargs)
    return str(caught.value)


def test_the_path_skips_no_container():
    model = nn.Sequential(nn.ReLU(), Steps(nn.Linear(4, 4), nn.Sequential(nn.Linear(5, 3, bias=False))))
    assert text_of(model, tl.ones(2, 4)).endswith(
        "\n  in 1.steps.1.0: Linear(in_features=5, out_features=3, bias=False) got (2, 4)"
    )


def test_what_was_given():
    message = text_of(
        Raises(RuntimeError("no")),
        tl.ones(2, dtype=tl.int64),
        [tl.ones(1), tl.ones(2, 3)],
        3,
        mask=None,
        state=object(),
        many=[tl.ones(())] * 6,
    )
    expected = "(2,) int64, [(1,), (2, 3)], 3, mask=None, state=object, many=[(), (), (), (), … 2 more]"
    assert message == f"no\n  in Raises() got {expected}"
    assert text_of(Raises(ValueError("no"))).endswith("in Raises() got no arguments")


def test_a_module_outside_of_the_tree_is_named_by_its_class():
    class Holder(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = [Raises(RuntimeError("no"))]

        def forward(self):
            return self.hidden[0]()

    assert text_of(nn.Sequential(Holder()).get_submodule("0")).endswith(
        "in Raises: Raises() got no arguments"
    )


@pytest.mark.parametrize("error", [KeyError("a"), OSError(2, "gone"), RuntimeError("a", "b"), RuntimeError()])
def test_other_errors_pass_untouched(error):
    args = error.args
    with pytest.raises(type(error)) as caught:
        nn.Sequential(Raises(error))(tl.ones(1))
    assert caught.value is error and error.args == args


def test_hooks_and_errors_in_hooks():
    model = nn.Sequential(nn.Linear(2, 2))
    model[0].register_forward_pre_hook(lambda m, args: (args[0][0],))
    model[0].register_forward_hook(lambda m, args, out: out.view(7))
    assert "in 0: Linear(in_features=2, out_features=2, bias=True) got (1, 2)" in text_of(
        model, tl.ones(1, 2)
    )
