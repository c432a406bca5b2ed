from __future__ import annotations

from pathlib import Path

import pytest

from curation.protocol import StudyProtocol, protocol_names, read_protocol
from curation.screening import ExclusionRules, read_exclusions
from data_manifests.errors import CuebenchError, ProblemsError


def problems_of(folder: Path, text: str) -> list[str]:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ProblemsError) as caught:
        read_protocol(str(path))
    assert str(caught.value).startswith(f"{path}: ")
    return list(caught.value.problems)


def test_the_shipped_protocols_are_the_designs_that_were_simulated() -> None:
    numbers = {
        name: (p.n_images_per_cue, p.n_ratings_per_image, p.n_trials_per_cue)
        for name in protocol_names()
        for p in [read_protocol(name)]
    }
    assert numbers == {
        "default": (440, 10, 50),
        "precision": (550, 8, 50),
        "coverage": (880, 5, 50),
        "pilot": (100, 10, 50),
        "crew": (0, 4, 0),
        "demo": (0, 12, 0),
    }
    assert all(read_protocol(name).name == name for name in numbers)


def test_the_files_say_what_the_defaults_are() -> None:
    assert read_protocol("default") == StudyProtocol(name="default")
    assert read_exclusions("default") == ExclusionRules()


def test_rules_are_named_written_out_or_in_a_file_and_part_of_the_hash(tmp_path: Path) -> None:
    rules = tmp_path / "strict.toml"
    rules.write_text("catch_min_failed = 1", encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(f'name = "mine"\nexclusions = "{rules.as_posix()}"', encoding="utf-8")
    from_file = read_protocol(str(path))
    path.write_text('name = "mine"\n[exclusions]\ncatch_min_failed = 1', encoding="utf-8")
    assert read_protocol(str(path)) == from_file
    assert from_file.exclusions.catch_min_failed == 1
    assert from_file.sha256 != StudyProtocol(name="mine").sha256


def test_a_protocol_survives_the_database() -> None:
    protocol = read_protocol("pilot")
    assert StudyProtocol.model_validate_json(protocol.model_dump_json()) == protocol


def test_all_mistakes_are_listed_with_the_nearest_key(tmp_path: Path) -> None:
    text = """
    name = "mine"
    n_image_per_cue = 3
    n_ratings_per_image = 1
    [exposure]
    mode = "short"
    [practice]
    n_trials = 2
    n_correct = 3
    [exclusions]
    catch_min_faild = 2
    """
    assert problems_of(tmp_path, text) == [
        "n_ratings_per_image: Input should be greater than or equal to 2, got 1",
        "practice: n_correct: 3 right of 2 trials can't be reached, got {'n_trials': 2, 'n_correct': 3}",
        "exposure.mode: Input should be 'unlimited' or 'brief', got 'short'",
        "exclusions.catch_min_faild: unknown key (did you mean `catch_min_failed`?)",
        "n_image_per_cue: unknown key (did you mean `n_images_per_cue`?)",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("n_ratings_per_image = 5", "min_ratings_per_image: 8 is more than n_ratings_per_image, 5"),
        ('cue_kinds = ["shape", "shape"]', "cue_kinds: every kind once, got ['shape', 'shape']"),
        (
            'options = {shape = ["a"]}',
            "options.shape: expected two or more different answers other than `none`",
        ),
        ('options = {shape = ["a", "none"]}', "options.shape: expected two or more different answers"),
        (
            'check = {answer = "maybe"}',
            "check: expected two or more different options, one of them the answer",
        ),
        ("[exposure]\nfixation_ms = nan", "exposure.fixation_ms: Input should be a finite number"),
        (
            "[exclusions.x]\ny = 1",
            "exclusions.x: unknown key; known are: catch_min_failed, check_min_failed, ",
        ),
        ("check = {zzz = 1}", "check.zzz: unknown key; known are: answer, options, question"),
        ("n_catch = false\nname2 = 1", "name2: unknown key (did you mean `name`?)"),
    ],
)
def test_a_mistake_is_named(text: str, problem: str, tmp_path: Path) -> None:
    (found,) = problems_of(tmp_path, f'name = "mine"\n{text}')
    assert found.startswith(problem)


def test_an_unknown_protocol_gets_a_suggestion() -> None:
    with pytest.raises(CuebenchError, match=r"defalt: .*did you mean `default`"):
        read_protocol("defalt")


def test_a_check_can_be_left_out() -> None:
    assert StudyProtocol(name="x", check=None).check is None


@pytest.mark.parametrize("name", protocol_names())
def test_a_protocol_written_out_is_the_same_protocol(name: str, tmp_path: Path) -> None:
    protocol = read_protocol(name).model_copy(update={"check": None, "consent": 'Two\nlines, "quoted".'})
    (tmp_path / "mine.toml").write_text(protocol.to_toml(), encoding="utf-8")
    assert read_protocol(str(tmp_path / "mine.toml")) == protocol


def test_false_switches_off_what_may_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\ncheck = false\n[exclusions]\ncatch_min_failed = false', encoding="utf-8")
    protocol = read_protocol(str(path))
    assert (protocol.check, protocol.exclusions.catch_min_failed) == (None, None)
    path.write_text('name = "mine"\npractice = false', encoding="utf-8")
    with pytest.raises(CuebenchError, match="practice: Input should be a valid dictionary"):
        read_protocol(str(path))
