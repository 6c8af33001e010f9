"""Rules of reductions."""

from opgen.rule_language import batch, batch_size, jvp

from .layouts import aligned


def _flat(self):
    """All elements of an example in one dimension."""
    return self.reshape([batch_size, prod(self.shape[1:])])


@batch("sum")
def _(self, dtype):
    return _flat(self).sum(1, False, dtype=dtype)


@batch("mean")
def _(self, dtype):
    return _flat(self).mean(1, False, dtype=dtype)


@batch("prod")
def _(self, dtype):
    return _flat(self).prod(1, False, dtype=dtype)


@batch("max")
def _(self):
    return _flat(self).amax(1, False)


@batch("min")
def _(self):
    return _flat(self).amin(1, False)


@batch("any")
def _(self):
    return _flat(self).any(1, False)


@batch("all")
def _(self):
    return _flat(self).all(1, False)


@jvp("max.dim", "min.dim")
def _(self, dim, keepdim, t_self, result1):
    if not keepdim and self.ndim > 0:
        t = t_self.gather(dim, result1.unsqueeze(dim)).squeeze(dim)
    else:
        t = t_self.gather(dim, result1)
    return t, None


@jvp("linalg_vector_norm")
def _(self, ord, dim, keepdim, t_self, result):
    g = linalg_vector_norm_backward(ones_like(result), self, ord, result, dim, keepdim)
    p = g.conj() * t_self
    q = real(p) if p.is_complex() else p
    return sum(q, dim, keepdim) if dim is not None else sum(q).reshape(result.shape)


@batch("_distances")
def _(x1, x2, p, product, later):
    rank = max(x1.ndim, x2.ndim)
    a = aligned(x1, rank)
    b = aligned(x2, rank)
    if later:
        n = a.shape[1]
        pairs = triu_indices(n, n, 1)
        square = _distances(a, b, p, product, False).reshape([batch_size, n * n])
        return square.index_select(1, pairs.select(0, 0) * n + pairs.select(0, 1))
    return _distances(a, b, p, product, False)
