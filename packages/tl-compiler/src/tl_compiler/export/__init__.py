"""Exporting: a module becomes a graph of operators without Python, which can be saved, loaded, and run elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .decomp_utils import CustomDecompTable
from .dynamic_shapes import AdditionalInputs, Constraint, Dim, ShapesCollection, dims
from .exported_program import (
    ExportedProgram,
    ModuleCallEntry,
    ModuleCallSignature,
    default_decompositions,
)
from .graph_signature import ExportBackwardSignature, ExportGraphSignature
from .unflatten import FlatArgsAdapter, UnflattenedModule, unflatten

__all__ = [
    "AdditionalInputs",
    "Constraint",
    "CustomDecompTable",
    "Dim",
    "ExportBackwardSignature",
    "ExportGraphSignature",
    "ExportedProgram",
    "FlatArgsAdapter",
    "ModuleCallEntry",
    "ModuleCallSignature",
    "ShapesCollection",
    "UnflattenedModule",
    "default_decompositions",
    "dims",
    "draft_export",
    "export",
    "export_for_training",
    "load",
    "register_dataclass",
    "save",
    "unflatten",
]


def export(
    mod: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = True,
    preserve_module_call_signature: tuple[str, ...] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """Traces a module on example inputs, and returns its operators as a program.

    The module runs once, on tensors that have sizes but no memory. Its operators become a graph. Dynamic sizes stay
    symbols, and the conditions of the program on them are compared with the declared ranges.

    Args:
        mod: the module.
        args: the example inputs.
        kwargs: those by keyword.
        dynamic_shapes: which sizes are dynamic: for each input, by name or in order, a dictionary or sequence with a
            `Dim`, `Dim.AUTO` or None for each dimension.
        strict: accepted; there is one way to trace.
        preserve_module_call_signature: submodules whose calls are noted, for `unflatten`.
        prefer_deferred_runtime_asserts_over_guards: whether conditions are checked at run time instead.

    Returns:
        The program.

    Raises:
        UserError: the program decides by values of tensors, or sizes can't be dynamic in the way that was said; with
            what to say instead.
        ValueError: `mod` is no module.

    Example:
        >>> import tl_core, tl_nn
        >>> batch = Dim("batch")
        >>> ep = export(tl_nn.ReLU(), (tl_core.ones(2, 3),), dynamic_shapes={"input": {0: batch}})
        >>> ep.module()(tl_core.ones(5, 3)).shape
        torch.Size([5, 3])
    """
    from ._trace import trace_program

    return trace_program(
        mod,
        args,
        None if kwargs is None else dict(kwargs),
        dynamic_shapes,
        tuple(preserve_module_call_signature),
        prefer_deferred_runtime_asserts_over_guards,
    )


def export_for_training(
    mod: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = True,
    preserve_module_call_signature: tuple[str, ...] = (),
) -> ExportedProgram:
    """The same as `export`, whose programs can be trained.

    Args:
        mod, args, kwargs, dynamic_shapes, strict, preserve_module_call_signature: as `export` takes them.

    Returns:
        The program.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_compiler.export import export_for_training
        >>> class Double(tl_nn.Module):
        ...     def forward(self, x):
        ...         return 2 * x
        ...
        >>> export_for_training(Double(), (tl_core.ones(2),)).module()(tl_core.ones(2))
        tensor([2., 2.])
    """
    return export(
        mod,
        args,
        kwargs,
        dynamic_shapes=dynamic_shapes,
        strict=strict,
        preserve_module_call_signature=preserve_module_call_signature,
    )


def save(
    ep: ExportedProgram,
    f: Any,
    *,
    extra_files: dict[str, Any] | None = None,
    opset_version: dict[str, int] | None = None,
    pickle_protocol: int = 2,
) -> None:
    """Writes a program to a `.pt2` file.

    Args:
        ep: the program.
        f: a path, which gets the file when it is complete, or an object with `write`.
        extra_files: further records, by name.
        opset_version: versions of sets of operators to note.
        pickle_protocol: accepted; nothing is pickled.

    Raises:
        TypeError: `ep` is no exported program.
        NotImplementedError: the program holds what files can't.

    Example:
        >>> import io, tl_core, tl_nn
        >>> file = io.BytesIO()
        >>> save(export(tl_nn.ReLU(), (tl_core.ones(2),)), file)
        >>> _ = file.seek(0)
        >>> load(file).module()(tl_core.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' instead."
        )
    from .serde.archive import save_program

    save_program(ep, f, extra_files, opset_version)


