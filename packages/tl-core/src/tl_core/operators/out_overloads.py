"""Overloads of the namespace aten that write results into out tensors, beside those of rows.

They compute the result and copy it. The name, the arguments and the rule of dtypes are PyTorch's.
"""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core._C import Tensor
from tl_core.dispatch.modes import ask_handlers, ask_recorder, is_handled, leaves
from tl_core.functions.out_tensors import write_results
from tl_core.operators.composites import CompositeOperator
from tl_core.operators.out_forms import OUT_FORMS, OutForm
from tl_core.operators.packets import OpOverload, OpOverloadPacket
from tl_core.schemas.function_schema import AliasInfo, Argument, FunctionSchema, is_list

__all__ = ["OutOperator", "names_of", "overload_of"]

_OPTIONS = ("dtype", "layout", "device", "pin_memory")


class _Layout:
    """The schema of an overload with out tensors, by that of the overload whose results it writes.

    Args:
        base: the schema of the latter.
        form: the description of the former.
        name: the name of the former, with its overload.
    """

    def __init__(self, base: FunctionSchema, form: OutForm, name: str) -> None:
        arguments = base.arguments
        self.makes_tensor = any(a.name == "pin_memory" for a in arguments)
        if self.makes_tensor:
            arguments = [a for a in arguments if a.name not in _OPTIONS]
        self.is_list = is_list(base.returns[0].real_type)
        self.names = form.names or self._usual_names(name, len(base.returns))
        used = {letter for a in arguments if a.alias_info for letter in a.alias_info.before_set}
        letters = [letter for letter in "abcdefghijkl" if letter not in used]
        outs = [
            Argument(own, result.real_type, kwarg_only=True, alias_info=AliasInfo(True, {letter}, {letter}))
            for own, result, letter in zip(self.names, base.returns, letters, strict=False)
        ]
        results = [
            Argument(result.name, out.real_type, alias_info=out.alias_info)
            for result, out in zip(base.returns, outs, strict=True)
        ]
        own, _, overload = name.partition(".")
        schema = FunctionSchema(own, overload, [*arguments, *outs], [] if self.is_list else results)
        self.schema = str(schema)

    @staticmethod
    def _usual_names(name: str, count: int) -> tuple[str, ...]:
        if count > 1:
            return tuple(f"out{i}" for i in range(count))
        return ("grad_input",) if name.endswith(".grad_input") else ("out",)


class OutOperator(CompositeOperator):
    """An operator that writes the results of another into out tensors.

    Args:
        packet: the overloads it belongs to.
        overload: its own name among them.
        base: the operator whose results it writes.
        form: its description.
    """

    def __init__(self, packet: OpOverloadPacket, overload: str, base: OpOverload, form: OutForm) -> None:
        layout = _Layout(base._schema, form, f"{packet.__name__}.{overload}")
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
        if self._rule == "implicit" and isinstance(self._base, CompositeOperator):
            return self._base._function(*args, **kwargs)
        result = ask_recorder(self, args, kwargs)
        if result is NotImplemented and is_handled((*args, *kwargs.values())):
            result = ask_handlers(self, args, kwargs)
        if result is not NotImplemented:
            return result
        if any(t.dtype.is_floating_point or t.dtype.is_complex for t in outs):
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
        if tl_core.is_grad_enabled() and any(
            isinstance(t, Tensor) and t.requires_grad for t in leaves((*args, *kwargs.values()))
        ):
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
