"""Which function answers for an operator when an argument is a nested tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tl_core import _C
from tl_core._C import Tensor
from tl_core.base.rule_table import RuleTable
from tl_core.overrides import made_of_others

__all__ = ["Handlers", "as_it_is", "plain"]


class OnElements(NamedTuple):
    """A rule with overrides off, where a nested tensor stands for the tensor that holds its elements."""

    function: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]  # takes operator, args, kwargs


class Handlers:
    """The rules of one layout: functions of the operator's arguments, or `OnElements`.

    Args:
        kind: the kind of rules.
        title: the tensors, for errors.
    """

    def __init__(self, kind: str, title: str) -> None:
        self.title = title
        self.rules: RuleTable[Any] = RuleTable(kind)
        self.of = self.rules.rule

    def of_all(self, names: Any, function: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]) -> None:
        """`function(operator, args, kwargs)` answers for these operators, with overrides off."""
        self.rules.rule(*names)(OnElements(function))

    def call(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The operator's result; NotImplementedError if there is none for nested tensors."""
        name = getattr(operator, "__name__", "").partition(".")[0]  # of `add.Tensor` as of `add`
        if (code := made_of_others(operator)) is not None:
            return code(*args, **kwargs)
        rule = self.rules.get(name)
        if rule is None:
            raise NotImplementedError(
                f"{name or operator}(): not implemented for {self.title}; unbind() gives the components, "
                "torch.nested.to_padded_tensor() one dense tensor, which all operators take"
            )
        if not isinstance(rule, OnElements):
            return rule(*args, **kwargs)
        before = _C._set_overrides_disabled(True)
        try:
            return rule.function(operator, args, kwargs)
        finally:
            _C._set_overrides_disabled(before)


def as_it_is(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The operator on the tensors that hold the elements.

    Args:
        operator: the operator.
        args: its arguments.
        kwargs: its keyword arguments.
    """
    return operator(*args, **kwargs)


def is_dense(t: Any) -> bool:
    """Whether a tensor is a plain one, or the fake of one.

    Args:
        t: the tensor.
    """
    return type(t) is Tensor or (hasattr(t, "fake_mode") and not t.is_nested)


def plain(t: Tensor) -> Tensor:
    """The tensor that holds the elements of a nested tensor, in the graph.

    Args:
        t: the nested tensor.
    """
    if not hasattr(t, "fake_mode"):
        return _C._as_subclass(Tensor, t)
    before = _C._set_overrides_disabled(True)
    try:
        values = Tensor.view(t, Tensor.shape.__get__(t))  # type: ignore[attr-defined]  # of the class of fakes
        symbolic = t.symbolic  # type: ignore[attr-defined]  # of the class of fakes
        return values if symbolic is None else symbolic.attached_to(values)
    finally:
        _C._set_overrides_disabled(before)
