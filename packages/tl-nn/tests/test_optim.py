"""Optimizers against their rules spelt out in numpy, and what all of them share."""

import copy
import pickle

import numpy as np
import pytest

import tl_core as tl
from tl_nn import optim
from tl_nn.optim import optimizer as optimizer_file

STEPS = 4
SHAPES = [(3, 4), (5,), ()]


def numpy_sgd(
    weight, grads, lr=0.1, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False
):
    buffer = None
    for grad in grads:
        step = (-grad if maximize else grad) + weight_decay * weight
        if momentum:
            buffer = step if buffer is None else momentum * buffer + (1 - dampening) * step
            step = step + momentum * buffer if nesterov else buffer
        weight = weight - lr * step
    return weight


def numpy_adam(
    weight,
    grads,
    lr=0.1,
    betas=(0.9, 0.999),
    eps=1e-8,
    weight_decay=0.0,
    amsgrad=False,
    maximize=False,
    decoupled=False,
):
    mean = square = largest = np.zeros_like(weight)
    for count, source in enumerate(grads, 1):
        grad = -source if maximize else source
        if decoupled:
            weight = weight * (1 - lr * weight_decay)
        else:
            grad = grad + weight_decay * weight
        mean = betas[0] * mean + (1 - betas[0]) * grad
        square = betas[1] * square + (1 - betas[1]) * grad**2
        largest = np.maximum(largest, square)
        root = np.sqrt((largest if amsgrad else square) / (1 - betas[1] ** count))
        weight = weight - lr * mean / (1 - betas[0] ** count) / (root + eps)
    return weight


def numpy_adamw(weight, grads, **options):
    return numpy_adam(weight, grads, decoupled=True, **{"weight_decay": 0.01, **options})


RULES = [
    (optim.SGD, numpy_sgd, options)
    for options in (
        {},
        {"weight_decay": 0.1},
        {"maximize": True, "weight_decay": 0.1},
        {"momentum": 0.9},
        {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1},
        {"momentum": 0.9, "nesterov": True, "maximize": True},
    )
] + [
    (kind, rule, options)
    for kind, rule in ((optim.Adam, numpy_adam), (optim.AdamW, numpy_adamw))
    for options in (
        {},
        {"betas": (0.5, 0.7), "eps": 1e-3},
        {"weight_decay": 0.1},
        {"amsgrad": True, "betas": (0.5, 0.5)},
        {"maximize": True, "weight_decay": 0.1},
    )
]


def data():
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=shape) for shape in SHAPES]
    grads = [[rng.normal(size=shape) for _ in range(STEPS)] for shape in SHAPES]
    return weights, grads


def tensor(values, **options):
    return tl.tensor(np.asarray(values).tolist(), dtype=tl.float64, **options)


def leaves(weights):
    return [tensor(weight, requires_grad=True) for weight in weights]


def run(optimizer, params, grads, steps=range(STEPS)):
    for step in steps:
        for param, source in zip(params, grads, strict=True):
            param.grad = tensor(source[step])
        optimizer.step()


@pytest.mark.parametrize("fused", [None, False, True])
@pytest.mark.parametrize(("kind", "rule", "options"), RULES)
def test_rules(kind, rule, options, fused):
    weights, grads = data()
    params = leaves(weights)
    run(kind(params, lr=0.1, fused=fused, **options), params, grads)
    for param, weight, source in zip(params, weights, grads, strict=True):
        np.testing.assert_allclose(param.tolist(), rule(weight, source, **options), rtol=1e-9)
        assert param.requires_grad and param.is_leaf


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam, optim.AdamW])
@pytest.mark.parametrize("dtype", [tl.float32, tl.bfloat16, tl.float16])
def test_narrow_types(kind, dtype):
    param = tl.tensor([1.0, -2.0], dtype=dtype, requires_grad=True)
    param.grad = tl.ones(2, dtype=dtype)
    kind([param], lr=0.5, weight_decay=0.0).step()
    assert param.dtype == dtype
    np.testing.assert_allclose(param.float().tolist(), [0.5, -2.5], rtol=1e-2)


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam])
def test_types_may_differ_within_a_group(kind):
    narrow, wide = tl.ones(2, requires_grad=True), tensor([1.0, 1.0], requires_grad=True)
    for param in (narrow, wide):
        param.grad = tl.ones_like(param)
    kind([narrow, wide], lr=0.25).step()
    assert (narrow.dtype, wide.dtype) == (tl.float32, tl.float64)
    np.testing.assert_allclose(narrow.tolist(), wide.tolist(), rtol=1e-6)


