"""Other words for the same task: nouns, negations and languages, for everything that the shipped suites say."""

import re

import pytest

from pytest_vla.perturb import AXES, MAX_LEVEL
from pytest_vla.perturb.vocabulary import LANGUAGES
from pytest_vla.registry import get_suite

INVENTED = {"dax", "daxer", "blicket", "blicker", "wug", "zup", "modier", "kobar"}
AXES_OF_WORDS = ("language.synonyms", "language.negation", "language.translation")


def said(name):
    """Instructions of every cell of a suite, some episodes each."""
    suite = get_suite(name)
    for task, partition in suite.cells():
        for index in range(3):
            key = suite.episode(task, partition, index)
            if name == "bomb":
                from pytest_vla.suites.bomb.tasks import TASKS

                yield TASKS[task].instance(key).instruction
            else:
                yield suite.all_tasks[task].instance(key).prompt.text


@pytest.fixture(scope="module", params=["bomb", "vima"])
def texts(request):
    return sorted(set(said(request.param)))


def reworded(axis, level, text):
    return AXES[axis].text_filter(level, None)(text)


@pytest.mark.parametrize("axis", AXES_OF_WORDS)
def test_every_level_rewords_everything_that_is_said_and_keeps_marks_and_numbers(axis, texts):
    for text in texts:
        others = [reworded(axis, level, text) for level in range(1, MAX_LEVEL + 1)]
        assert len({text, *others}) == MAX_LEVEL + 1, text
        for other in others:
            assert re.findall(r"\{\w+\}|\d+", other) == re.findall(r"\{\w+\}|\d+", text), other


def test_no_word_of_the_shipped_suites_is_unknown(texts):
    known = {word for text in texts for word in re.findall(r"[a-z]+", re.sub(r"\{\w+\}", "", text.lower()))} - INVENTED
    for word in known:
        german = reworded("language.translation", 1, f"{word} {word}")
        polish = reworded("language.translation", MAX_LEVEL, f"{word} {word}")
        same = word in ("in", "magma", "orange", "paisley", "position", "granite", "tiger", "rosa", "robot")
        assert same or german != f"{word} {word}" or polish != f"{word} {word}", word


@pytest.mark.parametrize(
    ("axis", "level", "text"),
    [
        ("language.translation", 1, "lege den schwarzen Stein auf Position (3,4)"),
        ("language.translation", 3, "coloca el negro piedra en posición (3,4)"),
        ("language.synonyms", 1, "place the black piece at point (3,4)"),
        ("language.synonyms", 5, "place the black piece at spot (3,4)"),
        ("language.negation", 1, "do not forget to place the black stone at position (3,4)"),
    ],
)
def test_the_same_task_in_other_words(axis, level, text):
    assert reworded(axis, level, "place the black stone at position (3,4)") == text


def test_a_mark_gets_a_noun_where_the_text_has_none():
    assert reworded("language.synonyms", 1, "Rearrange to this {scene}.") == "Rearrange to this picture {scene}."
    assert reworded("language.synonyms", 2, "Put the {obj} away.") == "Put the object {obj} away."


def test_unknown_words_stay():
    assert reworded("language.translation", 2, "Zup the {obj}, Wug!") == "Zup le {obj}, Wug!"
    assert len(LANGUAGES) == MAX_LEVEL
