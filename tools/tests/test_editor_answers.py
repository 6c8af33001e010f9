"""The judgement of a language server's answers."""

import pytest

from tools.editor_answers import Question, problems, texts

OFFER = Question("completion", "x.", ("backward", "cpu"), ("Any",))
HOVER = Question("hover", "nn.Linear", ("in_features: int",))


@pytest.mark.parametrize(
    ("question", "found", "lines"),
    [
        (OFFER, ["backward", "cpu", "to"], []),
        (OFFER, ["backward", "cpu_", "Any"], ["lacks cpu", "offers Any"]),
        (HOVER, ["class Linear(in_features: int, bias: bool)", "markdown"], []),
        (HOVER, [], ["lacks in_features: int"]),
    ],
)
def test_problems(question, found, lines):
    assert problems(question, found) == lines


def test_texts_of_an_answer():
    answer = {"contents": {"kind": "markdown", "value": "text"}, "range": [{"line": 3}, None, "more"]}
    assert [*texts(answer)] == ["markdown", "text", "more"]
