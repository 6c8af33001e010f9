"""Releases and what a change affects."""

import pytest

from tools import release, wheels
from tools.affected import affected
from tools.packages import Package, packages
from tools.sizes import report


@pytest.fixture
def core(repository):
    folder = repository.root / "packages" / "tl-core"
    (folder / "CHANGELOG.md").write_text("# Changes\n\n<!-- releases -->\n\n## 0.1.0 (2026-11-01)\n")
    return Package(folder)


def test_the_version_is_written_where_it_stands(core):
    release.set_version(core, release.next_version(core, "0.2.0"))
    assert core.version == "0.2.0"


@pytest.mark.parametrize("version", ["0.1.0", "0.0.9", "1.0", "0.2.0rc1", "v0.2.0"])
def test_versions_that_are_none_or_not_newer_are_refused(core, version):
    with pytest.raises(release.ReleaseError, match=version):
        release.next_version(core, version)


def test_a_release_needs_something_to_tell(core):
    with pytest.raises(release.ReleaseError, match="changes/ is empty"):
        release.prepare(core, "0.2.0")


def test_a_tag_that_agrees_names_its_package(core):
    assert release.verify("tl-core-v0.1.0", {"tl-core": core}) is core


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        ("v0.1.0", "expected <dist>-vX.Y.Z"),
        ("tl-other-v0.1.0", "no package 'tl-other'"),
        ("tl-core-v0.2.0", "the version of tl-core is 0.1.0"),
    ],
)
def test_a_tag_that_disagrees_is_refused(core, tag, message):
    with pytest.raises(release.ReleaseError, match=message):
        release.verify(tag, {"tl-core": core})


def test_a_tag_without_a_section_in_the_changelog_is_refused(core):
    (core.folder / "CHANGELOG.md").write_text("# Changes\n")
    with pytest.raises(release.ReleaseError, match="no section"):
        release.verify("tl-core-v0.1.0", {"tl-core": core})


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