def test_complex_parameters_are_pairs_of_real_ones():
    for kind in (optim.SGD, optim.Adam):
        param = tl.tensor([1 + 2j], requires_grad=True)
        param.grad = tl.tensor([1 - 1j])
        pair = tensor([1.0, 2.0], requires_grad=True)
        pair.grad = tensor([1.0, -1.0])
        for params in ([param], [pair]):
            kind(params, lr=0.1).step()
        assert [param.item().real, param.item().imag] == pytest.approx(pair.tolist(), rel=1e-6)


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam])
def test_parameters_without_gradient_wait(kind):
    options = {"momentum": 0.9} if kind is optim.SGD else {}
    weights, grads = data()
    params = leaves(weights)
    optimizer = kind(params, lr=0.1, **options)
    for step in range(STEPS):
        for index, (param, source) in enumerate(zip(params, grads, strict=True)):
            param.grad = None if step < index else tensor(source[step])
        optimizer.step()
    rule = numpy_sgd if kind is optim.SGD else numpy_adam
    for index, (param, weight) in enumerate(zip(params, weights, strict=True)):
        np.testing.assert_allclose(param.tolist(), rule(weight, grads[index][index:], **options), rtol=1e-9)


def test_groups_have_options_of_their_own():
    first, second, third = leaves([np.ones(2), np.ones(2), np.ones(2)])
    optimizer = optim.SGD([{"params": [first], "lr": 0.5}, {"params": second}], lr=0.1)
    optimizer.add_param_group({"params": [third], "lr": 1.0})
    for param in (first, second, third):
        param.grad = tensor([1.0, 1.0])
    optimizer.step()
    assert [round(param[0].item(), 6) for param in (first, second, third)] == [0.5, 0.9, 0.0]


@pytest.mark.parametrize("fused", [None, False])
def test_learning_rate_may_be_a_tensor(fused):
    for kind in (optim.SGD, optim.Adam):
        plain, source = leaves([np.ones(2), np.ones(2)])
        plain.grad, source.grad = tensor([1.0, 2.0]), tensor([1.0, 2.0])
        kind([plain], lr=0.25, fused=fused).step()
        kind([source], lr=tl.tensor(0.25, dtype=tl.float64), fused=fused).step()
        np.testing.assert_allclose(source.tolist(), plain.tolist(), rtol=1e-7)


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam])
def test_differentiable_step(kind):
    weight = tensor([2.0], requires_grad=True)
    param = weight.clone()
    optimizer = kind([param], lr=0.1, differentiable=True)
    for _ in range(2):
        param.grad = tensor([3.0])
        optimizer.step()
    param.sum().backward()
    assert weight.grad.tolist() == [1.0]


def test_closure_gives_the_loss():
    weight = tensor([1.0], requires_grad=True)
    optimizer = optim.SGD([weight], lr=0.1)

    def closure():
        assert tl.is_grad_enabled()
        optimizer.zero_grad()
        loss = (weight * weight).sum()
        loss.backward()
        return loss

    with tl.no_grad():
        assert optimizer.step(closure).item() == 1.0
    assert weight.tolist() == [0.8] and optimizer.step() is None


def test_zero_grad():
    weight = tensor([1.0], requires_grad=True)
    optimizer = optim.SGD([weight])
    weight.grad = value = tensor([5.0])
    optimizer.zero_grad(set_to_none=False)
    assert weight.grad is value and value.tolist() == [0.0]
    optimizer.zero_grad()
    assert weight.grad is None


