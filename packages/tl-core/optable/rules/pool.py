"""Rules of pooling."""

from opgen.rule_language import jvp


@jvp("_unpool")
def _(indices, output_size, t_source):
    return _unpool(t_source, indices, output_size)
