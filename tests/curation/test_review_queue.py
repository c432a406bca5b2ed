from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import select

from curation.answers import ClientEvent, open_session, record_events
from curation.database import Store, open_store
from curation.review import accepted_hashes, assign, import_review
from curation.tables import Campaign
from curation.work_queue import pending, progress
from data_manifests.errors import CuebenchError
from tests.curation.review_run import Showing, answer, showings, write_cues, write_images

TEAM = ["ada", "bo", "cy"]


def loads(record: Store) -> dict[str, int]:
    return dict(Counter(showing.reviewer for showing in showings(record, "first") if showing.role == "main"))


def content(queue: list[Showing]) -> list[tuple[str, str, int]]:
    """Return what a queue shows, without the random names of a database."""
    return [(showing.sha256, showing.role, showing.presentation) for showing in queue]


def test_assigning_opens_the_review_and_deals_evenly(record: Store, tmp_path: Path) -> None:
    import_review(record, "first", str(write_cues(tmp_path / "run", 25)), overlap=0.2)
    summary = assign(record, "first", TEAM)
    assert loads(record) == {"ada": 20, "bo": 20, "cy": 20}
    assert [(q.reviewer, q.n_new, q.n_pending) for q in summary.reviewers] == [
        (name, 21, 21) for name in TEAM
    ]
    with record.read() as session:
        assert session.scalar(select(Campaign.state)) == "open"


def test_overlapping_pictures_go_to_different_people_who_can_not_tell(record: Store, tmp_path: Path) -> None:
    import_review(record, "first", str(write_cues(tmp_path / "run", 10)), overlap=0.3)
    assign(record, "first", TEAM)
    main = [showing for showing in showings(record, "first") if showing.role == "main"]
    seen_by = Counter(showing.item_id for showing in main)
    assert Counter(seen_by.values()) == {1: 14, 2: 6}
    assert len({(showing.item_id, showing.reviewer) for showing in main}) == len(main)
    task = pending(record, main[0].rater_id, 1, 1)[0]
    assert (task.choices, task.answer) == ((), None)


def test_everything_twice(record: Store, tmp_path: Path) -> None:
    import_review(record, "first", str(write_cues(tmp_path / "run", 6)), overlap=1.0)
    assign(record, "first", TEAM)
    assert loads(record) == {"ada": 8, "bo": 8, "cy": 8}


def test_the_queue_is_that_of_the_seed_in_any_database(tmp_path: Path) -> None:
    run = str(write_cues(tmp_path / "run", 20))
    queues = []
    for name, seed, team in (("a", 1, TEAM), ("b", 1, TEAM[::-1]), ("c", 2, TEAM)):
        record = open_store(str(tmp_path / f"{name}.db"))
        import_review(record, "first", run, seed=seed)
        assign(record, "first", team)
        queues.append({name: content(showings(record, "first", name)) for name in TEAM})
        record.close()
    assert queues[0] == queues[1] != queues[2]
    assert len({tuple(queue) for queue in queues[0].values()}) == 3


def test_repeats_and_known_bad_pictures_are_in_every_queue(record: Store, tmp_path: Path) -> None:
    bad = write_images(tmp_path / "bad", ["shape/clock/a.png", "texture/zebra/b.png"])
    import_review(record, "first", str(write_cues(tmp_path / "run", 60)), overlap=0, known_bad=str(bad))
    assign(record, "first", ["ada", "bo"])
    for name in ("ada", "bo"):
        queue = showings(record, "first", name)
        assert Counter(showing.role for showing in queue) == {"main": 60, "repeat": 2, "known_bad": 2}
        main = {showing.item_id for showing in queue if showing.role == "main"}
        assert {s.item_id for s in queue if s.role == "repeat"} <= main
        assert [showing.position for showing in queue] == list(range(1, 65))


def test_known_bad_pictures_that_come_later_are_dealt(record: Store, tmp_path: Path) -> None:
    run = str(write_cues(tmp_path / "run", 4))
    import_review(record, "first", run)
    assign(record, "first", ["ada"])
    import_review(record, "first", run, known_bad=str(write_images(tmp_path / "bad", ["shape/clock/a.png"])))
    assert assign(record, "first").reviewers[0].n_new == 1
    assert assign(record, "first").reviewers[0].n_new == 0


