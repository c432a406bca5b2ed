from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.review_dealing import Card, arrange, count_of, deal, draw, wanted_verdicts

NAMES = ("ada", "bo", "cy", "dee", "eve")


def cards(n: int, kind: str = "shape", superclass: str = "clock", first: int = 0) -> list[Card]:
    return [Card(i, kind, superclass, f"{kind}-{superclass}-{i}") for i in range(first, first + n)]


def two_classes(n: int) -> list[Card]:
    return [*cards(n), *cards(n, "texture", "zebra", first=n)]


def test_a_draw_lies_in_the_unit_interval_and_is_spread_over_it() -> None:
    draws = sorted(draw(3, "x", number) for number in range(1000))
    assert draws[0] >= 0
    assert draws[-1] < 1
    assert max(abs(value - place / 1000) for place, value in enumerate(draws)) < 0.05


@pytest.mark.parametrize(
    ("share", "n", "count"), [(0.1, 3, 1), (0.1, 10, 1), (0.7, 10, 7), (1, 9, 9), (0.5, 0, 0)]
)
def test_a_share_is_counted_without_the_dust_of_floats(share: float, n: int, count: int) -> None:
    assert count_of(share, n) == count


def test_the_overlap_is_drawn_within_each_class() -> None:
    pile = two_classes(40)
    wanted = wanted_verdicts(pile, 7, 1, 0.1)
    twice = Counter(card.superclass for card in pile if wanted[card.item_id] == 2)
    assert twice == {"clock": 4, "zebra": 4}
    assert set(wanted.values()) == {1, 2}
    assert wanted == wanted_verdicts(pile[::-1], 7, 1, 0.1) != wanted_verdicts(pile, 8, 1, 0.1)
    assert set(wanted_verdicts(pile, 7, 2, 1.0).values()) == {3}


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(1, 40),
    n_reviewers=st.integers(1, 5),
    n_raters=st.integers(1, 3),
    overlap=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    seed=st.integers(0, 5),
)
def test_a_fresh_deal_is_even_blind_and_complete(
    n: int, n_reviewers: int, n_raters: int, overlap: float, seed: int
) -> None:
    pile = two_classes(n)
    wanted = wanted_verdicts(pile, seed, n_raters, overlap)
    dealt = deal(pile, wanted, {}, dict.fromkeys(NAMES[:n_reviewers], 0), {}, seed)
    loads = [len(given) for given in dealt.given.values()]
    assert max(loads) - min(loads) <= 1
    assert all(len(given) == len(set(given)) for given in dealt.given.values())
    assert sum(loads) == sum(min(n_reviewers, count) for count in wanted.values())
    assert dealt.n_waiting == sum(max(0, count - n_reviewers) for count in wanted.values())
    assert not any(dealt.taken.values())


def test_classes_are_spread_over_the_reviewers() -> None:
    pile = two_classes(50)
    dealt = deal(pile, wanted_verdicts(pile, 0, 1, 0), {}, dict.fromkeys(NAMES, 0), {}, 0)
    per_class = [Counter(card.superclass for card in given) for given in dealt.given.values()]
    assert per_class == [{"clock": 10, "zebra": 10}] * 5


def test_one_who_joins_gets_an_even_part_of_what_may_move() -> None:
    pile = cards(30)
    holders = {card.item_id: {NAMES[card.item_id % 2]} for card in pile}
    queues = {name: [card.item_id for card in pile if name in holders[card.item_id]] for name in NAMES[:2]}
    dealt = deal(pile, dict.fromkeys(range(30), 1), holders, {"ada": 15, "bo": 15, "cy": 0}, queues, 0)
    assert {name: len(given) for name, given in dealt.given.items()} == {"ada": 0, "bo": 0, "cy": 10}
    assert dealt.taken == {"ada": queues["ada"][:-6:-1], "bo": queues["bo"][:-6:-1], "cy": []}


def test_nobody_gets_a_picture_twice_when_queues_are_levelled() -> None:
    pile = cards(4)
    everybody = {card.item_id: {"ada", "bo"} for card in pile}
    dealt = deal(
        pile, dict.fromkeys(range(4), 2), everybody, {"ada": 4, "bo": 0}, {"ada": [0, 1, 2, 3], "bo": []}, 0
    )
    assert dealt.given == {"ada": [], "bo": []}
    assert dealt.taken == {"ada": [], "bo": []}


def test_the_order_is_that_of_seed_and_reviewer_alone() -> None:
    pile = two_classes(30)
    order = arrange("ada", pile, [], 0, 1)
    assert order == arrange("ada", pile[::-1], [], 0, 1)
    assert order != arrange("bo", pile, [], 0, 1)
    assert order != arrange("ada", pile, [], 0, 2)
    assert sorted(showing.item_id for showing in order) == list(range(60))
    assert [showing.item_id for showing in order] != sorted(showing.item_id for showing in order)


def test_kinds_do_not_mix() -> None:
    order = arrange("ada", two_classes(20), [], 1, 1)
    assert [showing.block for showing in order] == sorted(showing.block for showing in order)
    assert {showing.block for showing in order if showing.item_id < 20} == {0}


@pytest.mark.parametrize("n", [10, 100, 300])
def test_repeats_come_long_after_the_first_showing(n: int) -> None:
    order = arrange("ada", cards(n), cards(n // 10, first=1000), math.ceil(n * 0.03), 1)
    first = {s.item_id: place for place, s in enumerate(order) if s.role == "main"}
    repeats = [(place, s) for place, s in enumerate(order) if s.role == "repeat"]
    assert len(repeats) == math.ceil(n * 0.03)
    assert {s.presentation for _, s in repeats} == {2}
    assert min(place - first[s.item_id] for place, s in repeats) > n / 4
    assert not {s.item_id for _, s in repeats} & {s.item_id for s in order if s.role == "known_bad"}


def test_known_bad_pictures_are_mixed_in() -> None:
    order = arrange("ada", cards(100), cards(20, first=1000), 0, 1)
    places = [place for place, showing in enumerate(order) if showing.role == "known_bad"]
    assert len(places) == 20
    assert min(places) < 30
    assert max(places) > 90


def test_a_single_picture_is_not_repeated_at_once() -> None:
    assert [showing.role for showing in arrange("ada", cards(1), [], 1, 0)] == ["main"]
