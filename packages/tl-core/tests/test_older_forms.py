"""Calls and names that the reference keeps for old programs."""

import pytest

import tl_core as tl

X = tl.tensor([[1.0, 2.0], [3.0, 4.0]])
B = X.expand(3, 2, 2)


@pytest.mark.parametrize(
    ("older", "today"),
    [
        (lambda: tl.add(X, 2, X), lambda: tl.add(X, X, alpha=2)),
        (lambda: X.sub(2, X), lambda: X.sub(X, alpha=2)),
        (lambda: X.clone().add_(2, X), lambda: X.add(X, alpha=2)),
        (lambda: tl.addmm(3, X, 2, X, X), lambda: tl.addmm(X, X, X, beta=3, alpha=2)),
        (lambda: tl.addmm(3, X, X, X), lambda: tl.addmm(X, X, X, beta=3)),
        (lambda: X.addmm(3, 2, X, X), lambda: X.addmm(X, X, beta=3, alpha=2)),
        (lambda: X.clone().addbmm_(3, B, B), lambda: X.addbmm(B, B, beta=3)),
        (lambda: X.addcmul(2, X, X), lambda: X.addcmul(X, X, value=2)),
        (lambda: tl.addr(3, X, 2, X[0], X[1]), lambda: tl.addr(X, X[0], X[1], beta=3, alpha=2)),
        (lambda: tl.add(X, 2, X, out=tl.empty(2, 2)), lambda: tl.add(X, X, alpha=2)),
    ],
)
def test_factors_before_they_were_keywords(older, today):
    with pytest.warns(UserWarning, match="is deprecated"):
        assert older().equal(today())


def test_what_has_no_older_form_is_refused():
    with pytest.raises(TypeError):
        tl.mul(X, 2, X)
    with pytest.raises(TypeError):
        tl.addmm(X, 2, X, X, 1)


def test_none_is_an_empty_list_of_dims():
    assert tl.roll(tl.arange(4), 1, dims=None).tolist() == [3, 0, 1, 2]


@pytest.mark.parametrize("range_of", [lambda out: tl.arange(4, out=out), lambda out: tl.linspace(0, 3, 4, out=out),
                                      lambda out: tl.range(0, 3, out=out)])  # fmt: skip
@pytest.mark.filterwarnings("ignore:range includes")
def test_an_out_of_as_many_elements_keeps_its_shape(range_of):
    x = tl.zeros(2, 3)
    range_of(x[:, 1:])
    assert x.tolist() == [[0, 0, 1], [0, 2, 3]]


def test_parts_of_one_storage_that_are_apart():
    w = tl.arange(10)
    tl.cat([w[:2], w[4:6]], out=w[6:])
    assert w.tolist() == [0, 1, 2, 3, 4, 5, 0, 1, 4, 5]
    with pytest.raises(RuntimeError, match="overlap"):
        tl.cat([w[:2], w[4:6]], out=w[:4])
    assert tl.cat([tl.empty(0), tl.empty(0)], dim=1).shape == (0,)


def test_the_phase_of_complex_vectors_is_free():
    pytest.importorskip("tl_autograd")
    a = tl.randn(3, 3, dtype=tl.complex128, requires_grad=True)
    for vectors in (lambda: tl.linalg.svd(a).U, lambda: tl.linalg.eig(a).eigenvectors,
                    lambda: tl.linalg.eigh(a + a.mH).eigenvectors):  # fmt: skip
        with pytest.raises(RuntimeError, match="ill-defined"):
            vectors().imag.sum().backward()
        vectors().abs().sum().backward()
    u, _, vh = tl.linalg.svd(a)
    (u @ vh).imag.sum().backward()  # both phases cancel