def load(
    f: Any, *, extra_files: dict[str, Any] | None = None, expected_opset_version: dict[str, int] | None = None
) -> ExportedProgram:
    """Reads a program from a `.pt2` file. Nothing that stands in the file is executed.

    Args:
        f: a path, or an object with `read` and `seek`.
        extra_files: further records to read: their contents are put under their names.
        expected_opset_version: versions of sets of operators that the file must have.

    Returns:
        The program.

    Raises:
        RuntimeError: the file holds no program, or one that isn't taken: it is damaged, calls what is no operator, or
            has tensors outside of their records.

    Example:
        >>> import tl_core, tl_nn
        >>> import io
        >>> from tl_compiler.export import export, load, save
        >>> class Double(tl_nn.Module):
        ...     def forward(self, x):
        ...         return 2 * x
        ...
        >>> file = io.BytesIO()
        >>> save(export(Double(), (tl_core.ones(2),)), file)
        >>> _ = file.seek(0)
        >>> load(file).module()(tl_core.ones(2))
        tensor([2., 2.])
    """
    from .serde.archive import load_program

    return load_program(f, extra_files, expected_opset_version)


def register_dataclass(cls: type[Any], *, serialized_type_name: str | None = None) -> None:
    """Makes a dataclass a container of inputs and outputs.

    Args:
        cls: the class.
        serialized_type_name: the name by which files call it.

    Raises:
        AssertionError: it is no dataclass.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Pair:
        ...     a: int
        ...     b: int
        >>> register_dataclass(Pair)
        >>> from tl_core.pytree import tree_leaves
        >>> tree_leaves(Pair(1, 2))
        [1, 2]
    """
    from .utils import register_dataclass_as_pytree_node

    register_dataclass_as_pytree_node(cls, serialized_type_name=serialized_type_name)


def draft_export(
    mod: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    preserve_module_call_signature: tuple[str, ...] = (),
    strict: bool = False,
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """As `export`, but where what was promised of sizes does not hold, the program is made with what does.

    Args:
        mod, args, kwargs, dynamic_shapes, preserve_module_call_signature, strict: as `export` takes them.
        prefer_deferred_runtime_asserts_over_guards: whether conditions are checked at run time instead.

    Returns:
        The program, with what was put right in its `_report`.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_compiler.export import draft_export
        >>> class Double(tl_nn.Module):
        ...     def forward(self, x):
        ...         return 2 * x
        ...
        >>> draft_export(Double(), (tl_core.ones(2),)).module()(tl_core.ones(2))
        tensor([2., 2.])
    """
    from tl_compiler.symbolic.errors import UserError, UserErrorType

    from .dynamic_shapes import refine_dynamic_shapes_from_suggested_fixes

    shapes, report = dynamic_shapes, []
    for _ in range(8):
        try:
            program = export(
                mod,
                args,
                kwargs,
                dynamic_shapes=shapes,
                preserve_module_call_signature=preserve_module_call_signature,
                prefer_deferred_runtime_asserts_over_guards=prefer_deferred_runtime_asserts_over_guards,
            )
        except UserError as error:
            if error.error_type is not UserErrorType.CONSTRAINT_VIOLATION or "Suggested fixes" not in str(
                error
            ):
                raise
            report.append(str(error))
            shapes = refine_dynamic_shapes_from_suggested_fixes(str(error), shapes)
        else:
            object.__setattr__(program, "_report", report)
            return program
    raise RuntimeError("draft_export(): the fixes that were suggested lead to no program")
