"""Arithmetic that symbolic numbers can take part in."""

import pytest

from tl_core.symbolic import arithmetic as symbolic


class Symbol:
    """Says what it is asked."""

    def __sym_float__(self):
        return "float"

    def __sym_int__(self):
        return "int"

    def __sym_not__(self):
        return "not"

    def __sym_max__(self, other):
        return ("max", other)

    def __sym_min__(self, other):
        return ("min", other)

    def __sym_ite__(self, t, f):
        return (t, f)


def test_plain_numbers():
    assert symbolic.sym_float(2) == 2.0 and isinstance(symbolic.sym_float(2), float)
    assert symbolic.sym_int(2.9) == 2 and symbolic.sym_int(-2.9) == -2 and symbolic.sym_int(5) == 5
    assert symbolic.sym_max(1, 2) == 2 and isinstance(symbolic.sym_max(3, 2.0), float)
    assert symbolic.sym_min(1, 2) == 1 and isinstance(symbolic.sym_min(1, 2.0), float)
    assert symbolic.sym_not(False) is True and symbolic.sym_ite(False, 1, 2) == 2
    assert symbolic.sym_sum([1, 2.5]) == 3.5 and symbolic.sym_sum(()) == 0


def test_symbolic_numbers_answer_themselves():
    s = Symbol()
    assert (symbolic.sym_float(s), symbolic.sym_int(s), symbolic.sym_not(s)) == ("float", "int", "not")
    assert symbolic.sym_max(s, 1) == symbolic.sym_max(1, s) == ("max", 1)
    assert symbolic.sym_min(s, 1) == symbolic.sym_min(1, s) == ("min", 1) and symbolic.sym_ite(s, 1, 2) == (
        1,
        2,
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda: symbolic.sym_max("a", 1),
        lambda: symbolic.sym_min(True, 1),
        lambda: symbolic.sym_ite(1, 2, 3),
        lambda: symbolic.sym_ite(True, 2, 3.0),
    ],
)
def test_what_is_no_number_is_refused(call):
    with pytest.raises(TypeError, match=r"sym_\w+\(\) takes"):
        call()


def test_numbers_that_are_none():
    with pytest.raises(ValueError, match="cannot convert float NaN"):
        symbolic.sym_int(float("nan"))
