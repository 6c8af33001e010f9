"""Which sizes of the inputs are dynamic, and what is said of them."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
from collections.abc import Callable
from typing import Any, ClassVar

import tl_core
from tl_core.pytree import SUPPORTED_NODES, node_type, tree_map

from ..symbolic.errors import UserError, UserErrorType
from ..symbolic.ranges import int_oo

__all__ = [
    "AdditionalInputs",
    "Constraint",
    "Dim",
    "ShapesCollection",
    "dims",
    "refine_dynamic_shapes_from_suggested_fixes",
]


class _DimHintType(enum.Enum):
    AUTO = enum.auto()
    STATIC = enum.auto()
    DYNAMIC = enum.auto()


@dataclasses.dataclass(frozen=True)
class _DimHint:
    """How a dimension is treated, where it has no name."""

    type: _DimHintType
    min: int | None = None
    max: int | None = None
    _factory: bool = True

    def __call__(self, min: int | None = None, max: int | None = None) -> _DimHint:
        """The same within bounds.

        Args:
            min, max: the least and the greatest size.

        Returns:
            The hint.
        """
        if not self._factory:
            raise TypeError(f"'{type(self)}' object is not callable")
        if (min or 0) < 0 or (max or 0) < 0 or (min is not None and max is not None and min > max):
            raise AssertionError(f"bounds are from least to greatest, not negative, got min={min}, max={max}")
        return _DimHint(self.type, min, max, False)

    def __repr__(self) -> str:
        parts = [self.type.name]
        parts += [f"{k}={v}" for k, v in (("min", self.min), ("max", self.max)) if v is not None]
        return f"DimHint({', '.join(parts)})"


class Dim:
    """A name for a size that may change from run to run, with its range. Equal names are equal sizes.

    Args:
        name: the name, an identifier.
        min: the least size.
        max: the greatest.

    Raises:
        AssertionError: the name is no identifier, or the range is empty.

    Example:
        >>> batch = Dim("batch", min=2, max=64)
        >>> 2 * batch
        Derived dim: 2*batch
    """

    AUTO: ClassVar[_DimHint] = _DimHint(_DimHintType.AUTO)
    DYNAMIC: ClassVar[_DimHint] = _DimHint(_DimHintType.DYNAMIC)
    STATIC: ClassVar[_DimHint] = _DimHint(_DimHintType.STATIC)

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        low = 0 if min is None else min
        high = int_oo if max is None else max
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        if high <= low:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        self.__name__ = name
        self.min, self.max = low, high

    @classmethod
    def _readable(cls, name: str, min_: int, max_: int) -> str:
        bounds = [f"min={min_}"] if min_ != 2 else []
        bounds += [f"max={max_}"] if max_ != int_oo else []
        return f"Dim({', '.join([repr(name), *bounds])})"

    def _derive(self, name: str, fn: Callable[[int], int]) -> Dim:
        return _DerivedDim(name, self, fn)

    def __add__(self, other: Any) -> Dim:
        if type(other) is not int:
            raise NotImplementedError(
                f"Attempted to add {other} to {self.__name__}, where an integer was expected."
            )
        sign = "+" if other >= 0 else "-"
        return self._derive(f"{self.__name__} {sign} {abs(other)}", lambda x: x + other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Dim:
        if type(other) is not int:
            raise NotImplementedError(
                f"Attempted to subtract {other} from {self.__name__}, where an integer was expected."
            )
        return self + -other

    def __rsub__(self, other: Any) -> Dim:
        raise NotImplementedError(
            f"Attempted to negate {self.__name__}. Only increasing dims can be derived."
        )

    def __mul__(self, other: Any) -> Dim:
        if type(other) is not int or other <= 0:
            raise NotImplementedError(
                f"Attempted to multiply {other} with {self.__name__}, where a positive integer was expected."
            )
        name = f"{other}*{self.__name__}" if self.__name__.isidentifier() else f"{other}*({self.__name__})"
        return self._derive(name, lambda x: x * other)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return self._readable(self.__name__, self.min, self.max)  # type: ignore[arg-type]


class _DerivedDim(Dim):
    """A size that is a function of another."""

    def __init__(self, name: str, root: Dim, fn: Callable[[int], int]) -> None:
        self.__name__ = name
        self.root: Dim = root.root if isinstance(root, _DerivedDim) else root
        inner = root.fn if isinstance(root, _DerivedDim) else (lambda x: x)
        self.fn: Callable[[Any], Any] = lambda x: fn(inner(x))
        rate = self.fn(1) - self.fn(0)
        self.factor, self.offset = rate, self.fn(0)

    @property
    def min(self) -> int:  # type: ignore[override]
        """The least size."""
        low = self.fn(self.root.min)
        if low < 0:
            raise AssertionError(f"Expected derived min value of {self.__name__} to be >= 0, got {low}")
        return int(low)

    @property
    def max(self) -> Any:  # type: ignore[override]
        """The greatest size."""
        return int_oo if self.root.max == int_oo else self.fn(self.root.max)

    def __repr__(self) -> str:
        return f"Derived dim: {self.__name__}"


class _StaticDim(Dim):
    """A size that is one number."""

    def __init__(self, value: int) -> None:
        self.__name__, self.value = str(value), value

    @property
    def min(self) -> int:  # type: ignore[override]
        """The number."""
        return self.value

    @property
    def max(self) -> int:  # type: ignore[override]
        """The number."""
        return self.value


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several names for sizes, with one range.

    Args:
        names: the names.
        min, max: the least and the greatest size.

    Returns:
        A `Dim` for each.

    Example:
        >>> dims("batch", "time", max=8)
        (Dim('batch', min=0, max=8), Dim('time', min=0, max=8))
    """
    return tuple(Dim(name, min=min, max=max) for name in names)


