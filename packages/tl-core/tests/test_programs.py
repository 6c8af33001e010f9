"""Programs that a command runs as `__main__`."""

import sys

import pytest

from tl_core.base import programs
from tl_core.base.programs import AS_TORCH_HINT, lacks_torch, refusal, run_program, status_of


@pytest.fixture(autouse=True)
def _process(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["command"])
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.mark.parametrize(
    ("text", "status", "error"),
    [
        ("import sys\nassert __name__ == '__main__' and sys.argv[1:] == ['-x', 'y']", 0, ""),
        ("raise SystemExit", 0, ""),
        ("raise SystemExit(7)", 7, ""),
        ("raise SystemExit('no data')", 1, "no data\n"),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt\n"),
        ("import absent_module", 1, "ModuleNotFoundError: No module named 'absent_module'\n"),
        (
            "open('/absent/file')",
            1,
            "FileNotFoundError: [Errno 2] No such file or directory: '/absent/file'\n",
        ),
    ],
)
def test_exit_status(text, status, error, tmp_path, capsys):
    program = tmp_path / "program.py"
    program.write_text(text)
    assert run_program("command", str(program), ["-x", "y"]) == status
    message = capsys.readouterr().err
    assert message.endswith(error) and bool(message) == bool(error)
    assert "runpy" not in message and "base/programs.py" not in message


def test_a_module(tmp_path, capsys):
    (tmp_path / "trained.py").write_text("import sys\nprint(__name__, sys.argv[1:])")
    sys.path.insert(0, str(tmp_path))
    assert run_program("command", "trained", ["a"], is_module=True) == 0
    assert capsys.readouterr().out == "__main__ ['a']\n"
    assert run_program("command", "absent.module", [], is_module=True) == 1
    assert capsys.readouterr().err.startswith("command: Error while finding module specification")


def test_programs_that_cannot_begin(tmp_path, capsys):
    (tmp_path / "folder").mkdir()
    for name in ("absent.py", "folder", ""):
        path = str(tmp_path / name) if name else ""
        assert refusal(path).startswith(f"there is no file {path!r} to run")
        assert run_program("command", path, []) == 2
        assert capsys.readouterr().err == f"command: {refusal(path)}\n"
    (tmp_path / "folder" / "__main__.py").write_text("raise SystemExit(5)")
    assert run_program("command", str(tmp_path / "folder"), []) == 5


def test_codes_of_system_exit(capsys):
    assert [status_of(SystemExit(code)) for code in (None, 0, 4, True)] == [0, 0, 4, 1]
    assert status_of(SystemExit(["a"])) == 1 and capsys.readouterr().err == "['a']\n"


@pytest.mark.parametrize(
    "line", ["import torch", "from torch import nn", "import torch.nn as nn", "    import torch as t"]
)
def test_a_program_that_imports_an_absent_torch(line, tmp_path, capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(programs, "find_spec", lambda name: None)
    program = tmp_path / "program.py"
    program.write_text(f"if True:\n    pass\n{line}\n")
    assert lacks_torch(str(program))
    program.write_text(f"import torchvision\n# {line}\n")
    assert not lacks_torch(str(program)) and not lacks_torch(str(tmp_path / "absent.py"))


def test_a_torch_that_is_there_is_not_missed(tmp_path, monkeypatch):
    program = tmp_path / "program.py"
    program.write_text("import torch\n")
    monkeypatch.setitem(sys.modules, "torch", sys)
    assert not lacks_torch(str(program))


def test_the_error_of_an_absent_torch_shows_the_variable(tmp_path, capsys):
    program = tmp_path / "program.py"
    program.write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n")
    assert run_program("command", str(program), []) == 1
    assert capsys.readouterr().err.endswith(f"No module named 'torch'\ncommand: {AS_TORCH_HINT}\n")
