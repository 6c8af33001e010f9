"""Random numbers, with the streams of the reference's CPU generator."""

from opgen.row import NO_VALUES, Composite, Op

OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
LIKE = OPTIONS + ", MemoryFormat? memory_format=None"
SHOWN = (
    "generator=None, out=None, dtype=None, layout=torch.strided, device=None, requires_grad=False, "
    "pin_memory=False"
)
SHOWN_LIKE = (
    "generator=None, dtype=None, layout=None, device=None, requires_grad=False, "
    "memory_format=torch.preserve_format"
)


def _factory(signature, **fields):
    return Op(
        signature,
        devices="Any",
        grad=NO_VALUES,
        jvp=NO_VALUES,
        batch="random",
        random=True,
        method=False,
        **fields,
    )


def _create(name, args, doc, *, low="", shape="list(size)", reported="", **fields):
    """The form without and the form with a generator; `low` names the overload that has it."""
    overload = f".{low}" if low else ""
    with_generator = f".{low}_generator" if low else ".generator"
    return [
        _factory(
            f"{name}{overload}({args}, *, {OPTIONS}) -> Tensor",
            shape=shape,
            **fields,
            out=True,
            reported=reported,
            doc=doc,
        ),
        _factory(
            f"{name}{with_generator}({args}, *, Generator? generator, {OPTIONS}) -> Tensor",
            shape=shape,
            reported=reported,
            out=True,
            doc=doc,
        ),
    ]


def _like(name, args, doc, overloads, reported, **fields):
    plain, with_generator = overloads
    common = {"shape": "self.shape", "names": "keep", "reported": reported, "doc": doc}
    return [
        _factory(f"{name}{plain}({args}, *, {LIKE}) -> Tensor", **common, **fields),
        _factory(
            f"{name}{with_generator}({args}, *, Generator? generator, {LIKE}) -> Tensor",
            **common,
        ),
    ]


def _fill(signature, *, grad=None, reported="", doc):
    """Overwrites the tensor with random numbers."""
    return Op(
        f"{signature} -> Tensor(a!)",
        function=False,
        random=True,
        names="keep",
        reported=reported,
        grad=grad or {"self": "zeros_like(g)"},
        jvp=NO_VALUES,
        batch="random",
        doc=doc,
    )


def _draw(signature, grad, doc, **fields):
    """A fresh tensor of random numbers whose parameters are tensors."""
    return Op(
        f"{signature} -> Tensor",
        random=True,
        devices="Any",
        grad=grad,
        jvp="rule",
        batch="random",
        doc=doc,
        **fields,
    )


GENERATOR = "*, Generator? generator=None"
UNIFORM = "Uniform numbers in [0, 1)."
NORMAL = "Normal numbers of mean 0 and variance 1; complex ones have half of it in each part."
INTEGERS = "Integers from low, 0 if it isn't given, up to, but without, high, all equally likely."
PERMUTATION = "The integers from 0 up to, but without, n in random order."

