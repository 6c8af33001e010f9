"""Rules of the adjoints of views."""

from opgen.rule_language import batch, batch_size, batched


def _distance(input_sizes, input_strides, input_offset, size, stride, storage_offset):
    """The distance of two examples in a storage, so that their elements do not meet."""
    return (
        1
        + sum([(n - 1) * t for n, t in zip(input_sizes, input_strides)])
        + sum([(n - 1) * t for n, t in zip(size, stride)])
        + (max(storage_offset - input_offset, 0) if storage_offset is not None else 0)
    )


@batch("as_strided_backward")
def _(grad, input_sizes, input_strides, input_offset, size, stride, storage_offset):
    n = _distance(input_sizes, input_strides, input_offset, size, stride, storage_offset)
    return as_strided_backward(
        grad, [batch_size] + input_sizes, [n] + input_strides, input_offset, [batch_size] + size, [n] + stride,
        storage_offset,
    )  # fmt: skip


@batch("_as_strided_gather")
def _(grad, input_sizes, input_strides, input_offset, size, stride, storage_offset):
    n = _distance(input_sizes, input_strides, input_offset, size, stride, storage_offset)
    return _as_strided_gather(
        grad, [batch_size] + input_sizes, [n] + input_strides, input_offset, [batch_size] + size, [n] + stride,
        storage_offset,
    )  # fmt: skip


@batch("as_strided_scatter")
def _(self, src, size, stride, storage_offset):
    if batched(self):
        return self.as_strided_scatter(src, [batch_size] + size, [self.stride(0)] + stride, storage_offset)
    x = self.unsqueeze(0).expand([batch_size] + self.shape).contiguous()
    return x.as_strided_scatter(
        src,
        [batch_size] + size,
        [self.numel()] + stride,
        storage_offset - self.storage_offset() if storage_offset is not None else 0,
    )


@batch("permute_backward")
def _(grad, dims):
    return permute_backward(grad, [0] + [d + 1 if d >= 0 else d for d in dims])


@batch("unfold_backward")
def _(grad, input_sizes, dim, size, step):
    if len(input_sizes) == 0:
        return grad.sum([1], False)
    return unfold_backward(grad, [batch_size] + input_sizes, dim + 1 if dim >= 0 else dim, size, step)