# State


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam, optim.AdamW])
@pytest.mark.parametrize("how", ["state_dict", "pickle", "deepcopy"])
def test_training_goes_on_from_saved_state(kind, how):
    options = {"momentum": 0.9} if kind is optim.SGD else {"amsgrad": True}
    weights, grads = data()
    params = leaves(weights)
    optimizer = kind(params, lr=0.1, **options)
    run(optimizer, params, grads, range(2))
    if how == "state_dict":
        twins = [param.detach().clone().requires_grad_() for param in params]
        twin = kind(twins, lr=7.0)
        twin.load_state_dict(pickle.loads(pickle.dumps(optimizer.state_dict())))
    else:
        twin = copy.deepcopy(optimizer) if how == "deepcopy" else pickle.loads(pickle.dumps(optimizer))
        twins = twin.param_groups[0]["params"]
    run(optimizer, params, grads, range(2, STEPS))
    run(twin, twins, grads, range(2, STEPS))
    for param, other in zip(params, twins, strict=True):
        assert param.tolist() == other.tolist() and param is not other


def test_state_dict_layout():
    params = leaves([np.ones(2), np.ones(1)])
    optimizer = optim.Adam([("a", params[0]), ("b", params[1])], lr=0.5)
    params[1].grad = tensor([1.0])
    optimizer.step()
    saved = optimizer.state_dict()
    assert list(saved) == ["state", "param_groups"] and list(saved["state"]) == [1]
    assert list(saved["state"][1]) == ["step", "exp_avg", "exp_avg_sq"]
    assert saved["state"][1]["step"].item() == 1.0 and saved["state"][1]["step"].dtype == tl.float32
    (group,) = saved["param_groups"]
    assert group["params"] == [0, 1] and group["param_names"] == ["a", "b"] and group["lr"] == 0.5


def test_loaded_state_takes_the_parameters_type():
    narrow = tl.ones(2, requires_grad=True)
    optimizer = optim.Adam([narrow])
    narrow.grad = tl.ones(2)
    optimizer.step()
    wide = tensor([1.0, 1.0], requires_grad=True)
    twin = optim.Adam([wide])
    twin.load_state_dict(optimizer.state_dict())
    assert twin.state[wide]["exp_avg"].dtype == tl.float64
    assert twin.state[wide]["step"].dtype == tl.float32
    assert twin.state[wide]["step"] is optimizer.state[narrow]["step"]


@pytest.mark.parametrize(
    "kind", [optim.SGD, optim.Adam, optim.Adagrad, optim.RMSprop, optim.ASGD, optim.Rprop]
)
def test_loaded_state_is_shared_and_options_are_copied(kind):
    rate = tl.tensor(0.5)
    more = {"momentum": 0.5} if kind is optim.SGD else {}
    param, twin_param = tl.ones(3, requires_grad=True), tl.ones(3, requires_grad=True)
    optimizer, twin = kind([param], lr=rate, **more), kind([twin_param], **more)
    param.grad = tl.ones_like(param)
    optimizer.step()
    saved = optimizer.state_dict()
    assert saved["state"][0] is optimizer.state[param]
    twin.load_state_dict(saved)
    loaded = twin.state[twin_param]
    assert loaded is not saved["state"][0]
    assert all(loaded[name] is value for name, value in saved["state"][0].items())
    assert twin.param_groups[0]["lr"] is not rate and twin.param_groups[0]["lr"] == rate


def test_step_counts_follow_the_way_of_the_saved_group():
    (param,) = leaves([np.ones(3)])
    count = tl.tensor(3.0, dtype=tl.float64)
    for fused, dtype in ((True, tl.float32), (None, tl.float64)):
        optimizer = optim.Adam([param])
        saved = optimizer.state_dict()
        saved["param_groups"][0]["fused"] = fused
        saved["state"][0] = {"step": count, "exp_avg": tl.zeros(3), "exp_avg_sq": tl.zeros(3)}
        optimizer.load_state_dict(saved)
        assert optimizer.state[param]["step"].dtype is dtype


def test_parameters_that_stand_twice_keep_their_numbers():
    one, two, three = leaves([np.ones(1), np.ones(2), np.ones(3)])
    with pytest.warns(UserWarning, match="duplicate"):
        optimizer = optim.SGD([{"params": [one, two, one]}, {"params": [three]}], momentum=0.9)
    for param in (one, two, three):
        param.grad = tl.ones_like(param)
    optimizer.step()
    saved = optimizer.state_dict()
    assert [group["params"] for group in saved["param_groups"]] == [[0, 1, 0], [3]]
    assert sorted(saved["state"]) == [0, 1, 3]
    optimizer.load_state_dict(saved)
    assert optimizer.state[three]["momentum_buffer"].shape == (3,)


