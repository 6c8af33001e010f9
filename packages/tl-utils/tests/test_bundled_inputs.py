import copy
import pickle

import pytest

import tl_core as tl
import tl_nn
from tl_core.testing import assert_close
from tl_utils import bundled_inputs
from tl_utils.bundled_inputs import InflatableArg, augment_model_with_bundled_inputs, bundle_inputs


class Twice(tl_nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = tl_nn.Parameter(tl.ones(2))

    def forward(self, x):
        return x * 2

    def other(self, x, y):
        return x + y


SAMPLES = [
    (tl.tensor([1]),),
    (tl.tensor([[2, 3, 4]]).expand(1 << 10, -1)[:, ::2],),
    (tl.arange(1 << 10)[-8:],),
    (tl.zeros(1 << 10),),
    (tl.ones(4, 8, 32, 32).contiguous(memory_format=tl.channels_last),),
]


def test_inputs_come_back_as_they_were():
    model, expressions = Twice(), []
    augment_model_with_bundled_inputs(model, SAMPLES, expressions, info=["one"])
    result = model.get_all_bundled_inputs()
    assert model.get_num_bundled_inputs() == len(SAMPLES) == len(expressions)
    for (x,), (y,) in zip(result, SAMPLES, strict=True):
        assert_close(x, y, rtol=0, atol=0)
        assert x.stride() == y.stride()
    about = model.get_bundled_inputs_functions_and_info()["forward"]
    assert about == {"get_inputs_function_name": ["get_all_bundled_inputs_for_forward"], "info": ["one"]}


def test_large_constants_are_one_element():
    model = Twice()
    augment_model_with_bundled_inputs(model, SAMPLES)
    stored = [packed[0].value for packed in model.__dict__["_bundled_inputs"].inputs["forward"]]
    assert all(t.untyped_storage().nbytes() <= 16 * t.element_size() for t in stored)


@pytest.mark.parametrize("x", [tl.randn(1 << 10), tl.randn(2, 1 << 10)[:, 0:1]])
def test_large_tensors_are_refused(x):
    with pytest.raises(ValueError, match="Bundled input argument at 'forward, input 0, argument 0'"):
        augment_model_with_bundled_inputs(Twice(), [(x,)])
    model = Twice()
    augment_model_with_bundled_inputs(model, [(x,)], skip_size_check=True)
    assert model.get_all_bundled_inputs()[0][0] is x


def test_arguments_that_are_made():
    model = Twice()
    result = InflatableArg(
        [1, 2],
        fmt_fn="""
        def {}(self, value: List[int]):
            return [n * len(self.weight) for n in value]
        """,
    )
    samples = [
        (bundled_inputs.bundle_randn(1 << 16),),
        (bundled_inputs.bundle_large_tensor(tl.arange(100)),),
        (result,),
    ]
    augment_model_with_bundled_inputs(model, samples)
    (noise,), (large,), (numbers,) = model.get_all_bundled_inputs()
    assert noise.shape == (1 << 16,)
    assert abs(noise.std() - 1) < 0.05
    assert_close(large, tl.arange(100))
    assert numbers == [2, 4]
    with pytest.raises(ValueError, match="both fmt_fn and fmt"):
        augment_model_with_bundled_inputs(
            Twice(), [(InflatableArg(1, "{} + 1", "def {}(self, value): ..."),)]
        )


def test_several_methods_and_their_own():
    class Own(Twice):
        def _generate_bundled_inputs_for_other(self):
            return [(1, 2)]

    model = Own()
    bundled_inputs.augment_many_model_functions_with_bundled_inputs(
        model, {model.forward: [(1,)], model.other: None}, info={model.other: ["numbers"]}
    )
    assert model.get_all_bundled_inputs_for_forward() == [(1,)]
    assert model.get_all_bundled_inputs_for_other() == [(1, 2)]
    assert model.get_bundled_inputs_functions_and_info()["other"]["info"] == ["numbers"]
    with pytest.raises(RuntimeError, match="only one may make them"):
        bundle_inputs(Own(), {model.other: [(1, 2)]})


def test_copies_share_parameters_and_have_inputs_of_their_own():
    model = Twice()
    first = bundle_inputs(model, [(tl.ones(1),)])
    assert first.weight is model.weight
    assert not hasattr(model, "get_all_bundled_inputs")
    second = bundle_inputs(first, {first.other: [(1, 2)]})
    assert second.get_all_bundled_inputs_for_other() == [(1, 2)]
    assert not hasattr(second, "get_all_bundled_inputs")
    for copied in (copy.deepcopy(first), pickle.loads(pickle.dumps(first))):
        assert_close(copied.get_all_bundled_inputs()[0][0], tl.ones(1))
        assert copied.get_all_bundled_inputs.args[0] is copied


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: bundle_inputs(len, [(1,)]), TypeError, "with a module"),
        (lambda: bundle_inputs(Twice(), "foo"), TypeError, "list of tuples"),
        (lambda: bundle_inputs(Twice(), [tl.ones(1)]), TypeError, "must be tuples"),
        (
            lambda: bundle_inputs(Twice(), None),
            RuntimeError,
            "no method _generate_bundled_inputs_for_forward",
        ),
        (lambda: bundle_inputs(Twice(), {}), ValueError, "at least 1 function"),
    ],
)
def test_what_is_no_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_only_once():
    model = Twice()
    augment_model_with_bundled_inputs(model, [(1,)])
    with pytest.raises(RuntimeError, match="Models can only be augmented with bundled inputs once"):
        augment_model_with_bundled_inputs(model, [(1,)])


class Archived(tl_nn.ReLU):
    def save_to_buffer(self):
        return b""


def test_a_module_with_an_archive_warns_that_it_holds_no_inputs():
    with pytest.warns(UserWarning, match=r"archive that jit\.save writes does not hold them"):
        model = bundle_inputs(Archived(), [(tl.zeros(2),)])
    assert model.get_num_bundled_inputs() == 1
