"""Functions of `torch.special` and `torch.linalg` that call an operator of another name.

Each is a function of its own, which `__torch_function__` and graphs tell from the first: (namespace, name) to the name
of the operator in the flat namespace.
"""

from __future__ import annotations

_SPECIAL = """
digamma erf erfc erfinv exp2 expm1 i0 log1p log_softmax logit logsumexp polygamma round sinc softmax xlogy
"""

SECOND_NAMES = {
    **{("_special", f"special_{name}"): name for name in _SPECIAL.split()},
    ("_special", "special_expit"): "sigmoid",
    ("_special", "special_gammainc"): "igamma",
    ("_special", "special_gammaincc"): "igammac",
    ("_special", "special_gammaln"): "lgamma",
    ("_special", "special_multigammaln"): "mvlgamma",
    ("_special", "special_psi"): "digamma",
    ("_linalg", "linalg_matmul"): "matmul",
}
