"""Questions about the place of a part, as new readers ask them: a page names the file, and the file has the answer."""

import re
import tomllib
from pathlib import Path

import pytest

from tools.packages import ROOT, packages

QUESTIONS = tomllib.loads(Path(__file__).with_name("questions.toml").read_text())["question"]


def names(file: Path) -> set[str]:
    """The names by which a page may give a file: its own without suffix, or its folder with a slash."""
    folder = f"{file.parent.name}/"
    return {folder} if file.name == "README.md" else {file.stem, folder}


def words(page: Path) -> set[str]:
    """The names of files without suffix, and of folders with a slash, that a page has in code spans."""
    spans = re.findall(r"`([^`\n]+)`", page.read_text())
    folders = {f"{folder}/" for span in spans for folder in re.findall(r"([\w.-]+)/", span)}
    return folders | {span.rsplit("/", 1)[-1].split(".")[0] for span in spans}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q["ask"])
def test_a_page_names_the_file_and_the_file_has_the_answer(question):
    page, file = ROOT / question["page"], ROOT / question["file"]
    assert names(file) & words(page), f"{question['page']} names neither the file nor its folder"
    assert question["text"] in file.read_text()


def test_the_questions_cover_every_package():
    assert {question["file"].split("/")[1] for question in QUESTIONS} == set(packages())
