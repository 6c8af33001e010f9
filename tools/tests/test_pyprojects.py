"""Settings that follow the prefix, the address and the versions."""

import pytest

from tools import pyprojects
from tools.packages import packages
from tools.project import Project, read
from tools.release.look_alikes import collisions, known_names, look

OTHER = Project("abc-", "https://host.example/abc", ("3.11", "3.15"))


@pytest.fixture
def texts(repository):
    """The settings of each package by its import name, after a change of the prefix."""
    folder = repository.root / "packages" / "tl-all"
    classifiers = '[project]\nclassifiers = [\n    "Programming Language :: Python :: 3.11",\n]\n'
    file = folder / "pyproject.toml"
    file.write_text(file.read_text().replace("[project]\n", classifiers))
    repository.write(
        "tl-core/src/tl_core/gone.py", "TEXT = \"pip install 'tl-autograd[x]', not tl-autograder\"\n"
    )
    repository.write("tl-core/src/tl_core/other.py", 'TEXT = "pip install tl-autograder"\n')
    pyprojects.write(pyprojects.updated(packages(repository.root), OTHER))
    return {p.import_name: p for p in packages(repository.root).values()}


def test_a_new_prefix_reaches_names_and_requirements(texts):
    assert texts["tl_core"].distribution == "abc-core"
    assert texts["tl"].settings["project"]["dependencies"] == ["abc-core>=0.1,<0.2", "abc-autograd>=0.1,<0.2"]
    assert texts["tl"].dist == "tl-all"


def test_a_new_prefix_reaches_pip_lines(texts):
    source = texts["tl_core"].source
    assert (source / "gone.py").read_text() == "TEXT = \"pip install 'abc-autograd[x]', not tl-autograder\"\n"
    assert (source / "other.py").read_text() == 'TEXT = "pip install tl-autograder"\n'


def test_versions_of_python_and_addresses_are_written(texts):
    settings = texts["tl"].settings["project"]
    assert settings["classifiers"] == [f"Programming Language :: Python :: 3.{minor}" for minor in (11, 15)]
    assert settings["urls"]["Issues"] == "https://host.example/abc/issues"


def test_a_second_run_changes_no_file(texts, repository):
    assert pyprojects.write(pyprojects.updated(packages(repository.root), OTHER)) == []


@pytest.mark.parametrize(
    ("version", "expected"),
    [("0.1.0", ">=0.1,<0.2"), ("0.9.3", ">=0.9,<0.10"), ("1.0.0", ">=1.0,<2"), ("2.3.1", ">=2.3,<3")],
)
def test_bounds(version, expected):
    assert pyprojects.bounds(version) == expected


@pytest.mark.parametrize("prefix", ["", "tl", "Tl-", "-", "t l-"])
def test_a_prefix_that_is_none_is_refused(prefix):
    with pytest.raises(ValueError, match="expected small letters"):
        read(f'prefix = "{prefix}"\nrepository = "https://a.b"\npythons = ["3.11"]')


def test_the_repository_states_its_facts():
    assert pyprojects.main() == 0


def test_names_that_look_alike():
    assert look("tl-nn") == look("TINN") == look("t1.n_n")
    assert look("tl-all") != look("tl-core")
    assert known_names("# no\n\nti  a library\ntinn\n") == ["ti", "tinn"]
    assert [c.other for c in collisions(["tl-nn", "tl-core"], "ti\ntinn")] == ["tinn"]
