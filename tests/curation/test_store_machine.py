"""Whatever people and networks do, in any order: the record holds what a simple model of it says."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from curation.answers import ClientEvent, open_session
from curation.campaigns import find_campaign, new_public_id
from curation.database import Store
from curation.snapshots import read_rows, read_snapshot, take_snapshot
from tests.curation.small_campaign import CHOICES, SmallCampaign, act, small_campaign, verdict

VERDICTS = ("accept", "reject", "unsure")
N_ITEMS = 2


@dataclass
class Model:
    """What should be in the record: `standing` by assignment, `stored` events by id with their flag."""

    kind: str
    standing: dict[str, str] = field(default_factory=dict)
    stored: dict[str, tuple[ClientEvent, str]] = field(default_factory=dict)
    frozen: bool = False

    def record(self, event: ClientEvent, *, newest: bool) -> str:
        """Take an event in and return how it is acknowledged."""
        if event.event_id in self.stored:
            return "duplicate"
        stands = event.assignment in self.standing
        if self.kind == "study" and event.kind in ("undo", "later"):
            return "refused"
        if event.kind == "undo" and not stands:
            return "refused"
        flag = ""
        if event.kind in ("answer", "undo"):
            late = stands and (self.kind == "study" or not newest)
            flag = "after_freeze" if self.frozen else "late_answer" if late else ""
        self.stored[event.event_id] = (event, flag)
        if not flag and event.kind == "undo":
            del self.standing[event.assignment]
        if not flag and event.answer is not None:
            self.standing[event.assignment] = event.answer
        return "stored"


class RecordMachine(RuleBasedStateMachine):
    """A rater with two pictures, browser tabs, and a network that doubles, delays and reorders."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store
        self.campaign: SmallCampaign
        self.model: Model
        self.tabs: list[str] = []
        self.outbox: list[ClientEvent] = []
        self.sent: list[ClientEvent] = []
        self.snapshots: list[tuple[int, dict[str, str]]] = []

    @initialize(kind=st.sampled_from(["review", "study"]))
    def begin(self, kind: str) -> None:
        self.campaign = small_campaign(self.store, kind, n_items=N_ITEMS)
        self.model = Model(kind)
        self.open_tab()

    @rule()
    def open_tab(self) -> None:
        tab = new_public_id()
        open_session(self.store, self.campaign.rater_id, self.campaign.campaign_id, tab)
        self.tabs.append(tab)

    @rule(number=st.integers(0, N_ITEMS - 1), choice=st.integers(0, 2))
    def answer(self, number: int, choice: int) -> None:
        answers = VERDICTS if self.model.kind == "review" else CHOICES
        self.outbox.append(verdict(self.campaign.assignments[number], answers[choice]))

    @rule(number=st.integers(0, N_ITEMS - 1), kind=st.sampled_from(["undo", "later", "shown", "interrupted"]))
    def do(self, number: int, kind: str) -> None:
        self.outbox.append(act(self.campaign.assignments[number], kind))

    @rule(data=st.data(), old_tab=st.booleans(), ack_is_lost=st.booleans())
    def send(self, data: st.DataObject, old_tab: bool, ack_is_lost: bool) -> None:
        """Send what waits, in any order, some of it twice; where the answer is lost, it waits on."""
        again = data.draw(st.lists(st.sampled_from(self.outbox), max_size=2)) if self.outbox else []
        events = data.draw(st.permutations([*self.outbox, *again]))
        self.deliver(events, self.tabs[0] if old_tab else self.tabs[-1])
        if not ack_is_lost:
            self.sent += self.outbox
            self.outbox = []

    @rule(data=st.data())
    def replay(self, data: st.DataObject) -> None:
        """Send again what was acknowledged long ago."""
        if self.sent:
            self.deliver([data.draw(st.sampled_from(self.sent))], self.tabs[-1])

    def deliver(self, events: list[ClientEvent], tab: str) -> None:
        acks = self.campaign.send(*events, session_id=tab)
        newest = tab == self.tabs[-1]
        expected = [(event.event_id, self.model.record(event, newest=newest)) for event in events]
        assert [(ack.event_id, ack.status) for ack in acks] == expected

    @rule(frozen=st.booleans())
    def freeze(self, frozen: bool) -> None:
        self.campaign.set_state("frozen" if frozen else "open")
        self.model.frozen = frozen

    @rule()
    def take_snapshot(self) -> None:
        table = take_snapshot(self.store, self.campaign.slug)
        self.snapshots.append((table.snapshot_id, dict(self.model.standing)))

    @invariant()
    def the_record_is_as_the_model_says(self) -> None:
        assert self.campaign.standing() == self.model.standing
        events = self.campaign.events()
        assert {event.event_id: event.flags for event in events} == {
            event_id: flag for event_id, (_, flag) in self.model.stored.items()
        }
        for _, group in itertools.groupby(
            sorted((event.assignment_id, event.seq) for event in events), lambda e: e[0]
        ):
            seqs = [seq for _, seq in group]
            assert seqs == list(range(1, len(seqs) + 1))

    @invariant()
    def the_exported_table_gives_the_answers_that_stand(self) -> None:
        with self.store.read() as session:
            rows = read_rows(session, find_campaign(session, self.campaign.slug), 2**31 - 1)
        answers = {self.campaign.assignments[row.position - 1]: row.answer for row in rows}
        assert {name: answer for name, answer in answers.items() if answer is not None} == self.model.standing

    def teardown(self) -> None:
        for snapshot_id, standing in self.snapshots:
            rows = read_snapshot(self.store, snapshot_id).rows
            answers = {self.campaign.assignments[row.position - 1]: row.answer for row in rows}
            assert {name: answer for name, answer in answers.items() if answer is not None} == standing


def test_the_record_agrees_with_a_model_of_it(record: Store) -> None:
    class Machine(RecordMachine):
        def __init__(self) -> None:
            super().__init__(record)

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=25,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
