"""Writes event files."""

from __future__ import annotations

import os
import socket
import time
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from tensorboard.compat.proto import event_pb2
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from tl_utils.tensorboard import _embedding, summary
from tl_utils.tensorboard._convert_np import make_np
from tl_utils.tensorboard._utils import figure_to_image

__all__ = ["FileWriter", "SummaryWriter"]


def _default_limits() -> list[float]:
    """Limits that grow by a tenth from 1e-12 to 1e20, on both sides of zero."""
    positive, limit = [], 1e-12
    while limit < 1e20:
        positive.append(limit)
        limit *= 1.1
    return [*(-x for x in reversed(positive)), 0.0, *positive]


class FileWriter:
    """Writes events and summaries into one file, on a thread of TensorBoard.

    Args:
        log_dir: the folder.
        max_queue: how many events wait at most before an `add` waits for the file.
        flush_secs: the interval of writes, in seconds.
        filename_suffix: the suffix of the file's name.

    Raises:
        OSError: the folder can't be written to.

    Example:
        >>> writer = FileWriter("runs")  # doctest: +SKIP
        >>> writer.close()  # doctest: +SKIP
    """

    def __init__(self, log_dir: str | os.PathLike[str], max_queue: int = 10, flush_secs: float = 120,
                 filename_suffix: str = "") -> None:  # fmt: skip
        folder = os.fspath(log_dir)
        try:
            self.event_writer = EventFileWriter(folder, max_queue, flush_secs, filename_suffix)
        except OSError as error:
            reason = error.strerror or str(error)
            raise type(error)(error.errno, f"SummaryWriter: can't write events ({reason})", folder) from error

    def get_logdir(self) -> str:
        """The folder."""
        return str(self.event_writer.get_logdir())

    def add_event(self, event: Event, step: int | None = None, walltime: float | None = None) -> None:
        """Adds an event.

        Args:
            event: the event.
            step: its step.
            walltime: its time in seconds since 1970, by default now.
        """
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)  # the format has integer steps only
        self.event_writer.add_event(event)

    def add_summary(
        self, summary: Any, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Adds a summary.

        Args:
            summary: the summary.
            global_step, walltime: its step, and its time in seconds since 1970, by default now.
        """
        self.add_event(event_pb2.Event(summary=summary), global_step, walltime)

    def add_graph(self, graph_profile: tuple[Any, Any], walltime: float | None = None) -> None:
        """Adds a graph.

        Args:
            graph_profile: the graph, and the metadata of a run.
            walltime: its time in seconds since 1970, by default now.
        """
        graph, stats = graph_profile
        self.add_event(event_pb2.Event(graph_def=graph.SerializeToString()), None, walltime)
        tagged = event_pb2.TaggedRunMetadata(tag="step1", run_metadata=stats.SerializeToString())
        self.add_event(event_pb2.Event(tagged_run_metadata=tagged), None, walltime)

    def add_onnx_graph(self, graph: Any, walltime: float | None = None) -> None:
        """Adds a graph without metadata."""
        self.add_event(event_pb2.Event(graph_def=graph.SerializeToString()), None, walltime)

    def flush(self) -> None:
        """Writes pending events."""
        self.event_writer.flush()

    def close(self) -> None:
        """Writes all that waits, and closes the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Opens another file in the folder."""
        self.event_writer.reopen()


class _EventFiles:
    """The event files of a run: one in the folder of the run, and one in the folder of each line of `add_scalars`."""

    def __init__(self, log_dir: Any, purge_step: int | None, max_queue: int, flush_secs: float, filename_suffix: str
                 ) -> None:  # fmt: skip
        self.log_dir = log_dir
        self.purge_step, self.max_queue, self.flush_secs = purge_step, max_queue, flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[Any, FileWriter] | None = None
        self._get_file_writer()

    def _get_file_writer(self) -> FileWriter:
        """The writer, which is new after `close`."""
        if self.all_writers is None or self.file_writer is None:
            self.file_writer = self._new(self.log_dir)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                step, self.purge_step = self.purge_step, None
                self.file_writer.add_event(Event(step=step, file_version="brain.Event:2"))
                self.file_writer.add_event(Event(step=step, session_log=SessionLog(status=SessionLog.START)))
        return self.file_writer

    def _new(self, folder: Any) -> FileWriter:
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def get_logdir(self) -> Any:
        """The folder."""
        return self.log_dir

    def _add(self, event: Any, global_step: int | None, walltime: float | None) -> None:
        self._get_file_writer().add_summary(event, global_step, walltime)

    def flush(self) -> None:
        """Writes pending events."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Writes pending events and closes the files. A later `add` opens new ones."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()


class SummaryWriter(_EventFiles):
    """Writes data for TensorBoard.

    Values are tensors, arrays or numbers. Names with slashes are grouped: `loss/train` and `loss/test` form a group.

    Args:
        log_dir: the folder, by default `runs/DATE_HOST` and the comment.
        comment: the suffix of the default folder's name.
        purge_step: the step that a run continues from. TensorBoard hides later steps of earlier runs.
        max_queue: how many events wait at most before an `add` waits for the file.
        flush_secs: the interval of writes, in seconds.
        filename_suffix: the suffix of the file's name.

    Raises:
        OSError: the folder can't be written to.

    Example:
        >>> import tempfile
        >>> with SummaryWriter(tempfile.mkdtemp()) as writer:
        ...     for step in range(3):
        ...         writer.add_scalar("loss/train", 1 / (step + 1), step)
    """

    def __init__(self, log_dir: str | os.PathLike[str] | None = None, comment: str = "",
                 purge_step: int | None = None, max_queue: int = 10, flush_secs: float = 120,
                 filename_suffix: str = "") -> None:  # fmt: skip
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        super().__init__(log_dir, purge_step, max_queue, flush_secs, filename_suffix)
        self.default_bins = _default_limits()

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int | None = None, walltime: float | None = None,
                   new_style: bool = False, double_precision: bool = False) -> None:  # fmt: skip
        """Adds a number.

        Args:
            tag: its name.
            scalar_value: the number, or a tensor of one element.
            global_step, walltime: its step, and its time in seconds since 1970, by default now.
            new_style: whether it is stored as a tensor, which loads faster.
            double_precision: whether it then keeps double precision.

        Raises:
            AssertionError: there are several elements.
        """
        event = summary.scalar(tag, scalar_value, new_style=new_style, double_precision=double_precision)
        self._add(event, global_step, walltime)

    def add_scalars(self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: int | None = None,
                    walltime: float | None = None) -> None:  # fmt: skip
        """Adds several numbers to one chart, each in its own folder.

        Args:
            main_tag: the chart's name.
            tag_scalar_dict: numbers by name.
            global_step, walltime: their step, and their time in seconds since 1970, by default now.
        """
        walltime = time.time() if walltime is None else walltime
        base = self._get_file_writer().get_logdir()
        for tag, value in tag_scalar_dict.items():
            folder = f"{base}/{main_tag.replace('/', '_')}_{tag}"
            writers = self.all_writers if self.all_writers is not None else {}
            if folder not in writers:
                writers[folder] = self._new(folder)
            writers[folder].add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_tensor(
        self, tag: str, tensor: Any, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Adds a whole tensor.

        Args:
            tag: its name.
            tensor: the tensor.
            global_step, walltime: its step, and its time in seconds since 1970, by default now.
        """
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(self, tag: str, values: Any, global_step: int | None = None, bins: Any = "tensorflow",
                      walltime: float | None = None, max_bins: int | None = None) -> None:  # fmt: skip
        """Adds a distribution.

        Args:
            tag: its name.
            values: the values of the histogram.
            global_step: their step.
            bins: `tensorflow`, whose bins grow from 1e-12 to 1e20, or limits, or one of numpy's rules, such as `auto`.
            walltime: their time in seconds since 1970, by default now.
            max_bins: more bins than these are merged.

        Raises:
            ValueError: there are no values.
        """
        limits = self.default_bins if isinstance(bins, str) and bins == "tensorflow" else bins
        self._add(summary.histogram(tag, values, limits, max_bins=max_bins), global_step, walltime)

    def add_histogram_raw(self, tag: str, min: float, max: float, num: float, sum: float, sum_squares: float,
                          bucket_limits: list[float], bucket_counts: list[float], global_step: int | None = None,
                          walltime: float | None = None) -> None:  # fmt: skip
        """Adds a distribution whose bins were counted already.

        Args:
            tag: its name.
            min, max: the smallest and the largest value.
            num: the number of values.
            sum, sum_squares: the sum of the values, and the sum of their squares.
            bucket_limits, bucket_counts: the upper limit of each bin, and the number of values in it.
            global_step, walltime: their step, and their time in seconds since 1970, by default now.

        Raises:
            ValueError: there are not as many limits as counts.
        """
        event = summary.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._add(event, global_step, walltime)

    def add_image(self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None,
                  dataformats: str = "CHW") -> None:  # fmt: skip
        """Adds an image.

        Args:
            tag: its name.
            img_tensor: bytes, or numbers from 0 to 1.
            global_step, walltime: its step, and its time in seconds since 1970, by default now.
            dataformats: the order of the dimensions: CHW, HWC, HW and so on.

        Raises:
            ValueError: `dataformats` and the shape don't agree.
            ImportError: pillow isn't installed.
        """
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None,
                   dataformats: str = "NCHW") -> None:  # fmt: skip
        """Adds a grid of images.

        Args:
            tag: its name.
            img_tensor: bytes, or numbers from 0 to 1, or a list of images.
            global_step, walltime: their step, and their time in seconds since 1970, by default now.
            dataformats: the order of the dimensions: NCHW, NHWC and so on.

        Raises:
            ValueError: `dataformats` and the shape don't agree.
            ImportError: pillow isn't installed.
        """
        if isinstance(img_tensor, list):
            import numpy

            img_tensor = numpy.stack([make_np(one) for one in img_tensor])
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_image_with_boxes(self, tag: str, img_tensor: Any, box_tensor: Any, global_step: int | None = None,
                             walltime: float | None = None, rescale: float = 1, dataformats: str = "CHW",
                             labels: str | list[str] | None = None) -> None:  # fmt: skip
        """Adds an image with boxes.

        Args:
            tag: its name.
            img_tensor: bytes, or numbers from 0 to 1.
            box_tensor: left, top, right and bottom edge of each box.
            global_step, walltime: its step, and its time in seconds since 1970, by default now.
            rescale: by which the image is made larger.
            dataformats: the order of the dimensions.
            labels: a text for each box.

        Raises:
            ValueError: there is not a label for each box.
        """
        texts = [labels] if isinstance(labels, str) else labels
        event = summary.image_boxes(tag, img_tensor, box_tensor, rescale, dataformats, texts)
        self._add(event, global_step, walltime)

    def add_figure(self, tag: str, figure: Any, global_step: int | None = None, close: bool = True,
                   walltime: float | None = None) -> None:  # fmt: skip
        """Adds figures of matplotlib as an image.

        Args:
            tag: its name.
            figure: one figure, or a list.
            global_step: its step.
            close: whether they are closed.
            walltime: its time in seconds since 1970, by default now.

        Raises:
            ImportError: matplotlib isn't installed.
        """
        formats = "NCHW" if isinstance(figure, list) else "CHW"
        self.add_image(tag, figure_to_image(figure, close), global_step, walltime, formats)

    def add_video(self, tag: str, vid_tensor: Any, global_step: int | None = None, fps: float = 4,
                  walltime: float | None = None) -> None:  # fmt: skip
        """Adds videos, side by side, as an animated image.

        Args:
            tag: its name.
            vid_tensor: bytes, or numbers from 0 to 1: (N, T, C, H, W).
            global_step: its step.
            fps: frames a second.
            walltime: its time in seconds since 1970, by default now.

        Raises:
            ValueError: the shape is another.
        """
        self._add(summary.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(self, tag: str, snd_tensor: Any, global_step: int | None = None, sample_rate: int = 44100,
                  walltime: float | None = None) -> None:  # fmt: skip
        """Adds a sound of one channel.

        Args:
            tag: its name.
            snd_tensor: the samples, from -1 to 1: (1, L).
            global_step: its step.
            sample_rate: samples a second.
            walltime: its time in seconds since 1970, by default now.

        Raises:
            ValueError: the shape is another.
        """
        self._add(summary.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: int | None = None,
                 walltime: float | None = None) -> None:  # fmt: skip
        """Adds a text in Markdown.

        Args:
            tag: its name.
            text_string: the text, in Markdown.
            global_step, walltime: its step, and its time in seconds since 1970, by default now.
        """
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_onnx_graph(self, prototxt: Any) -> None:
        """Not there: this library doesn't read ONNX.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("add_onnx_graph: ONNX files aren't read; add_graph takes the model itself")

    def add_graph(self, model: Any, input_to_model: Any = None, verbose: bool = False,
                  use_strict_trace: bool = True) -> None:  # fmt: skip
        """Adds the graph of a model.

        Args:
            model: a model, of which a run is noted; or a program that is a graph already: of an `ExportedProgram`, and
                of a traced module that is given no input, it is what stands there.
            input_to_model: its input, or a tuple of them.
            verbose: whether the nodes are printed.
            use_strict_trace: whether outputs in dictionaries or lists are refused.

        Raises:
            RuntimeError: such an output.
        """
        from tl_utils.tensorboard import _program_graph, _pytorch_graph

        if _program_graph.needs_no_run(model, input_to_model):
            definition = _program_graph.program_graph(model, verbose)
        else:
            definition = _pytorch_graph.graph(model, input_to_model, verbose, use_strict_trace)
        self._get_file_writer().add_graph(definition)

    def add_embedding(self, mat: Any, metadata: Any = None, label_img: Any = None, global_step: int | None = None,
                      tag: str = "default", metadata_header: list[str] | None = None) -> None:  # fmt: skip
        """Adds points for the projector.

        Args:
            mat: the points: (N, D).
            metadata: a label for each point, or a list of labels.
            label_img: an image for each point: (N, C, H, W).
            global_step: their step.
            tag: their name.
            metadata_header: names of the labels, if there are several a point.

        Raises:
            ValueError: there is not a label or image for each point, or images are too large.
        """
        folder = Path(self._get_file_writer().get_logdir())
        _embedding.write(folder, mat, metadata, label_img, global_step or 0, tag, metadata_header)

    def add_pr_curve(self, tag: str, labels: Any, predictions: Any, global_step: int | None = None,
                     num_thresholds: int = 127, weights: Any = None, walltime: float | None = None
                     ) -> None:  # fmt: skip
        """Adds a curve of precision and recall.

        Args:
            tag: its name.
            labels: which elements are positive.
            predictions: their probabilities, from 0 to 1.
            global_step: its step.
            num_thresholds: the number of thresholds, 127 at most.
            weights: of the elements.
            walltime: its time in seconds since 1970, by default now.

        Raises:
            ValueError: shapes differ, or a probability is outside of 0 to 1.
        """
        self._add(summary.pr_curve(tag, labels, predictions, num_thresholds, weights), global_step, walltime)

    def add_pr_curve_raw(self, tag: str, true_positive_counts: Any, false_positive_counts: Any,
                         true_negative_counts: Any, false_negative_counts: Any, precision: Any, recall: Any,
                         global_step: int | None = None, num_thresholds: int = 127, weights: Any = None,
                         walltime: float | None = None) -> None:  # fmt: skip
        """Adds a curve of precision and recall, from counts at each threshold.

        Args:
            tag: its name.
            true_positive_counts, false_positive_counts: the number of each at each threshold.
            true_negative_counts, false_negative_counts: the number of each at each threshold.
            precision, recall: the precision and the recall at each threshold.
            global_step: its step.
            num_thresholds: the number of thresholds, 127 at most.
            weights: not used.
            walltime: its time in seconds since 1970, by default now.
        """
        event = summary.pr_curve_raw(
            tag, true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts, precision,
            recall, num_thresholds, weights,
        )  # fmt: skip
        self._add(event, global_step, walltime)

    def add_custom_scalars_multilinechart(self, tags: list[str], category: str = "default",
                                          title: str = "untitled") -> None:  # fmt: skip
        """Shows several scalars in one chart.

        Args:
            tags: their names.
            category, title: the category and the title of the chart.
        """
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags: list[str], category: str = "default",
                                       title: str = "untitled") -> None:  # fmt: skip
        """Shows a scalar between two others.

        Args:
            tags: the names of the scalar, the lower and the upper one.
            category, title: the category and the title of the chart.

        Raises:
            ValueError: there are not three.
        """
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_custom_scalars(self, layout: dict[str, dict[str, list[Any]]]) -> None:
        """Assigns scalars to charts, once a writer.

        Args:
            layout: by category, by title: `["Multiline", tags]` or `["Margin", [value, lower, upper]]`.

        Raises:
            ValueError: a chart is something else.
        """
        self._add(summary.custom_scalars(layout), None, None)

    def add_mesh(self, tag: str, vertices: Any, colors: Any = None, faces: Any = None,
                 config_dict: dict[str, Any] | None = None, global_step: int | None = None,
                 walltime: float | None = None) -> None:  # fmt: skip
        """Adds a mesh, or a cloud of points.

        Args:
            tag: its name.
            vertices: coordinates: (B, N, 3).
            colors: of each vertex: (B, N, 3).
            faces: numbers of the vertices of each triangle: (B, M, 3).
            config_dict: settings of the view, for three.js.
            global_step, walltime: its step, and its time in seconds since 1970, by default now.

        Raises:
            ValueError: a shape is another.
        """
        self._add(summary.mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)

    def add_hparams(self, hparam_dict: dict[str, Any], metric_dict: dict[str, Any],
                    hparam_domain_discrete: dict[str, list[Any]] | None = None, run_name: str | None = None,
                    global_step: int | None = None) -> None:  # fmt: skip
        """Adds hyperparameters and their results, in their own folder.

        Args:
            hparam_dict: hyperparameters by name: bool, int, float, str or None.
            metric_dict: results by name. No `add_scalar` may use these names.
            hparam_domain_discrete: the values that hyperparameters may take, by name.
            run_name: the folder's name, by default the time.
            global_step: the step of the results.

        Raises:
            TypeError: an argument is no dictionary, or values that may be taken have another type.
            ValueError: a value has a type that isn't shown.
        """
        summaries = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(log_dir=folder) as writer:
            for one in summaries:
                writer._add(one, global_step, None)
            for name, value in metric_dict.items():
                writer.add_scalar(name, value, global_step)
