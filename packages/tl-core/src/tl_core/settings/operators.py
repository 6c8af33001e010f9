"""Switches that operators heed: how attention may be computed, and in which order `einsum` contracts.

The switches are declared here, and told to the kernels whenever one is set. Modules that offer them import this one.
"""

from __future__ import annotations

from tl_core import _C
from tl_core.settings import switches

__all__ = ["ATTENTION", "EINSUM_ENABLED", "EINSUM_STRATEGIES", "EINSUM_STRATEGY"]

# The ways of computing attention that this library has: one, which counts as both.
ATTENTION = ("backends.cuda.flash_sdp", "backends.cuda.math_sdp")
EINSUM_ENABLED = "backends.opt_einsum.enabled"
EINSUM_STRATEGY = "backends.opt_einsum.strategy"
EINSUM_STRATEGIES = {"auto": 0, "greedy": 0, "optimal": 1}
_LEFT_TO_RIGHT = 2


def _set_attention() -> None:
    _C._set_attention_allowed(any(map(switches.get, ATTENTION)))


def _set_einsum() -> None:
    # opt_einsum has more strategies, which only its own functions know.
    order = EINSUM_STRATEGIES.get(switches.get(EINSUM_STRATEGY), 0)
    _C._set_einsum_order(order if switches.get(EINSUM_ENABLED) else _LEFT_TO_RIGHT)


for _name in ATTENTION:
    switches.declare(_name, True, bool)
    switches.watch(_name, _set_attention)
switches.declare(EINSUM_ENABLED, True, bool)
switches.declare(EINSUM_STRATEGY, "auto", str)
for _name in (EINSUM_ENABLED, EINSUM_STRATEGY):
    switches.watch(_name, _set_einsum)
