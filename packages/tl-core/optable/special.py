"""Special functions, computed in double precision, and others that are seldom called."""

from opgen.row import Binary, Composite, Op, Pointwise, Transcendental, Unary, real

VECTORS = "float32 float64"  # what has loops, for every instruction set


def _rare(name: str, grad, doc: str, *, arg: str = "self", cpu: str = "", **fields):
    fields.setdefault("expr", "x")
    fields |= {"loops": VECTORS, "hot": VECTORS}
    grad = {arg: grad} if not grad.startswith("none:") else grad
    return Pointwise(
        f"{name}(Tensor {arg}) -> Tensor", inputs=1, cpu=cpu or name,
        to="float", dtypes="float", grad=grad, doc=doc, **fields,
    )  # fmt: skip


def _special(name: str, grad, doc: str, **fields):
    return _rare(
        f"special_{name}",
        grad,
        doc,
        cpu=fields.pop("cpu", name),
        **fields,
        inplace=False,
        method=False,
        namespace="_special",
    )


def _two_numbers(name: str, doc: str, args: tuple[str, str], grad, **fields):
    """f(x, y), and the overloads in which either is a number."""
    first, second = args
    shared = {"inputs": 2, "cpu": name, "to": "float", "dtypes": "float", "loops": VECTORS, "hot": VECTORS,
              "inplace": False,
              "method": False, "namespace": "_special", "expr": "x", "doc": doc, **fields}  # fmt: skip
    if isinstance(grad, str):
        shared["jvp"] = grad
    own = {key: formula for key, formula in grad.items() if key == second} if isinstance(grad, dict) else grad
    return [
        Pointwise(f"special_{name}(Tensor {first}, Operand {second}) -> Tensor", grad=grad, **shared),
        Pointwise(
            f"special_{name}.{first}_scalar(Scalar {first}, Tensor {second}) -> Tensor",
            grad=own,
            **shared,
        ),
    ]


def _refused(what: str) -> str:
    """The formula of an argument whose derivative nobody has."""
    return f"_derivative_not_implemented(g, '{what}')"


APART = "none:not differentiable"