def test_assigning_again_changes_nothing(record: Store, tmp_path: Path) -> None:
    import_review(record, "first", str(write_cues(tmp_path / "run", 10)))
    assign(record, "first", TEAM)
    before = [showing.id for showing in showings(record, "first")]
    summary = assign(record, "first", TEAM)
    assert [showing.id for showing in showings(record, "first")] == before
    assert {(q.n_new, q.n_taken) for q in summary.reviewers} == {(0, 0)}


def test_one_who_joins_gets_an_even_part_of_what_is_open(record: Store, tmp_path: Path) -> None:
    import_review(record, "first", str(write_cues(tmp_path / "run", 30)), overlap=0, repeat_share=0)
    assign(record, "first", ["ada", "bo"])
    done = [*showings(record, "first", "ada")[:12], *showings(record, "first", "bo")[:3]]
    answer(record, done, "accept")
    summary = assign(record, "first", ["cy"])
    assert [(q.reviewer, q.n_answered, q.n_pending) for q in summary.reviewers] == [
        ("ada", 12, 15),
        ("bo", 3, 15),
        ("cy", 0, 15),
    ]
    assert [(q.n_new, q.n_taken) for q in summary.reviewers] == [(0, 3), (0, 12), (15, 0)]
    everything = showings(record, "first")
    assert {showing.id for showing in done} <= {showing.id for showing in everything}
    assert len({showing.item_id for showing in everything}) == len(everything) == 60


def test_what_was_looked_at_does_not_move(record: Store, tmp_path: Path) -> None:
    import_review(record, "first", str(write_cues(tmp_path / "run", 5)), overlap=0, repeat_share=0)
    assign(record, "first", ["ada"])
    queue = showings(record, "first")
    looked = [ClientEvent(showing.id, showing.id, "shown") for showing in queue]
    record_events(record, queue[0].rater_id, None, looked)
    assign(record, "first", ["bo"])
    assert loads(record) == {"ada": 10}


def test_what_may_be_on_the_screen_does_not_move(record: Store, tmp_path: Path) -> None:
    import_review(record, "first", str(write_cues(tmp_path / "run", 30)), overlap=0, repeat_share=0)
    assign(record, "first", ["ada"])
    queue = showings(record, "first")
    open_session(record, queue[0].rater_id, 1, "tab")
    assign(record, "first", ["bo", "cy", "dee"])
    kept = {showing.id for showing in showings(record, "first", "ada")}
    assert kept == {showing.id for showing in queue[:24]}
    assert loads(record) == {"ada": 24, "bo": 12, "cy": 12, "dee": 12}


def test_a_repeat_goes_with_its_first_showing(record: Store, tmp_path: Path) -> None:
    import_review(record, "first", str(write_cues(tmp_path / "run", 30)), overlap=0, repeat_share=0.5)
    assign(record, "first", ["ada"])
    assign(record, "first", ["bo"])
    for name in ("ada", "bo"):
        queue = showings(record, "first", name)
        main = {showing.item_id for showing in queue if showing.role == "main"}
        repeats = {showing.item_id for showing in queue if showing.role == "repeat"}
        assert len(main) == 30
        assert repeats
        assert repeats <= main


def test_a_picture_whose_repeat_was_answered_does_not_move(record: Store, tmp_path: Path) -> None:
    import_review(record, "first", str(write_cues(tmp_path / "run", 4)), overlap=0, repeat_share=0.5)
    assign(record, "first", ["ada"])
    repeats = [showing for showing in showings(record, "first") if showing.role == "repeat"]
    answer(record, repeats, "accept")
    assign(record, "first", ["bo"])
    kept = {showing.item_id for showing in showings(record, "first", "ada") if showing.role == "main"}
    assert {showing.item_id for showing in repeats} <= kept


