"""What the inputs and outputs of an exported graph are: parameters, buffers, constants, the user's, mutations."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

__all__ = [
    "ConstantArgument",
    "CustomObjArgument",
    "ExportBackwardSignature",
    "ExportGraphSignature",
    "InputKind",
    "InputSpec",
    "OutputKind",
    "OutputSpec",
    "SymBoolArgument",
    "SymFloatArgument",
    "SymIntArgument",
    "TensorArgument",
]


@dataclass
class TensorArgument:
    """A tensor, by the name of its node.

    Example:
        >>> TensorArgument("add")
        TensorArgument(name='add')
    """

    name: str


@dataclass
class TokenArgument:
    """A token that orders effects, by the name of its node."""

    name: str


@dataclass
class SymIntArgument:
    """An int that isn't a constant, by the name of its node.

    Example:
        >>> SymIntArgument("size").name
        'size'
    """

    name: str


@dataclass
class SymFloatArgument:
    """A float that isn't a constant, by the name of its node.

    Example:
        >>> SymFloatArgument("scale").name
        'scale'
    """

    name: str


@dataclass
class SymBoolArgument:
    """A bool that isn't a constant, by the name of its node.

    Example:
        >>> SymBoolArgument("flag").name
        'flag'
    """

    name: str


@dataclass
class CustomObjArgument:
    """An object of a class that a library registered.

    Args:
        name: the name of its node.
        class_fqn: its class.
        fake_val: what stands for it while a program is traced.

    Example:
        >>> CustomObjArgument("tokenizer", "text.Tokenizer").class_fqn
        'text.Tokenizer'
    """

    name: str
    class_fqn: str
    fake_val: Any = None


@dataclass
class ConstantArgument:
    """A constant.

    Args:
        name: the name of its node; of an output nothing.
        value: the constant.

    Example:
        >>> ConstantArgument("", 3).value
        3
    """

    name: str
    value: int | float | bool | str | None


ArgumentSpec = (
    TensorArgument
    | SymIntArgument
    | SymFloatArgument
    | SymBoolArgument
    | ConstantArgument
    | CustomObjArgument
    | TokenArgument
)


class InputKind(enum.Enum):
    """The kind of an input of the graph.

    Example:
        >>> InputKind.PARAMETER.name
        'PARAMETER'
    """

    USER_INPUT = enum.auto()
    PARAMETER = enum.auto()
    BUFFER = enum.auto()
    CONSTANT_TENSOR = enum.auto()
    CUSTOM_OBJ = enum.auto()
    TOKEN = enum.auto()


class OutputKind(enum.Enum):
    """The kind of an output of the graph.

    Example:
        >>> OutputKind.USER_OUTPUT.name
        'USER_OUTPUT'
    """

    USER_OUTPUT = enum.auto()
    LOSS_OUTPUT = enum.auto()
    BUFFER_MUTATION = enum.auto()
    PARAMETER_MUTATION = enum.auto()
    GRADIENT_TO_PARAMETER = enum.auto()
    GRADIENT_TO_USER_INPUT = enum.auto()
    USER_INPUT_MUTATION = enum.auto()
    TOKEN = enum.auto()


@dataclass
class InputSpec:
    """One input of the graph.

    Args:
        kind: what it is.
        arg: its node, or a constant.
        target: the name in the module of a parameter, buffer or constant.
        persistent: of a buffer, whether state dicts hold it.

    Example:
        >>> InputSpec(InputKind.PARAMETER, TensorArgument("p_weight"), "weight").target
        'weight'
    """

    kind: InputKind
    arg: ArgumentSpec
    target: str | None
    persistent: bool | None = None

    def __post_init__(self) -> None:
        if self.kind is InputKind.BUFFER and self.persistent is None:
            raise AssertionError("Failed to specify persistent flag on BUFFER.")
        if not isinstance(self.arg, ArgumentSpec):
            raise AssertionError(f"got {type(self.arg)}")

    def __str__(self) -> str:
        target = "" if self.target is None else f" target={self.target!r}"
        persistent = "" if self.persistent is None else f" persistent={self.persistent}"
        return f"{self.arg.name}: {self.kind.name}{target}{persistent}"


@dataclass
class OutputSpec:
    """One output of the graph.

    Args:
        kind: what it is.
        arg: its node, or a constant.
        target: what is mutated, or whose gradient it is.

    Example:
        >>> OutputSpec(OutputKind.USER_OUTPUT, TensorArgument("add"), None).arg
        TensorArgument(name='add')
    """

    kind: OutputKind
    arg: ArgumentSpec
    target: str | None

    def __post_init__(self) -> None:
        if not isinstance(self.arg, ArgumentSpec):
            raise AssertionError(f"expected one of {ArgumentSpec}, got {type(self.arg)}")

    def __str__(self) -> str:
        target = "" if self.target is None else f" target={self.target!r}"
        return f"{self.arg.name}: {self.kind.name}{target}"


@dataclass
class ExportBackwardSignature:
    """Which outputs are gradients.

    Args:
        gradients_to_parameters: from outputs to names of parameters.
        gradients_to_user_inputs: from outputs to inputs.
        loss_output: the output that they are of.

    Example:
        >>> ExportBackwardSignature({"gradient": "weight"}, {}, "loss").loss_output
        'loss'
    """

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


@dataclass
class ExportGraphSignature:
    """What each input and output of an exported graph is.

    Inputs are parameters, buffers and constants, then the user's inputs. Outputs are the new values of mutated
    inputs, then the user's results.

    Args:
        input_specs: the inputs.
        output_specs: the outputs.

    Example:
        >>> spec = InputSpec(InputKind.USER_INPUT, TensorArgument("x"), None)
        >>> ExportGraphSignature([spec], []).user_inputs
        ('x',)
    """

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]

    def _inputs(self, kind: InputKind) -> list[InputSpec]:
        return [s for s in self.input_specs if s.kind is kind]

    def _targets(self, kind: InputKind) -> Mapping[str, str]:
        return MappingProxyType({s.arg.name: str(s.target) for s in self._inputs(kind)})

    def _outputs(self, kind: OutputKind) -> Mapping[str, str]:
        return MappingProxyType({s.arg.name: str(s.target) for s in self.output_specs if s.kind is kind})

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(str(s.target) for s in self._inputs(InputKind.PARAMETER))

    @property
    def buffers(self) -> tuple[str, ...]:
        """The names of the buffers."""
        return tuple(str(s.target) for s in self._inputs(InputKind.BUFFER))

    @property
    def non_persistent_buffers(self) -> tuple[str, ...]:
        """The names of the buffers that state dicts don't hold."""
        return tuple(str(s.target) for s in self._inputs(InputKind.BUFFER) if s.persistent is False)

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        """The names of the tensors that are constants."""
        return tuple(str(s.target) for s in self._inputs(InputKind.CONSTANT_TENSOR))

    @property
    def lifted_custom_objs(self) -> tuple[str, ...]:
        """The names of the objects that are constants."""
        return tuple(str(s.target) for s in self._inputs(InputKind.CUSTOM_OBJ))

    @property
    def user_inputs(self) -> tuple[Any, ...]:
        """The names of the user's inputs, or their values where they are constants."""
        return tuple(_name_or_value(s.arg) for s in self._inputs(InputKind.USER_INPUT))

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        """The names of the user's outputs, or their values where they are constants."""
        kinds = (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT)
        return tuple(_name_or_value(s.arg) for s in self.output_specs if s.kind in kinds)

    @property
    def inputs_to_parameters(self) -> Mapping[str, str]:
        """From inputs to names of parameters."""
        return self._targets(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> Mapping[str, str]:
        """From inputs to names of buffers."""
        return self._targets(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> Mapping[str, str]:
        """From inputs to names of constants."""
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def inputs_to_lifted_custom_objs(self) -> Mapping[str, str]:
        """From inputs to names of objects."""
        return self._targets(InputKind.CUSTOM_OBJ)

    @property
    def buffers_to_mutate(self) -> Mapping[str, str]:
        """From outputs to the buffers whose new values they are."""
        return self._outputs(OutputKind.BUFFER_MUTATION)

    @property
    def parameters_to_mutate(self) -> Mapping[str, str]:
        """From outputs to the parameters whose new values they are."""
        return self._outputs(OutputKind.PARAMETER_MUTATION)

    @property
    def user_inputs_to_mutate(self) -> Mapping[str, str]:
        """From outputs to the inputs whose new values they are."""
        return self._outputs(OutputKind.USER_INPUT_MUTATION)

    @property
    def backward_signature(self) -> ExportBackwardSignature | None:
        """Which outputs are gradients, if any are."""
        loss = next((s.arg.name for s in self.output_specs if s.kind is OutputKind.LOSS_OUTPUT), None)
        if loss is None:
            return None
        return ExportBackwardSignature(
            dict(self._outputs(OutputKind.GRADIENT_TO_PARAMETER)),
            dict(self._outputs(OutputKind.GRADIENT_TO_USER_INPUT)),
            loss,
        )

    @property
    def assertion_dep_token(self) -> Mapping[int, str] | None:
        """Nothing: assertions are nodes."""
        return None

    @property
    def input_tokens(self) -> tuple[str, ...]:
        """The names of the tokens among the inputs."""
        return tuple(s.arg.name for s in self._inputs(InputKind.TOKEN))

    @property
    def output_tokens(self) -> tuple[str, ...]:
        """The names of the tokens among the outputs."""
        return tuple(s.arg.name for s in self.output_specs if s.kind is OutputKind.TOKEN)

    def replace_all_uses(self, old: str, new: str) -> None:
        """Renames a node in the outputs.

        Args:
            old: its name.
            new: its new name.
        """
        if not isinstance(old, str) or not isinstance(new, str):
            raise AssertionError(f"names are texts, got {type(old).__name__} and {type(new).__name__}")
        for spec in self.output_specs:
            if spec.arg.name == old and not isinstance(spec.arg, ConstantArgument):
                spec.arg.name = new

    def get_replace_hook(self, replace_inputs: bool = False) -> Callable[[Any, str, Any], None]:
        """A function that keeps the signature right while nodes are replaced.

        Args:
            replace_inputs: whether inputs are renamed as well.

        Returns:
            A function of the node, its new name, and the node that uses it.
        """

        def hook(old: Any, new: str, user: Any) -> None:
            if user.op == "output":
                self.replace_all_uses(old.name, new)
            if replace_inputs and old.op == "placeholder":
                for spec in self.input_specs:
                    if spec.arg.name == old.name:
                        spec.arg.name = new

        return hook

    def __str__(self) -> str:
        inputs, outputs = ("\n".join(map(str, s)) for s in (self.input_specs, self.output_specs))
        return f"\n# inputs\n{inputs}\n\n# outputs\n{outputs}\n"


def _name_or_value(arg: ArgumentSpec) -> Any:
    return arg.value if isinstance(arg, ConstantArgument) else arg.name
