"""The polynomials of special functions by pieces, fitted with mpmath: `python -m tools.piecewise_tables [--check]`.

Writes piecewise_tables.h of tl-core's elementwise kernels; `--check` only tells whether it is what would be written.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from mpmath import mp, mpf

PATH = Path(__file__).parents[1] / "packages/tl-core/csrc/kernels/cpu/elementwise/piecewise_tables.h"

PIECES = 16
SCALED, FAR_I = "exp(-x)", " of u = x up to 8, then times sqrt(x) of u = 16 - 64 / x."
TAIL = "exp(a^2 / 2) Q(a), Q the normal distribution above a,"
AT_ZERO = mpf(10) ** -12  # in place of arguments that would be infinite

HEAD = """// Written by tools/piecewise_tables.py, which computes these numbers.
#pragma once
// clang-format off

namespace tl::cpu::special {

// Polynomials that interpolate at Chebyshev's points of sixteen pieces, each in the distance from its piece's middle:
// a row has the coefficients of one power, the highest first.
"""

Function = Callable[[mpf], mpf]


def interpolated(f: Function, begin: mpf, end: mpf, origin: mpf, terms: int) -> list[mpf]:
    """The coefficients in powers of x - origin, the constant first; at the origin's own end, f's value is kept."""
    kept = origin in (begin, end)
    n = terms - kept
    nodes = [(begin + end) / 2 + (end - begin) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * n)) for i in range(n)]
    differences = [(f(x) - f(origin)) / (x - origin) if kept else f(x) for x in nodes]
    for j in range(1, n):  # Newton's divided differences
        for i in range(n - 1, j - 1, -1):
            differences[i] = (differences[i] - differences[i - 1]) / (nodes[i] - nodes[i - j])
    sums = [mpf(0)]
    for node, difference in zip(reversed(nodes), reversed(differences), strict=True):
        grown = [mpf(0), *sums]
        for power, value in enumerate(sums):
            grown[power] -= value * (node - origin)
        grown[0] += difference
        sums = grown
    return [f(origin), *sums[:n]] if kept else sums[:n]


def table(
    f: Function, begin: float | str, end: float | str, terms: int, exact: bool = False
) -> list[list[mpf]]:
    """A row for each power; `exact`: the first piece's origin is its beginning."""
    start, width = mpf(begin), (mpf(end) - mpf(begin)) / PIECES
    columns = []
    for k in range(PIECES):
        a, b = start + k * width, start + (k + 1) * width
        columns.append(interpolated(f, a, b, a if exact and k == 0 else (a + b) / 2, terms))
    return [list(row) for row in zip(*columns, strict=True)][::-1]


# ---- the functions -----------------------------------------------------------------------------------------


def bessel_i(order: int) -> Function:
    """exp(-x) I(x), divided by x for order 1, of x = u up to 8; then its product with sqrt(x), of 64 / x = 16 - u."""

    def f(u: mpf) -> mpf:
        if u == 0:
            return mpf(1) / (2 if order else 1)
        x = u if u <= 8 else 64 / max(16 - u, AT_ZERO)
        return mp.besseli(order, x) * mp.exp(-x) * (mp.sqrt(x) if u > 8 else 1 / x**order)

    return f


def halves(f: Function, terms: int) -> list[list[mpf]]:
    """Of a function with another form from the ninth piece on, where interpolation takes no point."""
    return table(f, 0, 16, terms, exact=True)


def bessel_k(order: int) -> Function:
    """sqrt(x) exp(x) K(x) of 16 / x = 16 - u."""

    def f(u: mpf) -> mpf:
        x = 16 / max(16 - u, AT_ZERO)
        return mp.besselk(order, x) * mp.exp(x) * mp.sqrt(x)

