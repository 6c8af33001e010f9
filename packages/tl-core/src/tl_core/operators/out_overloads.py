"""Overloads of the namespace aten that write results into out tensors, beside those of rows.

They compute the result and copy it. The name, the arguments and the rule of dtypes are PyTorch's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import tl_core
from tl_core._C import Tensor
from tl_core.dispatch.modes import ask_handlers, ask_recorder, is_handled
from tl_core.functions.out_tensors import write_results
from tl_core.operators.composites import CompositeOperator
from tl_core.operators.out_forms import OUT_FORMS, OutForm
from tl_core.operators.packets import OpOverload, OpOverloadPacket

__all__ = ["OutOperator", "names_of", "overload_of"]

_SCHEMA = re.compile(r"([^(]*)\((.*)\) -> (.*)")
_OPTIONS = ("dtype", "layout", "device", "pin_memory")


def _arguments(text: str) -> list[str]:
    """The arguments of a schema; a comma in brackets separates none."""
    return re.findall(r"(?:[^,(\[]|\([^)]*\)|\[[^\]]*\])+", text)


def _name(argument: str) -> str:
    return argument.partition("=")[0].split(" ")[-1]


class _Layout:
    """The schema of an overload with out tensors, by that of the overload whose results it writes.

    Args:
        schema: the schema of the latter.
        form: the description of the former.
        name: the name of the former, with its overload.
    """

    def __init__(self, schema: str, form: OutForm, name: str) -> None:
        match = _SCHEMA.fullmatch(schema)
        assert match is not None, schema
        arguments = [a.strip() for a in _arguments(match[2])]
        self.makes_tensor = "pin_memory" in map(_name, arguments)
        if self.makes_tensor:
            arguments = [a for a in arguments if _name(a) not in _OPTIONS]
        results = [r.strip() for r in match[3].removeprefix("(").removesuffix(")").split(",")]
        self.is_list = results[0].startswith("Tensor[]")
        self.names = form.names or self._usual_names(name, len(results))
        letters = [c for c in "abcdefghijkl" if f"({c}!)" not in match[2]]
        aliases = [f"Tensor({c}!){'[]' * self.is_list}" for c in letters[: len(self.names)]]
        outs = [f"{alias} {own}" for alias, own in zip(aliases, self.names, strict=True)]
        star = [] if "*" in arguments else ["*"]
        while arguments and arguments[-1] == "*":
            arguments.pop()
            star = ["*"]
        returned = "()" if self.is_list else self._return_types(aliases, results)
        self.schema = f"{name}({', '.join([*arguments, *star, *outs])}) -> {returned}"

    @staticmethod
    def _usual_names(name: str, count: int) -> tuple[str, ...]:
        if count > 1:
            return tuple(f"out{i}" for i in range(count))
        return ("grad_input",) if name.endswith(".grad_input") else ("out",)

    @staticmethod
    def _return_types(aliases: Sequence[str], results: Sequence[str]) -> str:
        named = [alias + r.removeprefix("Tensor") for alias, r in zip(aliases, results, strict=True)]
        return named[0] if len(named) == 1 else f"({', '.join(named)})"


def _tensors(values: Any) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


class OutOperator(CompositeOperator):
    """An operator that writes the results of another into out tensors.

    Args:
        packet: the overloads it belongs to.
        overload: its own name among them.
        base: the operator whose results it writes.
        form: its description.
    """

    def __init__(self, packet: OpOverloadPacket, overload: str, base: OpOverload, form: OutForm) -> None:
        layout = _Layout(base._schema_text, form, f"{packet.__name__}.{overload}")
        super().__init__(packet, overload, layout.schema, self._write)
        self._base, self._rule = base, form.rule
        self._outs, self._makes_tensor, self._is_list = layout.names, layout.makes_tensor, layout.is_list

    @property
    def base(self) -> OpOverload:
        """The operator whose results it writes."""
        return self._base

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._signature.bind(*args, **kwargs)
        outs = self._out_tensors(kwargs)
        if self._rule == "implicit":
            function: Any = self._base
            return function._function(*args, **kwargs)
        result = ask_recorder(self, args, kwargs)
        if result is NotImplemented and is_handled((*args, *kwargs.values())):
            result = ask_handlers(self, args, kwargs)
        if result is not NotImplemented:
            return result
        self._refuse_gradients(args, kwargs)
        return self._write(outs, args, {k: v for k, v in kwargs.items() if k not in self._outs})

    def _out_tensors(self, kwargs: dict[str, Any]) -> list[Tensor]:
        """The out tensors of a call."""
        outs = [kwargs[name] for name in self._outs]
        listed = outs[0] if self._is_list else outs
        wrong = [t for t in listed if not isinstance(t, Tensor)]
        if wrong:
            raise TypeError(
                f"{self.__name__}(): argument '{self._outs[0]}' must be Tensor, not {type(wrong[0]).__name__}"
            )
        return list(listed)

    def _refuse_gradients(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if tl_core.is_grad_enabled() and any(t.requires_grad for t in _tensors((*args, *kwargs.values()))):
            raise RuntimeError(
                f"{self.overloadpacket.__name__}(): functions with out=... arguments don't support automatic "
                "differentiation, but one of the arguments requires grad."
            )

    def _write(self, outs: list[Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._makes_tensor:
            kwargs = {"dtype": outs[0].dtype, "device": outs[0].device, **kwargs}
        results = self._base(*args, **kwargs)
        several = results if self._is_list or len(outs) > 1 else (results,)
        write_results(self.overloadpacket.__name__, several, outs, casts=self._rule == "castable")
        if self._is_list:
            return None
        return outs[0] if len(outs) == 1 else tuple(outs)


def names_of(packet: OpOverloadPacket) -> list[str]:
    """The names of the overloads with out tensors that a packet has beside those of its rows.

    Args:
        packet: the packet.

    Example:
        >>> from tl_core.operators.packets import aten
        >>> names_of(aten.trace)
        ['out']
    """
    return list(OUT_FORMS.get(packet.__name__, ()))


def overload_of(packet: OpOverloadPacket, overload: str) -> OutOperator | None:
    """The overload of a packet with out tensors; None if it has none of that name.

    Args:
        packet: the packet.
        overload: the overload's name.

    Example:
        >>> from tl_core.operators.packets import aten
        >>> out = tl_core.empty(0)
        >>> overload_of(aten.trace, "out")(tl_core.eye(3), out=out)
        tensor(3.)
    """
    form = OUT_FORMS.get(packet.__name__, {}).get(overload)
    base = None if form is None else getattr(packet, form.base, None)
    return None if form is None or base is None else OutOperator(packet, overload, base, form)
