"""Convolutions of every kind under transforms: gradients of a batch, tangents, both together, second derivatives."""

import itertools

import pytest

import tl_core as tl
from tl_autograd import func, gradgradcheck
from tl_core.operators.packets import aten

SIZE = {1: (6,), 2: (5, 6), 3: (3, 4, 5)}
KERNELS = {1: [(3,), (2,)], 2: [(3, 2), (2, 2), (1, 3)], 3: [(2, 2, 2), (1, 2, 3)]}


def cases(n):
    for kernel, groups in itertools.product(KERNELS[n], (1, 2)):
        for padding in ("same", "valid"):
            for dilation in (1, 2):
                yield "padding", kernel, (1, padding, dilation, groups)
        yield "padding", kernel, (2, "valid", 1, groups)
        for stride, padding, dilation in ((1, 0, 1), (2, 1, 1), (1, 2, 2), (3, 1, 1)):
            yield "plain", kernel, (stride, padding, dilation, groups)
        for stride, padding, extra, dilation in ((1, 0, 0, 1), (2, 1, 1, 1), (1, 1, 0, 2), (3, 0, 2, 1)):
            yield "transposed", kernel, (stride, padding, extra, dilation, groups)


def convolution(n, kind, numbers):
    if kind == "padding":
        stride, padding, dilation, groups = numbers
        op = getattr(aten, f"conv{n}d").padding
        return lambda x, w, b: op(x, w, b, [stride] * n, padding, [dilation] * n, groups)
    if kind == "plain":
        stride, padding, dilation, groups = numbers
        op = getattr(aten, f"conv{n}d").default
        return lambda x, w, b: op(x, w, b, [stride] * n, [padding] * n, [dilation] * n, groups)
    stride, padding, extra, dilation, groups = numbers
    op = getattr(aten, f"conv_transpose{n}d")
    op = getattr(op, "input" if n > 1 else "default")
    return lambda x, w, b: op(x, w, b, [stride] * n, [padding] * n, [extra] * n, groups, [dilation] * n)


def tensors(n, kind, kernel, numbers, samples):
    groups = numbers[-1]
    generator = tl.Generator().manual_seed(n)
    leading = (4, 2) if kind == "transposed" else (4, 4 // groups)
    shapes = (
        (samples, 4, *SIZE[n]),
        (*leading, *kernel),
        (leading[1] * groups if kind == "transposed" else 4,),
    )
    return [tl.rand(*s, dtype=tl.float64, generator=generator) - 0.3 for s in shapes]


def loss_of(f):
    return lambda x, w, b: (f(x, w, b) ** 2).sum()


def close(found, wanted, **tolerance):
    for a, b in zip(found, wanted, strict=True):
        assert tl.allclose(a, b, **{"rtol": 1e-9, "atol": 1e-9, **tolerance}), (a - b).abs().max()


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("samples", [1, 2])
def test_gradients_of_every_example(n, samples):
    for kind, kernel, numbers in cases(n):
        f = convolution(n, kind, numbers)
        x, w, b = tensors(n, kind, kernel, numbers, samples)
        gradients = func.grad(loss_of(f), argnums=(0, 1, 2))
        xs, ws = tl.stack([x, 0.5 * x, x + 1]), tl.stack([w, w - 1, 2 * w])
        for dims, source in (
            ((0, None, None), (xs, w, b)),
            ((0, 0, None), (xs, ws, b)),
            ((None, 0, None), (x, ws, b)),
        ):
            each = [
                gradients(*(t[i] if d == 0 else t for t, d in zip(source, dims, strict=True)))
                for i in range(3)
            ]
            full = func.vmap(gradients, in_dims=dims)(*source)
            close(full, [tl.stack(g) for g in zip(*each, strict=True)])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_tangents(n):
    step = 1e-6
    for kind, kernel, numbers in cases(n):
        f = convolution(n, kind, numbers)
        primals = tensors(n, kind, kernel, numbers, 2)
        vectors = [tl.cos(5 * t) for t in primals]
        ahead, behind = (
            f(*(t + s * step * v for t, v in zip(primals, vectors, strict=True))) for s in (1, -1)
        )
        expected = (ahead - behind) / (2 * step)
        _, pushed = func.jvp(f, tuple(primals), tuple(vectors))
        close([pushed], [expected], atol=1e-7)
        batch = [tl.stack([v, 2 * v]) for v in vectors]
        many = func.vmap(lambda *v, f=f, p=primals: func.jvp(f, tuple(p), v)[1])(*batch)
        close([many[0], many[1]], [expected, 2 * expected], atol=1e-6)
        _, of_gradient = func.jvp(func.grad(loss_of(f), argnums=1), tuple(primals), tuple(vectors))
        g = func.grad(loss_of(f), argnums=1)
        up, down = (g(*(t + s * step * v for t, v in zip(primals, vectors, strict=True))) for s in (1, -1))
        close([of_gradient], [(up - down) / (2 * step)], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_second_derivatives(n):
    for kind, kernel, numbers in cases(n):
        f = convolution(n, kind, numbers)
        source = [t.requires_grad_() for t in tensors(n, kind, kernel, numbers, 1)]
        assert gradgradcheck(lambda x, w, b, f=f: f(x, w, b).sin(), source, fast_mode=True)
