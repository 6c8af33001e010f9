"""The types in a schema: `Tensor`, `int[2]?`, `Dict(str, Tensor)`, …"""

from __future__ import annotations

import re
from builtins import str as Text
from typing import Any, ClassVar

__all__ = ["TYPE_CLASSES", "Type", "named_type"]

# As schemas write them, and as annotations of TorchScript do; those that are several words in C++ share a class.
_NAMES = {
    "Tensor": "TensorType",
    "int": "IntType",
    "float": "FloatType",
    "bool": "BoolType",
    "complex": "ComplexType",
    "str": "StringType",
    "Scalar": "NumberType",
    "Device": "DeviceObjType",
    "Generator": "GeneratorType",
    "Stream": "StreamObjType",
    "Storage": "StorageType",
    "Dimname": "DimnameType",
    "QScheme": "QSchemeType",
    "Quantizer": "QuantizerType",
    "Capsule": "CapsuleType",
    "Any": "AnyType",
    "NoneType": "NoneType",
    "PyObject": "PyObjectType",
    "AnyEnumType": "AnyEnumType",
    "Layout": "LayoutType",
    "MemoryFormat": "MemoryFormatType",
    "ScalarType": "ScalarTypeType",
    "SymInt": "SymIntType",
    "SymFloat": "SymFloatType",
    "SymBool": "SymBoolType",
}
# What a reader who knows nothing of these types sees in their place.
_SEEN = {
    "Layout": "int",
    "MemoryFormat": "int",
    "ScalarType": "int",
    "QScheme": "int",
    "SymInt": "int",
    "SymFloat": "float",
    "SymBool": "bool",
}
_SPELLED = {"Scalar": "number", "None": "NoneType", "number": "Scalar", "Operand": "Tensor"}


class Type:
    """A type; those of elements are its `elements`, its name is as schemas write it.

    Example:
        >>> from tl_core.schemas.types import named_type
        >>> named_type("Tensor").str()
        'Tensor'
    """

    name: str = ""
    elements: tuple[Type, ...] = ()
    _single: ClassVar[Any] = None

    def __init__(self, name: str = "", elements: tuple[Type, ...] = ()) -> None:
        self.name = name or self.name
        self.elements = elements

    @classmethod
    def get(cls) -> Any:
        """The one object of a type that has no elements."""
        if "_single" not in vars(cls):
            cls._single = cls()
        return cls._single

    def kind(self) -> Text:
        """The name of the class: `TensorType`."""
        return type(self).__name__

    def str(self) -> Text:
        """As schemas write it, without the lengths of lists."""
        return re.sub(r"\[\d+\]", "[]", self.schema_text())

    def schema_text(self, alias: Text = "") -> Text:
        """As schemas write it, with an annotation of aliases at the place where it belongs."""
        return self.name + alias

    @property
    def annotation_str(self) -> Text:
        """As annotations write it."""
        return str(self)

    def public_type(self) -> Type:
        """The type as `Argument.type` shows it: of sizes that may be symbols, int."""
        return named_type(_SEEN[self.name]) if self.name in _SEEN else self

    def containedTypes(self) -> list[Type]:
        """The types of elements."""
        return list(self.elements)

    def isSubtypeOf(self, other: Type) -> bool:
        """Whether every value of the type is one of the other."""
        if isinstance(other, TYPE_CLASSES["AnyType"]) or self == other:
            return True
        if isinstance(other, OptionalType):
            inner = other.elements[0]
            if isinstance(self, TYPE_CLASSES["NoneType"]):
                return True
            return (self.elements[0] if isinstance(self, OptionalType) else self).isSubtypeOf(inner)
        return isinstance(other, TYPE_CLASSES["NumberType"]) and self.name in ("int", "float", "complex")

    def __str__(self) -> Text:
        return _SPELLED.get(self.name, self.name) if self.name == "Scalar" else self.name

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and self.str() == other.str()

    def __hash__(self) -> int:
        return hash(self.str())


class OptionalType(Type):
    """What may be None.

    Example:
        >>> from tl_core.schemas.types import named_type
        >>> from tl_core.schemas.types import OptionalType
        >>> OptionalType(named_type("Tensor")).str()
        'Tensor?'
    """

    def __init__(self, element: Type) -> None:
        super().__init__("Optional", (element,))

    @staticmethod
    def ofTensor() -> OptionalType:
        """A tensor or None."""
        return OptionalType(named_type("Tensor"))

    def getElementType(self) -> Type:
        """The type of what isn't None."""
        return self.elements[0]

    def str(self) -> Text:
        return self.elements[0].str() + "?"

    def schema_text(self, alias: Text = "") -> Text:
        return self.elements[0].schema_text(alias) + "?"

    def public_type(self) -> Type:
        return OptionalType(self.elements[0].public_type())

    def __str__(self) -> Text:
        return f"Optional[{self.elements[0]}]"

    __repr__ = __str__
    __hash__ = Type.__hash__


