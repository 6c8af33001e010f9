"""Rules of random numbers. A draw is a constant; dropout is linear."""

from opgen.rule_language import jvp


@jvp(
    "bernoulli",
    "bernoulli.p",
    "normal.Tensor_Tensor",
    "normal.Tensor_float",
    "normal.float_Tensor",
    "poisson",
)
def _(result):
    return zeros_like(result)


@jvp("native_dropout")
def _(p, train, t_input, result1):
    return (
        native_dropout_backward(
            t_input,
            result1,
            1.0 if train == False else 0.0 if p == 1 else 1 / (1 - p),
        ),
        None,
    )
