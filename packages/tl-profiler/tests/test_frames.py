"""Frames of stacks with short paths, and the events that a page leaves out."""

import array
import json
import os

import pytest

from tl_autograd.recorded_event import Kind
from tl_profiler.report import events as page_events
from tl_profiler.report import frames

FOLDERS = ["/home/a/lib/python/site-packages", "/home/a/project", "/home/a"]


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("/home/a/project/train.py(3): step", "train.py(3): step"),
        ("/home/a/lib/python/site-packages/x/y.py(10): <lambda>", "x/y.py(10): <lambda>"),
        ("/home/ab/project/train.py(3): step", "/home/ab/project/train.py(3): step"),
        ("/home/a/odd (1): name.py(3): f", "odd (1): name.py(3): f"),
        ("<frozen runpy>(65): _run_code", "<frozen runpy>(65): _run_code"),
        ("<built-in function len>", "<built-in function len>"),
        ("aten::mm", "aten::mm"),
    ],
)
def test_names_have_short_paths(name, short):
    assert frames.short_name(name, FOLDERS) == short


def test_the_folders_of_modules_are_roots():
    roots = frames.roots()
    assert frames.short_path(json.__file__, roots) == os.path.join("json", "__init__.py")
    assert frames.short_path(os.__file__, roots) == "os.py"
    assert frames.short_path(frames.__file__, roots) == os.path.join("tl_profiler", "report", "frames.py")


@pytest.mark.parametrize(
    ("file", "runner"),
    [
        ("<frozen runpy>", True),
        ("<frozen importlib._bootstrap_external>", True),
        ("/usr/lib/python3.11/runpy.py", True),
        ("/usr/lib/python3.11/importlib/__init__.py", True),
        ("/x/site-packages/tl/torch.py", True),
        ("/x/site-packages/tl_commands/command_line.py", True),
        ("/x/site-packages/tl_profiler/__main__.py", True),
        ("/x/bin/tl", True),
        ("/x/bin/tlrun", True),
        ("/x/bin/tl.py", False),
        ("/x/site-packages/tl_profiler/profiler.py", False),
        ("/x/mytl/torch.py", False),
        ("/x/my_runpy.py", False),
        ("<frozen os>", False),
    ],
)
def test_runners_are_known_by_their_files(file, runner):
    assert frames.is_runner(file) is runner


def test_a_line_is_of_the_program():
    stack = [
        ("/home/a/lib/python/site-packages/tl_nn/modules/linear.py", 100, "forward"),
        ("/home/a/project/train.py", 5, "<module>"),
        ("<frozen runpy>", 88, "_run_code"),
    ]
    assert frames.line_of(stack, FOLDERS) == "train.py:5 in <module>"
    assert frames.line_of(stack[:1], FOLDERS) == "tl_nn/modules/linear.py:100 in forward"
    assert frames.line_of(stack[2:], FOLDERS) == "<frozen runpy>:88 in _run_code"
    assert frames.format_frames(stack, FOLDERS) == [
        "tl_nn/modules/linear.py:100 in forward",
        "train.py:5 in <module>",
    ]


def record(*rows):
    """Columns of events, from (name, kind, parent, microseconds)."""
    names = sorted({row[0] for row in rows})
    columns = {
        "start": array.array("d", range(len(rows))),
        "bytes": array.array("d", [0] * len(rows)),
        "address": array.array("d", [0] * len(rows)),
        "duration": array.array("f", [row[3] for row in rows]),
        "name": array.array("I", [names.index(row[0]) for row in rows]),
        "stack": array.array("I", [0] * len(rows)),
        "parent": array.array("i", [row[2] for row in rows]),
        "thread": array.array("H", [0] * len(rows)),
        "kind": array.array("B", [row[1] for row in rows]),
    }
    return page_events.Events(
        {"names": names, **{name: column.tobytes() for name, column in columns.items()}}
    )


PROGRAM = [
    ("<frozen runpy>(1): _run_code", Kind.CALL, -1, 100),
    ("<built-in function exec>", Kind.NATIVE_CALL, 0, 90),
    ("train.py(1): <module>", Kind.CALL, 1, 80),
    ("<frozen importlib._bootstrap>(1): _load", Kind.CALL, 2, 30),
    ("hook.py(1): find_spec", Kind.CALL, 3, 1),
    ("aten::zeros", Kind.OPERATOR, 4, 1),
    ("model.py(1): <module>", Kind.CALL, 3, 20),
    ("<built-in function len>", Kind.NATIVE_CALL, 6, 1),
    ("aten::mm", Kind.OPERATOR, 7, 2),
]


def rows(events):
    columns = events.columns
    return [(events.names[n], p) for n, p in zip(columns["name"], columns["parent"], strict=True)]


def test_runners_and_imports_are_left_out():
    events = record(*PROGRAM)
    page_events.select(events)
    assert rows(events) == [
        ("train.py(1): <module>", -1),
        ("aten::zeros", 0),
        ("model.py(1): <module>", 0),
        ("<built-in function len>", 2),
        ("aten::mm", 3),
    ]
    assert events.omissions == 0


@pytest.mark.parametrize(("most", "omissions"), [(5, 0), (4, 1), (3, 2), (2, 3), (1, 3), (0, 3)])
def test_short_calls_are_left_out_beyond_a_number(most, omissions):
    events = record(*PROGRAM)
    page_events.select(events, most)
    calls = ["train.py(1): <module>", "model.py(1): <module>", "<built-in function len>"][: 3 - omissions]
    names = [name for name, _ in rows(events)]
    assert events.omissions == omissions and sorted(names) == sorted([*calls, "aten::zeros", "aten::mm"])
    parents = dict(rows(events))
    assert parents["aten::mm"] == (names.index(calls[-1]) if calls else -1)


@pytest.mark.parametrize("numbers", [[], [0], [255, 256], [1 << 40, 3, 0], [(1 << 64) - 1]])
def test_numbers_are_packed_by_planes(numbers):
    columns = {name: [0] * len(numbers) for name in page_events._TYPES}
    columns["kind"] = numbers
    layout, body = page_events.pack(columns)
    name, width, coding = layout[-1]
    assert (name, coding) == ("kind", "plain") and width == max(
        1, (max(numbers, default=0).bit_length() + 7) // 8
    )
    planes = body[len(body) - width * len(numbers) :]
    read = [sum(planes[k * len(numbers) + i] << 8 * k for k in range(width)) for i in range(len(numbers))]
    assert read == numbers
