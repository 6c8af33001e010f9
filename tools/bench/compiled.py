"""Compiled functions: against the same function run eagerly, in two processes of ours, and against torch.compile.

torch.compile needs a compiler of C++. Its time is no part of a run.
"""

from __future__ import annotations

from tools.bench.cases import Case, Group
from tools.bench.training import GPT, LENET, MLP, RESNET, START, STEP

CHAINS = Group("chains compiled, against eager", mean=0.35, each=0.9)
CHAINS_PEER = Group("chains compiled, against compiled", mean=0.40, each=1.0)
HALVES = Group("chains of bfloat16 compiled, against eager", mean=0.90, each=1.03)
FORMULAS = Group("formulas compiled, against eager", mean=0.50)
FORMULAS_PEER = Group("formulas compiled, against compiled", mean=0.65)
BOTH_WAYS = Group("formulas compiled forward and backward, against eager", mean=0.50)
BOTH_WAYS_PEER = Group("formulas compiled forward and backward, against compiled", mean=0.60)
MODELS = Group("models compiled, against eager", mean=0.98, each=1.02)
MODELS_PEER = Group("models compiled, against compiled", mean=0.65)
REPLAYS = Group("calls replayed, against eager")
FROZEN = Group("frozen programs, against eager")

# Twelve chains of four to twelve operators over three operands, each positive.
CHAIN_LINES = {
    "arithmetic, 6 operators": "((a * b + c) * 0.5 - a) * b + c",
    "arithmetic, 12 operators": "(((((a * b + c) * 0.5 - a) * b + c) * 2.0 - b) * a + 1.0) * c - a",
    "GELU by tanh": "0.5 * a * (1.0 + torch.tanh(0.7978845608 * (a + 0.044715 * a * a * a)))",
    "SwiGLU and residual": "a * torch.sigmoid(a) * b + c",
    "normalization by rsqrt": "(a - b) * torch.rsqrt(c * c + 1e-5) * a + b",
    "lerp and decay": "(a + 0.1 * (b - a)) * 0.9 + (c - b * 0.01) * 0.1",
    "choices": "torch.where(a > b, a * c, b - c) * torch.where(c > a, a, b)",
    "mish": "a * torch.tanh(torch.log1p(torch.exp(a))) + b",
    "gate": "torch.sigmoid(a * b + c) * a",
    "clamped ratio": "torch.clamp(a / (b + 1e-3), 0.8, 1.2) * c - torch.clamp(a / b, max=1.0) * c",
    "moments": "a * a * 0.001 + b * 0.999 + (a - b) * (a - c) * 0.5",
    "distance": "torch.sqrt((a - b) * (a - b) + (b - c) * (b - c) + 1e-6)",
}
SIZES = {"64 K": 1 << 16, "1 M": 1 << 20, "16 M": 1 << 24}
CHAIN = """\
a, b, c = (torch.rand({size}).add_(0.1).to(torch.{dtype}) for _ in range(3))

def slow(a, b, c):
    return {line}

fast = torch.compile(slow)
with torch.no_grad():
    for _ in range(3):
        fast(a, b, c)
"""


def _chains(group: Group, dtype: str, *, peer: bool) -> list[Case]:
    return [
        Case(
            group,
            f"{name}, {label}",
            CHAIN.format(size=size, dtype=dtype, line=line),
            "fast(a, b, c)",
            own="" if peer else "slow(a, b, c)",
            rounds=3,
            builds=2,
        )
        for name, line in CHAIN_LINES.items()
        for label, size in SIZES.items()
    ]


# Formulas that people write by hand, on 1024 rows of 1024. The last line of each is the result.
FORMULA_LINES = {
    "RMSNorm": "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w",
    "LayerNorm": (
        "(x - x.mean(-1, keepdim=True)) * torch.rsqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-5) * w + v"
    ),
    "GELU": "0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))",
    "SwiGLU": "x * torch.sigmoid(x) * y",
    "rotary": "x * cos + torch.cat((-x[:, 512:], x[:, :512]), -1) * sin",
    "focal loss": "(-((1 - torch.sigmoid(x)) ** 2) * torch.log(torch.sigmoid(x) + 1e-8) * t).mean()",
    "smoothed cross entropy": "-(torch.log_softmax(x, -1) * (0.9 * t + 0.1 / 1024)).sum(-1).mean()",
    "softmax": "(lambda e: e / e.sum(-1, keepdim=True))(torch.exp(x - x.amax(-1, keepdim=True)))",
    "GRU cell": "(1 - torch.sigmoid(x)) * torch.tanh(y + torch.sigmoid(z) * w) + torch.sigmoid(x) * z",
    "Adam": "x - 0.001 * (0.9 * y + 0.1 * z) / (torch.sqrt(0.999 * t + 0.001 * z * z) + 1e-8)",
}
FORMULA = """\
torch.manual_seed(0)
x, y, z, t, cos, sin = (torch.rand(1024, 1024) for _ in range(6))
w, v = torch.rand(1024), torch.rand(1024)

def slow(x):
    return {line}

fast = torch.compile(slow)
"""
FORWARD = """\
for _ in range(3):
    fast(x)
"""
BACKWARD = """\
x.requires_grad_()

def backward(x):
    slow(x).sum().backward()
    x.grad = None

both = torch.compile(backward)
for _ in range(3):
    both(x)
"""


def _formulas(group: Group, *, peer: bool, backward: bool) -> list[Case]:
    run, own = ("both(x)", "backward(x)") if backward else ("fast(x)", "slow(x)")
    return [
        Case(
            group,
            name,
            FORMULA.format(line=line) + (BACKWARD if backward else FORWARD),
            run,
            own="" if peer else own,
            rounds=3,
            builds=2,
        )
        for name, line in FORMULA_LINES.items()
    ]


