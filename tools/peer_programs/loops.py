"""Training loops that a seed decides: a model, an optimizer, a schedule, and what happens between steps."""

from __future__ import annotations

import random

__all__ = ["draw_loop"]

STEPS = 8
# Models of batches of 5 with 6 features. No bias is left without a gradient: its sign is noise.
MODELS = """
    nn.Sequential(nn.Linear(6, 8), ACT, nn.LayerNorm(8), nn.Linear(8, 4))
    nn.Sequential(parametrizations.weight_norm(nn.Linear(6, 8)), ACT, nn.Linear(8, 4, bias=False))
    nn.Sequential(nn.Linear(6, 6), ACT, nn.RMSNorm(6), nn.Linear(6, 4))
    nn.Sequential(PAIRS, nn.Conv1d(2, 4, 3, padding="same"), ACT, nn.Flatten(), nn.Linear(12, 4))
    nn.Sequential(nn.Unflatten(1, (1, 2, 3)), nn.ConvTranspose2d(1, 2, 2), ACT, nn.Flatten(), nn.Linear(24, 4))
    nn.Sequential(PAIRS, nn.Conv1d(2, 4, 2, bias=False), nn.BatchNorm1d(4), ACT, nn.Flatten(), nn.Linear(8, 4))
    nn.Sequential(PAIRS, First(nn.LSTM(3, 4, 2, batch_first=True)), nn.Flatten(), nn.Linear(8, 4))
    nn.Sequential(PAIRS, First(nn.GRU(3, 4, batch_first=True)), nn.Flatten(), nn.Linear(8, 4))
"""
ACTIVATIONS = (
    "nn.ReLU() nn.GELU() nn.Tanh() nn.SiLU() nn.ELU() nn.Softplus() nn.Hardswish() nn.Mish() nn.CELU()"
)
OPTIMIZERS = """
    SGD(GROUPS, lr=LR, momentum=0.9, weight_decay=WD, maximize=MAX, IMPL)
    SGD(GROUPS, lr=LR, momentum=0.9, nesterov=True, dampening=0, IMPL)
    Adam(GROUPS, lr=LR, weight_decay=WD, amsgrad=FLAG, maximize=MAX, IMPL)
    AdamW(GROUPS, lr=LR, weight_decay=WD, amsgrad=FLAG, IMPL)
    Adam(GROUPS, lr=torch.tensor(0.02), fused=FLAG)
    RMSprop(GROUPS, lr=LR, alpha=0.9, centered=FLAG, momentum=0.5, weight_decay=WD, IMPL)
    Adagrad(GROUPS, lr=LR, lr_decay=0.01, weight_decay=WD, initial_accumulator_value=0.1, IMPL)
    Adadelta(GROUPS, lr=0.5, rho=0.8, weight_decay=WD, IMPL)
    Adamax(GROUPS, lr=LR, weight_decay=WD, IMPL)
    NAdam(GROUPS, lr=LR, weight_decay=WD, decoupled_weight_decay=FLAG, IMPL)
    RAdam(GROUPS, lr=LR, weight_decay=WD, decoupled_weight_decay=FLAG, IMPL)
    ASGD(GROUPS, lr=LR, t0=2, weight_decay=WD, IMPL)
    Rprop(GROUPS, lr=0.01, IMPL)
    LBFGS(model.parameters(), lr=0.1, max_iter=3, line_search_fn=SEARCH)
"""
SCHEDULERS = """
    StepLR(optimizer, 2, 0.5) | CosineAnnealingLR(optimizer, 5, 0.001) | ExponentialLR(optimizer, 0.9)
    SequentialLR(optimizer, [LinearLR(optimizer, 0.1, total_iters=3), CosineAnnealingLR(optimizer, 6)], [3])
    ChainedScheduler([ConstantLR(optimizer, 0.5, 2), ExponentialLR(optimizer, 0.95)])
    CosineAnnealingWarmRestarts(optimizer, 2, 2) | LambdaLR(optimizer, lambda epoch: 1 / (epoch + 1))
    MultiplicativeLR(optimizer, lambda epoch: 0.9) | PolynomialLR(optimizer, 8, 2.0)
    MultiStepLR(optimizer, [2, 4], 0.3) | CyclicLR(optimizer, 0.001, 0.05, 2, cycle_momentum=False)
    ReduceLROnPlateau(optimizer, patience=0) | OneCycleLR(optimizer, 0.05, total_steps=40, cycle_momentum=False)
    SWALR(optimizer, swa_lr=0.003, anneal_epochs=3)
"""
LOSSES = """
    F.cross_entropy(z, y, label_smoothing=0.1) | F.mse_loss(z.softmax(-1), F.one_hot(y, 4).to(z.dtype))
    F.binary_cross_entropy_with_logits(z, F.one_hot(y, 4).to(z.dtype)) | F.huber_loss(z, F.one_hot(y, 4).to(z.dtype))
    F.kl_div(z.log_softmax(-1), F.one_hot(y, 4).to(z.dtype).softmax(-1), reduction="batchmean")
    F.smooth_l1_loss(z, F.one_hot(y, 4).to(z.dtype), beta=0.5) | F.nll_loss(z.log_softmax(-1), y, ignore_index=2)
"""
EVENTS = """
    reload(model, optimizer)
    model.eval()
    model.train()
    toggle(model)
    optimizer.add_param_group({"params": [nn.Parameter(torch.ones(2, dtype=torch.float64))]})
    average(model)
    model[-1].register_full_backward_hook(lambda module, before, after: (before[0] * 0.9,))
    [p.register_hook(lambda g: g * 0.9) for p in model.parameters() if p.requires_grad]
"""
CLIPS = ("", "norm", "largest", "value")


def _alternatives(text: str) -> list[str]:
    return [part.strip() for line in text.strip().splitlines() for part in line.split(" | ")]


def _optimizer(rng: random.Random) -> str:
    text = rng.choice(_alternatives(OPTIMIZERS))
    choices = {
        "GROUPS": ["list(model.parameters())", "halves(model)"],
        "LR": ["0.02", "0.005", "0.1"],
        "WD": ["0", "0.01", "0.1"],
        "MAX": ["False", "False", "True"],
        "FLAG": ["False", "True"],
        "IMPL": ["foreach=True", "foreach=False", "foreach=None"],
        "SEARCH": ["None", "'strong_wolfe'"],
    }
    for name, values in choices.items():
        text = text.replace(name, rng.choice(values))
    return text


def draw_loop(seed: str) -> list[str]:
    """The statements of a training loop, as `trainer.run` executes them.

    Args:
        seed: decides the loop.
    """
    rng = random.Random(seed)
    model = rng.choice(_alternatives(MODELS)).replace("PAIRS", "nn.Unflatten(1, (2, 3))")
    model = model.replace("ACT", rng.choice(ACTIVATIONS.split()))
    statements = [f"model = filled({model})", f"optimizer = optim.{_optimizer(rng)}"]
    statements.append(f"scheduler = {rng.choice([*_alternatives(SCHEDULERS), 'None', 'None'])}")
    statements.append(f"loss = lambda z, y: {rng.choice(_alternatives(LOSSES))}")
    options = f"clip={rng.choice(CLIPS)!r}, parts={rng.choice([1, 1, 2])}, scaled={rng.random() < 0.15}"
    searches = "LBFGS" in statements[1]  # its line search compares losses with gradients, which hooks change
    for index in range(STEPS):
        if not searches and rng.random() < 0.2:
            statements.append(rng.choice(_alternatives(EVENTS)))
        statements.append(f"step({index}, {options}, to_none={rng.random() < 0.5})")
    return statements
