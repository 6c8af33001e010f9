"""Releases and what a change affects."""

import re

import pytest

from tools import wheels
from tools.affected import affected
from tools.packages import ROOT, Package, packages
from tools.project import Project
from tools.release import versions
from tools.sizes import report

FACTS = Project("tl-", "https://host.example/tl", ("3.11",))


TOWNCRIER = """
[tool.towncrier]
name = "tl-core"
directory = "changes"
filename = "CHANGELOG.md"
title_format = "## {version} ({project_date})"
start_string = "<!-- releases -->\\n"
"""


@pytest.fixture
def core(repository):
    folder = repository.root / "packages" / "tl-core"
    (folder / "CHANGELOG.md").write_text("# Changes\n\n<!-- releases -->\n\n## 0.1.0 (2026-11-01)\n")
    return Package(folder)


def test_the_version_is_written_where_it_stands(core):
    versions.set_version(core, versions.next_version(core, "0.2.0"))
    assert core.version == "0.2.0"


@pytest.mark.parametrize("version", ["0.1.0", "0.0.9", "1.0", "0.2.0rc1", "v0.2.0"])
def test_versions_that_are_none_or_not_newer_are_refused(core, version):
    with pytest.raises(versions.ReleaseError, match=version):
        versions.next_version(core, version)


def test_a_release_needs_something_to_tell(core):
    with pytest.raises(versions.ReleaseError, match="changes/ is empty"):
        versions.prepare(core, "0.2.0")


def test_a_tag_that_agrees_names_its_package(core):
    assert versions.verify("tl-core-v0.1.0", {"tl-core": core}, FACTS) is core


def test_a_placeholder_for_the_address_is_refused(core):
    facts = Project("tl-", "https://host.invalid/tl", ("3.11",))
    with pytest.raises(versions.ReleaseError, match="placeholder"):
        versions.verify("tl-core-v0.1.0", {"tl-core": core}, facts)


def test_a_name_that_an_index_refuses_is_refused(repository):
    folder = repository.package("tl-data", "tl_data", [])
    (folder / "CHANGELOG.md").write_text("# Changes\n\n## 0.1.0 (2026-11-01)\n\n- First.\n")
    with pytest.raises(versions.ReleaseError, match="looks like tidata"):
        versions.verify("tl-data-v0.1.0", {"tl-data": Package(folder)}, FACTS)


def test_the_notes_of_a_release_are_its_section(core):
    text = "# Changes\n\n## 0.2.0 (2026-12-01)\n\n- New.\n\n## 0.1.0 (2026-11-01)\n\n- Old.\n"
    (core.folder / "CHANGELOG.md").write_text(text)
    assert [versions.section(core, v) for v in ("0.2.0", "0.1.0")] == ["- New.", "- Old."]


def test_the_present_version_is_prepared_until_the_changelog_has_it(core):
    (core.folder / "CHANGELOG.md").write_text("# Changes\n")
    assert versions.next_version(core, "0.1.0") == "0.1.0"


def test_a_release_writes_the_bounds_of_others(repository):
    core = Package(repository.root / "packages" / "tl-core")
    settings = core.folder / "pyproject.toml"
    settings.write_text(settings.read_text() + TOWNCRIER)
    (core.folder / "CHANGELOG.md").write_text("# Changes\n\n<!-- releases -->\n")
    repository.write("tl-core/changes/+one.feature.md", "A first function.\n")
    assert versions.prepare(core, "0.2.0") == ["tl-autograd", "tl-all"]
    text = (repository.root / "packages" / "tl-autograd" / "pyproject.toml").read_text()
    assert 'dependencies = ["tl-core>=0.2,<0.3"]' in text
    assert "A first function." in versions.section(core, "0.2.0")
    assert not list((core.folder / "changes").glob("*.md"))


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        ("v0.1.0", "expected <dist>-vX.Y.Z"),
        ("tl-other-v0.1.0", "no package 'tl-other'"),
        ("tl-core-v0.2.0", "the version of tl-core is 0.1.0"),
    ],
)
def test_a_tag_that_disagrees_is_refused(core, tag, message):
    with pytest.raises(versions.ReleaseError, match=message):
        versions.verify(tag, {"tl-core": core}, FACTS)