ROWS = [
    Unary(
        "erf", foreach=True,
        to="float", dtypes="float",
        second_names=("special_erf",),
        reported="erf_vml_cpu",
        core=True,
        grad={"self": "g * (self.square().neg().exp() * 1.1283791670955126)"},
        expr="erf(x)", ref="scipy.special.erf",
        doc="The error function of each element.",
        example=">>> tl.erf(tl.tensor([0.0, 1.0]))\ntensor([0.0000, 0.8427])",
    ),
    Transcendental(
        "lgamma", "g * digamma(self)", "The logarithm of the size of the gamma function.", foreach=True,
        dtypes="float",
        second_names=("special_gammaln",),
        reported="lgamma_vml_cpu",
        expr="x", ref="scipy.special.gammaln", samples=real(0.3, 5),
        example=">>> tl.lgamma(tl.tensor([4.0]))\ntensor([1.7918])",
    ),
    Transcendental(
        "digamma", "g * polygamma(1, self)", "The derivative of lgamma.",
        dtypes="float",
        second_names=("special_digamma", "special_psi"),
        reported="digamma",
        expr="x", ref="scipy.special.digamma", samples=real(0.3, 5),
        example=">>> tl.digamma(tl.tensor([1.0]))\ntensor([-0.5772])",
    ),
    Transcendental(
        "erfc", "g * (self.square().neg().exp() * -1.1283791670955126)",
        "1 - erf(x) of each element, without loss where that is small.", foreach=True,
        dtypes="float",
        second_names=("special_erfc",),
        reported="erfc_vml_cpu",
        ref="scipy.special.erfc",
        example=">>> tl.erfc(tl.tensor([0.0, 1.0]))\ntensor([1.0000, 0.1573])",
    ),
    Transcendental(
        "erfinv", "g * (self.erfinv().square().exp() * 0.886226925452758)", "The inverse of erf.",
        dtypes="float",
        second_names=("special_erfinv",),
        reported="erfinv_vml_cpu",
        ref="scipy.special.erfinv", samples=real(-0.9, 0.9),
        example=">>> tl.erfinv(tl.tensor([0.0, 0.5]))\ntensor([0.0000, 0.4769])",
    ),
    Op(
        "polygamma(int n, Tensor self) -> Tensor", shape="self.shape",
        inplace=False, out=True, second_names=("special_polygamma",),
        devices="Any",
        names="keep",
        grad={"self": "g * polygamma(n + 1, self)"},
        jvp="elementwise", batch="elementwise",
        doc="The n-th derivative of digamma.",
        about={"n": "the order of the derivative"},
        example=">>> tl.polygamma(1, tl.tensor([1.0]))\ntensor([1.6449])",
    ),
    Pointwise(
        "_polygamma(Tensor self, Scalar n) -> Tensor", inputs=1, cpu="polygamma",
        to="float", dtypes="float", loops=VECTORS, hot=VECTORS,
        function=False, method=False,
        grad="none:a part of polygamma",
        jvp="none:a part of polygamma",
        expr="polygamma(n, x)", samples=real(0.3, 5),
        doc="What polygamma runs.",
    ),
    Composite(
        "mvlgamma(Tensor self, int p) -> Tensor", shape="self.shape",
        inplace=True, out=True, second_names=("special_multigammaln",),
        doc="The logarithm of the multivariate gamma function of dimension p.",
        about={"p": "the dimension"},
        example=">>> tl.mvlgamma(tl.tensor([3.0]), 2)\ntensor([1.5502])",
    ),
    _rare(
        "i0", "g * special_i1(self)", "The modified Bessel function of order 0.",
        second_names=("special_i0",),
        reported="i0_vml_cpu",
        ref="scipy.special.i0",
        example=">>> tl.i0(tl.tensor([0.0, 1.0]))\ntensor([1.0000, 1.2661])",
    ),
    _special(
        "i0e", "g * (special_i1e(self) - self.sgn() * result)", "i0(x) exp(-|x|).",
        ref="scipy.special.i0e",
    ),
    _special(
        "i1", "g * (i0(self) - special_i1_over(self, result))", "The modified Bessel function of order 1.",
        ref="scipy.special.i1",
    ),
    _special(
        "i1e", "g * (special_i0e(self) - special_i1_over(self, result) - self.sgn() * result)",
        "i1(x) exp(-|x|).",
        ref="scipy.special.i1e",
    ),
    Composite(
        "special_i1_over(Tensor self, Tensor result) -> Tensor", shape="self.shape",
        function=False, method=False,
        doc="result / self, and its limit 1/2 at 0.",
    ),
    _special(
        "erfcx", "g * (2 * self * result - 1.1283791670955126)", "erfc(x) exp(x^2).",
        ref="scipy.special.erfcx",
    ),
    _special(
        "ndtri", "g * 2.5066282746310002 * (result.square() * 0.5).exp()",
        "The normal distribution's quantiles.",
        ref="scipy.special.ndtri", samples=real(0.05, 0.95),
    ),
    _special(
        "log_ndtr", "g / special_erfcx(self * -0.7071067811865476) * 0.7978845608028654",
        "The logarithm of the normal distribution function.",
        ref="scipy.special.log_ndtr",
    ),
    _special(
        "entr", "g * (-self.log() - 1)", "-x log(x), 0 at 0, and -inf below.",
        ref="scipy.special.entr", samples=real(0.1, 4),
    ),
    *(
        _special(
            name, APART, f"The Bessel function of the {kind} kind of order {order}.",
            jvp=APART,
            ref=f"scipy.special.{ref}", samples=real(0.2, 8),
        )
        for name, kind, order, ref in (
            ("bessel_j0", "first", 0, "j0"),
            ("bessel_j1", "first", 1, "j1"),
            ("bessel_y0", "second", 0, "y0"),
            ("bessel_y1", "second", 1, "y1"),
        )
    ),
    _special(
        "ndtr", "g * (self.square() * -0.5).exp() * 0.3989422804014327",
        "The share of a standard normal distribution below each element.",
        ref="scipy.special.ndtr",
    ),
    _special(
        "airy_ai", APART, "The Airy function Ai.", arg="x",
        jvp=APART,
        ref="special_references.airy_ai",
    ),
    _special(
        "spherical_bessel_j0", APART,
        "The spherical Bessel function of the first kind of order 0: sin(x) / x.", arg="x",
        cpu="spherical_j0",
        jvp=APART,
        ref="special_references.spherical_j0",
    ),
    *(
        _special(
            f"{scale}modified_bessel_{kind}{order}", APART,
            (
                f"The modified Bessel function of the {which} kind of order "
                f"{order}{', times exp(x)' * bool(scale)}."
            ),
            arg="self" if kind == "i" else "x", cpu=f"{kind}{order}{'e' * bool(scale)}",
            jvp=APART,
            ref=f"scipy.special.{kind}{order}{'e' * bool(scale)}", samples=real(0.2, 8),
        )
        for scale, kind, which in (("", "i", "first"), ("", "k", "second"), ("scaled_", "k", "second"))
        for order in (0, 1)
    ),
    *_two_numbers(
        "zeta", "The Hurwitz zeta function.", ("self", "other"),
        {"self": _refused("zeta"), "other": "g * -self * special_zeta(self + 1, other)"},
        ref="scipy.special.zeta", samples=real(1.2, 5),
    ),
    *(
        row
        for name, what in (
            *((f"chebyshev_polynomial_{kind}", f"Chebyshev polynomial of the {which} kind")
              for kind, which in zip("tuvw", ("first", "second", "third", "fourth"))),
            *((f"shifted_chebyshev_polynomial_{kind}", f"shifted Chebyshev polynomial of the {which} kind")
              for kind, which in zip("tuvw", ("first", "second", "third", "fourth"))),
            ("hermite_polynomial_h", "physicist's Hermite polynomial"),
            ("hermite_polynomial_he", "probabilist's Hermite polynomial"),
            ("laguerre_polynomial_l", "Laguerre polynomial"),
            ("legendre_polynomial_p", "Legendre polynomial"),
        )
        for row in _two_numbers(
            name, f"The {what} of degree n at x.",
            ("x", "n"), APART, ref=f"special_references.{name}", samples=real(0, 3),
        )
    ),
    *(
        Binary(
            name, overload="", other="Tensor", cpu=cpu,
            dtypes="float", loops=VECTORS, hot=VECTORS,
            second_names=(f"special_{cpu}",),
            grad={
                "self": _refused(f"{name}: input"),
                "other": f"{sign}g * ((self - 1) * other.log() - other - self.lgamma()).exp()",
            },
            expr="x", ref=f"scipy.special.{cpu}", samples=real(0.3, 5),
            doc=f"The regularized {which} incomplete gamma function of the shapes `input` at `other`.",
            example=example,
        )
        for name, cpu, which, sign, example in (
            (
                "igamma",
                "gammainc",
                "lower",
                "",
                ">>> tl.igamma(tl.tensor([1.0]), tl.tensor([2.0]))\ntensor([0.8647])",
            ),
            (
                "igammac",
                "gammaincc",
                "upper",
                "-",
                ">>> tl.igammac(tl.tensor([1.0]), tl.tensor([2.0]))\ntensor([0.1353])",
            ),
        )
    ),
    Composite(
        "_derivative_not_implemented(Tensor grad, str what) -> Tensor",
        function=False, method=False,
        doc="Raises NotImplementedError: what formulas call for an argument without a derivative.",
    ),
    # ---- derivatives of samples ----------------------------------------------------------------------------
    Pointwise(
        "_standard_gamma_grad(Tensor self, Tensor output) -> Tensor", inputs=2, cpu="standard_gamma_grad",
        to="float", dtypes="float", once=True,
        inplace=False, out=False, method=False,
        grad="none:not implemented for _standard_gamma_grad",
        jvp=APART,
        expr="standard_gamma_grad(x, y)", ref="special_references.standard_gamma_grad", samples=real(0.3, 5),
        doc="The derivative of gamma variates `output` by their shape.",
    ),
    Pointwise(
        "_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor", inputs=3, cpu="dirichlet_grad",
        to="float", dtypes="float", once=True,
        inplace=False, out=False, method=False,
        grad="none:not implemented for _dirichlet_grad",
        jvp=APART,
        expr="dirichlet_grad(x, y, z)", ref="special_references.dirichlet_grad", samples=real(0.3, 0.95),
        doc=(
            "The derivative of beta variates `x` by their first parameter, divided by 1 - x; `total` is the "
            "sum of both parameters."
        ),
        about={"x": "the variates", "alpha": "the first parameter", "total": "the sum of both parameters"},
    ),
    # ---- floating-point numbers ----------------------------------------------------------------------------
    Op(
        "frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)", shape="[self.shape, self.shape]",
        kernel="frexp",
        out=True, out_name="frexp.Tensor_out", devices="Any",
        names="keep",
        grad={"self": "g0 / exponent.exp2()"},
        jvp="elementwise", batch="elementwise",
        doc="Each element as a mantissa in [1/2, 1) and an exponent of two.",
        example=(
            ">>> tl.frexp(tl.tensor([8.0, 0.75]))\ntorch.return_types.frexp(\nmantissa=tensor([0.5000, "
            "0.7500]),\nexponent=tensor([4, 0], dtype=torch.int32))"
        ),
    ),
    *(
        Unary(
            f"_frexp_{part}", cpu=f"frexp_{part}",
            dtypes="float", loops=VECTORS, hot=VECTORS,
            function=False, method=False,
            grad="none:a part of frexp",
            jvp="none:a part of frexp",
            expr="x", ref=ref,
            doc=f"The {part} that frexp gives.",
        )
        for part, ref in (("mantissa", "row_cases.frexp_mantissa"), ("exponent", "row_cases.frexp_exponent"))
    ),
    Op(
        "nextafter(Tensor self, Tensor other) -> Tensor", shape="broadcast(self.shape, other.shape)",
        inplace=True, out=True, devices="Any",
        names="unify",
        array_api="nextafter",
        grad={"self": "where(self == other, 0, g)", "other": "zeros_like(g)"},
        jvp="elementwise", batch="elementwise",
        doc="The next number of the type towards the other.",
        example=">>> tl.nextafter(tl.tensor([1.0]), tl.tensor([2.0])) > 1\ntensor([True])",
    ),
    Binary(
        "_nextafter", overload="", other="Tensor", cpu="nextafter",
        dtypes=VECTORS, loops=VECTORS, hot=VECTORS,
        inplace=False, function=False, method=False,
        grad="none:a part of nextafter",
        jvp="none:a part of nextafter",
        expr="nextafter(x, y)", ref="numpy.nextafter",
        doc="What nextafter runs.",
    ),
    Pointwise(
        "_nextafter_bits(Tensor self, Tensor other, Scalar infinity) -> Tensor", inputs=2,
        cpu="nextafter_bits",
        dtypes="int16", loops="int16", once=True,
        inplace=False, function=False, method=False,
        grad="none:a part of nextafter",
        jvp="none:a part of nextafter",
        expr="next_bits(x, y, infinity)", samples=real(0, 9),
        doc="What nextafter runs on the bits of 16-bit numbers.",
    ),
    # ---- complex numbers -----------------------------------------------------------------------------------
    Binary(
        "_complex", cpu="complex", overload="", other="Tensor",
        to="complex", dtypes="float16 float32 float64", loops="float32 float64", once=True,
        inplace=False, function=False, method=False,
        grad="none:a part of complex",
        jvp="none:a part of complex",
        expr="x + 1j * y",
        doc="What complex runs.",
    ),
]  # fmt: skip
