"""The random generators of CUDA devices. There are none, so seeds are taken and nothing is seeded."""

from tl_backends import absent
from tl_backends.generators import (
    AbsentGenerators,
    get_rng_state_all,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
)

__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]

_absent = AbsentGenerators("cuda", absent.cuda)
initial_seed, get_rng_state = _absent.initial_seed, _absent.get_rng_state
set_rng_state, set_rng_state_all = _absent.set_rng_state, _absent.set_rng_state_all
