"""The default study at its full size: 88 people with 100 trials, careless ones and quitters among them."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

import pytest
from sqlalchemy import select

from curation.agreement import fleiss_kappa
from curation.agreement_summary import summarise_agreement
from curation.database import open_store, utc_now
from curation.exchange import export_ratings
from curation.exchange_table import read_table
from curation.protocol import read_protocol
from curation.rating_records import ResponseRecord
from curation.ratings import make_ratings
from curation.screening import counted
from curation.study import expire_leases, finish, invite, participant_phase, plan_study, study_protocol
from curation.study_leases import later
from curation.study_staff import screen_study
from curation.tables import Item
from tests.curation.study_run import (
    attentive,
    careless,
    enter,
    know_everything,
    rater_of,
    take_part,
    write_run,
)

N_CARELESS, N_QUIT = 5, 3


@pytest.mark.slow
def test_the_export_of_a_full_study_gives_the_kappa_that_is_known(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'study.db'}")
    asked = read_protocol("default").model_copy(update={"instructions": "", "check": None})
    plan = plan_study(store, "full", write_run(tmp_path / "run", 50), asked, seed=7)
    assert (plan.n_participants, plan.n_images) == (88, {"shape": 440, "texture": 440})
    low_and_high = set(plan.n_ratings.values())
    assert low_and_high == {(10, 10)}
    protocol, known = study_protocol(store, "full"), know_everything(store)
    with store.read() as session:
        sha256_of = dict(session.execute(select(Item.public_id, Item.sha256)).all())
    rng = random.Random(1)  # noqa: S311
    wanted, expected = {"careless": set[str](), "quit": set[str]()}, []
    for number, (code, link) in enumerate(
        invite(store, "full", plan.n_participants, "https://cues.example.org")
    ):
        rater_id = rater_of(store, link)
        enter(store, rater_id, protocol)
        assert participant_phase(store, rater_id).name == "practice"
        if number < N_CARELESS:
            wanted["careless"].add(code)
            take_part(store, rater_id, careless(rng), known)
        elif number < N_CARELESS + N_QUIT:
            wanted["quit"].add(code)
            take_part(store, rater_id, attentive(rng), known, n_trials=30)
            continue
        else:
            given = take_part(store, rater_id, attentive(rng), known)
            expected += [(sha256_of[i], code, a) for i, a in given.items() if not known[i].is_photograph]
        assert finish(store, rater_id)
    expire_leases(store, "full", later(utc_now(), 100_000))
    screening = screen_study(store, "full")
    assert set(screening.flagged) == wanted["careless"] | wanted["quit"]
    tables = []
    for name in ("responses.csv", "responses.parquet"):
        export_ratings(store, "full", "study", str(tmp_path / name))
        tables.append(read_table(str(tmp_path / name), ResponseRecord)[0])
    rows, same = tables
    assert rows == same
    kept = counted(rows, set(screening.flagged), protocol.exclusions)
    by_kind: dict[str, list[ResponseRecord]] = defaultdict(list)
    for row in kept:
        by_kind[row.cue_kind].append(row)
    kind_of = {row.sha256: row.cue_kind for row in rows}
    for kind, own in by_kind.items():
        options = sorted(own[0].choices)
        found = make_ratings(
            [r.sha256 for r in own], [r.rater for r in own], [r.answer for r in own], options
        )
        direct = [entry for entry in expected if kind_of[entry[0]] == kind]
        shown, raters, answers = zip(*direct, strict=True)
        truth = make_ratings(shown, raters, answers, options)
        assert fleiss_kappa(found.counts) == fleiss_kappa(truth.counts)
        summary = summarise_agreement(found)
        assert summary.kappa.value == pytest.approx(
            0.81, abs=0.03
        )  # 90 of 100 right, 8 taken for the next class
        assert found.n_ratings == len(direct) > 3_900
    store.close()
