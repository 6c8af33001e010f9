"""`torch.onnx.export`: from a model to a program, and from the program to an ONNX model."""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import tl_nn

from ..export import ExportedProgram
from .axes import NamedAxes, axes_of_shapes, shapes_of_axes
from .capture import Attempt, as_module, capture
from .errors import OnnxExporterError, OnnxExporterWarning
from .libraries import libraries
from .model_mode import select_model_mode_for_export
from .options import OperatorExportTypes, TrainingMode
from .program import ONNXProgram
from .state import exporting

__all__ = ["DEFAULT_OPSET", "Export", "export"]

_NO_EFFECT = (
    "operator_export_type, custom_opsets and export_modules_as_functions have no effect: operators of all domains are "
    "exported, and modules are inlined"
)

DEFAULT_OPSET = 20


def export(
    model: Any,
    args: Any = (),
    f: str | os.PathLike[str] | None = None,
    *,
    kwargs: dict[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    external_data: bool = True,
    dynamic_shapes: Any = None,
    custom_translation_table: Mapping[Callable[..., Any], Any] | None = None,
    report: bool = False,
    optimize: bool = True,
    verify: bool = False,
    profile: bool = False,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike[str] = ".",
    fallback: bool = False,
    export_params: bool = True,
    keep_initializers_as_inputs: bool = False,
    dynamic_axes: Mapping[str, Any] | None = None,
    training: TrainingMode = TrainingMode.EVAL,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    do_constant_folding: bool = True,
    custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: Any = False,
    autograd_inlining: bool = True,
) -> ONNXProgram | None:
    """Exports a model to ONNX.

    The model is traced like by `torch.export.export`, or if that fails, operator by operator with its example inputs.
    Each operator becomes nodes of ONNX. Tensors among the arguments become inputs of the ONNX model. Other arguments
    are constants.

    Args:
        model: a module, a function or an `ExportedProgram`.
        args: the example inputs, a tuple. The last element may be a dictionary of inputs by keyword.
        f: the path of the file, or None.
        kwargs: the example inputs by keyword.
        verbose: whether the steps and their times are printed.
        input_names: names of the inputs, in order, and then of the parameters.
        output_names: names of the outputs, in order.
        opset_version: the operator set of the model, 20 by default. The functions use set 18, and other sets are
            converted from it.
        dynamo: whether the `ONNXProgram` is returned. With False, the model is set to evaluation mode as `training`
            says, and None is returned. Both export in the same way.
        external_data: whether the tensors are written to a second file `f.data`.
        dynamic_shapes: the dynamic sizes, as in `torch.export.export`. A text is the name of a dimension.
        custom_translation_table: functions of onnxscript by operator, which replace the translations.
        report: whether a report in Markdown is written to `artifacts_dir`.
        optimize: whether the model is optimized.
        verify: whether the model's results are compared with those of the program. This needs onnxruntime.
        profile: whether the report has the time of each step.
        dump_exported_program: whether the program is written to `artifacts_dir`.
        artifacts_dir: the folder of the report and the program.
        fallback: accepted. There is one exporter.
        export_params: whether the tensors are written to `f`.
        keep_initializers_as_inputs: whether the tensors are inputs of the model in `f`.
        dynamic_axes: the dynamic sizes by names of inputs: names by dimension, or dimensions.
        training: with `dynamo=False`, the mode of the model during the export.
        operator_export_type, do_constant_folding, custom_opsets, export_modules_as_functions, autograd_inlining:
            accepted, without effect.

    Returns:
        The program, or None if `dynamo` is False.

    Raises:
        OnnxExporterError: the model can't be captured, or an operator has no translation. The message has the line of
            the program.
        MissingLibraryError: a library is missing. `pip install 'tl-compiler[onnx]'` installs it.
        ValueError: an argument is wrong.

    Example:
        >>> import tl_core, tl_nn
        >>> program = export(tl_nn.Linear(3, 2), (tl_core.ones(1, 3),))  # doctest: +SKIP
        >>> program.save("linear.onnx")  # doctest: +SKIP
    """
    libraries()
    if operator_export_type != OperatorExportTypes.ONNX or custom_opsets or export_modules_as_functions:
        warnings.warn(_NO_EFFECT, OnnxExporterWarning, stacklevel=2)
    if f is None and not dynamo:
        raise ValueError(
            "export(): argument 'f' must be a path if dynamo=False, because no program is returned"
        )
    args, kwargs = _call(args, kwargs)
    steps = Export(model, args, kwargs, opset_version or DEFAULT_OPSET, bool(verbose))
    steps.artifacts = Path(artifacts_dir) if report or profile or dump_exported_program else None
    mode = contextlib.nullcontext() if dynamo else select_model_mode_for_export(model, training)
    with mode, exporting(), steps.write_report(report, profile, dump_exported_program):
        steps.capture(dynamic_shapes, dynamic_axes, input_names or (), output_names or ())
        steps.translate(custom_translation_table)
        steps.finish(input_names or (), output_names or (), optimize)
        if f is not None:
            steps.save(f, export_params, keep_initializers_as_inputs, external_data)
        if verify:
            steps.verify()
    return steps.program if dynamo else None


def _call(args: Any, kwargs: dict[str, Any] | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of the call. The last element of `args` may be those by keyword."""
    if isinstance(args, list):
        args = tuple(args)
    if not isinstance(args, tuple):
        args = (args,)
    if kwargs is None and args and isinstance(args[-1], dict) and all(isinstance(k, str) for k in args[-1]):
        return args[:-1], dict(args[-1])
    return args, dict(kwargs or {})


class Export:
    """The steps of an export.

    Args:
        model: the model.
        args: the example inputs.
        kwargs: those by keyword.
        opset: the operator set of the result.
        verbose: whether steps are printed.

    Args:
        attempts: the strategies that were tried.
        times: seconds by step.
        program: the result.
        artifacts: the folder of the report.
    """

    def __init__(
        self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], opset: int, verbose: bool
    ) -> None:
        from .optimization import FIRST_OPSET, LAST_OPSET

        if not FIRST_OPSET <= opset <= LAST_OPSET:
            raise ValueError(
                f"export(): opset_version must be between {FIRST_OPSET} and {LAST_OPSET}, got {opset}"
            )
        self.model, self.args, self.kwargs, self.opset, self.verbose = model, args, kwargs, opset, verbose
        self.attempts: list[Attempt] = []
        self.times: dict[str, float] = {}
        self.axes = NamedAxes()
        self.exported: ExportedProgram | None = None
        self.program: ONNXProgram | None = None
        self.verification: Any = None
        self.artifacts: Path | None = None
        self.report_path: Path | None = None

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measures a step.

        Args:
            name: the name of the step.
        """
        start = time.perf_counter()
        try:
            yield
        finally:
            self.times[name] = time.perf_counter() - start
            if self.verbose:
                print(f"[tl.onnx] {name}: {self.times[name]:.2f} s")

    def capture(
        self,
        shapes: Any,
        axes: Mapping[str, Any] | None,
        input_names: Sequence[str],
        output_names: Sequence[str],
    ) -> None:
        """The program of the model.

        Args:
            shapes: the argument `dynamic_shapes`.
            axes: the argument `dynamic_axes`.
            input_names: the argument `input_names`.
            output_names: the argument `output_names`.
        """
        with self.step("capture"):
            model = as_module(self.model)
            if isinstance(model, tl_nn.Module):
                if shapes is not None:
                    self.axes = axes_of_shapes(model, self.args, self.kwargs, shapes, input_names)
                elif axes:
                    self.axes = shapes_of_axes(model, self.args, self.kwargs, axes, input_names, output_names)
            sizes = self.axes.shapes
            self.exported = capture(model, self.args, self.kwargs, sizes, self.attempts, shapes is not None)

    def translate(self, custom: Mapping[Any, Any] | None) -> None:
        """The ONNX model of the program.

        Args:
            custom: the argument `custom_translation_table`.
        """
        from .lowering.function_table import FunctionTable
        from .lowering.model import lower_program, prepared_program

        assert self.exported is not None
        with self.step("functions"):
            table = FunctionTable(self.opset, custom)
        with self.step("decompose"):
            prepared = prepared_program(self.exported, table)
        with self.step("translate"):
            names = self.axes.symbol_names(_user_values(prepared))
            self.program = ONNXProgram(lower_program(prepared, table, names), prepared)
            self.program._strategy = self.attempts[-1].name

    def finish(self, input_names: Sequence[str], output_names: Sequence[str], optimized: bool) -> None:
        """Names, operator set and optimization.

        Args:
            input_names: the argument `input_names`.
            output_names: the argument `output_names`.
            optimized: the argument `optimize`.
        """
        from .model_names import rename_inputs, rename_outputs
        from .optimization import convert

        assert self.program is not None
        rename_inputs(self.program.model, input_names)
        rename_outputs(self.program.model, output_names)
        with self.step("convert"):
            convert(self.program.model, self.opset)
        if optimized:
            with self.step("optimize"):
                self.program.optimize()

    def save(self, f: Any, with_tensors: bool, as_inputs: bool, external_data: bool) -> None:
        """Writes the file.

        Args:
            f: the argument `f`.
            with_tensors: the argument `export_params`.
            as_inputs: the argument `keep_initializers_as_inputs`.
            external_data: the argument `external_data`.
        """
        assert self.program is not None
        with self.step("save"):
            self.program.save(
                f,
                include_initializers=with_tensors,
                keep_initializers_as_inputs=as_inputs,
                external_data=external_data and isinstance(f, (str, os.PathLike)),
            )

    def verify(self) -> None:
        """Compares the model's results with those of the program."""
        from .verification import verify_onnx_program

        assert self.program is not None
        with self.step("verify"):
            self.verification = verify_onnx_program(self.program, self.args, self.kwargs)
        wrong = [info for info in self.verification if not info.is_close()]
        for info in wrong:
            warnings.warn(
                f"the output {info.name} of the ONNX model differs from that of the program by {info.max_abs_diff:.3g} "
                f"(relative {info.max_rel_diff:.3g})",
                OnnxExporterWarning,
                stacklevel=3,
            )

    @contextlib.contextmanager
    def write_report(self, report: bool, profile: bool, dump: bool) -> Iterator[None]:
        """Writes the report and the program at the end, also after an error.

        Args:
            report: whether a report is written.
            profile: whether times are written.
            dump: whether the program is written.
        """
        error: OnnxExporterError | None = None
        try:
            yield
        except OnnxExporterError as caught:
            error = caught
            raise
        finally:
            if self.artifacts is not None:
                from .report import write

                write(self, error, report, profile, dump)


def _user_values(program: ExportedProgram) -> list[Any]:
    """What stands for each leaf of the arguments in a program."""
    kinds = {s.arg.name: s.kind.name for s in program.graph_signature.input_specs if hasattr(s.arg, "name")}
    placeholders = [n for n in program.graph.nodes if n.op == "placeholder"]
    return [n.meta.get("val") for n in placeholders if kinds.get(n.name) == "USER_INPUT"]
