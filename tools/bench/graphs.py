"""Programs as graphs, and operators that Python handles: tracing, exporting, modes, custom operators, fakes."""

from __future__ import annotations

from tools.bench.cases import Case, Group, Program
from tools.bench.training import GPT, RESNET, START

GRAPHS = Group("programs as graphs")
HANDLED = Group("operators that Python handles")
OVERRIDES = Group("functions that ask for overrides")

# The statements name modules of either library, which `torch` alone does not bring.
MODULES = """\
import importlib

def module(name):
    return importlib.import_module(torch.__name__ + "." + name)

"""

IMAGES = (
    MODULES
    + RESNET
    + """\
fx, export = module("fx"), module("export").export
model = resnet18().eval()
x = torch.randn(1, 3, 64, 64)
"""
)

# The loss and the gradients of all parameters, as a function of them.
TRAINED = (
    MODULES
    + GPT
    + """\
make_fx = module("fx.experimental.proxy_tensor").make_fx
functional_call, grad = module("func").functional_call, module("func").grad
model = GPT(layers=2, width=64, heads=4)
parameters = {name: p.detach() for name, p in model.named_parameters()}
x, y = torch.randint(0, 96, (2, 32)), torch.randint(0, 96, (2, 32))

def loss(parameters, x, y):
    return F.cross_entropy(functional_call(model, parameters, (x,)).view(-1, 96), y.view(-1))

step = grad(loss)
"""
)

ADDITIONS = (
    MODULES
    + START
    + """\
TorchDispatchMode = module("utils._python_dispatch").TorchDispatchMode
FakeTensorMode = module("_subclasses.fake_tensor").FakeTensorMode
make_fx = module("fx.experimental.proxy_tensor").make_fx

class Passing(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))

passing, fakes = Passing(), FakeTensorMode()
a = torch.ones(16)
fake = fakes.from_tensor(a)

def ten(a):
    for _ in range(10):
        a + 1

def hundred(a):
    for _ in range(100):
        a = a + 1
    return a
"""
)

# Operators in Python, and the bare function, so that what is measured is the way to it.
CUSTOM = (
    MODULES
    + START
    + """\
import time
library, space = module("library"), f"bench{time.monotonic_ns()}"
own = library.Library(space, "DEF")
own.define("twice(Tensor x, float by) -> Tensor")

def bare(x: torch.Tensor, by: float) -> torch.Tensor:
    return x.mul(by)

own.impl("twice", bare, "CPU")
implemented = getattr(torch.ops, space).twice.default
custom = library.custom_op(f"{space}::product", bare, mutates_args=())
recorded = library.custom_op(f"{space}::recorded", bare, mutates_args=())

def keep(ctx, inputs, output):
    ctx.by = inputs[1]

recorded.register_autograd(lambda ctx, grad: (grad * ctx.by, None), setup_context=keep)
x, leaf = torch.ones(16), torch.ones(16, requires_grad=True)
"""
)

LARGE = (
    MODULES
    + START
    + """\
FakeTensorMode = module("_subclasses.fake_tensor").FakeTensorMode

class Layer(nn.Module):
    def __init__(self, width, inside):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = nn.Linear(width, inside, bias=False), nn.Linear(width, inside, bias=False)
        self.down = nn.Linear(inside, width, bias=False)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        y = self.norm1(x)
        q, k, v = (f(y).unflatten(-1, (32, 128)).transpose(1, 2) for f in (self.q, self.k, self.v))
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))

def built():
    with FakeTensorMode():
        layers = [Layer(4096, 11008) for _ in range(32)]
        x = nn.Embedding(32000, 4096)(torch.zeros(1, 512, dtype=torch.long))
        for layer in layers:
            x = layer(x)
        return nn.Linear(4096, 32000, bias=False)(x)
"""
)

# With `--peer-module tl` both sides are tl's: the peer's functions are the wrapped ones, which ask for nothing.
ASKING = (
    START
    + """\
x, y = torch.randn(16, 16), torch.randn(16, 16)
softmax, layer_norm, mse_loss = functions = F.softmax, F.layer_norm, F.mse_loss
bare_softmax, bare_layer_norm, bare_mse_loss = (getattr(f, "__wrapped__", f) for f in functions)
"""
)

CASES = [
    Case(GRAPHS, "ResNet-18: symbolic_trace", IMAGES, "fx.symbolic_trace(model)", bound=0.6),
    Case(GRAPHS, "ResNet-18: export", IMAGES, "export(model, (x,))", bound=0.15),
    Case(
        GRAPHS,
        "make_fx of a training step of a small GPT",
        TRAINED,
        "make_fx(step)(parameters, x, y)",
        bound=0.2,
    ),
    Case(GRAPHS, "make_fx of a hundred additions", ADDITIONS, "make_fx(hundred)(a)", bound=0.2),
    Case(HANDLED, "ten additions under a mode", ADDITIONS, "with passing:\n    ten(a)", bound=0.3),
    Case(HANDLED, "ten additions of fakes", ADDITIONS, "with fakes:\n    ten(fake)", bound=0.3),
    # once: the library lives as long as its functions, whose globals hold it
    *(
        Case(HANDLED, f"over the bare function: {name}", CUSTOM, run, less=less, bound=bound, builds=1)
        for name, run, less, bound in (
            ("Library.impl", "implemented(x, 2.0)", "bare(x, 2.0)", 0.15),
            ("custom_op", "custom(x, 2.0)", "bare(x, 2.0)", 0.15),
            ("custom_op, with a gradient recorded", "recorded(leaf, 2.0)", "bare(leaf, 2.0)", 0.2),
        )
    ),
    Case(HANDLED, "a model of 6.7e9 parameters, forward, of fakes", LARGE, "built()", rounds=3),
    Case(
        OVERRIDES,
        "three functions of nn.functional on 16x16",
        ASKING,
        "softmax(x, 1)\nlayer_norm(x, (16,))\nmse_loss(x, y)",
        bound=1.02,
        peer="bare_softmax(x, 1)\nbare_layer_norm(x, (16,))\nbare_mse_loss(x, y)",
    ),
]

PROGRAMS = [
    Program("a model of 6.7e9 parameters of fakes", f"import torch\n{LARGE}built()", time=1.0, memory=1.0)
]
