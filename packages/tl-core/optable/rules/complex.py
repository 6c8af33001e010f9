"""Rules of complex numbers."""

from opgen.rule_language import jvp


@jvp("polar")
def _(angle, t_abs, t_angle, result):
    return complex(cos(angle), sin(angle)) * t_abs + result * 1j * t_angle
