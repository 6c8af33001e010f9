"""Rules of scans along a dimension."""

from opgen.rule_language import jvp


@jvp("cummax", "cummin")
def _(dim, t_self, result1):
    return t_self.gather(dim, result1), None


@jvp("logcumsumexp")
def _(self, dim, t_self):
    # In logarithms, of tangents that an added number makes positive: the weights of each sum add up to one.
    k = (t_self.abs().amax([dim], True) + 1).detach()
    if self.is_complex():
        x = self
    else:
        x = self - masked_fill(self.amax([dim], True), isneginf(self.amax([dim], True)), 0).detach()
    y = logcumsumexp(x + log(t_self + k), dim)
    r = logcumsumexp(x, dim)
    if self.is_complex():
        return exp(y - r) - k
    return masked_fill(exp(y - masked_fill(r, isneginf(r), 0)) - k, isneginf(r), 0)
