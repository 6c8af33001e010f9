"""Beginning and ending levels, under the names by which tracers look for them."""

from tl_autograd.compat.functorch.native import (
    _add_batch_dim,
    _remove_batch_dim,
    _vmap_decrement_nesting,
    _vmap_increment_nesting,
)

__all__ = ["_add_batch_dim", "_remove_batch_dim", "_vmap_decrement_nesting", "_vmap_increment_nesting"]
