from __future__ import annotations

from pathlib import Path

import pytest

from data_manifests.errors import CuebenchError
from data_manifests.labels import imagenet_labels
from data_manifests.taxonomy import read_taxonomy
from evaluation.zero_shot import read_prompts

SHA256 = "8664dfe98a8ab7d873a1c41dc7f95369db7a22878850c2302dcbf4f393d2b31a"


def test_the_shipped_words_name_every_label_in_its_place() -> None:
    prompts = read_prompts("imagenet-1k")
    assert prompts.wnids == list(imagenet_labels())
    assert len({name.lower() for name in prompts.names.values()}) == 1000


def test_a_word_of_the_shipped_list_can_not_change_unnoticed() -> None:
    assert read_prompts("imagenet-1k").sha256 == SHA256


def test_names_of_the_paper_say_which_thing_is_meant() -> None:
    names, taxonomy = read_prompts("imagenet-1k").names, read_taxonomy("refined-bias-20")
    (mouse,), (book,) = taxonomy.wnids("shape", "mouse"), taxonomy.wnids("shape", "book")
    assert (names[mouse], names[book]) == ("computer mouse", "comic book")


def test_a_sentence_has_the_name_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "words.toml"
    path.write_text('templates = ["a {}.", "the {}!"]\n[names]\nn1 = "cat"\nn2 = "dog {}"\n')
    prompts = read_prompts(str(path))
    assert prompts.sentences("n1") == ["a cat.", "the cat!"]
    assert prompts.sentences("n2")[0] == "a dog {}."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('templates = ["a cat"]\n[names]\na = "x"\nb = "y"\n', r"expected one {} in each.*got 'a cat'"),
        (
            'templates = ["{}"]\n[names]\na = "x"\nb = "x"\n',
            "x names two labels; no model can tell them apart",
        ),
        ('templates = []\n[names]\na = "x"\nb = "y"\n', "templates: Tuple should have at least 1 item"),
    ],
)
def test_words_that_can_not_work_are_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "words.toml"
    path.write_text(text)
    with pytest.raises(CuebenchError, match=message):
        read_prompts(str(path))
