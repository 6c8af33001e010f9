"""The tool that counts signatures sees what differs, and reads signatures out of docstrings."""

import inspect

import pytest

from tools.signatures import difference, parameters_of, signatures_of, verdict


def of(function):
    return parameters_of(inspect.signature(function))


def peer(input, dim, *, keepdim=False, out=None): ...


@pytest.mark.parametrize(
    ("ours", "why"),
    [
        (lambda input, dim, *, keepdim=False, out=None: 0, None),
        (lambda input, dim, extra=1, *, out=None, keepdim=True: 0, None),
        (lambda input, dim, *, keepdim=False: 0, "takes no out"),
        (lambda dim, input, *, keepdim=False, out=None: 0, "another order than input, dim"),
        (lambda input, dim, *, keepdim, out=None: 0, "keepdim has no default"),
        (lambda input, dim, *, keepdim=False, out=None, more: 0, "asks for more"),
        (lambda *args, **kwargs: 0, "takes no input"),
    ],
)
def test_differences_are_told(ours, why):
    assert difference(of(peer), of(ours)) == why


class Native:
    """native(input, dim=(0, 1), *, out=None) -> Tensor

    Returns torch.return_types.native(values, indices), as these do:

    native(input, other) -> (Tensor, LongTensor)
    """

    __signature__ = "not told"

    def __call__(self): ...


def test_docstrings_tell_the_signatures_of_natives():
    first, second = signatures_of("native", Native())
    assert [name for name, _, _ in first] == ["input", "dim", "out"]
    assert [name for name, _, _ in second] == ["input", "other"]


def test_what_takes_anything_tells_nothing():
    assert signatures_of("peer", lambda *args, **kwargs: 0) == []
    assert verdict([of(peer)], "peer", lambda *args: 0) == "has no signature"
    assert verdict([of(peer)], "peer", None) == "is not there"
    assert verdict([of(peer)], "peer", peer) is None
