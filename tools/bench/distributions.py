"""Probability distributions: constructing one, a sample of it, and the sample's log density."""

from __future__ import annotations

from tools.bench.cases import Case, Group

DISTRIBUTIONS = Group("distributions", mean=0.4)
BATCHES = (16, 4096)
CLASSES = 8

COMMON = {
    "Normal": "Normal(x, a)",
    "Uniform": "Uniform(x, x + a)",
    "Bernoulli": "Bernoulli(logits=x)",
    "Categorical": "Categorical(logits=rows)",
    "Exponential": "Exponential(a)",
    "Gamma": "Gamma(a, b)",
    "Beta": "Beta(a, b)",
    "Laplace": "Laplace(x, a)",
    "Dirichlet": "Dirichlet(positive_rows)",
    "Multinomial": "Multinomial(10, logits=rows)",
}

SETUP = f"""
D = torch.distributions
torch.manual_seed(0)
x, a, b = torch.randn({{n}}), torch.rand({{n}}) + 0.5, torch.rand({{n}}) + 0.5
rows, positive_rows = torch.randn({{n}} // {CLASSES}, {CLASSES}), torch.rand({{n}} // {CLASSES}, {CLASSES}) + 0.5
"""

CASES = [
    Case(
        DISTRIBUTIONS,
        f"{name}, batch {n}",
        SETUP.format(n=n),
        f"d = D.{text}; d.log_prob(d.sample())",
        rounds=3,
    )
    for name, text in COMMON.items()
    for n in BATCHES
]