    return f


def airy_scaled(u: mpf) -> mpf:
    """x^(1/4) exp(z) Ai(x), z = 2/3 x^(3/2), of 30 / z = u."""
    z = 30 / max(u, AT_ZERO)
    x = (1.5 * z) ** (mpf(2) / 3)
    return mp.airyai(x) * mp.exp(z) * x ** (mpf(1) / 4)


def normal_tail(u: mpf) -> mpf:
    """exp(a^2 / 2) times the normal distribution above a = u / 2."""
    return mp.erfc(u / 2 / mp.sqrt(2)) * mp.exp(u * u / 8) / 2


def normal_far(w: mpf) -> mpf:
    """The same times a, of w = 1 / a^2."""
    a = 1 / mp.sqrt(max(w, AT_ZERO))
    return mp.erfc(a / mp.sqrt(2)) * mp.exp(a * a / 2) / 2 * a


def quantile_centre(t: mpf) -> mpf:
    """The quantile of 1/2 + q divided by q, of t = q^2."""
    q = mp.sqrt(t)
    return mp.sqrt(2) * mp.erfinv(2 * q) / q if q else mp.sqrt(2 * mp.pi)


def quantile_tail(s: mpf) -> mpf:
    """Minus the quantile of exp(-r^2 / 2) divided by r, of s = 1 / r."""
    r = 1 / s
    start = max(r - mp.log(r * 2.5) / r, mpf(1) / 2)
    return s * mp.findroot(lambda t: mp.log(mp.erfc(t / mp.sqrt(2)) / 2) + r * r / 2, start)


def trigamma(x: mpf) -> mpf:
    """The derivative of digamma."""
    return mp.polygamma(1, x)


def log_gamma_ratio(a: mpf) -> mpf:
    """log(gamma(1 + a)) / a."""
    return mp.loggamma(1 + a) / a if a else -mp.euler


def stirling_rest(u: mpf) -> mpf:
    """a times what Stirling's formula without its series lacks of log(gamma(a + 1)), of 16 / a = u."""
    a = 16 / max(u, AT_ZERO)
    with mp.extradps(30):
        return a * (mp.loggamma(a + 1) - (a * mp.log(a) - a + mp.log(2 * mp.pi * a) / 2))


def bessel_y_rest(order: int) -> Function:
    """What Y(x) has beyond 2 / pi (log(x) J(x) - order / x)."""

    def f(x: mpf) -> mpf:
        if x == 0:
            return mpf(0) if order else 2 / mp.pi * (mp.euler - mp.log(2))
        return mp.bessely(order, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(order, x) - mpf(order) / x)

    return f


def hankel(order: int, part: int) -> Function:
    """P or x Q of Hankel's form of J and Y (DLMF 10.17.3), of w = 64 / x^2."""

    def f(w: mpf) -> mpf:
        x = 8 / mp.sqrt(max(w, AT_ZERO))
        angle, size = x - (2 * order + 1) * mp.pi / 4, mp.sqrt(mp.pi * x / 2)
        j, y, s, c = mp.besselj(order, x) * size, mp.bessely(order, x) * size, mp.sin(angle), mp.cos(angle)
        return (y * c - j * s) * x if part else j * c + y * s

