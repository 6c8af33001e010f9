"""Parts of values: elements, slices and indices of tensors, lists, tuples, dictionaries and texts."""

from __future__ import annotations

import ast
from typing import Any

from ..script.printing import constant_text
from ..script.types import Type
from .operands import Items, ModuleValue, Operand, PythonValue, SliceOperand, Value
from .operator_types import INT, NONE, STR, TENSOR, list_of

__all__ = ["Parts"]


class Parts:
    """The part of the compiler that compiles subscripts and iteration."""

    def key_operand(self: Any, key: ast.expr, node: ast.AST) -> Operand:
        """An index, or the bounds of a slice."""
        if not isinstance(key, ast.Slice):
            return self.expression(key)
        parts = (key.lower, key.upper, key.step)
        return SliceOperand([None if b is None else self.as_value(self.expression(b), node) for b in parts])

    def part(self: Any, owner: Operand, key: ast.expr, node: ast.expr) -> Operand:
        """A part of an operand."""
        if isinstance(owner, Items):
            return self.part_of_items(owner, key, node)
        if isinstance(owner, ModuleValue):
            return self.submodule(owner, key, node)
        if isinstance(owner, PythonValue) and not self.session.is_constant(owner.value):
            index = self.as_value(self.expression(key), node)
            if index.is_known and hasattr(owner.value, "__getitem__"):
                return PythonValue(owner.value[index.constant], f"{owner.name}[...]")
        value = self.as_value(owner, node)
        if value.type == TENSOR:
            return self.part_of_tensor(value, key, node)
        operand = self.key_operand(key, node)
        if isinstance(operand, SliceOperand):
            return self.slice_of(value, operand, node)
        fields = self.fields_of(value.type)
        index = self.as_value(operand, node)
        if fields is not None:
            return self.field(value, fields, index, node)
        if self.session.method_signature(value.type, "__getitem__") is not None:
            return self.invoke_method(value, "__getitem__", [index], {}, node)
        kind = STR if value.type == STR else value.type.element(None)
        if kind is None:
            raise self.error(node, f"'{value.type}' object is not subscriptable")
        if value.type.inner.name == "Dict" and value.type.inner.arguments:
            stated = value.type.inner.arguments[0]
            if self.convert(index, stated) is None:
                raise self.error(
                    node,
                    f"Arguments for call are not valid. Expected a value of type '{stated}' for argument 'key' but "
                    f"instead found type '{index.type}'",
                )
        if value.type == STR:
            return Value(f"torch.__getitem__({value.text}, {index.text})", kind)
        return Value(f"{_receiver(value.text)}[{index.text}]", kind)

    def field(self: Any, value: Value, fields: tuple[Type, ...], index: Value, node: ast.expr) -> Operand:
        """An element of a tuple."""
        if not index.is_known or type(index.constant) is not int:
            if len(set(fields)) == 1:
                items = value.fields or self.spread(value)
                texts = ", ".join(v.text for v in items)
                return Value(f"[{texts}][{index.text}]", fields[0])
            raise self.error(node, "tuple index must be a compile time constant")
        if not -len(fields) <= index.constant < len(fields):
            raise self.error(node, "Tuple index out of range")
        at = index.constant % len(fields)
        if value.fields is not None and value.type.name == "Tuple":
            return value.fields[at]
        return Value(f"({value.text})[{at}]", fields[at])

    def slice_of(self: Any, value: Value, key: SliceOperand, node: ast.expr) -> Operand:
        """A slice of a list, a text or a tuple."""
        bounds = key.bounds
        if value.type.name == "Tuple":
            constants = [None if b is None else b.constant for b in bounds]
            return self.tuple_of(self.spread(value)[slice(*constants)])
        if self.fields_of(value.type) is not None:
            constants = [None if b is None else b.constant for b in bounds]
            return self.tuple_of(self.elements(value, [], node)[slice(*constants)])
        if value.type.name not in ("List", "str"):
            raise self.error(node, f"'{value.type}' object can't be sliced")
        texts = [("None" if i < 2 else "1") if b is None else b.text for i, b in enumerate(bounds)]
        return Value(f"torch.slice({value.text}, {', '.join(texts)})", value.type)

    def part_of_items(self: Any, owner: Items, key: ast.expr, node: ast.expr) -> Operand:
        """An element or a slice of operands that the compiler knows."""
        operand = self.key_operand(key, node)
        if isinstance(operand, SliceOperand):
            return Items(owner.values[slice(*(None if b is None else b.constant for b in operand.bounds))])
        index = self.as_value(operand, node)
        if not index.is_known:
            raise self.error(
                node,
                "Expected integer literal for index. ModuleList/Sequential indexing is only supported with "
                "integer literals. For example, 'i = 4; self.layers[i](x)' will fail because i is not a literal. "
                "Enumeration is supported, e.g. 'for index, v in enumerate(self): out = v(inp)'",
            )
        count = len(owner.values)
        if not -count <= index.constant < count:
            raise self.error(node, f"Index {index.constant} out of range of modules of length {count}")
        return owner.values[index.constant]

    def submodule(self: Any, owner: ModuleValue, key: ast.expr, node: ast.expr) -> Operand:
        """A module in a container of modules."""
        items = self.session.container_items(owner)
        if items is None:
            raise self.error(node, f"'{type(owner.module).__name__}' object is not subscriptable")
        if isinstance(items, dict):
            name = self.as_value(self.expression(key), node)
            if not name.is_known or name.constant not in items:
                raise self.error(
                    node,
                    "Unable to extract string literal index. ModuleDict indexing is only supported with string "
                    "literals. For example, 'i = \"a\"; self.layers[i](x)' will fail because i is not a literal. "
                    "Enumeration of ModuleDict is supported, e.g. 'for k, v in self.items(): out = v(inp)'"
                    if not name.is_known
                    else f"Key Error, {name.constant}",
                )
            return items[name.constant]
        return self.part_of_items(Items(items), key, node)

    def interface_choice(
        self: Any, owner: Operand, key: ast.expr, kind: Type, node: ast.expr
    ) -> Operand | None:
        """A module that the running program chooses by its index, as one of an interface; None for another part."""
        declaration = (
            self.session.program.declaration(kind.name) if kind.name.startswith("__torch__.") else None
        )
        if (
            declaration is None
            or declaration.kind != "module interface"
            or not isinstance(owner, ModuleValue)
        ):
            return None
        items = self.session.container_items(owner)
        index = self.as_value(self.expression(key), node)
        if not items or index.is_known:
            return None
        for part in items.values() if isinstance(items, dict) else items:
            if isinstance(part, ModuleValue):
                for method in declaration.methods:
                    self.session.module_method(part, method, self, node)
        own = self.fresh()
        self.emit(f"{own} : {kind} = {_receiver(owner.text)}[{index.text}]")
        return Value(own, kind)

    # ---- tensors
    def part_of_tensor(self: Any, value: Value, key: ast.expr, node: ast.expr) -> Value:
        """A part of a tensor: a chain of views, then an index by tensors."""
        text, indices = self.views(value.text, key, node)
        if indices:
            return Value(
                f"torch.index({text}, annotate(List[Optional[Tensor]], [{', '.join(indices)}]))", TENSOR
            )
        if text == value.text:
            return Value(f"torch.alias({text})", TENSOR)
        return Value(text, TENSOR)

    def views(self: Any, text: str, key: ast.expr, node: ast.expr) -> tuple[str, list[str]]:
        """The code of the views that an index needs, and the tensors that then index them."""
        keys = list(key.elts) if isinstance(key, ast.Tuple) else [key]
        operands = self.index_operands(keys, node)
        dim, counts_back = 0, False
        tensors: list[tuple[int, str]] = []
        for position, operand in enumerate(operands):
            if counts_back:  # dimensions after an ellipsis are counted from the end
                dim = -sum(map(_takes_dimension, operands[position:]))
            if _is_dots(operand):
                counts_back = True
            elif isinstance(operand, SliceOperand):
                bounds = [self.bound_text(b) for b in operand.bounds[:2]]
                step = "1" if operand.bounds[2] is None else operand.bounds[2].text
                if (bounds, step) != (["None", "None"], "1"):
                    text = f"torch.slice({text}, {dim}, {bounds[0]}, {bounds[1]}, {step})"
                tensors += [] if counts_back else [(dim, "None")]
                dim += 1
            elif operand.type == NONE:
                text = f"torch.unsqueeze({text}, {dim - counts_back})"
                tensors += [] if counts_back else [(dim, "None")]
                dim += 1
            elif operand.type == INT:
                text = f"torch.select({text}, {dim}, {operand.text})"
            else:
                if counts_back:
                    raise self.error(node, "Ellipses followed by tensor indexing is currently not supported")
                tensors.append((dim, self.index_tensor(operand)))
                dim += 1
        return text, [] if all(t == "None" for _, t in tensors) else [t for _, t in tensors]

    def index_operands(self: Any, keys: list[ast.expr], node: ast.expr) -> list[Any]:
        """The operands of an index: slices stay as they are."""
        result: list[Any] = []
        for key in keys:
            operand = self.key_operand(key, node)
            if isinstance(operand, SliceOperand):
                result.append(operand)
                continue
            if _is_dots(operand):
                result.append(operand)
                continue
            value = self.as_value(operand, node)
            if value.type.name == "Tuple" and len(keys) == 1:
                result += self.spread(value)
                continue
            if value.type not in (INT, NONE, TENSOR, Type("bool")) and value.type.name != "List":
                raise self.error(
                    node,
                    "Unsupported operation: indexing tensor with unsupported index type '"
                    f"{value.type}'. Only ints, slices, lists and tensors are supported",
                )
            result.append(value)
        return result

    def bound_text(self: Any, value: Value | None) -> str:
        """A bound of a slice."""
        if value is None:
            return "None"
        return f"int({value.text})" if value.type == TENSOR else value.text

    def index_tensor(self: Any, value: Value) -> str:
        """An index as a tensor."""
        return value.text if value.type == TENSOR else f"torch.tensor({value.text})"

    def assign_part(self: Any, owner: Value, key: ast.expr, value: Value, node: ast.AST) -> None:
        """Writes to a part of a tensor."""
        text, indices = self.views(owner.text, key, node)
        if indices:
            content = value.text
            if value.type != TENSOR:
                content = f"torch.tensor({value.text}, dtype=ops.prim.dtype({text}), device=ops.prim.device({text}))"
            listed = f"annotate(List[Optional[Tensor]], [{', '.join(indices)}])"
            self.emit(f"{self.fresh()} = torch.index_put_({text}, {listed}, {content})")
        elif value.type == TENSOR:
            self.emit(f"{self.fresh()} = torch.copy_({text}, {value.text})")
        else:
            self.emit(f"{self.fresh()} = torch.fill_({text}, {value.text})")

    def elements(self: Any, value: Value, targets: list[ast.expr], node: ast.AST) -> list[Operand]:
        """The elements of a tuple, list or tensor that is unpacked."""
        if value.fields is not None:
            return list(value.fields)
        fields = self.fields_of(value.type)
        if fields is not None:
            owner_value = self.temporary(value)
            return [Value(f"({owner_value.text})[{i}]", kind) for i, kind in enumerate(fields)]
        if value.type.name == "List":
            names = [self.fresh() for _ in targets]
            self.emit(f"{''.join(f'{n}, ' for n in names)}= {value.text}")
            return [Value(n, value.type.element(0) or TENSOR) for n in names]
        if value.type == TENSOR:
            names = [self.fresh() for _ in targets]
            self.emit(f"{''.join(f'{n}, ' for n in names)}= torch.unbind({value.text})")
            return [Value(n, TENSOR) for n in names]
        raise self.error(node, f"{value.type} cannot be used as a tuple")

    def fields_of(self: Any, kind: Type) -> tuple[Type, ...] | None:
        """The types of the fields of a tuple, or None for another type."""
        if kind.name == "Tuple":
            return kind.arguments
        declaration = self.session.program.declaration(kind.name)
        if declaration is not None and declaration.kind == "tuple":
            return tuple(declaration.attributes.values())
        return None

    # ---- iteration
    def iterable(self: Any, operand: Operand, node: ast.AST) -> Any:
        """How a loop takes elements: `Items`, or the number of elements as code and the element of an index."""
        if isinstance(operand, Items):
            return operand
        if isinstance(operand, _Counted):
            return operand.count, operand.element
        if isinstance(operand, ModuleValue):
            items = self.session.container_items(operand)
            if items is None:
                raise self.error(node, f"'{type(operand.module).__name__}' object is not iterable")
            return Items(
                [Value(constant_text(k), STR, k) for k in items] if isinstance(items, dict) else items
            )
        if isinstance(operand, PythonValue) and isinstance(operand.value, (list, tuple)):
            return Items([self.session.constant(v) or PythonValue(v, operand.name) for v in operand.value])
        value = self.as_value(operand, node)
        if value.type.name == "Tuple":
            return Items(list(self.spread(value)))
        if value.type.name == "List":
            owner_value = self.hold(value)
            element = value.type.element(0) or TENSOR
            return f"torch.len({owner_value.text})", lambda i: Value(
                f"{_receiver(owner_value.text)}[{i}]", element
            )
        if value.type.name == "Dict":
            keys = self.hold(Value(f"torch.keys({value.text})", list_of(value.type.arguments[0])))
            return f"torch.len({keys.text})", lambda i: Value(f"{keys.text}[{i}]", value.type.arguments[0])
        if value.type == TENSOR:
            owner_value = self.hold(Value(f"torch.unbind({value.text}, 0)", list_of(TENSOR)))
            return f"torch.len({owner_value.text})", lambda i: Value(f"{owner_value.text}[{i}]", TENSOR)
        if value.type == STR:
            owner_value = self.hold(value)
            return f"torch.len({owner_value.text})", lambda i: Value(
                f"torch.__getitem__({owner_value.text}, {i})", STR
            )
        raise self.error(node, f"'{value.type}' object is not iterable")

    def hold(self: Any, value: Value) -> Value:
        """The value in a variable that the loop doesn't assign."""
        name = self.fresh()
        self.emit(f"{name} = {value.text}")
        return Value(name, value.type)

    # ---- iterators
    def range_of(self: Any, values: list[Value], node: ast.AST) -> Operand:
        """`range` as an iterable."""
        texts = [f"int({v.text})" if v.type == TENSOR else v.text for v in values]
        if any(v.type.name not in ("int", "Tensor") for v in values):
            raise self.error(
                node, f"range() takes numbers of type int, got {', '.join(str(v.type) for v in values)}"
            )
        if len(texts) == 1:
            return _Counted(texts[0], lambda i: Value(i, INT))
        start, stop, step = (*texts, "1")[:3]
        start, step = self.hold(Value(start, INT)).text, self.hold(Value(step, INT)).text
        count = f"torch.__range_length({start}, {stop}, {step})"
        return _Counted(count, lambda i: Value(f"torch.__derive_index({i}, {start}, {step})", INT))

    def enumerate_items(self: Any, operand: Operand, start: Value, node: ast.AST) -> Operand:
        """`enumerate` as an iterable."""
        inner = self.iterable(operand, node)
        if isinstance(inner, Items):
            first = start.constant
            return Items([Items([Value(str(i), INT, i), v]) for i, v in enumerate(inner.values, first)])
        count, element = inner
        offset = "" if start.is_known and start.constant == 0 else start.text

        def pair(index: str) -> Operand:
            number = f"torch.add({index}, {offset})" if offset else index
            return Items([Value(number, INT), element(index)])

        return _Counted(count, pair)

    def zip_items(self: Any, operands: list[Operand], node: ast.AST) -> Operand:
        """`zip` as an iterable."""
        inner = [self.iterable(o, node) for o in operands]
        if any(isinstance(i, Items) for i in inner):
            length = min(len(i.values) for i in inner if isinstance(i, Items))
            columns = [
                i.values if isinstance(i, Items) else [i[1](str(n)) for n in range(length)] for i in inner
            ]
            return Items([Items(list(row)) for row in zip(*columns, strict=False)])
        counts = ", ".join(count for count, _ in inner)
        count = f"ops.prim.min([{counts}])" if len(inner) > 1 else inner[0][0]
        return _Counted(count, lambda i: Items([element(i) for _, element in inner]))


class _Counted(Operand):
    """An iterable with a number of elements that the running program knows."""

    def __init__(self, count: str, element: Any) -> None:
        self.count, self.element = count, element


def _takes_dimension(operand: Any) -> bool:
    """Whether an operand of an index stands for a dimension of the tensor."""
    return not (isinstance(operand, Value) and operand.type == NONE)


def _is_dots(operand: Any) -> bool:
    return isinstance(operand, PythonValue) and operand.value is ...


def _receiver(text: str) -> str:
    return text if text.replace(".", "_").isidentifier() else f"({text})"
