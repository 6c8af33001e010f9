"""Rules of padding."""

from opgen.rule_language import jvp


@jvp("constant_pad_nd")
def _(pad, t_self):
    return constant_pad_nd(t_self, pad, 0)
