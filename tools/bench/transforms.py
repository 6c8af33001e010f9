"""Function transforms: single operators inside of levels, gradients of every sample, Jacobians, ensembles, tangents."""

from __future__ import annotations

from tools.bench.cases import Case, Group
from tools.bench.training import GPT, LENET, MLP, RESNET, START

OVERHEAD = Group("ten operators on 16 floats inside of transforms", each=0.15)
SAMPLES = Group("gradients of every sample", each=0.7)
JACOBIANS = Group("Jacobians and Hessians", each=0.6)
ENSEMBLES = Group("ensembles", each=0.7)
TANGENTS = Group("jvp in the inputs", each=0.8)

NAMES = "functional_call grad hessian jacfwd jacrev jvp stack_module_state vmap"
FUNC = f"{', '.join(NAMES.split())} = (getattr(torch.func, name) for name in {NAMES!r}.split())\n"

TEN = (
    FUNC
    + """\
def ten(a, b):
    a = a * b + b
    a = a * b + b
    a = a * b + b
    return ((a.sin() - b).exp() / b)

a, b = torch.ones(16), torch.ones(16)
many, more = torch.ones(8, 16), torch.ones(8, 16)
batched = vmap(ten)
gradient = grad(lambda a, b: ten(a, b).sum())
gradients = vmap(gradient)
"""
)

LOSS = (
    FUNC
    + """\
parameters = {name: p.detach() for name, p in model.named_parameters()}

def loss(parameters, x, y):
    return F.cross_entropy(functional_call(model, parameters, (x.unsqueeze(0),)), y.unsqueeze(0))

samples = vmap(grad(loss), in_dims=(None, 0, 0))
"""
)

WIDE = (
    START
    + FUNC
    + """\
w, v = torch.randn(256, 256) / 16, torch.randn(256, 256) / 16
x = torch.randn(256)

def f(x):
    return v @ (w @ x).tanh()
"""
)

HESSIAN = (
    START
    + FUNC
    + """\
model = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
parameters = {name: p.detach() for name, p in model.named_parameters()}
x = torch.randn(64)

def f(x):
    return functional_call(model, parameters, (x,)).squeeze(0)
"""
)

ENSEMBLE = (
    START
    + FUNC
    + """\
models = [nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)) for _ in range(16)]
stacked, buffers = stack_module_state(models)
stacked = {name: p.detach() for name, p in stacked.items()}
x, y = torch.randn(64, 64), torch.randint(0, 10, (64,))

def outputs(parameters, x):
    return functional_call(models[0], parameters, (x,))

def loss(parameters, x, y):
    return F.cross_entropy(outputs(parameters, x), y)

forward, both = vmap(outputs, in_dims=(0, None)), vmap(grad(loss), in_dims=(0, None, None))
"""
)

PUSHED = (
    FUNC
    + """\
parameters = {name: p.detach() for name, p in model.named_parameters()}
model.eval()

def f(x):
    return functional_call(model, {**parameters, **dict(model.named_buffers())}, (x,))

t = torch.randn_like(x)
"""
)

# The peer's fused attention has no forward derivative.
BY_PARTS = GPT.replace(
    "F.scaled_dot_product_attention(q, k, v, is_causal=t > 1)",
    "(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5 + torch.full((t, t), -1e9).triu(1)).softmax(-1) @ v",
)

CASES = [
    Case(OVERHEAD, "inside vmap", TEN, "batched(many, more)"),
    Case(OVERHEAD, "inside grad", TEN, "gradient(a, b)"),
    Case(OVERHEAD, "inside vmap of grad", TEN, "gradients(many, more)"),
    Case(SAMPLES, "MLP, batch 128", MLP + LOSS, "samples(parameters, x, y)"),
    Case(SAMPLES, "LeNet, batch 64", LENET + LOSS, "samples(parameters, x, y)"),
    Case(JACOBIANS, "jacrev, 256 to 256", WIDE, "jacrev(f)(x)"),
    Case(JACOBIANS, "jacfwd, 256 to 256", WIDE, "jacfwd(f)(x)"),
    Case(JACOBIANS, "hessian of an MLP of 64 inputs", HESSIAN, "hessian(f)(x)"),
    Case(ENSEMBLES, "16 MLPs, forward", ENSEMBLE, "forward(stacked, x)"),
    Case(ENSEMBLES, "16 MLPs, gradients", ENSEMBLE, "both(stacked, x, y)"),
    Case(TANGENTS, "MLP", MLP + PUSHED, "jvp(f, (x,), (t,))"),
    Case(
        TANGENTS,
        "ResNet-8",
        RESNET + "model, x = resnet8(), torch.randn(16, 3, 32, 32)\n" + PUSHED,
        "jvp(f, (x,), (t,))",
    ),
    Case(
        TANGENTS,
        "GPT",
        BY_PARTS
        + "x = torch.randn(2, 128, 256)\nmodel = nn.Sequential(*model.layers, model.norm, model.head)\n"
        + PUSHED,
        "jvp(f, (x,), (t,))",
    ),
]
