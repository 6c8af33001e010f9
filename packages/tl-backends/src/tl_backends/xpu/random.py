"""The random generators of XPU devices. There are none, so seeds are taken and nothing is seeded."""

from tl_backends.absent_device import XPU

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

get_rng_state = XPU.get_rng_state
get_rng_state_all = XPU.get_rng_state_all
initial_seed = XPU.initial_seed
manual_seed = XPU.manual_seed
manual_seed_all = XPU.manual_seed_all
seed = XPU.seed
seed_all = XPU.seed_all
set_rng_state = XPU.set_rng_state
set_rng_state_all = XPU.set_rng_state_all
