"""Rules of embeddings: a batch of tables is one table, whose rows are numbered on."""

from opgen.rule_language import batch, batch_size, batched, unexpanded


@batch("embedding")
def _(weight, indices, padding_idx, scale_grad_by_freq, sparse):
    if not batched(weight):
        return embedding(weight, unexpanded(indices), padding_idx, scale_grad_by_freq, sparse)
    first_rows = arange(batch_size, device=weight.device) * weight.shape[1]
    i = indices if batched(indices) else indices.unsqueeze(0).expand([batch_size] + indices.shape)
    return embedding(
        weight.reshape([batch_size * weight.shape[1], weight.shape[2]]),
        i + first_rows.reshape([batch_size] + [1] * (i.ndim - 1)),
        -1,
        False,
        False,
    )


@batch("embedding_dense_backward")
def _(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    grads = embedding_dense_backward(
        grad_output.masked_fill((indices == padding_idx).unsqueeze(-1), 0),
        indices
        + (arange(batch_size, device=indices.device) * num_weights).reshape(
            [batch_size] + [1] * (indices.ndim - 1)
        ),
        batch_size * num_weights,
        -1,
        scale_grad_by_freq,
    )
    return grads.reshape([batch_size, num_weights, grad_output.shape[-1]])
