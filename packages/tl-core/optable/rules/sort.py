"""Rules of orders."""

from opgen.rule_language import batch, batch_size, jvp


@jvp("sort", "sort.stable", "topk")
def _(dim, t_self, result1):
    return t_self.gather(dim, result1), None


@batch("median")
def _(self):
    return median(self.reshape([batch_size, prod(self.shape[1:])]), 1, False)


@batch("nanmedian")
def _(self):
    return nanmedian(self.reshape([batch_size, prod(self.shape[1:])]), 1, False)