ROWS = [
    *_create(
        "rand", "int[] size", UNIFORM,
        shown=f"*size, {SHOWN}",
        reported="check_uniform_bounds",
        core=True,
        example=">>> tl.rand(2, 3).shape\ntorch.Size([2, 3])",
    ),
    *_like(
        "rand_like", "Tensor self", UNIFORM, ("", ".generator"),
        shown=f"input, *, {SHOWN_LIKE}",
        reported="check_uniform_bounds",
        example=">>> tl.rand_like(tl.zeros(2, 3)).shape\ntorch.Size([2, 3])",
    ),
    *_create(
        "randn", "int[] size", NORMAL,
        shown=f"*size, {SHOWN}",
        reported="normal_kernel_cpu",
        core=True,
        example=">>> tl.randn(2, 3).shape\ntorch.Size([2, 3])",
    ),
    *_like(
        "randn_like", "Tensor self", NORMAL, ("", ".generator"),
        shown=f"input, *, {SHOWN_LIKE}",
        reported="normal_kernel_cpu",
        example=">>> tl.randn_like(tl.zeros(2, 3)).shape\ntorch.Size([2, 3])",
    ),
    *_create(
        "randint", "int high, int[] size", INTEGERS,
        shown=f"low, high=None, size=None, *, {SHOWN}",
        reported="random_update_from_to",
        example=">>> tl.randint(0, 10, (2, 3)).shape\ntorch.Size([2, 3])",
    ),
    *_create(
        "randint", "int low, int high, int[] size", INTEGERS, low="low",
        reported="random_update_from_to",
    ),
    *_like(
        "randint_like", "Tensor self, int high", INTEGERS, ("", ".generator"),
        shown=f"input, low, high=None, *, {SHOWN_LIKE}",
        reported="random_update_from_to",
        example=">>> tl.randint_like(tl.zeros(2, 3), 10).shape\ntorch.Size([2, 3])",
    ),
    *_like(
        "randint_like", "Tensor self, Tensor high", INTEGERS, (".Tensor", ".Tensor_generator"),
        reported="random_update_from_to",
    ),
    *_like(
        "randint_like", "Tensor self, int low, int high", INTEGERS, (".low_dtype", ".low_generator_dtype"),
        reported="random_update_from_to",
    ),
    *_create(
        "randperm", "int n", PERMUTATION, shape="[n]",
        shown=f"n, *, {SHOWN}",
        core=True,
        about={"n": "the numbers from 0 to n - 1 are permuted"},
        example=">>> tl.randperm(5).sort().values\ntensor([0, 1, 2, 3, 4])",
    ),
    # ---- in place ------------------------------------------------------------------------------------------
    _fill(
        f"uniform_(Tensor(a!) self, float from=0, float to=1, {GENERATOR})",
        reported="check_uniform_bounds",
        doc="Uniform numbers in [from, to).",
    ),
    _fill(
        f"normal_(Tensor(a!) self, float mean=0, float std=1, {GENERATOR})",
        reported="normal_kernel_cpu",
        doc="Normal numbers of that mean and standard deviation.",
    ),
    _fill(
        f"exponential_(Tensor(a!) self, float lambd=1, {GENERATOR})",
        doc="Exponential numbers with density lambd * exp(-lambd * x).",
    ),
    _fill(
        f"cauchy_(Tensor(a!) self, float median=0, float sigma=1, {GENERATOR})",
        doc="Cauchy numbers around the median, of width sigma.",
    ),
    _fill(
        f"log_normal_(Tensor(a!) self, float mean=1, float std=2, {GENERATOR})",
        doc="Numbers whose logarithms are normal, of that mean and standard deviation.",
    ),
    _fill(
        f"geometric_(Tensor(a!) self, float p, {GENERATOR})",
        doc="How many trials it takes until the first success, when each succeeds with probability p.",
    ),
    _fill(
        f"random_.from(Tensor(a!) self, int from, int? to, {GENERATOR})",
        doc=(
            "Integers from `from` up to, but without, `to`; or up to the largest that the dtype holds "
            "exactly."
        ),
    ),
    _fill(
        f"random_.to(Tensor(a!) self, int to, {GENERATOR})",
        doc="Integers from 0 up to, but without, `to`.",
    ),
    _fill(
        f"random_(Tensor(a!) self, {GENERATOR})",
        doc="Integers from 0 up to the largest that the dtype holds exactly.",
    ),
    _fill(
        f"bernoulli_.Tensor(Tensor(a!) self, Tensor p, {GENERATOR})",
        reported="bernoulli_tensor_cpu_self_",
        grad={"self": "zeros_like(g)", "p": "zeros_like(p)"},
        doc="One with the probability that `p` gives for the element, else zero.",
    ),
    _fill(
        f"bernoulli_.float(Tensor(a!) self, float p=0.5, {GENERATOR})",
        reported="bernoulli_tensor_cpu_self_",
        doc="One with probability p, else zero.",
    ),
    # ---- parameters in tensors -----------------------------------------------------------------------------
    _draw(
        f"bernoulli(Tensor self, {GENERATOR})", {"self": "zeros_like(g)"},
        "One with the probability that the element states, else zero.", shape="self.shape",
        out=True,
        names="keep", reported="bernoulli_tensor_cpu_self_",
        example=">>> tl.bernoulli(tl.tensor([0.0, 1.0]))\ntensor([0., 1.])",
    ),
    _draw(
        f"bernoulli.p(Tensor self, float p, {GENERATOR})", {"self": "zeros_like(g)"},
        "One with probability p, else zero, shaped as the input.", shape="self.shape",
        names="keep", reported="bernoulli_tensor_cpu_self_",
    ),
    # The reference tries them in this order: a tensor without dimensions would pass for a number.
    _draw(
        f"normal.Tensor_Tensor(Tensor mean, Tensor std, {GENERATOR})",
        {"mean": "zeros_like(g)", "std": "zeros_like(g)"}, "Normal numbers, the parameters of each given.",
        shape="broadcast(mean.shape, std.shape)",
        out=True,
        names="unify", reported="normal_kernel_cpu",
        example=">>> tl.normal(tl.zeros(3), 1.0).shape\ntorch.Size([3])",
    ),
    _draw(
        f"normal.Tensor_float(Tensor mean, float std=1, {GENERATOR})", {"mean": "zeros_like(g)"},
        "Normal numbers; mean, standard deviation or both may be given element by element.",
        shape="mean.shape",
        out=True, shown="mean, std, *, generator=None, out=None",
        names="unify", reported="normal_kernel_cpu",
    ),
    _draw(
        f"normal.float_Tensor(float mean, Tensor std, {GENERATOR})", {"std": "zeros_like(g)"},
        "Normal numbers of one mean.", shape="std.shape",
        out=True,
        names="unify", reported="normal_kernel_cpu",
    ),
    _factory(
        f"normal.float_float(float mean, float std, int[] size, {GENERATOR}, {OPTIONS}) -> Tensor",
        shape="list(size)",
        out=True,
        names="unify", reported="normal_kernel_cpu",
        doc="Normal numbers of one mean and standard deviation.",
    ),
    Op(
        "poisson(Tensor self, Generator? generator=None) -> Tensor", shape="self.shape",
        method=False, random=True,
        grad={"self": "zeros_like(g)"},
        jvp="rule", batch="random",
        doc="Poisson numbers, each of the rate that the element states.",
        example=">>> tl.poisson(tl.tensor([0.0, 4.0])).shape\ntorch.Size([2])",
    ),
    Op(
        "binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor",
        shape="broadcast(count.shape, prob.shape)",
        method=False, random=True,
        grad="none:not implemented for binomial",
        jvp=NO_VALUES, batch="random",
        doc="How many of `count` trials succeed when each does with probability `prob`.",
        about={
            "count": "the numbers of trials, floating-point",
            "prob": "the probability of a success in each trial, of the same shape",
        },
        example=">>> tl.binomial(tl.tensor([3.0, 3.0]), tl.tensor([0.0, 1.0]))\ntensor([0., 3.])",
    ),
    Op(
        "_standard_gamma(Tensor self, Generator? generator=None) -> Tensor", shape="self.shape",
        method=False, random=True,
        grad={"self": "g * _standard_gamma_grad(self, result)"},
        jvp=NO_VALUES, batch="random",
        doc="Gamma numbers of scale 1 and of the shape that the element states.",
    ),
    Op(
        "_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor", shape="self.shape",
        method=False, random=True,
        grad="none:not implemented for _sample_dirichlet",
        jvp=NO_VALUES, batch="random",
        doc=(
            "Shares that sum to one along the last dimension, of Dirichlet distributions with these "
            "concentrations."
        ),
    ),
    # ---- dropout -------------------------------------------------------------------------------------------
    Op(
        "native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
        shape="[input.shape, input.shape]",
        method=False, random=True,
        names="keep", reported="bernoulli_scalar_cpu_",
        core=True,
        grad={
            "input": (
                "native_dropout_backward(g, result1, 1.0 if train == False else 0.0 if p == 1 else 1 / (1 - "
                "p))"
            ),
        },
        jvp="rule", batch="random",
        doc="Zeros with probability p, what is left scaled by 1 / (1 - p), and the mask of what was left.",
        about={"p": "the probability with which an element is dropped"},
        example=(
            ">>> result, mask = tl.native_dropout(tl.ones(1000), 0.25, True)\n>>> (result == mask / "
            "0.75).all()\ntensor(True)"
        ),
    ),
    Op(
        "native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor",
        shape="grad_output.shape",
        method=False,
        grad={"grad_output": "native_dropout_backward(g, mask, scale)"},
        jvp="linear", batch="elementwise",
        doc="The gradient of what dropout left.",
        about={"mask": "the dropout mask that the forward pass has drawn"},
        example=(
            ">>> tl.native_dropout_backward(tl.tensor([1.0, 2.0]), tl.tensor([True, False]), 2.0)\n"
            "tensor([2., 0.])"
        ),
    ),
    Composite(
        "dropout(Tensor input, float p, bool train) -> Tensor", shape="input.shape",
        method=False, random=True,
        doc="Zeros with probability p, what is left scaled by 1 / (1 - p); the input itself unless training.",
        about={"p": "the probability with which an element is dropped"},
        example=">>> tl.dropout(tl.ones(3), 0.5, False)\ntensor([1., 1., 1.])",
    ),
    Composite(
        "dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
        method=False, random=True,
        names="keep",
        doc="Dropout in place.",
        about={"p": "the probability with which an element is dropped"},
    ),
]  # fmt: skip
