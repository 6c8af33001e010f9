"""Rules of copies."""

from opgen.rule_language import batch, batch_size


@batch("fill.Tensor")
def _(self, value):
    number = _to_copy(value, dtype=self.dtype)
    return number.reshape([batch_size] + [1] * (self.ndim - 1)).expand(self.shape).clone()


@batch("fill_.Tensor")
def _(self, value):
    return copy_(self, value.reshape([batch_size] + [1] * (self.ndim - 1)))