class ListType(Type):
    """A list, of `size` elements where that is known: a single number stands for so many.

    Example:
        >>> from tl_core.schemas.types import named_type
        >>> from tl_core.schemas.types import ListType
        >>> ListType(named_type("int"), 2).str()
        'int[]'
    """

    def __init__(self, element: Type, size: int | None = None) -> None:
        super().__init__("List", (element,))
        self.size = size

    @staticmethod
    def ofTensors() -> ListType:
        """A list of tensors."""
        return ListType(named_type("Tensor"))

    @staticmethod
    def ofInts() -> ListType:
        """A list of integers."""
        return ListType(named_type("int"))

    @staticmethod
    def ofFloats() -> ListType:
        """A list of floats."""
        return ListType(named_type("float"))

    @staticmethod
    def ofBools() -> ListType:
        """A list of bools."""
        return ListType(named_type("bool"))

    @staticmethod
    def ofStrings() -> ListType:
        """A list of strings."""
        return ListType(named_type("str"))

    def getElementType(self) -> Type:
        """The type of an element."""
        return self.elements[0]

    def str(self) -> Text:
        return self.elements[0].str() + "[]"

    def schema_text(self, alias: Text = "") -> Text:
        return f"{self.elements[0].schema_text(alias)}[{self.size or ''}]"

    def public_type(self) -> Type:
        return ListType(self.elements[0].public_type(), self.size)

    def __str__(self) -> Text:
        return f"List[{self.elements[0]}]"

    __repr__ = __str__
    __hash__ = Type.__hash__


class _Parametric(Type):
    """A name with types in parentheses."""

    def __init__(self, *elements: Type) -> None:
        super().__init__(type(self).name, elements)

    def schema_text(self, alias: Text = "") -> Text:
        return f"{self.name}({', '.join(e.schema_text() for e in self.elements)}){alias}"

    def __str__(self) -> Text:
        return f"{self.name}[{', '.join(map(str, self.elements))}]"

    __repr__ = __str__
    __hash__ = Type.__hash__


class DictType(_Parametric):
    """A dictionary.

    Example:
        >>> from tl_core.schemas.types import named_type
        >>> from tl_core.schemas.types import DictType
        >>> DictType(named_type("str"), named_type("int")).str()
        'Dict(str, int)'
    """

    name = "Dict"

    def getKeyType(self) -> Type:
        """The type of the keys."""
        return self.elements[0]

    def getValueType(self) -> Type:
        """The type of the values."""
        return self.elements[1]


class _SingleElement(_Parametric):
    """A name with one type in parentheses."""

    def getElementType(self) -> Type:
        """The type of the result."""
        return self.elements[0]


class AwaitType(_SingleElement):
    """A result that is made when somebody waits for it.

    Example:
        >>> from tl_core.schemas.types import named_type
        >>> from tl_core.schemas.types import AwaitType
        >>> AwaitType(named_type("int")).str()
        'Await(int)'
    """

    name = "Await"


class FutureType(_SingleElement):
    """A result that is still to come.

    Example:
        >>> from tl_core.schemas.types import named_type
        >>> from tl_core.schemas.types import FutureType
        >>> FutureType(named_type("int")).str()
        'Future[int]'
    """

    name = "Future"

    def str(self) -> Text:
        return f"{self.name}[{self.elements[0].str()}]"


class RRefType(FutureType):
    """A value of another process.

    Example:
        >>> from tl_core.schemas.types import named_type
        >>> from tl_core.schemas.types import RRefType
        >>> RRefType(named_type("int")).str()
        'RRef[int]'
    """

    name = "RRef"


class UnionType(_Parametric):
    """One of several types.

    Example:
        >>> from tl_core.schemas.types import named_type
        >>> from tl_core.schemas.types import UnionType
        >>> UnionType([named_type("int"), named_type("float")]).str()
        'Union(int, float)'
    """

    name = "Union"

    def __init__(self, elements: Any) -> None:
        super().__init__(*elements)


class TupleType(_Parametric):
    """Values of given types, one after another.

    Example:
        >>> from tl_core.schemas.types import named_type
        >>> from tl_core.schemas.types import TupleType
        >>> TupleType((named_type("int"), named_type("Tensor"))).str()
        '(int, Tensor)'
    """

    name = "Tuple"

    def __init__(self, elements: Any = ()) -> None:
        super().__init__(*elements)

    def str(self) -> Text:
        return f"({', '.join(e.str() for e in self.elements)})"

    def schema_text(self, alias: Text = "") -> Text:
        return f"({', '.join(e.schema_text() for e in self.elements)}){alias}"


class ClassType(Type):
    """A class by its name in TorchScript.

    Example:
        >>> from tl_core.schemas.types import named_type
        >>> from tl_core.schemas.types import ClassType
        >>> ClassType("project.Tokenizer").str()
        'project.Tokenizer'
    """


class VarType(Type):
    """A type that a call decides: `t`.

    Example:
        >>> from tl_core.schemas.types import named_type
        >>> from tl_core.schemas.types import VarType
        >>> VarType("t").str()
        't'
    """


_SHOWN = """The type that schemas write as `{text}`.

    Example:
        >>> from tl_core.schemas.types import named_type
        >>> named_type("{text}").kind()
        '{name}'
    """
_PLAIN: dict[str, Any] = {
    text: type(
        name, (Type,), {"name": text, "__module__": __name__, "__doc__": _SHOWN.format(text=text, name=name)}
    )
    for text, name in _NAMES.items()
}
TYPE_CLASSES: dict[str, Any] = {
    **{c.__name__: c for c in _PLAIN.values()},
    **{
        c.__name__: c
        for c in (AwaitType, ClassType, DictType, FutureType, ListType, OptionalType, RRefType, TupleType,
                  Type, UnionType, VarType)
    },
}  # fmt: skip


def named_type(name: str) -> Type:
    """The type that a word means; KeyError for words that mean none.

    Args:
        name: the word, as schemas write it.
    """
    name = _SPELLED.get(name, name) if name != "Scalar" else name
    return _PLAIN[name].get()


def __getattr__(name: str) -> Any:
    if name in TYPE_CLASSES:
        return TYPE_CLASSES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