def test_one_who_leaves_keeps_their_verdicts_and_gives_the_rest_to_the_others(
    record: Store, tmp_path: Path
) -> None:
    import_review(record, "first", str(write_cues(tmp_path / "run", 10)), overlap=0, repeat_share=0)
    assign(record, "first", ["ada", "bo"])
    queue = showings(record, "first", "bo")
    answer(record, queue[:4], "accept")
    record_events(record, queue[4].rater_id, None, [ClientEvent("e", queue[4].id, "shown")])
    summary = assign(record, "first", release=["bo"])
    assert [(q.reviewer, q.n_new, q.n_taken, q.n_pending) for q in summary.reviewers] == [
        ("ada", 6, 0, 16),
        ("bo", 0, 5, 1),  # it was shown: the record keeps it
    ]
    answer(record, showings(record, "first", "ada"), "accept")
    assert set(accepted_hashes(record, "first").values()) == {"accepted"}
    assert [q.n_new for q in assign(record, "first").reviewers] == [0]


def test_a_verdict_of_one_who_left_with_a_tab_open_still_arrives(record: Store, tmp_path: Path) -> None:
    import_review(record, "first", str(write_cues(tmp_path / "run", 5)), overlap=0, repeat_share=0)
    assign(record, "first", ["ada", "bo"])
    shown = showings(record, "first", "bo")
    open_session(record, shown[0].rater_id, 1, "tab")
    assign(record, "first", release=["bo"])
    assert loads(record) == {"ada": 10, "bo": 5}
    answer(record, showings(record, "first", "ada"), "accept")
    assert set(accepted_hashes(record, "first").values()) == {"accepted"}
    answer(record, shown[:1], "reject")
    assert accepted_hashes(record, "first")[shown[0].sha256] == "split"


def test_one_who_left_may_come_back(record: Store, tmp_path: Path) -> None:
    import_review(record, "first", str(write_cues(tmp_path / "run", 10)), overlap=0, repeat_share=0)
    assign(record, "first", ["ada", "bo"])
    assign(record, "first", release=["bo"])
    assert loads(record) == {"ada": 20}
    assign(record, "first", ["bo"])
    assert loads(record) == {"ada": 10, "bo": 10}


def test_second_verdicts_wait_until_there_is_a_second_reviewer(record: Store, tmp_path: Path) -> None:
    import_review(record, "first", str(write_cues(tmp_path / "run", 5)), overlap=1.0)
    alone = assign(record, "first", ["ada"])
    assert alone.n_waiting == 10
    assert "10 second verdicts wait for one more reviewer" in alone.to_text()
    together = assign(record, "first", ["bo"])
    assert together.n_waiting == 0
    assert loads(record) == {"ada": 10, "bo": 10}


def test_the_queue_is_what_the_app_shows(record: Store, tmp_path: Path) -> None:
    import_review(record, "first", str(write_cues(tmp_path / "run", 10)))
    assign(record, "first", ["ada"])
    queue = showings(record, "first")
    assert [task.assignment for task in pending(record, queue[0].rater_id, 1, 100)] == [s.id for s in queue]
    answer(record, queue[:3], "accept")
    found = progress(record, queue[0].rater_id, 1)
    assert (found.n_answered, found.n_total) == (3, len(queue))


def test_a_reviewer_of_two_reviews_has_two_queues(record: Store, tmp_path: Path) -> None:
    run = str(write_cues(tmp_path / "run", 5))
    for slug in ("first", "second"):
        import_review(record, slug, run, overlap=0, repeat_share=0)
        assign(record, slug, ["ada"])
    assert len(showings(record, "first")) == len(showings(record, "second")) == 10
    assert len({s.rater_id for slug in ("first", "second") for s in showings(record, slug)}) == 1


@pytest.mark.parametrize(
    ("reviewers", "release", "message"),
    [
        ([], [], "first: nobody to assign to; name at least one reviewer"),
        ([" "], [], "first: the name of a reviewer has 1 to 200 characters"),
        (["x" * 201], [], "first: the name of a reviewer has 1 to 200 characters"),
        (["ada"], ["ada"], "first: ada can't both join and leave"),
        ([], ["bo"], "first: bo has no queue to leave; reviewers are: nobody yet"),
    ],
)
def test_names_that_make_no_sense_are_refused(
    record: Store, tmp_path: Path, reviewers: list[str], release: list[str], message: str
) -> None:
    import_review(record, "first", str(write_cues(tmp_path / "run", 1)))
    with pytest.raises(CuebenchError, match=message):
        assign(record, "first", reviewers, release=release)


def test_an_unknown_review_is_refused(record: Store) -> None:
    with pytest.raises(CuebenchError, match="second: no such campaign; the database has none"):
        assign(record, "second", ["ada"])
