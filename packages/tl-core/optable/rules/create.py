"""Rules of new tensors: numbers between two tensors, in double precision, and strided memory."""

from opgen.rule_language import batch, batch_size


def _wide(x):
    return _to_copy(x, dtype="complex128") if x.is_complex() else _to_copy(x, dtype="float64")


def _counted(a, b, steps):
    """The positions, and the distance of two neighbours."""
    positions = arange(steps, device=a.device)
    distance = ((b - a) / max(steps - 1, 1)).unsqueeze(1)
    return positions, distance


def _between(a, b, positions, distance, steps):
    """The first half counts from the start, and the second half from the end."""
    if steps == 1:
        return a.unsqueeze(1)
    return where(
        positions < steps // 2,
        a.unsqueeze(1) + distance * positions,
        b.unsqueeze(1) - distance * (steps - 1 - positions),
    )


def _linear(a, b, steps, dtype):
    positions, distance = _counted(a, b, steps)
    return _typed(_between(a, b, positions, distance, steps), dtype)


def _powers(a, b, steps, base, dtype):
    positions, distance = _counted(a, b, steps)
    return _typed(pow(a.new_full([], base), _between(a, b, positions, distance, steps)), dtype)


def _typed(x, dtype):
    return _to_copy(x, dtype=dtype if dtype is not None else zeros([1]).dtype)


@batch("linspace.Tensor_Tensor")
def _(start, end, steps, dtype):
    a = _wide(start)
    b = _wide(end)
    return _linear(a, b, steps, dtype)


@batch("linspace.Tensor_Scalar")
def _(start, end, steps, dtype):
    a = _wide(start)
    b = zeros_like(a) + end
    return _linear(a, b, steps, dtype)


@batch("linspace.Scalar_Tensor")
def _(start, end, steps, dtype):
    b = _wide(end)
    a = zeros_like(b) + start
    return _linear(a, b, steps, dtype)


@batch("logspace.Tensor_Tensor")
def _(start, end, steps, base, dtype):
    a = _wide(start)
    b = _wide(end)
    return _powers(a, b, steps, base, dtype)


@batch("logspace.Tensor_Scalar")
def _(start, end, steps, base, dtype):
    a = _wide(start)
    b = zeros_like(a) + end
    return _powers(a, b, steps, base, dtype)


@batch("logspace.Scalar_Tensor")
def _(start, end, steps, base, dtype):
    b = _wide(end)
    a = zeros_like(b) + start
    return _powers(a, b, steps, base, dtype)


@batch("new_empty_strided")
def _(self, size, stride, dtype, layout, device, pin_memory):
    return self.new_empty_strided(
        [batch_size] + size,
        [1 + sum([(n - 1) * s for n, s in zip(size, stride)]) if prod(size) > 0 else 0] + stride,
        dtype=dtype,
        layout=layout,
        device=device,
        pin_memory=pin_memory,
    )