@dataclasses.dataclass
class _ConstraintTarget:
    t_id: int
    dim: int


@dataclasses.dataclass
class _Constraint(_ConstraintTarget):
    name: str
    constraint_range: Any


@dataclasses.dataclass
class _DerivedConstraint(_ConstraintTarget):
    name: str
    constraint_range: Any
    root: Any
    fn: Callable[[Any], Any]


@dataclasses.dataclass
class _RelaxedConstraint(_ConstraintTarget):
    pass


Constraint = _Constraint | _DerivedConstraint | _RelaxedConstraint


@dataclasses.dataclass
class _IntWrapper:
    """An int among the inputs, of which it can be said that it is dynamic."""

    val: int
    dynamism: Any = None


# ---- the arguments of a call, by the names of the function's
def _signature_of(f: Any) -> inspect.Signature:
    forward = getattr(f, "forward", None)
    return inspect.signature(forward if forward is not None and not inspect.isfunction(f) else f)


def _combine_args(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments of a call by name, in the order of the function's; the rest under its star's name."""
    return dict(_signature_of(f).bind(*args, **(kwargs or {})).arguments)


def _spec_error(message: str) -> UserError:
    return UserError(UserErrorType.INVALID_INPUT, message, case_name="dynamic_shapes_validation")


def _is_container(x: Any) -> bool:
    return node_type(x) in SUPPORTED_NODES


def _check_dim(dim: Any, index: Any, tensor: Any, where: str, ranges: dict[str, tuple[Any, Any]]) -> None:
    if isinstance(dim, Dim):
        key = dim.__name__
        if key in ranges and ranges[key] != (dim.min, dim.max):
            low, high = ranges[key]
            raise _spec_error(
                f"Found different definitions {Dim._readable(key, low, high)} and {dim} for the same symbolic "
                f"dimension {dim}!"
            )
        ranges[key] = (dim.min, dim.max)
    elif dim is not None and not isinstance(dim, (int, _DimHint)):
        raise _spec_error(
            f"Unexpected dimension mapped to index {index} in input tensor shape {tensor.shape} specified at "
            f"`dynamic_shapes{where}` (expected None, an int, a Dim, Dim.AUTO, Dim.STATIC,  or Dim.DYNAMIC,  but got "
            f"{dim!r} instead)"
        )


def _check_shape(tensor: Any, shape: Any, where: str, ranges: dict[str, tuple[Any, Any]]) -> None:
    rank = len(tensor.shape)
    if isinstance(shape, dict):
        for i, dim in shape.items():
            if not isinstance(i, int) or not 0 <= i < rank:
                raise _spec_error(
                    f"Unexpected dimension {i} of the input tensor of shape {tuple(tensor.shape)} specified at "
                    f"`dynamic_shapes{where}`"
                )
            _check_dim(dim, i, tensor, where, ranges)
    elif isinstance(shape, (tuple, list)):
        if len(shape) != rank:
            raise _spec_error(
                f"Expected dynamic shape spec {shape} specified at `dynamic_shapes{where}` to have the same length as "
                f"the actual tensor shape {tensor.shape} (expected {rank}, but got {len(shape)} instead)"
            )
        for i, dim in enumerate(shape):
            _check_dim(dim, i, tensor, where, ranges)
    elif shape is not None:
        raise _spec_error(
            f"Unexpected input tensor shape {shape} specified at `dynamic_shapes{where}` (expected either a list/tuple "
            "of dimensions, or a dict mapping indices to dimensions, where each dimension is an int, a Dim, Dim.AUTO, "
            "Dim.STATIC, or Dim.DYNAMIC)"
        )


def _walk(tree: Any, spec: Any, path: str, visit: Callable[[Any, Any, str], None]) -> None:
    """Goes through inputs and what is said of them together; what isn't said is None all the way down."""
    if isinstance(tree, tl_core.Tensor) or not _is_container(tree):
        visit(tree, spec, path)
        return
    kind = node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    names = _child_names(kind, children, context)
    if spec is None:
        parts = [None] * len(children)
    else:
        if not _is_container(spec) and not dataclasses.is_dataclass(spec):
            raise _spec_error(
                f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: `inputs{path}` is a "
                f"{type(tree)}, but `dynamic_shapes{path}` is not\n{_SPEC_HELP}"
            )
        parts = _spec_children(tree, spec, kind, names, path)
    for name, child, part in zip(names, children, parts, strict=True):
        _walk(child, part, f"{path}[{name!r}]", visit)


_SPEC_HELP = "For more information about this error, see: docs/guide/export.md, dynamic sizes"


def _child_names(kind: Any, children: list[Any], context: Any) -> list[Any]:
    if kind is dict or (isinstance(kind, type) and issubclass(kind, dict)):
        return list(context[1] if kind.__name__ == "defaultdict" else context)
    if isinstance(context, (list, tuple)) and len(context) == 2 and isinstance(context[0], list):
        return list(context[0])  # a dataclass
    return list(range(len(children)))


def _spec_children(tree: Any, spec: Any, kind: Any, names: list[Any], path: str) -> list[Any]:
    plain = (list, tuple, dict)
    if kind in plain and type(spec) in plain and type(spec) is not kind:
        raise _spec_error(
            f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: `inputs{path}` is a {kind}, "
            f"but `dynamic_shapes{path}` is a {type(spec)}\n{_SPEC_HELP}"
        )
    if isinstance(spec, dict):
        missing = [n for n in names if n not in spec]
        extra = [n for n in spec if n not in names]
        if missing or extra:
            raise _spec_error(
                f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: `inputs{path}` has keys "
                f"{names}, but `dynamic_shapes{path}` has keys {list(spec)}\n{_SPEC_HELP}"
            )
        return [spec[n] for n in names]
    children = SUPPORTED_NODES[node_type(spec)].flatten_fn(spec)[0] if _is_container(spec) else []
    if dataclasses.is_dataclass(spec) and not _is_container(spec):
        children = [getattr(spec, f.name) for f in dataclasses.fields(spec)]
    if len(children) != len(names):
        raise _spec_error(
            f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: `inputs{path}` has "
            f"{len(names)} elements, but `dynamic_shapes{path}` has {len(children)} elements\n{_SPEC_HELP}"
        )
    return list(children)


def spec_by_name(combined: dict[str, Any], dynamic_shapes: Any) -> dict[str, Any] | None:
    """What is said of each argument, by its name.

    Args:
        combined: the arguments of a call by name.
        dynamic_shapes: what the user said: by name or in order.

    Returns:
        The same by name.

    Raises:
        UserError: it does not fit the arguments.
    """
    if dynamic_shapes is None or len(dynamic_shapes) == 0:
        return None
    if isinstance(dynamic_shapes, (tuple, list)):
        if len(dynamic_shapes) != len(combined):
            raise _spec_error(
                "When `dynamic_shapes` is specified as a list/tuple, it must have one entry for each argument: "
                f"expected {len(combined)} for {list(combined)}, got {len(dynamic_shapes)}"
            )
        return dict(zip(combined, dynamic_shapes, strict=True))
    if set(dynamic_shapes) != set(combined):
        hint = (
            "Alternatively, you could also ignore arg names entirely and specify `dynamic_shapes` as a list/tuple "
            "matching `inputs`."
        )
        only = next(iter(combined.values())) if len(combined) == 1 else None
        if isinstance(only, dict) and set(only) == set(dynamic_shapes):
            hint = (
                "Since here `inputs` is a list/tuple enclosing a single dict, maybe you just forgot to enclose "
                "`dynamic_shapes` in a list/tuple?"
            )
        raise _spec_error(
            "When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names "
            f"{list(combined)} of `inputs`, but here they are {list(dynamic_shapes)}. {hint}"
        )
    return {name: dynamic_shapes[name] for name in combined}


def check_spec(
    combined: dict[str, Any], spec: dict[str, Any] | None, in_order: bool = False
) -> list[tuple[Any, Any, str]]:
    """Goes through the leaves of the arguments with what is said of each.

    Args:
        combined: the arguments by name.
        spec: what is said of each.
        in_order: whether the user said it in order, so that errors count the arguments.

    Returns:
        For each leaf the leaf, what is said of it, and its path.

    Raises:
        UserError: what is said does not fit.
    """
    entries: list[tuple[Any, Any, str]] = []
    ranges: dict[str, tuple[Any, Any]] = {}

    def visit(leaf: Any, shape: Any, path: str) -> None:
        if isinstance(leaf, tl_core.Tensor):
            if isinstance(shape, _DimHint):
                shape = dict.fromkeys(range(leaf.dim()), shape)
            _check_shape(leaf, shape, path, ranges)
        elif shape is not None and not (isinstance(leaf, int) and isinstance(shape, (_DimHint, Dim))):
            raise _spec_error(
                f"Cannot associate shape {shape} specified at `dynamic_shapes{path}` to non-tensor type "
                f"{type(leaf)} at "
                f"`inputs{path}` (expected None)"
            )
        entries.append((leaf, shape, path))

    for i, (name, value) in enumerate(combined.items()):
        at, start = f"[{i if in_order else repr(name)}]", len(entries)
        _walk(value, None if spec is None else spec[name], at, visit)
        entries[start:] = [
            (leaf, shape, f"[{name!r}]{path[len(at) :]}") for leaf, shape, path in entries[start:]
        ]
    _check_roots(spec)
    return entries


def _check_roots(spec: Any) -> None:
    kinds: set[str] = set()

    def visit(leaf: Any) -> Any:
        if isinstance(leaf, Dim) and not isinstance(leaf, _StaticDim):
            kinds.add("named")
        elif isinstance(leaf, _DimHint):
            kinds.add("auto" if leaf.type is not _DimHintType.STATIC else "static")
        return leaf

    if spec:
        tree_map(visit, spec)


class ShapesCollection:
    """Says which sizes are dynamic by the tensors themselves, wherever they stand among the inputs.

    Example:
        >>> import tl_core
        >>> x = tl_core.ones(2, 3)
        >>> shapes = ShapesCollection()
        >>> shapes[x] = {0: Dim("batch")}
        >>> shapes.dynamic_shapes(lambda x: x, (x,))
        {'x': {0: Dim('batch', min=0)}}
    """

    def __init__(self) -> None:
        self._shapes: dict[int, Any] = {}
        self._tensors: list[Any] = []

    def __setitem__(self, t: Any, shape: Any) -> None:
        if not isinstance(t, (tl_core.Tensor, _IntWrapper)):
            raise AssertionError(f"Cannot assign shape to non-tensor or non-_IntWrapper type {type(t)}")
        before = self._shapes.get(id(t))
        if before is not None and before != shape:
            raise AssertionError(f"Shapes assigned to input is a mismatch: expected {before}, got {shape}")
        self._shapes[id(t)] = shape
        self._tensors.append(t)

    def __getitem__(self, t: Any) -> Any:
        if id(t) not in self._shapes:
            self._shapes[id(t)] = {}
            self._tensors.append(t)
        return self._shapes[id(t)]

    def __len__(self) -> int:
        return len(self._shapes)

    def dynamic_shapes(
        self, m: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """What is said of each argument, in the form that `export` takes.

        Args:
            m: the module.
            args, kwargs: the example inputs.

        Returns:
            A dictionary by the names of arguments.

        Raises:
            ValueError: a tensor of which something is said isn't among the inputs.
        """
        ids: set[int] = set()

        def spec_of(leaf: Any) -> Any:
            ids.add(id(leaf))
            return self._shapes.get(id(leaf))

        shapes = {name: tree_map(spec_of, value) for name, value in _combine_args(m, args, kwargs).items()}
        if any(i not in ids for i in self._shapes):
            raise ValueError(
                "Some tensors that were assigned shapes were not found in args. Maybe such tensors were copied when "
                "passing them as args? Maybe such tensors are contained in classes that were not registered "
                "with pytree?"
            )
        return shapes


class AdditionalInputs:
    """Infers which sizes are dynamic from further examples, and checks a program with them.

    Example:
        >>> import tl_core
        >>> more = AdditionalInputs()
        >>> more.add((tl_core.ones(3),))
        >>> more.dynamic_shapes(lambda x: x, (tl_core.ones(2),))
        {'x': (DimHint(DYNAMIC),)}
    """

    def __init__(self) -> None:
        self._examples: list[tuple[tuple[Any, ...], dict[str, Any] | None]] = []

    def add(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        """Adds an example.

        Args:
            args, kwargs: the inputs.
        """
        if not isinstance(args, tuple):
            raise AssertionError(f"Representation of args must be a tuple, got {type(args).__name__}")
        self._examples.append((args, kwargs))

    def dynamic_shapes(self, m: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
        """What differs between the examples is dynamic.

        Args:
            m: the module.
            args, kwargs: the first example.

        Returns:
            What `export` takes as `dynamic_shapes`.
        """
        first = _combine_args(m, args, kwargs)
        rest = [_combine_args(m, *example) for example in self._examples]

        def spec_of(leaf: Any, *more: Any) -> Any:
            if isinstance(leaf, tl_core.Tensor):
                columns = zip(leaf.shape, *(o.shape for o in more), strict=True)
                return tuple(None if len(set(c)) == 1 else Dim.DYNAMIC for c in columns)
            if isinstance(leaf, int) and any(leaf != o for o in more):
                return Dim.DYNAMIC
            return None

        return {name: tree_map(spec_of, value, *(o[name] for o in rest)) for name, value in first.items()}

    def verify(self, ep: Any) -> None:
        """Calls a program with each example.

        Args:
            ep: the exported program.
        """
        module = ep.module()
        for args, kwargs in self._examples:
            module(*args, **(kwargs or {}))


def refine_dynamic_shapes_from_suggested_fixes(msg: str, dynamic_shapes: Any) -> Any:
    """Puts the fixes that an error of `export` suggests into what was said of the sizes.

    Args:
        msg: the error's text.
        dynamic_shapes: what was said.

    Returns:
        The same with the fixes.

    Raises:
        UserError: a fix names what wasn't said.

    Example:
        >>> from tl_compiler.export import Dim
        >>> shapes = {"x": (Dim("rows"), None)}
        >>> refine_dynamic_shapes_from_suggested_fixes("Suggested fixes:\\n  rows = 4", shapes)
        {'x': (4, None)}
    """
    text = msg.partition("Suggested fixes:")[2]
    fixes: dict[str, Any] = {}
    for line in text.strip().splitlines():
        match = re.match(r"\s*(\w+)\s*=\s*(.+?)\s*(#.*)?$", line)
        if not match:
            continue
        name, value = match.group(1), match.group(2)
        fixes[name] = _fix(name, value)
    roots = dict(_named_dims(dynamic_shapes))
    resolved: dict[str, Any] = {}
    for name, fix in fixes.items():
        resolved[name] = fix(resolved, roots) if callable(fix) else fix

    def refine(leaf: Any) -> Any:
        if isinstance(leaf, _DerivedDim):
            if leaf.__name__ in resolved:
                return resolved[leaf.__name__]
            root = resolved.get(leaf.root.__name__)
            if root is None:
                return leaf
            return leaf.fn(root)
        if isinstance(leaf, Dim):
            return resolved.get(leaf.__name__, leaf)
        return leaf

    return tree_map(refine, dynamic_shapes, is_leaf=lambda x: isinstance(x, Dim))


def _named_dims(tree: Any) -> list[tuple[str, Dim]]:
    names: list[tuple[str, Dim]] = []

    def visit(leaf: Any) -> Any:
        if isinstance(leaf, Dim):
            root = leaf.root if isinstance(leaf, _DerivedDim) else leaf
            names.append((root.__name__, root))
        return leaf

    tree_map(visit, tree)
    return names


def _fix(name: str, value: str) -> Any:
    if value.isdigit():
        return int(value)
    match = re.match(r"Dim\('(\w+)'(.*)\)$", value)
    if match:
        limits = dict(re.findall(r"(min|max)=(\d+)", match.group(2)))
        return Dim(match.group(1), **{k: int(v) for k, v in limits.items()})
    linear = re.match(r"(?:(\d+)\*)?(\w+)(?:\s*([+-])\s*(\d+))?$", value)
    if linear is None:
        return lambda resolved, roots: roots.get(name)
    factor, root, sign, offset = linear.groups()

    def derive(resolved: dict[str, Any], roots: dict[str, Dim]) -> Any:
        base: Any = resolved.get(root) or roots.get(root) or Dim(root)
        if factor:
            base = base * int(factor)
        return base if offset is None else base + (int(offset) if sign == "+" else -int(offset))

    return derive
