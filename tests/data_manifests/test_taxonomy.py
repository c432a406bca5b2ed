from __future__ import annotations

from pathlib import Path

import pytest

from data_manifests.errors import CuebenchError, ProblemsError
from data_manifests.labels import imagenet_labels
from data_manifests.taxonomy import read_taxonomy, taxonomy_names


def problems_of(folder: Path, text: str) -> list[str]:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ProblemsError) as caught:
        read_taxonomy(str(path))
    assert str(caught.value).startswith(f"{path}: ")
    return list(caught.value.problems)


def test_shipped_taxonomy_has_ten_classes_of_each_kind_and_24_synsets() -> None:
    taxonomy = read_taxonomy("refined-bias-20")
    assert len(taxonomy.shape) == len(taxonomy.texture) == 10
    assert sum(map(len, taxonomy.shape.values())) == 13
    assert sum(map(len, taxonomy.texture.values())) == 11
    assert taxonomy.kinds("clock") == ("shape",)
    assert taxonomy.kinds("zebra") == ("texture",)
    assert taxonomy.kinds("sofa") == ()


@pytest.mark.parametrize("name", taxonomy_names())
def test_every_shipped_taxonomy_is_valid(name: str) -> None:
    assert read_taxonomy(name).name == name


def test_imagenet_labels_stand_in_index_order() -> None:
    wnids = list(imagenet_labels())
    assert len(wnids) == 1000
    # Indices as published with the paper's code.
    known = {"n02978881": 481, "n03584254": 605, "n04548280": 892, "n06596364": 917, "n02504458": 386}
    assert {wnid: wnids.index(wnid) for wnid in known} == known


def test_all_mistakes_are_listed_at_once(tmp_path: Path) -> None:
    text = """
    nmae = "mine"
    [shape]
    clock = ["wall clok", "n99999999"]
    "two words" = ["n04548280"]
    cup = ["n04548280"]
    ball = "n04254680"
    """
    assert problems_of(tmp_path, text) == [
        "nmae: unknown key (did you mean `name`?); known are name, label_space, shape, texture",
        "name: expected letters, digits, `-` and `_`, got None",
        "shape.clock: 'wall clok' is not a WordNet id such as \"n04548280\" "
        "(did you mean n04548280, wall clock?)",
        "shape.clock: n99999999 is not one of the 1,000 of imagenet-1k",
        "shape.two words: a superclass is a folder name of letters, digits, `-` and `_`",
        "shape.cup: n04548280 already belongs to shape.two words",
        "shape.ball: expected a list of WordNet ids, got 'n04254680'",
    ]


def test_a_taxonomy_without_classes_is_refused(tmp_path: Path) -> None:
    assert problems_of(tmp_path, 'name = "empty"') == [
        'shape, texture: no superclass in either; write e.g. [shape] and clock = ["n04548280"]'
    ]


def test_wrong_types_are_named(tmp_path: Path) -> None:
    assert problems_of(tmp_path, 'name = "x"\nlabel_space = "cifar"\nshape = 3') == [
        "label_space: expected one of imagenet-1k, wordnet, none, got 'cifar'",
        "shape: expected a table of superclasses, got 3",
    ]


def test_broken_toml_names_the_line(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, 'name = "x"\n[shape\n')
    assert problem.startswith("not valid TOML: ")
    assert "line 2" in problem


def test_latin_1_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes('name = "Größe"'.encode("latin-1"))
    with pytest.raises(ProblemsError, match="byte 10: not UTF-8; save the file as UTF-8"):
        read_taxonomy(str(path))


def test_wordnet_label_space_accepts_ids_outside_of_imagenet(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "x"\nlabel_space = "wordnet"\n[texture]\nfelt = ["n03325941"]', encoding="utf-8")
    assert read_taxonomy(str(path)).wnids("texture", "felt") == ("n03325941",)


def test_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(CuebenchError, match=r"refined-bais: .*did you mean `refined-bias-20`"):
        read_taxonomy("refined-bais")


def test_missing_file_is_named() -> None:
    with pytest.raises(CuebenchError, match=r"nowhere\.toml: no such file"):
        read_taxonomy("nowhere.toml")


def test_a_superclass_may_have_both_kinds(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "mine.toml"
    ids = 'cat = ["n02123045"]'
    path.write_text(f'name = "x"\n[shape]\n{ids}\n[texture]\n{ids}', encoding="utf-8")
    taxonomy = read_taxonomy(str(path))
    assert taxonomy.kinds("cat") == ("shape", "texture")
    assert taxonomy.wnids("texture", "cat") == ("n02123045",)
    assert not caplog.records


def test_other_ids_as_a_shape_than_as_a_texture_are_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "mine.toml"
    text = 'name = "x"\n[shape]\ncat = ["n02123045"]\n[texture]\ncat = ["n02123159"]'
    path.write_text(text, encoding="utf-8")
    assert read_taxonomy(str(path)).wnids("texture", "cat") == ("n02123159",)
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}: cat has other WordNet ids as a shape than as a texture; is that meant?"
    ]


def test_a_superclass_without_an_id_needs_a_label_space_of_none(tmp_path: Path) -> None:
    text = 'name = "x"\n[shape]\ngravel = []'
    assert problems_of(tmp_path, text) == [
        'shape.gravel: no WordNet id; name one, or write label_space = "none"'
    ]
    path = tmp_path / "free.toml"
    path.write_text(f'label_space = "none"\n{text}', encoding="utf-8")
    assert read_taxonomy(str(path)).wnids("shape", "gravel") == ()


def test_superclasses_that_differ_by_case_alone_are_refused(tmp_path: Path) -> None:
    text = 'name = "x"\nlabel_space = "none"\n[shape]\ncat = []\nDog = []\n[texture]\ncat = []\ndog = []'
    assert problems_of(tmp_path, text) == [
        "Dog, dog: differ by case alone, and are one folder on some systems; keep one"
    ]
