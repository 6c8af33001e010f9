"""Rules of normalizations.

The tangents use that the Jacobian of a normalization without weight is symmetric: the operator of the gradient maps
tangents as well. Both kinds of rules normalize again instead of reading mean and rstd, because a derivative of these
would not reach the input.
"""

from opgen.rule_language import batch, batch_size, batched, defined, jvp, results, unexpanded

from .layouts import as_channels


def _from_channels(y, input):
    """(N, B · C, …) as (B, N, C, …)."""
    return y.reshape([input.shape[1], batch_size] + input.shape[2:]).transpose(0, 1)


def _joined(x, input):
    """A vector of channels for each example as one vector."""
    return x.reshape([batch_size * input.shape[2]]) if x is not None else None


def _by_channel(x, C):
    return x.reshape([batch_size, 1, C, 1]) if batched(x) else x.reshape([1, 1, C, 1])


@batch("_sample_norm")
def _(input, weight, bias, N, C, S, groups, eps, centered):
    w = unexpanded(weight)
    b = unexpanded(bias)
    plain = not batched(weight) and not batched(bias)
    r = results(
        _sample_norm(
            input, w if plain else None, b if plain else None, N * batch_size, C, S, groups, eps, centered
        )
    )
    y = r[0] if plain else r[0].reshape([batch_size, N, C, S])
    scaled = y if plain or weight is None else y * _by_channel(weight, C)
    shifted = scaled if plain or bias is None else scaled + _by_channel(bias, C)
    return (
        shifted.reshape(input.shape),
        r[1].reshape([batch_size, N, groups]),
        r[2].reshape([batch_size, N, groups]),
    )


@batch("_sample_norm_backward")
def _(
    grad, input, mean, rstd, weight, bias, N, C, S, groups, eps, centered, want_input, want_weight, want_bias
):
    h = grad.reshape([batch_size, N, C, S])
    if want_weight and weight is not None:
        r = results(_sample_norm(input, None, None, N * batch_size, C, S, groups, eps, centered))
        normed = r[0].reshape([batch_size, N, C, S])
    else:
        normed = h
    weighted = h if weight is None else h * weight.reshape([batch_size, 1, C, 1])
    r = results(
        _sample_norm_backward(
            weighted.reshape(input.shape), input, mean.reshape([batch_size * N, groups]),
            rstd.reshape([batch_size * N, groups]), None, None, N * batch_size, C, S, groups, eps, centered,
            want_input, False, False,
        )
    )  # fmt: skip
    return (
        r[0].reshape(input.shape) if want_input else None,
        (h * normed).sum([1, 3], False).reshape(weight.shape) if want_weight and weight is not None else None,
        h.sum([1, 3], False).reshape(bias.shape) if want_bias and bias is not None else None,
    )


@batch("_batch_norm")
def _(input, weight, bias, running_mean, running_var, training, momentum, eps):
    r = results(
        _batch_norm(
            as_channels(input), _joined(weight, input), _joined(bias, input), _joined(running_mean, input),
            _joined(running_var, input), training, momentum, eps,
        )
    )  # fmt: skip
    return (
        _from_channels(r[0], input),
        r[1].reshape([batch_size, input.shape[2]]),
        r[2].reshape([batch_size, input.shape[2]]),
    )


@batch("_batch_norm_backward")
def _(grad, input, mean, rstd, weight, training, eps, want_input, want_weight, want_bias):
    r = results(
        _batch_norm_backward(
            as_channels(grad), as_channels(input), mean.reshape([batch_size * input.shape[2]]),
            rstd.reshape([batch_size * input.shape[2]]), _joined(weight, input), training, eps, want_input,
            want_weight, want_bias,
        )
    )  # fmt: skip
    return (
        _from_channels(r[0], input) if want_input else None,
        r[1].reshape([batch_size, input.shape[2]]) if want_weight else None,
        r[2].reshape([batch_size, input.shape[2]]) if want_bias else None,
    )


@jvp("_batch_norm")
def _(input, weight, training, eps, t_input, t_weight, t_bias, result1, result2):
    v = [1, input.shape[1]] + [1] * (input.ndim - 2)
    if defined(t_input):
        h = results(
            _batch_norm_backward(t_input, input, result1, result2, None, training, eps, True, False, False)
        )[0]
    else:
        h = t_input
    if defined(t_weight) and not training:
        x = (input - result1.reshape(v)) * result2.reshape(v)
    elif defined(t_weight):
        x = results(_batch_norm(input, None, None, None, None, True, 0.0, eps))[0]
    else:
        x = input
    weighted = h * weight.reshape(v) if weight is not None else h
    return weighted + x * t_weight.reshape(v) + t_bias.reshape(v), None, None


@jvp("_sample_norm")
def _(input, weight, N, C, S, groups, eps, centered, t_input, t_weight, t_bias, result1, result2):
    if defined(t_input):
        r = results(
            _sample_norm_backward(
                t_input,
                input,
                result1,
                result2,
                None,
                None,
                N,
                C,
                S,
                groups,
                eps,
                centered,
                True,
                False,
                False,
            )
        )
        h = r[0].reshape([N, C, S])
    else:
        h = t_input
    if defined(t_weight):
        x = results(_sample_norm(input, None, None, N, C, S, groups, eps, centered))[0].reshape([N, C, S])
    else:
        x = input
    weighted = h * weight.reshape([1, C, 1]) if weight is not None else h
    y = weighted + x * t_weight.reshape([1, C, 1]) + t_bias.reshape([1, C, 1])
    return y.expand([N, C, S]).reshape(input.shape), None, None
