"""The public names of a package that its tests do not name."""

from tools import untested_names
from tools.packages import packages


def test_a_name_counts_where_a_word_of_a_test_is_the_name(repository):
    repository.write(
        "tl-core/src/tl_core/a.py", "class Used: ...\ndef use(): ...\ndef _hidden(): ...\nLIMIT = 3\n"
    )
    repository.write("tl-core/src/tl_core/room/__init__.py", "async def wait():\n    def inner(): ...\n")
    repository.write("tl-core/src/tl_core/compat/b.py", "def old(): ...\n")
    repository.write("tl-core/src/tl_core/_c.py", "def private(): ...\n")
    repository.write("tl-core/tests/test_a.py", "from tl_core.a import Used, user\n")
    repository.write("tl-core/tests/data/names.json", '["wait"]')
    missing, count = untested_names.untested_names(packages(repository.root)["tl-core"])
    assert missing == [("tl_core.a", "use")] and count == 3


def test_shares_above_the_limit_fail(repository, monkeypatch, capsys):
    repository.write("tl-core/src/tl_core/a.py", "def use(): ...\n")
    monkeypatch.setattr(untested_names, "packages", lambda: packages(repository.root))
    monkeypatch.setattr("sys.argv", ["untested_names", "tl-core"])
    assert untested_names.main() == 1
    assert capsys.readouterr().out.splitlines()[0] == "tl_core.a.use"
    monkeypatch.setattr("sys.argv", ["untested_names", "tl-autograd"])
    assert untested_names.main() == 0
