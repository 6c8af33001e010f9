"""One operator is one row. The kinds below fill in what their family shares; `Row` is what the generator sees."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from opgen.schema import Arg, Schema, inplace_of, out_of, parse

# Sets of element types a row may name in `dtypes`.
INTS = ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64")
HALVES = ("float16", "bfloat16")
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
SETS = {"bool": ("bool",), "int": INTS, "half": HALVES, "float": (*HALVES, *FLOATS), "complex": COMPLEX,
        "complex32": ("complex32",), "float8": FLOAT8, "signed_float8": FLOAT8[:4],
        "wide": ("int64", "uint64", *FLOATS, "complex128"),
        "widest": ("int64", "uint64", "float64", "complex128")}  # fmt: skip

# The grad and jvp of rows that make tensors of sizes and numbers: their tensors say geometry and type alone.
NO_VALUES = "none:the result does not depend on the values of a tensor"
# The batch of rows whose results have as many elements as the values decide.
DYNAMIC_SHAPE = (
    "refuse:We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::{}(): "
    "the sizes of the results depend on the values, which differ between examples: vmap cannot batch it; use masks and "
    "torch.where"
)


def dtype_set(text: str) -> tuple[str, ...]:
    """`"int float"` spelled out."""
    return tuple(d for word in text.split() for d in SETS.get(word, (word,)))


@dataclass(frozen=True)
class Samples:
    """Where the generated tests draw inputs from: a closed interval, or a named maker in the tests."""

    low: float = -3.0
    high: float = 3.0
    maker: str = ""


def real(low: float, high: float) -> Samples:
    """Uniform in [low, high]."""
    return Samples(low, high)


def made(maker: str) -> Samples:
    """Inputs from the test suite's maker of that name."""
    return Samples(maker=maker)


@dataclass(frozen=True)
class Elementwise:
    """How a generic elementwise loop is planned."""

    function: str  # the functor in kernels/cpu/elementwise
    inputs: int  # leading tensor-or-number arguments
    to: str = (
        "same"  # same | float (integers become the default float) | int (bool becomes int64) | bool | real | real float
        # | complex
    )
    dtypes: tuple[str, ...] = ()
    condition: bool = False  # the first input is bool and takes no part in promotion
    divides: bool = False  # the last input is a divisor: integers refuse zeros
    exact_number: str = (
        ""  # "last": of halves, the last input is a number as it is; "either": of two, any one
    )
    typed: tuple[str, ...] = ()  # parameters that are of the tensors' type, as alpha of sums is
    in_range: bool = False  # a number that is an input must be in the range of the tensors' type
    not_bool: str = ""  # the message of the RuntimeError with which bool is refused
    check: str = ""  # the function in ops/elementwise/checks.h that refuses other inputs
    moves: bool = False  # only moves elements: one loop a size serves all types
    loops: tuple[
        str, ...
    ] = ()  # if given: the dtypes with a loop of their own; the others compute in wider ones
    hot: tuple[str, ...] = ()  # of these, the ones with a loop for every instruction set
    also: tuple[str, ...] = ()  # further ones with a loop for every instruction set but the portable one
    once: bool = False  # in a file that is compiled once, without vectors: for what is seldom called