def test_load_faults():
    optimizer = optim.SGD(leaves([np.ones(1)]))
    with pytest.raises(ValueError, match="different number of parameter groups"):
        optimizer.load_state_dict({"state": {}, "param_groups": []})
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        optimizer.load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]})


def test_hooks_on_state():
    optimizer, records = optim.SGD(leaves([np.ones(1)])), []
    optimizer.register_state_dict_pre_hook(lambda opt: records.append("save"))
    optimizer.register_state_dict_post_hook(lambda opt, state: {**state, "extra": 1})
    optimizer.register_load_state_dict_pre_hook(lambda opt, state: records.append(state.pop("extra")))
    optimizer.register_load_state_dict_pre_hook(lambda opt, state: records.append("first"), prepend=True)
    optimizer.register_load_state_dict_post_hook(lambda opt: records.append("loaded"))
    saved = optimizer.state_dict()
    optimizer.load_state_dict(saved)
    assert records == ["save", "first", 1, "loaded"] and saved["extra"] == 1


def test_hooks_on_steps():
    weight = tensor([1.0], requires_grad=True)
    optimizer, records = optim.SGD([weight]), []
    pre = optimizer.register_step_pre_hook(lambda opt, args, kwargs: records.append("pre"))
    post = optimizer.register_step_post_hook(lambda opt, args, kwargs: records.append("post"))
    everywhere = optimizer_file.register_optimizer_step_pre_hook(lambda *args: records.append("global pre"))
    after = optimizer_file.register_optimizer_step_post_hook(lambda *args: records.append("global post"))
    with pre, post, everywhere, after:
        optimizer.step()
    optimizer.step()
    assert records == ["global pre", "pre", "post", "global post"]
    refused = pytest.raises(RuntimeError, match="step pre-hook must return None or a tuple")
    with optimizer.register_step_pre_hook(lambda opt, args, kwargs: 3), refused:
        optimizer.step()


def test_hooks_replace_the_closure():
    optimizer = optim.SGD(leaves([np.ones(1)]))
    records = []
    optimizer.register_step_pre_hook(lambda opt, args, kwargs: ((*args, lambda: 5), {}))
    optimizer.register_step_post_hook(lambda opt, args, kwargs: records.append((args[0], len(args), kwargs)))
    assert optimizer.step() == 5
    assert records == [(optimizer, 2, {})]


def test_own_optimizers_get_hooks():
    class Nothing(optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"size": optimizer_file.required})

        def step(self, closure=None):
            return "done"

    weight = tensor([1.0], requires_grad=True)
    with pytest.raises(ValueError, match="didn't specify a value of required optimization parameter size"):
        Nothing([weight])
    optimizer, records = Nothing([{"params": weight, "size": 3}]), []
    optimizer.register_step_post_hook(lambda *args: records.append(args[0]))
    assert optimizer.step() == "done" and records == [optimizer]
    with pytest.raises(NotImplementedError):
        optim.Optimizer([weight], {}).step()


def test_groups_hold_the_options_of_their_class():
    """Nothing is added: the options are those that the reference saves and prints."""
    weight = tensor([1.0], requires_grad=True)
    for optimizer, names in (
        (optim.SparseAdam([weight]), "lr betas eps maximize"),
        (optim.Adafactor([weight]), "lr beta2_decay eps d weight_decay foreach maximize"),
        (optim.Optimizer([weight], {"lr": 1}), "lr"),
    ):
        assert set(optimizer.param_groups[0]) == {"params", *names.split()} == {"params", *optimizer.defaults}


def test_printing():
    optimizer = optim.SGD(leaves([np.ones(1)]), lr=0.5)
    lines = repr(optimizer).split("\n")
    assert lines[:3] == ["SGD (", "Parameter Group 0", "    dampening: 0"] and "    lr: 0.5" in lines
    assert lines[-1] == ")"


