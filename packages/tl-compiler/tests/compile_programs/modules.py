"""Programs whose functions are modules, or use layers."""

from __future__ import annotations

import tl_core as tl
import tl_nn
import tl_nn.functional as F

from .registry import CountedNet, Net, gradients, program


@program(graphs=1)
def module_and_gradients(compile):
    model = Net()
    f = compile(model)
    for i in range(3):
        out = f(tl.full((2, 3), float(i)))
        yield out
        yield gradients(model, out)


@program(graphs=1)
def training(compile):
    model = Net()
    f = compile(model)
    optimizer = tl_nn.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        loss = f(tl.ones(2, 3)).square().mean()
        loss.backward()
        optimizer.step()
        yield loss


@program(graphs=2)
def module_flag(compile):
    model = Net()
    f = compile(model)
    for flag in (True, False, True):
        model.flag = flag
        yield f(tl.ones(2, 3))


@program(graphs=1)
def parameters_are_replaced(compile):
    model = Net()
    f = compile(model)
    yield f(tl.ones(2, 3))
    model.first.weight = tl_nn.Parameter(tl.ones(4, 3))
    yield f(tl.ones(2, 3))
    model.load_state_dict({k: v * 2 for k, v in model.state_dict().items()})
    yield f(tl.ones(2, 3))


@program(graphs=2)
def parameters_are_frozen(compile):
    model = Net()
    f = compile(model)
    yield f(tl.ones(2, 3)).requires_grad
    model.requires_grad_(False)
    yield f(tl.ones(2, 3)).requires_grad


@program(graphs=2)
def a_layer_is_replaced(compile):
    model = Net()
    f = compile(model)
    yield f(tl.ones(2, 3))
    model.second = tl_nn.Identity()
    yield f(tl.ones(2, 3))


@program()
def module_counts(compile):
    model = CountedNet()
    f = compile(model)
    for _ in range(3):
        yield f(tl.ones(2, 3))
    yield model.calls
    yield model.seen


@program(graphs=2)
def batch_norm(compile):
    model = tl_nn.Sequential(tl_nn.BatchNorm1d(3), tl_nn.ReLU())
    f = compile(model)
    for i in range(3):
        yield f(tl.arange(6.0).reshape(2, 3) * i)
    model.eval()
    yield f(tl.ones(2, 3))
    yield dict(model.state_dict())


@program(graphs=2)
def dropout(compile):
    model = tl_nn.Dropout(0.5)
    f = compile(model)
    tl.manual_seed(3)
    for _ in range(3):
        yield f(tl.ones(8))
    yield tl.rand(2)
    model.eval()
    yield f(tl.ones(8)) * 1


@program()
def hooks(compile):
    model, records = Net(), []
    f = compile(model)
    yield f(tl.ones(1, 3))
    handle = model.first.register_forward_hook(lambda module, args, out: out * 2)
    yield f(tl.ones(1, 3))
    handle.remove()
    model.register_forward_pre_hook(lambda module, args: records.append(1))
    yield f(tl.ones(1, 3))
    yield f(tl.ones(1, 3))
    yield len(records)


@program()
def spectral_norm_counts(compile):
    tl.manual_seed(0)
    model = tl_nn.utils.parametrizations.spectral_norm(tl_nn.Linear(3, 3))
    f = compile(model)
    for _ in range(3):
        yield f(tl.ones(1, 3))


@program(graphs=1)
def lists_of_modules(compile):
    tl.manual_seed(0)
    layers = tl_nn.ModuleList(tl_nn.Linear(3, 3) for _ in range(3))

    def f(x):
        for layer in layers:
            x = layer(x).tanh()
        return x

    f = compile(f)
    yield f(tl.ones(1, 3))
    yield f(tl.zeros(1, 3))


@program(graphs=1)
def attention(compile):
    tl.manual_seed(0)
    model = tl_nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    f = compile(model)
    for _ in range(2):
        out = f(tl.ones(2, 3, 8))
        yield out
        yield gradients(model, out)


@program()
def lstm(compile):
    tl.manual_seed(0)
    model = tl_nn.LSTM(3, 4)
    f = compile(model)
    yield f(tl.ones(5, 2, 3))
    yield f(tl.zeros(5, 2, 3))


@program()
def embedding(compile):
    tl.manual_seed(0)
    model = tl_nn.Embedding(5, 3, padding_idx=0, max_norm=1.0)
    f = compile(model)
    yield f(tl.tensor([0, 1, 4]))
    yield f(tl.tensor([2, 2, 3]))
    yield model.weight


@program(graphs=1)
def functional_layers(compile):
    w = tl.arange(18.0).reshape(2, 1, 3, 3)
    f = compile(lambda x: F.max_pool2d(F.conv2d(x, w, padding=1).relu(), 2))
    for i in range(2):
        yield f(tl.arange(16.0).reshape(1, 1, 4, 4) * i)


@program(graphs=2)
def a_method_is_patched(compile):
    model = Net()
    f = compile(model)
    yield f(tl.ones(1, 3))
    before = Net.forward
    Net.forward = lambda self, x: self.first(x)
    try:
        yield f(tl.ones(1, 3))
    finally:
        Net.forward = before
