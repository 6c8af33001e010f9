"""Rules of attention."""

from opgen.rule_language import batch, batch_size

from .layouts import folded


@batch("_attention_rng_state")
def _(query, key):
    states = _attention_rng_state(folded(query), folded(key))
    return states.reshape([batch_size, states.shape[0] // batch_size] + states.shape[1:])