# Faults


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": -1}, "Invalid learning rate: -1"),
        ({"lr": float("nan")}, "Invalid learning rate: nan"),
        ({"momentum": -1}, "Invalid momentum value: -1"),
        ({"weight_decay": -1}, "Invalid weight_decay value: -1"),
        ({"nesterov": True}, "Nesterov momentum requires a momentum and zero dampening"),
    ],
)
def test_sgd_faults(options, message):
    with pytest.raises(ValueError, match=message):
        optim.SGD(leaves([np.ones(1)]), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": -1}, "Invalid learning rate: -1"),
        ({"eps": -1}, "Invalid epsilon value: -1"),
        ({"betas": (1.0, 0.9)}, "Invalid beta parameter at index 0: 1.0"),
        ({"betas": (0.9, -0.1)}, "Invalid beta parameter at index 1: -0.1"),
        ({"weight_decay": -1}, "Invalid weight_decay value: -1"),
    ],
)
def test_adam_faults(options, message):
    for kind in (optim.Adam, optim.AdamW):
        with pytest.raises(ValueError, match=message):
            kind(leaves([np.ones(1)]), **options)


def test_tensor_options_have_one_element():
    with pytest.raises(ValueError, match="Tensor lr must be 1-element"):
        optim.SGD(leaves([np.ones(1)]), lr=tl.ones(2))
    with pytest.raises(ValueError, match="not supported for capturable=False and foreach=True"):
        optim.Adam(leaves([np.ones(1)]), lr=tl.tensor(0.1), foreach=True)
    with pytest.raises(ValueError, match="either both floats or both Tensors"):
        optim.Adam(leaves([np.ones(1)]), betas=(tl.tensor(0.9), 0.9))


def test_ways_that_exclude_each_other():
    with pytest.raises(RuntimeError, match="`fused` and `foreach` cannot be `True` together"):
        optim.SGD(leaves([np.ones(1)]), fused=True, foreach=True)
    with pytest.raises(RuntimeError, match="`fused` does not support `differentiable`"):
        optim.Adam(leaves([np.ones(1)]), fused=True, differentiable=True)


def test_capturable_is_refused_on_the_cpu():
    (weight,) = leaves([np.ones(1)])
    weight.grad = tensor([1.0])
    with pytest.raises(AssertionError, match="If capturable=True"):
        optim.Adam([weight], capturable=True).step()


def test_parameter_faults():
    (weight,) = leaves([np.ones(1)])
    with pytest.raises(TypeError, match="should be an iterable of Tensors or dicts"):
        optim.SGD(weight)
    with pytest.raises(ValueError, match="got an empty parameter list"):
        optim.SGD([])
    with pytest.raises(TypeError, match="can only optimize Tensors, but one of the params is int"):
        optim.SGD([3])
    with pytest.raises(ValueError, match="can't optimize a non-leaf Tensor"):
        optim.SGD([weight * 2])
    with pytest.raises(TypeError, match="need to be organized in ordered collections"):
        optim.SGD([{"params": {weight}}])
    with pytest.raises(TypeError, match="param_group must be a dict"):
        optim.SGD([weight]).add_param_group([weight])
    with pytest.raises(ValueError, match="appear in more than one parameter group"):
        optim.SGD([{"params": [weight]}, {"params": [weight]}])
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([weight, weight])
    with pytest.raises(ValueError, match="Some param names are missing"):
        optim.SGD([("a", weight), weight])
    with pytest.raises(ValueError, match="cannot add param group without names"):
        optim.SGD([("a", weight)]).add_param_group({"params": leaves([np.ones(1)])})


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam, optim.Adagrad, optim.LBFGS])
def test_gradients_that_are_conjugates(kind):
    def stepped(resolved):
        p = tl.tensor([1 + 2j, 3 - 4j], requires_grad=True)

        def loss():
            grad = tl.tensor([1j, 2 + 1j]).conj()
            p.grad = grad.resolve_conj() if resolved else grad
            return tl.tensor(0.0)

        loss()
        kind([p], lr=0.1).step(loss)
        return p.tolist()

    assert stepped(True) == stepped(False)
