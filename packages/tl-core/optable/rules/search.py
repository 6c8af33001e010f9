"""Rules of searches, bins and draws by weight."""

from opgen.rule_language import batch, batch_size, batched


@batch("searchsorted.Tensor")
def _(sorted_sequence, self, out_int32, right, side, sorter):
    if sorted_sequence.ndim == 2:
        indices = searchsorted(
            sorted_sequence, self.reshape([batch_size, prod(self.shape[1:])]), out_int32=out_int32, right=right,
            side=side, sorter=sorter,
        )  # fmt: skip
        return indices.reshape(self.shape)
    return searchsorted(sorted_sequence, self, out_int32=out_int32, right=right, side=side, sorter=sorter)


@batch("searchsorted.Scalar")
def _(sorted_sequence, self, out_int32, right, side, sorter):
    v = sorted_sequence.new_zeros([batch_size, 1]) + self
    wide = _to_copy(sorted_sequence, dtype=v.dtype)
    return searchsorted(wide, v, out_int32=out_int32, right=right, side=side, sorter=sorter).reshape(
        [batch_size]
    )


@batch("bucketize.Scalar")
def _(self, boundaries, out_int32, right):
    v = boundaries.new_zeros([batch_size, 1]) + self
    wide = _to_copy(boundaries, dtype=v.dtype)
    return searchsorted(wide, v, out_int32=out_int32, right=right).reshape([batch_size])


@batch("bucketize.Tensor")
def _(self, boundaries, out_int32, right):
    if not batched(boundaries):
        return bucketize(self, boundaries, out_int32=out_int32, right=right)
    flat = self.reshape([batch_size, prod(self.shape[1:])])
    return searchsorted(boundaries, flat, out_int32=out_int32, right=right).reshape(self.shape)


@batch("histc")
def _(self, bins, min, max):
    x = self.reshape([batch_size, prod(self.shape[1:])])
    low = x.amin([1], True) if min == max and x.shape[1] > 0 else x.new_full([batch_size, 1], min)
    high = x.amax([1], True) if min == max and x.shape[1] > 0 else x.new_full([batch_size, 1], max)
    same = low == high
    a = where(same, low - 1, low)
    b = where(same, high + 1, high)
    inside = (x >= a) & (x <= b)
    bin = _to_copy((x - a) * bins / (b - a), dtype="int64").clamp_max(bins - 1)
    counts = x.new_zeros([batch_size, bins], dtype="float64").scatter_add(
        1, bin.masked_fill(~inside, 0), _to_copy(inside, dtype="float64")
    )
    return _to_copy(counts, dtype=self.dtype)


@batch("multinomial")
def _(self, num_samples, replacement, generator):
    if self.ndim == 2:
        return self.multinomial(num_samples, replacement, generator=generator)
    rows = self.reshape([batch_size * self.shape[1], self.shape[2]])
    samples = rows.multinomial(num_samples, replacement, generator=generator)
    return samples.reshape([batch_size, self.shape[1], num_samples])
