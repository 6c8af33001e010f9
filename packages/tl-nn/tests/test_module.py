"""What a module holds by name, how assignment sorts it, and how it is walked and converted."""

import copy
import gc
import pickle
import weakref

import pytest

import tl_core as tl
import tl_nn as nn
from tl_nn.modules import registration


class Block(nn.Module):
    """A module with one member of each kind."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(tl.ones(2))
        self.register_buffer("mean", tl.zeros(2))
        self.register_buffer("scratch", tl.zeros(1), persistent=False)
        self.inner = nn.Linear(2, 2)
        self.size = 2

    def forward(self, input):
        return self.inner(input * self.weight) + self.mean


def test_assignment_sorts_by_kind():
    block = Block()
    assert list(block._parameters) == ["weight"]
    assert list(block._buffers) == ["mean", "scratch"]
    assert list(block._modules) == ["inner"]
    assert block._non_persistent_buffers_set == {"scratch"}
    assert block.__dict__["size"] == 2
    assert "weight" not in block.__dict__


def test_member_dictionaries_are_authoritative():
    block = Block()
    other = nn.Parameter(tl.zeros(2))
    block._parameters["weight"] = other
    assert block.weight is other
    del block._parameters["weight"]
    with pytest.raises(AttributeError, match="'Block' object has no attribute 'weight'"):
        _ = block.weight


def test_layer_reads_a_replaced_parameter():
    layer = nn.Linear(2, 1, bias=False)
    layer._parameters["weight"] = nn.Parameter(tl.full((1, 2), 3.0))
    assert layer(tl.ones(1, 2)).item() == 6.0
    del layer._parameters["weight"]
    layer.weight = tl.full((1, 2), 5.0)
    assert layer(tl.ones(1, 2)).item() == 10.0


def test_assigning_changes_the_kind():
    block = Block()
    block.mean = nn.Parameter(tl.ones(2))
    assert "mean" not in block._buffers and "mean" in block._parameters
    block.scratch = nn.Tanh()
    assert "scratch" in block._modules and "scratch" not in block._non_persistent_buffers_set
    block.size = nn.Parameter(tl.ones(1))
    assert "size" not in block.__dict__ and block.size.numel() == 1


def test_buffer_object_registers_itself():
    module = nn.Module()
    module.a = nn.Buffer(tl.ones(1))
    module.b = nn.Buffer(tl.ones(1), persistent=False)
    assert list(module.state_dict()) == ["a"]
    assert [name for name, _ in module.named_buffers()] == ["a", "b"]


def test_plain_tensor_is_no_buffer():
    module = nn.Module()
    module.plain = tl.ones(1)
    assert list(module.buffers()) == []


def test_assigning_none_keeps_the_name():
    block = Block()
    block.weight = None
    block.inner = None
    block.mean = None
    assert block.weight is None and list(block.parameters()) == []
    block.weight = nn.Parameter(tl.ones(1))
    assert "weight" in block._parameters


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("weight", 3, r"cannot assign 'int' as parameter 'weight' \(torch.nn.Parameter or None expected\)"),
        ("inner", 3, r"cannot assign 'int' as child module 'inner' \(torch.nn.Module or None expected\)"),
        ("mean", 3, r"cannot assign 'int' as buffer 'mean'"),
    ],
)
def test_wrong_kind_is_refused(name, value, message):
    with pytest.raises(TypeError, match=message):
        setattr(Block(), name, value)


@pytest.mark.parametrize("value", [nn.Linear(1, 1), nn.Parameter(tl.ones(1)), nn.Buffer(tl.ones(1))])
def test_assignment_before_init_is_refused(value):
    module = nn.Module.__new__(nn.Module)
    with pytest.raises(AttributeError, match=r"before Module.__init__\(\) call"):
        module.part = value
    module.number = 3
    assert module.number == 3
    with pytest.raises(AttributeError, match=r"before Module.__init__\(\) call"):
        module.register_buffer("b", None)


class Wrapping(nn.Module):
    """Looks for what it lacks in the module that it wraps."""

    def __init__(self):
        self.before = {}
        super().__init__()
        self.wrapped = nn.Linear(2, 3)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "wrapped":
                raise
            return getattr(self.wrapped, name)


def test_attributes_before_init_beside_an_own_getattr():
    module = Wrapping()
    assert (module.before, module.out_features) == ({}, 3)
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'nothing'"):
        module.nothing  # noqa: B018 - asked for
    unmade = Wrapping.__new__(Wrapping)
    for name in ("wrapped", "nothing"):
        with pytest.raises(AttributeError, match="'Wrapping' object has no attribute 'wrapped'"):
            getattr(unmade, name)


@pytest.mark.parametrize(
    "register", ["register_parameter", "register_buffer", "add_module", "register_module"]
)
@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        (3, TypeError, "name should be a string. Got int"),
        ("", KeyError, "be empty string"),
        ("a.b", KeyError, 'contain "[.]"'),
        ("forward", KeyError, "attribute 'forward' already exists"),
    ],
)
def test_bad_names_are_refused(register, name, kind, message):
    with pytest.raises(kind, match=message):
        getattr(nn.Module(), register)(name, None)


def test_bad_members_are_refused():
    module = nn.Module()
    with pytest.raises(TypeError, match="object to parameter 'a'"):
        module.register_parameter("a", tl.ones(1))
    with pytest.raises(TypeError, match="cannot assign 'int' object to buffer 'a'"):
        module.register_buffer("a", 3)
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        module.add_module("a", 3)


def test_constructor_takes_no_arguments():
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        nn.Module(1)
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'size'"):
        nn.Module(size=1)


def test_call_super_init_passes_arguments_on():
    class Named:
        def __init__(self, name):
            self.name = name

    class Both(nn.Module, Named):
        call_super_init = True

    assert Both("a").name == "a"


def test_delattr_reaches_members():
    block = Block()
    for name in ("weight", "scratch", "inner", "size"):
        delattr(block, name)
        assert not hasattr(block, name)
    with pytest.raises(AttributeError):
        del block.weight


def test_dir_lists_members_once():
    names = dir(Block())
    assert {"weight", "mean", "inner", "size", "forward"} <= set(names)
    assert len(names) == len(set(names))
    assert "0" not in dir(nn.Sequential(nn.Tanh()))


def test_names_are_dotted():
    model = nn.Sequential(Block(), nn.Tanh())
    assert [name for name, _ in model.named_parameters()] == ["0.weight", "0.inner.weight", "0.inner.bias"]
    assert [name for name, _ in model.named_parameters(recurse=False)] == []
    assert [name for name, _ in model.named_buffers(prefix="net")] == ["net.0.mean", "net.0.scratch"]
    assert [name for name, _ in model.named_modules(prefix="net")] == ["net", "net.0", "net.0.inner", "net.1"]
    assert [name for name, _ in model.named_children()] == ["0", "1"]
    assert len(list(model.modules())) == 4


def test_shared_members_come_once():
    shared = nn.Linear(2, 2)
    model = nn.Sequential(shared, shared)
    assert len(list(model.parameters())) == 2
    assert len(list(model.named_parameters(remove_duplicate=False))) == 4
    assert len(list(model.modules())) == 2
    assert len(list(model.modules(remove_duplicate=False))) == 3
    assert len(list(model.children())) == 1


def test_apply_goes_children_first():
    records = []
    model = nn.Sequential(nn.Tanh())
    assert model.apply(lambda module: records.append(type(module).__name__)) is model
    assert records == ["Tanh", "Sequential"]


def test_lookup_by_path():
    model = nn.Sequential(Block())
    assert model.get_submodule("") is model
    assert model.get_submodule("0.inner") is model[0].inner
    assert model.get_parameter("0.inner.bias") is model[0].inner.bias
    assert model.get_buffer("0.mean") is model[0].mean


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        ("get_submodule", "a.b", "Block has no attribute `a`"),
        ("get_submodule", "weight", "`weight` is not an nn.Module"),
        ("get_parameter", "size", "`size` is not an nn.Parameter"),
        ("get_parameter", "absent", "Block has no attribute `absent`"),
        ("get_buffer", "weight", "`weight` is not a buffer"),
    ],
)
def test_lookup_that_fails(method, path, message):
    with pytest.raises(AttributeError, match=message):
        getattr(Block(), method)(path)


def test_set_submodule():
    model = nn.Sequential(Block())
    layer = nn.Tanh()
    model.set_submodule("0.inner", layer)
    assert model[0].inner is layer
    model.set_submodule("0.new", layer)
    assert model[0].new is layer
    with pytest.raises(AttributeError, match="no attribute `other`"):
        model.set_submodule("0.other", layer, strict=True)
    with pytest.raises(AttributeError, match=r"`size` is not an nn.Module"):
        model.set_submodule("0.size", layer)
    with pytest.raises(ValueError, match="without a target name"):
        model.set_submodule("", layer)
    with pytest.raises(ValueError, match=r"is not an nn.Module"):
        model.set_submodule("0.inner", 3)


def test_conversion_keeps_parameters():
    block = Block()
    weight = block.weight
    block.counter = nn.Buffer(tl.zeros(1, dtype=tl.int64))
    weight.grad = tl.ones(2)
    assert block.double() is block
    assert block.weight is weight and weight.dtype == tl.float64 and weight.requires_grad
    assert weight.grad.dtype == tl.float64
    assert block.mean.dtype == tl.float64 and block.counter.dtype == tl.int64
    assert block.to(tl.float32).inner.bias.dtype == tl.float32
    assert block.to(tl.zeros(1, dtype=tl.float64)).inner.bias.dtype == tl.float64
    assert block.to("cpu", tl.float32).inner.bias.dtype == tl.float32
    assert block.to(device="cpu", dtype=tl.float64, non_blocking=True).inner.bias.dtype == tl.float64
    assert block.half().weight.dtype == tl.float16
    assert block.bfloat16().weight.dtype == tl.bfloat16
    assert block.float().cpu().weight is weight
    block.zero_grad()
    assert block.type(tl.float64).counter.dtype == tl.float64


def test_conversion_refuses_what_it_cannot_do():
    with pytest.raises(TypeError, match="only accepts floating point or complex dtypes"):
        Block().to(tl.int64)
    with pytest.raises(TypeError, match=r"to\(\) received an invalid combination of arguments"):
        Block().to("cpu", tl.float32, True, 4)


def test_meta_and_back():
    layer = nn.Linear(2, 3, device="meta")
    assert layer.weight.is_meta
    layer.to_empty(device="cpu")
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.requires_grad
    assert layer.weight.shape == (3, 2) and not layer.weight.is_meta
    layer.reset_parameters()
    assert layer(tl.zeros(1, 2)).shape == (1, 3)


def test_training_mode():
    model = nn.Sequential(Block())
    assert model.training and model[0].inner.training
    assert model.eval() is model
    assert not model[0].inner.training
    assert model.train()[0].training
    with pytest.raises(ValueError, match="training mode is expected to be boolean"):
        model.train(1)


def test_gradients_are_dropped_or_zeroed():
    block = Block()
    block(tl.ones(1, 2)).sum().backward()
    value = block.inner.bias.grad
    assert value.tolist() == [1.0, 1.0]
    block.zero_grad(set_to_none=False)
    assert block.inner.bias.grad is value and value.tolist() == [0.0, 0.0]
    block.zero_grad()
    assert block.inner.bias.grad is None
    assert not any(parameter.requires_grad for parameter in block.requires_grad_(False).parameters())


def test_deepcopy_and_pickle_are_independent():
    block = Block()
    block.register_forward_pre_hook(twice)
    for twin in (copy.deepcopy(block), pickle.loads(pickle.dumps(block))):
        assert twin.weight is not block.weight
        assert isinstance(twin.weight, nn.Parameter)
        assert twin(tl.ones(1, 2)).tolist() == block(tl.ones(1, 2)).tolist()
        with tl.no_grad():
            twin.weight.fill_(7.0)
        assert block.weight.tolist() == [1.0, 1.0]
        handle = twin.register_forward_hook(lambda module, args, output: None)
        assert handle.id not in twin._forward_pre_hooks


def twice(module, args):
    return tuple(arg * 2 for arg in args)


def test_the_library_that_old_pickles_call():
    """Modules from before PyTorch 1.2 carry the result of this function."""
    assert pickle.loads(b"ctl_nn.backends.thnn\n_get_thnn_function_backend\n(tR.") is None


def test_older_pickles_are_completed():
    block = Block()
    state = block.__getstate__()
    for name in ("_forward_hooks_always_called", "_backward_pre_hooks"):
        del state[name]
    twin = Block.__new__(Block)
    twin.__setstate__(state)
    assert not twin._backward_pre_hooks
    assert twin(tl.ones(1, 2)).shape == (1, 2)


def test_shared_parameters_stay_shared_in_copies():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    twin = copy.deepcopy(model)
    assert twin[1].weight is twin[0].weight


def test_printing():
    assert repr(nn.Linear(2, 3)) == "Linear(in_features=2, out_features=3, bias=True)"
    assert repr(nn.Module()) == "Module()"
    model = nn.Sequential(nn.Linear(2, 3, bias=False), nn.Sequential(nn.ReLU()))
    assert repr(model) == (
        "Sequential(\n"
        "  (0): Linear(in_features=2, out_features=3, bias=False)\n"
        "  (1): Sequential(\n"
        "    (0): ReLU()\n"
        "  )\n"
        ")"
    )


def test_missing_forward():
    with pytest.raises(NotImplementedError, match=r'Module \[Module\] is missing the required "forward"'):
        nn.Module()(1)


def test_compile_says_that_it_runs_eagerly():
    layer = nn.Identity()
    with pytest.warns(UserWarning, match="runs eagerly"):
        layer.compile()
    assert layer(3) == 3


def test_modules_are_freed():
    block = Block()
    missing = weakref.ref(block.inner.weight)
    del block
    gc.collect()
    assert missing() is None


@pytest.mark.parametrize("kind", ["parameter", "buffer", "module"])
def test_registration_hooks(kind):
    register = getattr(registration, f"register_module_{kind}_registration_hook")
    records = []
    with register(lambda module, name, member: records.append(name)):
        Block()
    expected = {"parameter": ["weight", "weight", "bias"], "buffer": ["mean", "scratch"], "module": ["inner"]}
    assert records == expected[kind]
    Block()
    assert records == expected[kind]


def test_registration_hook_replaces():
    other = nn.Parameter(tl.full((1,), 7.0))
    with registration.register_module_parameter_registration_hook(lambda module, name, parameter: other):
        layer = nn.Module()
        layer.extra = nn.Parameter(tl.ones(1))
    assert layer.extra is other


def test_many_attributes_still_work():
    module = nn.Module()
    for number in range(60):
        setattr(module, f"name{number}", number)
    assert [getattr(module, f"name{number}") for number in range(60)] == list(range(60))
    assert isinstance(vars(module), dict)


def test_what_is_missing_before_init_is_said_also_with_an_own_getattr():
    class Wrapper(nn.Module):
        def __init__(self, inner):
            self.inner = inner
            super().__init__()

        def __getattr__(self, name):
            return getattr(self.inner, name)

    with pytest.raises(AttributeError, match=r"cannot assign module before Module\.__init__\(\) call"):
        Wrapper(nn.Identity())

    class Forwarding(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self._modules["inner"], name)

    result = Forwarding(nn.Linear(2, 3))
    assert result.out_features == 3 and list(result.state_dict()) == ["inner.weight", "inner.bias"]
