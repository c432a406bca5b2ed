from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select

from curation.answers import ClientEvent, open_session, record_events
from curation.database import Store
from curation.queue_rows import N_KEPT_AHEAD
from curation.review import assign, import_review
from curation.sieve import rank_review
from curation.sieve_order import DRAWN_EVERY, Rank, sift
from curation.tables import Event
from curation.work_queue import pending
from tests.curation.review_run import Showing, answer, showings
from tests.curation.sieve_cases import cases_of, measured_run, small_review, verdict_by_clutter


@pytest.fixture
def review(record: Store, tmp_path: Path) -> Store:
    return small_review(record, tmp_path)


def judge_some(store: Store, n: int) -> None:
    for name in ("ada", "bo"):
        main = [showing for showing in showings(store, "first", name) if showing.role == "main"]
        answer(store, main[::2][:n], verdict_by_clutter(store))


def places(queue: list[Showing]) -> dict[str, tuple[int, int]]:
    return {showing.id: (showing.block, showing.position) for showing in queue}


def _answers(store: Store) -> dict[int, bool | None]:
    cases = cases_of(store)
    return {case.item_id: case.is_accepted for case in cases}


def test_a_rank_moves_only_what_nobody_has_opened_within_its_block(review: Store) -> None:
    judge_some(review, 5)
    opened = showings(review, "first", "ada")[-1]
    record_events(review, opened.rater_id, None, [ClientEvent("e", opened.id, "shown")])
    before = {name: showings(review, "first", name) for name in ("ada", "bo")}
    report = rank_review(review, "first")
    assert sum(report.moved.values()) > 20
    for name, queue in before.items():
        after = showings(review, "first", name)
        assert {showing.id for showing in after} == {showing.id for showing in queue}
        assert sorted(places(after).values()) == sorted(places(queue).values())
        repeated = {showing.item_id for showing in queue if showing.role == "repeat"}
        assert repeated
        fixed = [s for s in queue if s.role != "main" or s.item_id in repeated]
        done = [s for s in queue if s.role == "main"][::2][:5]
        assert all(places(after)[showing.id] == places(queue)[showing.id] for showing in [*fixed, *done])
        assert {s.id: s.block for s in after} == {s.id: s.block for s in queue}
    assert places(showings(review, "first", "ada"))[opened.id] == places(before["ada"])[opened.id]


def test_ranking_again_changes_nothing(review: Store) -> None:
    rank_review(review, "first")
    queue = places(showings(review, "first"))
    again = rank_review(review, "first")
    assert again.moved == {"ada": 0, "bo": 0}
    assert places(showings(review, "first")) == queue


def test_nothing_but_places_changes(review: Store) -> None:
    judge_some(review, 18)
    with review.read() as session:
        events = session.scalars(select(Event.event_id).order_by(Event.id)).all()
    answered = {case_id: said for case_id, said in _answers(review).items() if said is not None}
    rank_review(review, "first")
    with review.read() as session:
        assert session.scalars(select(Event.event_id).order_by(Event.id)).all() == events
    assert {case_id: said for case_id, said in _answers(review).items() if said is not None} == answered


def test_what_is_on_a_screen_stays_there(review: Store) -> None:
    queue = showings(review, "first", "ada")
    open_session(review, queue[0].rater_id, 1, "tab")
    rank_review(review, "first")
    after = showings(review, "first", "ada")
    assert [showing.id for showing in after[:N_KEPT_AHEAD]] == [
        showing.id for showing in queue[:N_KEPT_AHEAD]
    ]
    assert [showing.id for showing in after] != [showing.id for showing in queue]


def test_what_the_verdicts_leave_open_comes_first(record: Store, tmp_path: Path) -> None:
    import_review(record, "first", measured_run(tmp_path / "run", 100), overlap=0, repeat_share=0)
    assign(record, "first", ["ada"])
    shapes = [showing for showing in showings(record, "first") if showing.block == 0]
    rng = np.random.default_rng(0)
    judged = [shapes[place] for place in rng.permutation(len(shapes))[:60]]
    answer(record, judged, verdict_by_clutter(record))
    report = rank_review(record, "first")
    assert report.ordered_by == "verdicts"
    chance = {row.sha256: row.chance for row in report.proposals}
    done = {showing.id for showing in judged}
    queue = [s for s in showings(record, "first") if s.block == 0 and s.id not in done]
    doubts = [abs((chance[showing.sha256] or 0) - 0.5) for showing in queue]
    ranked = [value for place, value in enumerate(doubts) if place % DRAWN_EVERY != DRAWN_EVERY - 1]
    assert ranked[:8] == sorted(doubts)[:8]
    assert pending(record, queue[0].rater_id, 1, 1)[0].assignment == queue[0].id


def test_every_fifth_place_is_drawn() -> None:
    ranks = {item: Rank(1 - item / 100, f"{item:03}") for item in range(100)}
    order = sift("ada", ranks, 0)
    assert sorted(order) == list(range(100))
    ranked = [item for place, item in enumerate(order) if place % DRAWN_EVERY != DRAWN_EVERY - 1]
    drawn = order[DRAWN_EVERY - 1 :: DRAWN_EVERY]
    assert ranked == sorted(ranked)
    assert max(drawn[:10]) > 60
    assert drawn[:10] != sift("bo", ranks, 0)[DRAWN_EVERY - 1 :: DRAWN_EVERY][:10]
    assert order == sift("ada", dict(reversed(ranks.items())), 0)


def test_people_go_on_while_queues_are_ranked(review: Store) -> None:
    queue = {name: showings(review, "first", name) for name in ("ada", "bo")}

    def judge(name: str) -> None:
        for showing in queue[name]:
            answer(review, [showing], "accept")

    with ThreadPoolExecutor(4) as pool:
        judging = [pool.submit(judge, name) for name in queue]
        ranking = [pool.submit(rank_review, review, "first") for _ in range(4)]
        for done in judging:
            done.result()
        for ranked in ranking:
            assert ranked.result().n_waiting <= 80
    after = showings(review, "first")
    assert {showing.id for showing in after} == {s.id for own in queue.values() for s in own}
    assert all(said for said in _answers(review).values())


def test_pictures_that_come_later_wait_for_the_next_rank(review: Store, tmp_path: Path) -> None:
    rank_review(review, "first")
    import_review(review, "first", measured_run(tmp_path / "run", 45))
    assign(review, "first")
    assert sum(rank_review(review, "first").moved.values()) > 0
    assert rank_review(review, "first").n_waiting == 90
