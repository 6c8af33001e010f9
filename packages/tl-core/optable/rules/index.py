"""Rules of indices and masks."""

from opgen.rule_language import batch, batch_size, batched, defined, jvp

from .layouts import aligned


@jvp("scatter.value")
def _(dim, index, t_self):
    return scatter(t_self, dim, index, 0)


@jvp("masked_fill.Scalar")
def _(mask, t_self):
    return masked_fill(t_self, mask, 0)


@jvp("masked_fill.Tensor")
def _(self, mask, value, t_self, t_value):
    return masked_fill(
        t_self if defined(t_self) else zeros_like(self),
        mask,
        t_value if defined(t_value) else zeros_like(value),
    )


@batch("masked_fill.Tensor")
def _(self, mask, value):
    rank = max(self.ndim, mask.ndim)
    return where(
        aligned(mask, rank),
        _to_copy(value, dtype=self.dtype).reshape([batch_size] + [1] * (rank - 1)),
        aligned(self, rank),
    )


@batch("masked_scatter")
def _(self, mask, source):
    rank = max(self.ndim, mask.ndim)
    m = aligned(mask, rank)
    x = aligned(self, rank)
    chosen = m | zeros_like(x, dtype="bool")
    ones = _to_copy(chosen, dtype="int64").reshape([batch_size, prod(chosen.shape[1:])])
    values = source.reshape([batch_size, prod(source.shape[1:])])
    # Position 0 stands for elements that the mask leaves alone.
    values_by_position = cat([values.new_zeros([batch_size, 1]), values], 1)
    return where(chosen, values_by_position.gather(1, ones.cumsum(1) * ones).reshape(chosen.shape), x)


@batch("index_select")
def _(self, dim, index):
    n = self.ndim
    d = dim + 1 if dim >= 0 else dim + max(n, 2)
    if not batched(index) and n == 1:
        return self.unsqueeze(1).index_select(1, index).reshape([batch_size])
    if not batched(index):
        return self.index_select(d, index)
    i = index.reshape([batch_size, index.shape[1] if index.ndim == 2 else 1])
    k = i.shape[1]
    if n == 1:
        return self.unsqueeze(1).gather(1, i).reshape([batch_size])
    rows = i.reshape([batch_size] + [1] * (d - 1) + [k] + [1] * (n - 1 - d))
    return self.gather(d, rows.expand(self.shape[:d] + [k] + self.shape[d + 1 :]))


@batch("index_select_backward")
def _(grad, input_sizes, dim, index):
    if len(input_sizes) == 0:
        return grad.reshape([batch_size])
    d = dim + 1 if dim >= 0 else dim + 1 + len(input_sizes)
    if not batched(index):
        return index_select_backward(grad, [batch_size] + input_sizes, d, index)
    return grad.new_zeros([batch_size] + input_sizes).scatter_add(
        d,
        index.reshape([batch_size] + [1] * (d - 1) + [grad.shape[d]] + [1] * (grad.ndim - 1 - d)).expand(
            grad.shape
        ),
        grad,
    )
