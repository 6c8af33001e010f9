"""Rules of attention."""

from opgen.rule_language import batch, batch_size


def _folded(x):
    """(B, N, …) as (B · N, …)."""
    return x.reshape([x.shape[0] * x.shape[1]] + x.shape[2:])


@batch("_attention_rng_state")
def _(query, key):
    states = _attention_rng_state(_folded(query), _folded(key))
    return states.reshape([batch_size, states.shape[0] // batch_size] + states.shape[1:])