def test_a_tag_without_a_section_in_the_changelog_is_refused(core):
    (core.folder / "CHANGELOG.md").write_text("# Changes\n")
    with pytest.raises(versions.ReleaseError, match="no section"):
        versions.verify("tl-core-v0.1.0", {"tl-core": core}, FACTS)


EVERY = [
    "tl-core",
    "tl-autograd",
    "tl-nn",
    "tl-backends",
    "tl-checkpoint",
    "tl-amp",
    "tl-data",
    "tl-distributed",
    "tl-quantization",
    "tl-distributions",
    "tl-compiler",
    "tl-utils",
    "tl-profiler",
    "tl-all",
]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            ["packages/tl-core/csrc/a.cpp"],
            EVERY,
        ),
        (
            ["packages/tl-autograd/tests/test_a.py"],
            [
                "tl-autograd",
                "tl-nn",
                "tl-quantization",
                "tl-distributions",
                "tl-compiler",
                "tl-utils",
                "tl-profiler",
                "tl-all",
            ],
        ),
        (
            ["packages/tl-backends/src/tl_backends/a.py", "docs/index.md"],
            ["tl-backends", "tl-utils", "tl-all"],
        ),
        (["packages/tl-core/README.md", "packages/tl-core/changes/1.feature.md"], []),
        (["noxfile.py"], EVERY),
        (["docs/index.md", "README.md"], []),
    ],
)
def test_affected_packages(files, expected):
    assert affected(files, list(packages())) == [d for d in packages() if d in expected]


def test_packages_come_after_those_they_need():
    order = list(packages())
    for package in packages().values():
        assert all(order.index(d) < order.index(package.dist) for d in package.dependencies)


def test_packages_that_need_each_other_are_refused(repository):
    repository.package("tl-nn", "tl_nn", ["tl-amp"])
    repository.package("tl-amp", "tl_amp", ["tl-nn"])
    with pytest.raises(ValueError, match="in a circle"):
        packages(repository.root)


def test_a_broken_ceiling_is_reported():
    lines, good = report({"a": 10, "b": 30}, {"a": 20, "b": 20}, 100)
    assert not good
    assert [line for line in lines if "too big" in line] == [lines[1]]
    assert report({"a": 10}, {"a": 20}, 5)[1] is False
    assert report({"a": 10}, {"a": 20}, 50)[1] is True


def test_a_wheels_digest_follows_its_sources_only(core):
    before = wheels.digest(core, "")
    (core.folder / ".pytest_cache").mkdir()
    (core.folder / ".pytest_cache" / "x").write_text("x")
    (core.folder / "tests").mkdir()
    (core.folder / "tests" / "test_a.py").write_text("x")
    assert wheels.digest(core, "") == before
    assert wheels.digest(core, "address") != before
    core.version_file.write_text('__version__ = "0.2.0"\n')
    assert wheels.digest(core, "") != before


def test_no_page_installs_a_package_of_the_project_from_an_index():
    # Until the first release, the names on an index are nobody's: a stranger could register them.
    names = "|".join(re.escape(package.distribution) for package in packages().values())
    command = re.compile(rf"(pip|uv) .*install .*(?<![\w/.{{,-])({names})\b(?!-)")
    pages = [
        ROOT / "README.md",
        *ROOT.glob("packages/*/README.md"),
        *ROOT.glob(".github/*.md"),
        *ROOT.glob("docs/**/*.md"),
    ]
    lines = (
        line for page in pages if "generated" not in page.parts for line in page.read_text().splitlines()
    )
    assert [line for line in lines if command.search(line)] == []
    assert command.search("pip install 'tl-core[numpy]'") and not command.search(
        "pip install ./packages/tl-core"
    )
