"""Rules of arithmetic."""

from opgen.rule_language import jvp


@jvp("sgn")
def _(self, t_self, result):
    return sgn_backward(self, t_self, result)
