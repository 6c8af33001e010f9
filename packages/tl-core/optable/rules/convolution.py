"""Rules of convolutions.

With one filter for all examples, the batch is more samples. With a filter for each example, the batch is more groups.
"""

from opgen.rule_language import batch, batch_size, batched, defined, jvp, unexpanded

from .layouts import as_channels, folded


def _joined_rows(x):
    """(B, C, …) as (B · C, …)."""
    return x.reshape([batch_size * x.shape[1]] + x.shape[2:])


def _from_channels(y):
    """(N, B · C, …) as (B, N, C, …)."""
    return y.reshape([y.shape[0], batch_size, y.shape[1] // batch_size] + y.shape[2:]).transpose(0, 1)


def _more_samples(sizes):
    return [sizes[0] * batch_size] + sizes[1:]


def _more_channels(sizes):
    return [sizes[0], sizes[1] * batch_size] + sizes[2:]


def _biased(z, bias):
    return z + bias.reshape([batch_size, 1, bias.shape[1]] + [1] * (z.ndim - 3)) if bias is not None else z


@batch("convolution")
def _(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    if not batched(weight):
        y = convolution(
            folded(input),
            unexpanded(weight),
            None,
            stride,
            padding,
            dilation,
            transposed,
            output_padding,
            groups,
        )
        z = y.reshape([batch_size, input.shape[1]] + y.shape[1:])
    else:
        y = convolution(
            as_channels(input), _joined_rows(weight), None, stride, padding, dilation, transposed, output_padding,
            groups * batch_size,
        )  # fmt: skip
        z = _from_channels(y)
    return _biased(z, bias)


@batch("_convolve")
def _(input, weight, bias, output_size, stride, padding, dilation, groups):
    if not batched(weight):
        y = _convolve(
            folded(input),
            unexpanded(weight),
            None,
            _more_samples(output_size),
            stride,
            padding,
            dilation,
            groups,
        )
        z = y.reshape([batch_size, input.shape[1]] + y.shape[1:])
    else:
        y = _convolve(
            as_channels(input), _joined_rows(weight), None, _more_channels(output_size), stride, padding, dilation,
            groups * batch_size,
        )  # fmt: skip
        z = _from_channels(y)
    return _biased(z, bias)


@batch("_convolve_input")
def _(grad_output, weight, bias, input_size, stride, padding, dilation, groups):
    if not batched(weight):
        y = _convolve_input(
            folded(grad_output),
            unexpanded(weight),
            None,
            _more_samples(input_size),
            stride,
            padding,
            dilation,
            groups,
        )
        z = y.reshape([batch_size, grad_output.shape[1]] + y.shape[1:])
    else:
        y = _convolve_input(
            as_channels(grad_output), _joined_rows(weight), None, _more_channels(input_size), stride, padding,
            dilation, groups * batch_size,
        )  # fmt: skip
        z = _from_channels(y)
    return _biased(z, bias)


def _patches(input, weight_size, stride, padding, dilation):
    """The number of patches of im2col along each axis. A result of padding="same" may have one more."""
    return [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(input.shape[3:], weight_size[2:], stride, padding, dilation)
    ]


@batch("_convolve_weight")
def _(grad_output, input, weight_size, stride, padding, dilation, groups):
    if (
        groups == 1
        and len(stride) == 2
        and not input.is_complex()
        and grad_output.shape[3:] == _patches(input, weight_size, stride, padding, dilation)
    ):
        # Only samples are grouped: one product for each sample, of its patches with its gradients.
        n = input.shape[1]
        patches = im2col(folded(input), weight_size[2:], dilation, padding, stride)
        h = grad_output.reshape([batch_size * n, grad_output.shape[2], prod(grad_output.shape[3:])])
        w = h.bmm(patches.transpose(1, 2))
        if n == 1:
            return w.reshape([batch_size] + weight_size)
        return w.reshape([batch_size, n] + weight_size).sum(1, False)
    w = _convolve_weight(
        as_channels(grad_output), as_channels(input), [weight_size[0] * batch_size] + weight_size[1:], stride,
        padding, dilation, groups * batch_size,
    )  # fmt: skip
    return w.reshape([batch_size] + weight_size)


@jvp("convolution")
def _(
    input, weight, stride, padding, dilation, transposed, output_padding, groups, t_input, t_weight, t_bias
):  # fmt: skip
    if defined(t_input):
        by_input = convolution(
            t_input, weight, t_bias, stride, padding, dilation, transposed, output_padding, groups
        )
        return by_input + convolution(
            input, t_weight, None, stride, padding, dilation, transposed, output_padding, groups
        )
    if defined(t_weight):
        return convolution(
            input, t_weight, t_bias, stride, padding, dilation, transposed, output_padding, groups
        )
    return t_bias.reshape([t_bias.shape[0]] + [1] * (input.ndim - 2))
