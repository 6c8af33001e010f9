"""Wrong calls through the table of the C interface: each is a TypeError that names the operator and the argument."""

from __future__ import annotations

import ctypes

import pytest
import table_calls as table

OPERATORS = [table.op_at(i) for i in range(table.op_count())]


def call_below(operator, args, n_args, rets, n_rets):
    return table.op_call_below(operator, 5, args, n_args, rets, n_rets)


def call_past(operator, args, n_args, rets, n_rets):
    return table.op_call_past(operator, 5, args, n_args, rets, n_rets)


def right_arguments(info):
    return [table.RIGHT[table.KINDS[info.args[i].kind]] for i in range(info.n_args)]


def test_counts():
    calls = 0
    for operator in OPERATORS:
        info = table.op_info(operator)[0]
        name, args = info.name.decode(), right_arguments(info)
        for n in {0, 1, max(0, len(args) - 1)} - {len(args)}:
            source = args[:n] + [table.X] * (n - len(args))
            message = table.outcome(operator, source, info.n_rets)
            if n < len(args):
                missing = info.args[n].name.decode()
                assert message.startswith(f"{name}(): missing argument '{missing}' (position {n + 1})")
            else:
                assert message == f"{name}(): {len(args)} arguments are taken, got {n}"
            calls += 1
        too_many = [*args, table.X]
        expected = f"{name}(): {len(args)} arguments are taken, got {len(args) + 1}"
        assert table.outcome(operator, too_many, info.n_rets) == expected
        for n_rets in {0, info.n_rets - 1, info.n_rets + 1} - {info.n_rets, -1}:
            expected = f"{name}(): room for {info.n_rets} results is needed, got {n_rets}"
            assert table.outcome(operator, args, n_rets) == expected
            calls += 1
    assert calls > 3 * len(OPERATORS)


@pytest.mark.parametrize("call", [table.op_call, call_below, call_past, table.op_call_on_host])
def test_kinds(call):
    calls = 0
    for operator in OPERATORS:
        info = table.op_info(operator)[0]
        right = right_arguments(info)
        for i in range(info.n_args):
            arg = info.args[i]
            kind = table.KINDS[arg.kind]
            if kind == "object":
                continue
            for text, value in table.WRONG.items():
                if text in table.FITTING.get(kind, ()) or (
                    text == "None" and (arg.optional or kind == "generator")
                ):
                    continue
                message = table.outcome(operator, [*right[:i], value, *right[i + 1 :]], info.n_rets, call)
                start = f"{info.name.decode()}(): argument '{arg.name.decode()}' (position {i + 1}) must be "
                assert message.startswith(start) and ", not " in message, (message, text)
                calls += 1
    assert calls > 15 * len(OPERATORS)


def test_texts():
    operator = table.op_find(b"mm")
    right = right_arguments(table.op_info(operator)[0])
    for text, value in table.WRONG.items():
        if text.startswith(("list whose", "a list")):
            continue
        message = table.outcome(operator, [value, *right[1:]], 1)
        assert message == f"mm(): argument 'self' (position 1) must be Tensor, not {text}"
    operator = table.op_find(b"cat")
    right = right_arguments(table.op_info(operator)[0])
    for text in ("list whose pointer is NULL", "a list with an undefined Tensor", "None"):
        message = table.outcome(operator, [table.WRONG[text], *right[1:]], 1)
        assert message == f"cat(): argument 'tensors' (position 1) must be list of Tensors, not {text}"


def test_null_pointers():
    args = (table.Value * 3)(table.X, table.X, table.Value(table.INT, 0, 1))
    rets = (table.Value * 1)()
    operator = table.op_find(b"add.Tensor")
    for source in [(None, args, 3, rets, 1), (operator, None, 3, rets, 1), (operator, args, 3, None, 1)]:
        assert table.op_call(*source) == -1
        assert table.error_kind() == 3
        assert "NULL" in table.error_message().decode()
        table.error_clear()


def test_right_calls_pass():
    operator = table.op_find(b"add.Tensor")
    for number in (table.Value(table.INT, 0, 2), table.Value(table.FLOAT, 0, 0)):
        assert table.outcome(operator, [table.X, table.X, number], 1) == ""
    assert (
        table.outcome(
            table.op_find(b"permute"), [table.X, table.listed(table.INTS, (ctypes.c_int64 * 2)(1, 0))], 1
        )
        == ""
    )
