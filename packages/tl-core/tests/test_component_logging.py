"""What components log: levels, artifacts, the environment variable, and that nothing is paid for where nobody asks."""

import logging
import os
import subprocess
import sys

import pytest

from tl_core.base import component_logging as logs


@pytest.fixture(autouse=True)
def defaults(monkeypatch):
    monkeypatch.delenv(logs.LOGS, raising=False)
    yield
    monkeypatch.delenv(logs.LOGS, raising=False)
    logs.set_logs()
    for name in list(logs._handlers):
        logs._reset(name)


@pytest.mark.parametrize(
    ("text", "levels", "shown"),
    [
        ("+dynamo,aot", {"dynamo": logging.DEBUG, "aot": logging.INFO}, set()),
        ("-dynamo,+inductor", {"dynamo": logging.ERROR, "inductor": logging.DEBUG}, set()),
        ("aot_graphs", {}, {"aot_graphs"}),
        ("+dynamo,schedule", {"dynamo": logging.DEBUG}, {"schedule"}),
        ("+some.random.module,schedule", {"some.random.module": logging.DEBUG}, {"schedule"}),
        ("-graph, +guards,", {}, {"graph", "guards"}),
        ("", {}, set()),
        ("all", {"all": logging.INFO}, set()),
    ],
)
def test_the_variable_is_read_as_the_manual_says(text, levels, shown):
    assert logs.parse(text) == (levels, shown)


@pytest.mark.parametrize("text", ["++dynamo", "dynamo!", "+", "a..b", "1x"])
def test_an_entry_that_is_no_name_is_refused_and_named(text):
    with pytest.raises(ValueError, match="TORCH_LOGS"):
        logs.parse(text)


def test_components_have_the_level_that_was_set_and_others_none():
    logs.set_logs(dynamo=logging.DEBUG, aot=logging.INFO)
    assert logging.getLogger("torch._dynamo").level == logging.DEBUG
    assert logging.getLogger("tl_compiler.compat.dynamo").level == logging.DEBUG
    assert logging.getLogger("torch._functorch.aot_autograd").level == logging.INFO
    assert logging.getLogger("torch._inductor").level == logging.NOTSET
    logs.set_logs(inductor=logging.ERROR)
    assert logging.getLogger("torch._dynamo").level == logging.NOTSET
    assert logging.getLogger("torch._dynamo").propagate
    assert logging.getLogger("torch._inductor").level == logging.ERROR


def test_all_means_every_component_but_those_named_beside_it():
    logs.set_logs(all=logging.INFO, onnx=logging.DEBUG)
    assert logging.getLogger("torch").level == logging.INFO
    assert logging.getLogger("tl_distributed").level == logging.INFO
    assert logging.getLogger("torch.onnx").level == logging.DEBUG


def test_messages_go_to_stderr_once(capsys):
    logs.set_logs(distributed=logging.INFO, modules={"tests.some.module": logging.DEBUG})
    logging.getLogger("tl_distributed").info("told")
    logging.getLogger("tl_distributed").debug("hidden")
    logging.getLogger("tests.some.module").debug("also told")
    err = capsys.readouterr().err
    assert err.count("told\n") == 2 and "hidden" not in err
    assert "also told" in err


def test_artifacts_are_shown_where_they_are_asked_for_or_their_component_speaks_at_length(capsys):
    guards = logs.getArtifactLogger("tests.guards", "guards")
    verbose = logs.getArtifactLogger("tests.guards", "recompiles_verbose")
    logs.set_logs(graph=True)
    guards.debug("one")
    logs.set_logs(guards=True)
    guards.debug("two")
    logs.set_logs(dynamo=logging.DEBUG)
    guards.debug("three")
    verbose.debug("four")
    logs.set_logs(dynamo=logging.DEBUG, recompiles_verbose=True)
    verbose.debug("five")
    err = capsys.readouterr().err
    assert [word for word in ("one", "two", "three", "four", "five") if word in err] == [
        "two",
        "three",
        "five",
    ]


@pytest.mark.parametrize(
    "arguments",
    [{"dynamo": 7}, {"dynamo": True}, {"graph": 10}, {"modules": {"graph": 10}}, {"modules": {3: 10}}],
)
def test_values_of_the_wrong_kind_are_refused(arguments):
    with pytest.raises(ValueError, match="set_logs"):
        logs.set_logs(**arguments)


def test_an_unknown_artifact_is_refused():
    with pytest.raises(ValueError, match="no artifact 'grap'"):
        logs.getArtifactLogger("m", "grap")


def test_a_warning_comes_once(caplog):
    logger = logging.getLogger("tests.once")
    for _ in range(2):
        logs.warning_once(logger, "only %s", "once")
    assert [record.getMessage() for record in caplog.records] == ["only once"]


def test_the_variable_decides_over_the_function(monkeypatch):
    monkeypatch.setenv(logs.LOGS, "aot")
    with pytest.warns(UserWarning, match="TORCH_LOGS is set"):
        logs.set_logs(dynamo=logging.DEBUG)
    assert logging.getLogger("torch._dynamo").level == logging.NOTSET


def in_a_process(program, **environment):
    process = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    return process.stdout + process.stderr


def test_a_process_with_the_variable_logs_as_it_says(tmp_path):
    program = "import tl_core, logging; logging.getLogger('torch._dynamo').debug('heard')"
    assert "heard" in in_a_process(program, TORCH_LOGS="+dynamo")
    assert "heard" not in in_a_process(program, TORCH_LOGS="dynamo")
    shaped = in_a_process(program, TORCH_LOGS="+dynamo", TORCH_LOGS_FORMAT="<%(message)s>")
    assert shaped.strip() == "<heard>"
    out = tmp_path / "log"
    assert in_a_process(program, TORCH_LOGS="+dynamo", TORCH_LOGS_OUT=str(out)) == ""
    assert "heard" in out.read_text()


def test_a_process_without_it_does_not_load_logging():
    program = "import sys, tl_core; print('tl_core.base.component_logging' in sys.modules, 'logging' in sys.modules)"
    environment = {name: value for name, value in os.environ.items() if name != logs.LOGS}
    process = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert process.stdout.split()[0] == "False"
