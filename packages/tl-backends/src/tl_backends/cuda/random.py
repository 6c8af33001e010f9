"""The random generators of CUDA devices. There are none, so seeds are taken and nothing is seeded."""

from tl_backends.absent_device import CUDA

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

get_rng_state = CUDA.get_rng_state
get_rng_state_all = CUDA.get_rng_state_all
initial_seed = CUDA.initial_seed
manual_seed = CUDA.manual_seed
manual_seed_all = CUDA.manual_seed_all
seed = CUDA.seed
seed_all = CUDA.seed_all
set_rng_state = CUDA.set_rng_state
set_rng_state_all = CUDA.set_rng_state_all
