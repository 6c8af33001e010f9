"""Writes data for TensorBoard: numbers, distributions, images, sound, texts, graphs.

    from tl_utils.tensorboard import SummaryWriter

    with SummaryWriter("runs/first") as writer:
        for step in range(100):
            writer.add_scalar("loss/train", loss, step)

and then `tensorboard --logdir runs`. Files are written by the package `tensorboard`, which the extra of
that name brings.
"""

try:
    import tensorboard as _tensorboard
except ImportError as error:
    raise ImportError(
        "tl.utils.tensorboard needs the package tensorboard: pip install 'tl-utils[tensorboard]'",
        name="tensorboard",
    ) from error

if tuple(int(n) for n in _tensorboard.__version__.split(".")[:2]) < (1, 15):
    raise ImportError(
        f"tl.utils.tensorboard needs tensorboard 1.15 or later, found {_tensorboard.__version__}: "
        "pip install 'tl-utils[tensorboard]'",
        name="tensorboard",
    )

from tensorboard.summary.writer.record_writer import RecordWriter as RecordWriter

from tl_utils.tensorboard.writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