    return f


def in_powers(f: Function, end: mpf, terms: int) -> list[mpf]:
    """The interpolating polynomial from 0 to an end in powers of its argument, the highest first."""
    about_middle = interpolated(f, mpf(0), end, end / 2, terms)
    return mp.taylor(lambda w: mp.polyval(about_middle[::-1], w - end / 2), 0, terms - 1)[::-1]


def tables() -> list[tuple[str, str, list[list[mpf]]]]:
    """Each table's name, what it has, and its rows."""
    return [
        ("kScaledI0", f"{SCALED} I0(x){FAR_I}", halves(bessel_i(0), 15)),
        ("kScaledI1", f"{SCALED} I1(x), up to 8 divided by x,{FAR_I}", halves(bessel_i(1), 15)),
        ("kScaledK0", "sqrt(x) exp(x) K0(x) of u = 16 - 16 / x.", table(bessel_k(0), 0, 16, 11)),
        ("kScaledK1", "sqrt(x) exp(x) K1(x) of u = 16 - 16 / x.", table(bessel_k(1), 0, 16, 11)),
        ("kAiry", "Ai(x) from -8.5 to 2.", table(mp.airyai, -8.5, 2, 16)),
        ("kScaledAiry", "x^(1/4) exp(z) Ai(x) of u = 30 / z, z = 2/3 x^(3/2).", table(airy_scaled, 0, 16, 10)),
        ("kNormalTail", f"{TAIL} of u = 2 a.", table(normal_tail, 0, 16, 13, True)),
        ("kQuantileCentre", "The normal quantile of 1/2 + q divided by q, of q^2 up to 0.425^2.",
         table(quantile_centre, 0, "0.180625", 11)),
        ("kQuantileTail", "Minus the normal quantile of exp(-r^2 / 2) divided by r, of 1 / r from 0.0257 to 0.44.",
         table(quantile_tail, "0.0257", "0.44", 15)),
        ("kLogGammaRatio", "log(gamma(1 + a)) / a up to 2.", table(log_gamma_ratio, 0, 2, 12)),
        ("kStirlingRest", "a times the series of Stirling's formula (DLMF 5.11.1), of 16 / a.",
         table(stirling_rest, 0, 16, 9)),
        ("kBesselJ0", "J0(x) up to 8.", table(lambda x: mp.besselj(0, x), 0, 8, 10)),
        ("kBesselJ1", "J1(x) / x up to 8.", table(lambda x: mp.besselj(1, x) / x, 0, 8, 9)),
        ("kBesselY0", "Y0(x) - 2 / pi log(x) J0(x) up to 8.", table(bessel_y_rest(0), 0, 8, 10)),
        ("kBesselY1", "Y1(x) - 2 / pi (log(x) J1(x) - 1 / x) up to 8.", table(bessel_y_rest(1), 0, 8, 10)),
        ("kTrigamma", "The derivative of digamma, from 2 to 10.", table(trigamma, 2, 10, 14)),
    ]  # fmt: skip


# ---- the header --------------------------------------------------------------------------------------------


def numbers(cells: list[mpf], indent: str) -> str:
    """In lines of four."""
    texts = [repr(float(cell)) for cell in cells]
    lines = [", ".join(texts[i : i + 4]) for i in range(0, len(texts), 4)]
    return f",\n{indent}".join(lines)


def text() -> str:
    """The whole header."""
    mp.dps = 40
    parts = [HEAD]
    for name, what, rows in tables():
        body = ",\n".join(f"    {{{numbers(row, '     ')}}}" for row in rows)
        parts.append(f"// {what}\ninline constexpr double {name}[{len(rows)}][{PIECES}] = {{\n{body}}};\n")
    for name, what, coefficients in (
        ("kNormalFar", f"a {TAIL} in powers of 1 / a^2, from a = 8 on.", in_powers(normal_far, mpf(1) / 64, 12)),
        *(
            (f"kHankel{letter}{order}", f"{what} of order {order} in powers of 64 / x^2, from 8 on.",
             in_powers(hankel(order, part), mpf(1), 11))
            for order in (0, 1)
            for part, (letter, what) in enumerate((("P", "P"), ("Q", "x Q")))
        ),
    ):  # fmt: skip
        cells = numbers(coefficients, "    ")
        parts.append(f"// {what}\ninline constexpr double {name}[{len(coefficients)}] = {{\n    {cells}}};\n")
    return "\n".join([*parts, "}  // namespace tl::cpu::special"]) + "\n"


def main(arguments: list[str]) -> int:
    """0 if the header is as it should be."""
    if "--check" not in arguments:
        PATH.write_text(text())
        return 0
    fresh = PATH.read_text() == text()
    print(f"{PATH.name}: {'as computed' if fresh else 'differs from what is computed'}")
    return 0 if fresh else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