def _line() -> str:
    """The line of the table that makes a row."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and Path(frame.f_code.co_filename).parent.name != "optable":
        frame = frame.f_back
    return f"optable/{Path(frame.f_code.co_filename).name}:{frame.f_lineno}" if frame else ""


@dataclass(frozen=True, kw_only=True)
class Row:
    """All that is known of one operator.

    grad: formulas by argument name, "composite", or "none:<reason>". jvp: "elementwise", "linear", a formula,
    "double-vjp", "composite" or "none:<reason>". batch: "elementwise", "dims", "composite" or "loop". inverse belongs
    to views: what `self` is once the view is `g`.
    """

    schema: Schema
    kernel: str = ""  # symbol of the C++ function
    elementwise: Elementwise | None = None
    each: str = ""  # the operator that is called for every tensor of a list
    devices: str = "CpuMeta"  # CpuMeta | CpuOnly | Any
    grad: dict[str, str] | str = ""
    jvp: str = ""
    batch: str = ""
    inverse: str = ""
    shape: str = ""  # the sizes of the results: shape_rules.py has the language, and what is implied
    expr: str = ""
    ref: str = ""
    samples: Samples = field(default_factory=Samples)
    doc: str = ""
    example: str = ""  # a session that calls it, with what is printed
    about: dict[str, str] = field(
        default_factory=dict
    )  # what an argument is, where argument_docs does not say it
    inplace: bool = False
    out: bool = False
    out_name: str = ""
    function: bool = True
    method: bool = True
    namespace: str = (
        ""  # "" is the flat namespace; the private ones are "_nn", "_special", "_linalg" and "_fft"
    )
    foreach: bool = False  # has a form over lists of tensors, in optable/foreach.py
    aliases: tuple[str, ...] = ()  # other public names of the function and method
    random: bool = False
    view: bool = False
    marked: bool = False  # takes tensors that are conjugated or negated only when read as they are
    # In which type it runs in a region of autocast on the CPU, by the lists of the API's page on mixed precision:
    # "lower", "float32", or "widest" among the inputs; "" is that of its inputs. Layers whose recurrence that page
    # leaves to their parts take the widest type, as their parts' types would not fit.
    autocast: str = ""
    shards: str = (
        ""  # the placements of distributed tensors: shard_rules.py has the language, and what is implied
    )
    sparse: str = ""  # the kernel for sparse tensors: a symbol, or "itself" where the row's own takes them
    names: str = ""  # the rule for names of dimensions: name_rules.py has the rules, and what is implied
    stored: str = ""  # the storage-only element types that it accepts: stored_dtypes.py has the kinds
    reported: str = ""  # the kernel that an error about an element type names, if not `<name>_cpu`
    # Names as functions of their own in torch.special and torch.linalg: `__torch_function__` and graphs tell these
    # from the function of the row's name. "special_psi" is `psi` of torch.special.
    second_names: tuple[str, ...] = ()
    shown: str = ""  # the Python signature of the function where it isn't the schema's
    # Whether the row's operator is in PyTorch's core set, into which all others are taken apart; or the names of the
    # row's operators that are.
    core: bool | str = False
    array_api: str = ""  # the name of an elementwise function in the array API standard
    # Whether ops.h declares the operator. Every file of C++ reads ops.h, so a row that no other C++ of the core calls
    # by name says False, and a change of the row compiles the table and its own file alone. The structs of its
    # arguments are in undeclared_kernel_args.h.
    declared: bool = True
    # The public operators that graphs have in the place of a private one, by the number of dimensions of its grid.
    dimensions: dict[int, str] = field(default_factory=dict)
    family: str = ""  # set by the collection: the file it stands in
    where: str = ""  # file and line of the row, which errors name

    def __post_init__(self) -> None:
        if not self.where:
            object.__setattr__(self, "where", _line())

    @property
    def name(self) -> str:
        return self.schema.name

    @property
    def base(self) -> str:
        return self.schema.base

    @property
    def args(self) -> tuple[Arg, ...]:
        return self.schema.args

    @property
    def rets(self) -> tuple[Arg, ...]:
        return self.schema.rets

    @property
    def composite(self) -> bool:
        return self.grad == "composite"

    @property
    def reads_elements(self) -> bool:
        """Whether it reads or writes elements of its tensors, and not their geometry alone."""
        views = self.view or (self.composite and self.returns_views)
        return not (views or self.grad == NO_VALUES or self.base in ("resize_", "resize_as_"))

    @property
    def returns_views(self) -> bool:
        return any(r.alias and not r.written for r in self.rets)

    def check(self) -> None:
        """Raises ValueError for a row that leaves a field open."""
        missing = [f for f in ("grad", "jvp", "batch", "doc") if not getattr(self, f)]
        if self.view and not self.inverse:
            missing.append("inverse")
        if self.autocast not in ("", "lower", "float32", "widest"):
            raise ValueError(f"the row {self.name} has no such policy of autocast: {self.autocast!r}")
        if missing:
            raise ValueError(f"the row {self.name} does not say its {', '.join(missing)}")

    def forms(self) -> list[tuple[str, Schema]]:
        """The operators this row makes: (variant, schema)."""
        forms = [("inplace" if self.writes_self else "functional", self.schema)]
        if self.inplace:
            forms.append(("inplace", inplace_of(self.schema)))
        if self.out:
            forms.append(("out", out_of(self.schema, self.out_name or self._default_out_name())))
        return forms

    @property
    def writes_self(self) -> bool:
        return bool(self.args) and self.args[0].written

    def _default_out_name(self) -> str:
        plain = self.schema.overload in ("", "Tensor")
        return f"{self.base}.{'out' if plain else self.schema.overload + '_out'}"


def _row(signature: str, **fields: Any) -> Row:
    return Row(schema=parse(signature), **fields)


def Op(signature: str, *, kernel: str = "", **fields: Any) -> Row:
    """A row with a C++ function of its own; the symbol defaults to the name with underscores for dots."""
    schema = parse(signature)
    fields.setdefault("samples", Samples())
    return Row(schema=schema, kernel=kernel or schema.name.replace(".", "_"), **fields)


def Composite(signature: str, **fields: Any) -> Row:
    """Made of other operators: differentiates, batches and runs on every device through its parts."""
    fields.setdefault("jvp", "composite")
    fields.setdefault("batch", "composite")
    return Op(signature, grad="composite", devices="Any", **fields)


def Foreach(signature: str, *, each: str, **fields: Any) -> Row:
    """The operator `each`, applied to every element of the lists; other arguments are the same for all."""
    return Composite(signature, each=each, kernel="foreach", sparse="itself", method=False, **fields)


def View(signature: str, **fields: Any) -> Row:
    """Another geometry on the same memory: runs on every device."""
    fields.setdefault("jvp", "linear")
    fields.setdefault("batch", "dims")
    return Op(signature, devices="Any", view=True, **fields)


def _compiled(dtypes: str, loops: str, hot: str, once: bool, also: str = "") -> dict[str, Any]:
    """The fields of Elementwise that say what is compiled; of what is compiled once, the widest types by default."""
    taken, own = dtype_set(dtypes), dtype_set(loops or "widest" * once)
    return {
        "dtypes": taken,
        "loops": tuple(d for d in own if d in taken),
        "hot": dtype_set(hot),
        "also": dtype_set(also),
        "once": once,
    }


def Unary(name: str, *, cpu: str = "", to: str = "same", dtypes: str = "int float complex", not_bool: str = "",
          check: str = "", loops: str = "", hot: str = "", once: bool = False, also: str = "",
          **fields: Any) -> Row:  # fmt: skip
    """f(x), element by element."""
    fields.setdefault("jvp", "elementwise")
    elementwise = Elementwise(
        cpu or name, 1, to, not_bool=not_bool, check=check, **_compiled(dtypes, loops, hot, once, also)
    )
    return _elementwise(f"{name}(Tensor self) -> Tensor", elementwise, **fields)


def Transcendental(name: str, grad: str, doc: str, *, dtypes: str = "float complex", **fields: Any) -> Row:
    """f(x) of floating-point and complex numbers, whose loops take long to compile: real ones have the wide ones."""
    fields.setdefault("expr", f"{name}(x)")
    fields |= {"grad": {"self": grad}, "doc": doc}
    return Unary(name, to="float", dtypes=dtypes, loops="wide", hot="float32 float64", **fields)


def Binary(name: str, *, overload: str = "Tensor", scalars: str = "", cpu: str = "", to: str = "same",
           dtypes: str = "bool int float complex", number_first: bool = False, other: str = "Operand",
           not_bool: str = "", loops: str = "", hot: str = "", once: bool = False, also: str = "",
           divides: bool = False, exact_number: str = "", **fields: Any) -> Row:  # fmt: skip
    """f(x, y), with broadcasting and promotion; `scalars` are keyword parameters such as alpha.

    `number_first`: a number may stand for the first input of the function, as in `sub(1, x)`. `other`:
    Operand or Tensor.
    """
    fields.setdefault("jvp", "elementwise")
    tail = f", *, {scalars}" if scalars else ""
    full = f"{name}.{overload}" if overload else name
    elementwise = Elementwise(
        cpu or name, 2, to, not_bool=not_bool, divides=divides, exact_number=exact_number,
        **_compiled(dtypes, loops, hot, once, also),
    )  # fmt: skip
    first = "Operand" if number_first else "Tensor"
    return _elementwise(f"{full}({first} self, {other} other{tail}) -> Tensor", elementwise, **fields)


def Comparison(name: str, **fields: Any) -> Row:
    """f(x, y) -> bool; no derivative."""
    fields.setdefault("dtypes", "bool int float complex")
    if "overload" not in fields:
        fields["out_name"] = f"{name}.Tensor_out"
    return Binary(
        name,
        to="bool",
        grad="none:comparisons are piecewise constant",
        jvp="none:piecewise constant",
        **fields,
    )


def _elementwise(signature: str, elementwise: Elementwise, **fields: Any) -> Row:
    fields.setdefault("batch", "elementwise")
    fields.setdefault("inplace", True)
    fields.setdefault("out", True)
    fields.setdefault("kernel", "elementwise")
    return Row(schema=parse(signature), elementwise=elementwise, **fields)


def Pointwise(signature: str, *, inputs: int, cpu: str, to: str = "same", dtypes: str = "int float complex",
              condition: bool = False, moves: bool = False, loops: str = "", hot: str = "", once: bool = False,
              also: str = "", divides: bool = False, exact_number: str = "", in_range: bool = False,
              typed: tuple[str, ...] = (), check: str = "", **fields: Any) -> Row:  # fmt: skip
    """An elementwise row with any other signature: `inputs` leading operands, then its scalar parameters."""
    fields.setdefault("jvp", "elementwise")
    compiled = _compiled(dtypes, loops, hot, once, also)
    elementwise = Elementwise(
        cpu, inputs, to, condition=condition, moves=moves, divides=divides, exact_number=exact_number,
        in_range=in_range, typed=typed, check=check, **compiled,
    )  # fmt: skip
    return _elementwise(signature, elementwise, **fields)