STEPPED = f"""
def step(model):
{"".join(f"    {line}{chr(10)}" for line in STEP.splitlines())}
compiled = torch.compile(model)
for _ in range(3):
    step(compiled)
"""
INFERENCE = """
model.eval()
compiled = torch.compile(model)

def infer(model):
    with torch.no_grad():
        model(x)

for _ in range(3):
    infer(compiled)
"""
IMAGES = "x, y = torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,))\n"
SGD = "optimizer = torch.optim.SGD(model.parameters(), lr=0.01)\n"
TOKENS = "x = torch.randint(0, 96, (4, 64))\n"
MODEL_CASES = {
    "MLP": (MLP + STEPPED, "step({})"),
    "LeNet": (LENET + STEPPED, "step({})"),
    "ResNet-8": (RESNET + "model = resnet8()\n" + SGD + IMAGES + STEPPED, "step({})"),
    "GPT, inference": (GPT + "model = GPT()\n" + TOKENS + INFERENCE, "infer({})"),
    "ResNet-18, inference, batch 1": (
        RESNET + "model, x = resnet18(), torch.randn(1, 3, 64, 64)\n" + INFERENCE,
        "infer({})",
    ),
}

ENVIRONMENT = (
    START
    + """\
w1, b1, w2, b2 = torch.randn(32, 4) * 0.5, torch.randn(32) * 0.1, torch.randn(2, 32) * 0.3, torch.randn(2) * 0.1

def slow(s):
    p = F.softmax(F.linear(torch.tanh(F.linear(s, w1, b1)), w2, b2), -1)
    x, v, angle, rate = s.unbind(-1)
    force = (p[..., 1] > 0.5).to(s.dtype) * 20.0 - 10.0
    c, sine = torch.cos(angle), torch.sin(angle)
    push = (force + 0.05 * rate * rate * sine) / 1.1
    turn = (9.8 * sine - c * push) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
    speed = push - 0.05 * turn * c / 1.1
    following = torch.stack([x + 0.02 * v, v + 0.02 * speed, angle + 0.02 * rate, rate + 0.02 * turn], -1)
    ends = (following[..., 0].abs() > 2.4) | (following[..., 2].abs() > 0.2095)
    return torch.where(ends[..., None], s * 0.0, following), ends

args = (torch.randn(8, 4),)
"""
)
SMALL_MLP = (
    START
    + """\
slow = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)).eval()
slow.requires_grad_(False)
args = (torch.randn(1, 64),)
"""
)
ADAM = (
    START
    + """\
model = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters())

def slow(x, y):
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    return loss

args = (torch.randn(16, 4), torch.randn(16, 2))
"""
)
TOKEN = (
    GPT
    + """\
model = GPT().eval().requires_grad_(False)

def slow(token):
    return model(token)

args = (torch.randint(0, 96, (1, 1)),)
"""
)
# A call that changes the program is run by Python each time.
UNREPLAYED = (
    START
    + """\
calls = [0]

def slow(a, b):
    calls[0] += 1
    for _ in range(3):
        a = (a * b + b).tanh() - b
    return a

args = (torch.ones(16), torch.ones(16))
"""
)
REPLAYED = 'fast = torch.compile(slow, mode="reduce-overhead")\nfor _ in range(6):\n    fast(*args)\n'
REPLAY_CASES = {
    "step of an environment, 49 operators": (ENVIRONMENT, 0.70),
    "MLP of 64, batch 1": (SMALL_MLP, 0.40),
    "MLP of 4-32-2 with Adam": (ADAM, 0.30),
    "GPT of 256, one token": (TOKEN, 0.70),
    "16 floats, not replayed": (UNREPLAYED, 1.10),
}

FREEZE = "with torch.no_grad():\n    fast = torch.compiler.freeze(model, (x,))\n"
WITHOUT_GRADIENTS = "with torch.no_grad():\n    {}(x)"
FROZEN_CASES = {
    "ResNet-18, 64 pixels": (RESNET + "model, x = resnet18().eval(), torch.randn(1, 3, 64, 64)\n", 0.60),
    "ResNet-18, 224 pixels": (RESNET + "model, x = resnet18().eval(), torch.randn(1, 3, 224, 224)\n", 0.92),
    "linear 1024 to 4096, 16 rows": (
        START + "model, x = nn.Linear(1024, 4096).eval(), torch.randn(16, 1024)\n",
        0.75,
    ),
}

CASES = [
    *_chains(CHAINS, "float32", peer=False),
    *_chains(CHAINS_PEER, "float32", peer=True),
    *_chains(HALVES, "bfloat16", peer=False),
    *_formulas(FORMULAS, peer=False, backward=False),
    *_formulas(FORMULAS_PEER, peer=True, backward=False),
    *_formulas(BOTH_WAYS, peer=False, backward=True),
    *_formulas(BOTH_WAYS_PEER, peer=True, backward=True),
    *(
        Case(MODELS, name, setup, run.format("compiled"), own=run.format("model"), rounds=3, builds=2)
        for name, (setup, run) in MODEL_CASES.items()
    ),
    *(
        Case(MODELS_PEER, name, setup, run.format("compiled"), rounds=3, builds=1)
        for name, (setup, run) in MODEL_CASES.items()
    ),
    *(
        Case(REPLAYS, name, setup + REPLAYED, "fast(*args)", own="slow(*args)", bound=bound)
        for name, (setup, bound) in REPLAY_CASES.items()
    ),
    *(
        Case(
            FROZEN,
            name,
            setup + FREEZE,
            WITHOUT_GRADIENTS.format("fast"),
            own=WITHOUT_GRADIENTS.format("model"),
            bound=bound,
            builds=1,
        )
        for name, (setup, bound) in FROZEN_CASES.items()
    ),
]
