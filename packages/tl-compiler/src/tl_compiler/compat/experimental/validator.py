"""Checking that guards which were simplified follow from the ones before, by the solver z3."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = [
    "BisectValidationException",
    "TranslationValidator",
    "ValidationException",
    "assert_z3_installed_if_tv_set",
    "translation_validation_enabled",
    "translation_validation_timeout",
    "z3str",
]

_enabled = False
_timeout_ms = 600_000


def translation_validation_enabled() -> bool:
    """Whether guards are checked.

    Returns:
        False, unless `assert_z3_installed_if_tv_set` was told so.

    Example:
        >>> translation_validation_enabled()
        False
    """
    return _enabled


def translation_validation_timeout() -> int:
    """How long one check may take.

    Returns:
        Milliseconds.

    Example:
        >>> translation_validation_timeout() > 0
        True
    """
    return _timeout_ms


def assert_z3_installed_if_tv_set() -> None:
    """Raises if guards are checked and the package z3-solver isn't there.

    Raises:
        AssertionError: so.

    Example:
        >>> assert_z3_installed_if_tv_set()
    """
    if not _enabled:
        return
    try:
        _z3()
    except ModuleNotFoundError as error:
        raise AssertionError(
            "translation validation requires Z3 package. Please, either install z3-solver"
        ) from error


def _z3() -> Any:
    return import_module("z3")


class ValidationException(Exception):
    """A target expression doesn't follow from the source expressions.

    Args:
        model: values that fulfil the source expressions and not all target ones.
        assertions: all source expressions.
        target_exprs: all target expressions.
        failed_source_exprs: target expressions that the values don't fulfil.
    """

    def __init__(self, model: Any, assertions: Any, target_exprs: Any, failed_source_exprs: Any) -> None:
        def bullets(things: Any) -> str:
            return "\n".join(f"  ==> {thing}" for thing in things) or "  ==> <none>"

        values = "\n".join(f"  ==> {name}: {model[name]}" for name in model)
        self.msg = "translation validation failed."
        self.details = (
            f"Model:\n{values}\n\nAssertions:\n{bullets(map(z3str, assertions))}\n\nTarget Expressions:\n"
            f"{bullets(map(z3str, target_exprs))}\n\nFailed Source Expressions:\n"
            f"{bullets(map(z3str, failed_source_exprs))}"
        )
        super().__init__(f"{self.msg}\n\n{self.details}")

    def __str__(self) -> str:
        return f"{self.msg}\n\n{self.details}"


class BisectValidationException(Exception):
    """The event of an environment after which its guards are wrong.

    Args:
        validation_exc: what the check said.
        expr: the guard.
        failed_action: what was done.
        traced_node: the node that it was done for.
    """

    def __init__(
        self, validation_exc: ValidationException, expr: Any, failed_action: str, traced_node: Any
    ) -> None:
        self.msg = f"translation validation failed when {failed_action}: {expr}"
        self.details = f"Failure occurred while running node:\n    {traced_node}\n\n{validation_exc.details}"
        super().__init__(f"{self.msg}\n\n{self.details}")


def z3str(e: Any) -> str:
    """An expression of z3 as a call in prefix form, with equalities first and negations resolved.

    Args:
        e: the expression.

    Returns:
        The text.

    Example:
        >>> z3str(z3.Int("x") + 1)  # doctest: +SKIP
    """
    z3 = _z3()
    if not isinstance(e, z3.ExprRef):
        return str(e)
    if z3.is_not(e):
        inner = e.arg(0)
        turned = {z3.Z3_OP_LE: ">", z3.Z3_OP_GE: "<", z3.Z3_OP_LT: ">=", z3.Z3_OP_GT: "<=", z3.Z3_OP_EQ: "!="}
        kind = inner.decl().kind()
        if kind in turned:
            return f"({turned[kind]} {' '.join(z3str(a) for a in inner.children())})"
    if not e.children():
        return str(e)
    name = e.decl().name()
    return f"({name} {' '.join(z3str(a) for a in e.children())})"


class TranslationValidator:
    """Gathers source and target expressions of sympy, and checks that the latter follow from the former.

    Needs the packages sympy and z3-solver.

    Example:
        >>> import sympy  # doctest: +SKIP
        >>> s = sympy.Symbol("s", integer=True)  # doctest: +SKIP
        >>> checker = TranslationValidator()  # doctest: +SKIP
        >>> checker.add_var(s, int); checker.add_source_expr(s > 3); checker.add_target_expr(s > 2)  # doctest: +SKIP
        >>> checker.validate()  # doctest: +SKIP
    """

    def __init__(self) -> None:
        self.symbols: dict[Any, Any] = {}
        self._source_exprs: dict[Any, None] = {}
        self._target_exprs: dict[Any, None] = {}
        self._assertions: dict[Any, None] = {}

    def z3var(self, symbol: Any) -> Any:
        """The variable of z3 for a symbol.

        Args:
            symbol: the symbol.

        Returns:
            The variable.
        """
        if symbol not in self.symbols:
            raise AssertionError(f"Z3 variable not found for: {symbol}")
        return self.symbols[symbol]

    def add_var(self, symbol: Any, type: type) -> Any:
        """Adds a variable; one that sympy knows to be positive is.

        Args:
            symbol: the symbol.
            type: int, float or bool.

        Returns:
            The variable of z3.
        """
        z3 = _z3()
        if symbol in self.symbols:
            return self.symbols[symbol]
        constructor = {int: z3.Int, float: z3.Real, bool: z3.Bool}.get(type)
        if constructor is None:
            raise RuntimeError(f"unsupported type for Z3 variable: {type}")
        self.symbols[symbol] = variable = constructor(str(symbol))
        if type is int and symbol.is_positive:
            self._target_exprs[variable > 0] = None
        return variable

    def add_target_expr(self, e: Any) -> None:
        """Adds an expression that has to follow.

        Args:
            e: the expression.
        """
        self._target_exprs[self.to_z3(e)] = None

    def add_source_expr(self, e: Any) -> None:
        """Adds an expression that holds.

        Args:
            e: the expression.
        """
        self._source_exprs[self.to_z3(e) if not isinstance(e, _z3().ExprRef) else e] = None

    def add_assertion(self, e: Any) -> None:
        """Adds an expression that holds in both.

        Args:
            e: the expression.
        """
        self._assertions[self.to_z3(e) if not isinstance(e, _z3().ExprRef) else e] = None

    def validate(self) -> None:
        """Checks.

        Raises:
            ValidationException: a target expression doesn't follow.
        """
        z3 = _z3()
        if not self._source_exprs or not self._target_exprs:
            return
        solver = z3.Solver()
        solver.set(timeout=translation_validation_timeout())
        for condition in (*self._assertions, *self._target_exprs):
            solver.add(condition)
        # The guards that are kept are the targets; what they don't imply of the sources is a mistake.
        solver.add(z3.Not(z3.And(*self._source_exprs)))
        status = solver.check()
        if status == z3.sat:
            model = solver.model()
            failed = [e for e in self._source_exprs if z3.is_false(model.evaluate(e, model_completion=True))]
            values = {str(name): model[name] for name in model}
            raise ValidationException(values, self._assertions, self._target_exprs, failed)
        if status == z3.unknown:
            raise RuntimeError(f"translation validation: z3 can't tell: {solver.reason_unknown()}")

    def to_z3(self, e: Any) -> Any:
        """An expression of sympy as one of z3.

        Args:
            e: the expression.

        Returns:
            The expression of z3.

        Raises:
            NotImplementedError: it has no counterpart.
        """
        z3 = _z3()
        if isinstance(e, (bool, int, float)):
            return {bool: z3.BoolVal, int: z3.IntVal, float: z3.RealVal}[type(e)](e)
        name = type(e).__name__
        if getattr(e, "is_Symbol", False):
            return self.z3var(e)
        if getattr(e, "is_Integer", False):
            return z3.IntVal(int(e))
        if getattr(e, "is_Rational", False) or getattr(e, "is_Float", False):
            return z3.RealVal(str(e))
        if name in ("BooleanTrue", "BooleanFalse"):
            return z3.BoolVal(bool(e))
        return self._compound(name, [self.to_z3(a) for a in e.args])

    def _compound(self, name: str, args: list[Any]) -> Any:
        z3 = _z3()
        if name == "Add":
            return z3.Sum(args)
        if name == "Mul":
            return z3.Product(args)
        if name == "Pow":
            return self._power(*args)
        if name in ("And", "Or"):
            return (z3.And if name == "And" else z3.Or)(*args)
        if name == "Not":
            return z3.Not(args[0])
        if name == "Abs":
            return z3.If(args[0] >= 0, args[0], -args[0])
        if name in ("Max", "Min"):
            return self._extreme(name == "Max", args)
        if name in ("floor", "ceiling"):
            return self._round(name == "floor", args[0])
        two = {
            "Equality": lambda a, b: a == b,
            "Unequality": lambda a, b: a != b,
            "StrictLessThan": lambda a, b: a < b,
            "LessThan": lambda a, b: a <= b,
            "StrictGreaterThan": lambda a, b: a > b,
            "GreaterThan": lambda a, b: a >= b,
            "FloorDiv": self._floor_div,
            "Mod": lambda a, b: a - self._floor_div(a, b) * b,
            "PythonMod": lambda a, b: a - self._floor_div(a, b) * b,
        }
        if name in two:
            return two[name](*args)
        raise NotImplementedError(f"{name} has no counterpart in z3")

    def _floor_div(self, a: Any, b: Any) -> Any:
        z3 = _z3()
        real = [z3.ToReal(x) if x.is_int() else x for x in (a, b)]
        return z3.ToInt(real[0] / real[1])

    def _round(self, down: bool, a: Any) -> Any:
        z3 = _z3()
        if a.is_int():
            return a
        return z3.ToInt(a) if down else -z3.ToInt(-a)

    def _extreme(self, largest: bool, args: list[Any]) -> Any:
        z3 = _z3()
        result = args[0]
        for other in args[1:]:
            result = z3.If((result >= other) if largest else (result <= other), result, other)
        return result

    def _power(self, base: Any, exponent: Any) -> Any:
        z3 = _z3()
        if z3.is_int_value(exponent):
            count = exponent.as_long()
            product = z3.Product([base] * abs(count)) if count else z3.IntVal(1)
            if count >= 0:
                return product
            return 1 / (z3.ToReal(product) if product.is_int() else product)
        return base**exponent
