"""Sessions of nox that run at once."""

import sys
import threading

from tools import parallel_sessions
from tools.parallel_sessions import Sessions, run_all, table


def test_two_sessions_run_at_once(capsys):
    both = threading.Barrier(2, timeout=30)

    def run(name):
        both.wait()
        return 0, f"output of {name}"

    outcomes = run_all(["a", "b"], run, lanes=2)
    assert [(result.name, result.status) for result in outcomes] == [("a", 0), ("b", 0)]
    printed = capsys.readouterr().out
    assert "output of a" in printed and "output of b" in printed


def test_sessions_start_in_their_order():
    started = []

    def run(name):
        started.append(name)
        return 0, ""

    run_all(["long", "middle", "short"], run, lanes=1)
    assert started == ["long", "middle", "short"]


def test_the_table_names_failed_tests():
    output = (
        "collected 2 items\nFAILED tests/test_a.py::test_b - assert 1 == 2\n1 failed\nnox > Session x failed."
    )
    outcomes = run_all(["x", "y"], {"x": (1, output), "y": (0, "FAILED by name only")}.get, lanes=2)
    lines = table(outcomes).splitlines()
    assert lines[0].split()[:2] == ["x", "failed"]
    assert lines[1:3] == ["    FAILED tests/test_a.py::test_b - assert 1 == 2", "    nox > Session x failed."]
    assert lines[3].split()[:2] == ["y", "success"]


def test_a_session_is_a_process_of_nox(tmp_path, monkeypatch):
    fake = tmp_path / "nox.py"
    fake.write_text("import sys; print('arguments', sys.argv[1:]); sys.exit(3)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert Sessions().run("alone-tl-nn") == (3, "arguments ['--sessions', 'alone-tl-nn']\n")


def test_stop_ends_what_runs(tmp_path, monkeypatch):
    (tmp_path / "nox.py").write_text("import time; time.sleep(600)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    sessions = Sessions()
    status = []
    thread = threading.Thread(target=lambda: status.append(sessions.run("x")[0]))
    thread.start()
    while not sessions._running:
        pass
    sessions.stop()
    thread.join(timeout=30)
    assert status == [-parallel_sessions.signal.SIGTERM]


def test_main_fails_with_a_session(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["parallel_sessions", "good", "bad"])
    monkeypatch.setattr(Sessions, "run", lambda self, name: (int(name == "bad"), ""))
    try:
        parallel_sessions.main()
    except SystemExit as end:
        assert end.code == 1
    assert "bad                      failed" in capsys.readouterr().out
