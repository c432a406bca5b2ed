from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from annotation_app.identity import (
    Visitor,
    check_listen_address,
    choose_sign_in,
    find_participant,
    find_staff,
    is_direct_and_local,
    is_loopback,
)
from annotation_app.settings import AppSettings, read_settings
from curation.campaigns import create_campaign, new_participant, sha256_text, staff
from curation.database import Store, open_store
from curation.tables import Rater
from data_manifests.errors import CuebenchError

EVERYWHERE = "0.0.0.0"  # noqa: S104 - said, not bound
NOBODY = AppSettings("sqlite://")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(str(tmp_path / "study.db"))
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True), ("127.8.9.1", True), ("::1", True), ("[::1]", True), ("LOCALHOST", True),
        (EVERYWHERE, False), ("::", False), ("192.168.1.4", False), ("", False), ("localhost.example.org", False),
    ],
)  # fmt: skip
def test_only_an_address_of_this_machine_is_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_listening_for_others_without_a_sign_in_is_refused_in_one_line() -> None:
    with pytest.raises(
        CuebenchError, match=r"--host 0\.0\.0\.0: .*nobody has to sign in.*--user-header"
    ) as caught:
        check_listen_address(EVERYWHERE, "name")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("sign_in", ["oidc", "header"])
def test_listening_for_others_is_allowed_with_a_sign_in(sign_in: str) -> None:
    check_listen_address(EVERYWHERE, choose_sign_in(*_configured(sign_in)))


def _configured(sign_in: str) -> tuple[dict[str, object] | None, dict[str, str]]:
    return ({"client_id": "x"}, {}) if sign_in == "oidc" else (None, {"X-Remote-User": "email"})


def test_oidc_goes_before_a_header_and_a_header_before_typed_names() -> None:
    headers = {"X-Remote-User": "email"}
    assert choose_sign_in({"client_id": "x"}, headers) == "oidc"
    assert choose_sign_in(None, headers) == "header"
    assert choose_sign_in({}, {}) == choose_sign_in(None, None) == "name"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"host": "127.0.0.1:8501"}, True),
        ({"host": "localhost", "origin": "http://localhost:8501"}, True),
        ({"host": "[::1]:8501"}, True),
        ({"host": "study.example.org"}, False),
        ({"host": "127.0.0.1:8501", "origin": "https://study.example.org"}, False),
        ({"host": "127.0.0.1:8501", "origin": "null"}, False),
        ({"host": "127.0.0.1:8501", "x-forwarded-for": "203.0.113.9"}, False),
        ({"host": "127.0.0.1:8501", "x-real-ip": "203.0.113.9"}, False),
        ({"host": "127.0.0.1:8501", "forwarded": "for=203.0.113.9"}, False),
        ({}, False),
    ],
)
def test_a_typed_name_counts_for_a_browser_on_this_machine_only(
    headers: dict[str, str], expected: bool
) -> None:
    assert is_direct_and_local(headers) is expected


def test_a_participant_is_found_by_their_token_of_which_only_the_hash_is_kept(store: Store) -> None:
    with store.write() as session:
        rater, token = new_participant(session, create_campaign(session, "paper", "study", {}, 0))
        rater_id = rater.id
        assert rater.token_sha256 == sha256_text(token)
    assert find_participant(store, token) == Visitor(rater_id, "participant")
    assert find_participant(store, token[:-1]) is None
    assert find_participant(store, sha256_text(token)) is None
    assert find_participant(store, "") is None


def test_a_participant_has_no_right_of_staff() -> None:
    assert not any(Visitor(1, "participant").may(role) for role in ("reviewer", "adjudicator", "admin"))


def test_each_role_of_staff_holds_the_rights_of_those_below() -> None:
    rights = {
        role: [each for each in ("reviewer", "adjudicator", "admin") if Visitor(1, role).may(each)]
        for role in ("reviewer", "adjudicator", "admin")
    }
    assert rights == {
        "reviewer": ["reviewer"],
        "adjudicator": ["reviewer", "adjudicator"],
        "admin": ["reviewer", "adjudicator", "admin"],
    }


def test_a_stranger_with_a_valid_sign_in_is_not_let_in(store: Store) -> None:
    assert find_staff(store, "eve@example.org", NOBODY, trusted=True) is None
    with store.read() as session:
        assert session.scalar(select(Rater)) is None


def test_staff_are_found_whatever_the_case_of_their_address(store: Store) -> None:
    with store.write() as session:
        known = staff(session, "Ana@Example.org").id
    visitor = find_staff(store, " ana@example.ORG ", NOBODY, trusted=True)
    assert visitor == Visitor(known, "reviewer", "Ana@Example.org")


def test_of_two_names_that_differ_in_case_only_the_one_of_the_same_spelling_is_meant(store: Store) -> None:
    with store.write() as session:
        ids = {name: staff(session, name).id for name in ("Ana", "ana")}
    found = [find_staff(store, name, NOBODY, trusted=True) for name in ids]
    assert [each.rater_id for each in found if each] == list(ids.values())


def test_an_admin_of_the_settings_is_made_on_first_sight(store: Store) -> None:
    settings = AppSettings("sqlite://", admins=frozenset({"bo@example.org"}))
    visitor = find_staff(store, "Bo@example.org", settings, trusted=True)
    assert visitor is not None
    assert visitor.role == "admin"
    assert find_staff(store, "bo@EXAMPLE.org", NOBODY, trusted=True) == visitor


def test_the_settings_raise_a_role_and_never_lower_it(store: Store) -> None:
    with store.write() as session:
        staff(session, "ana", "reviewer")
        staff(session, "bo", "admin")
    settings = AppSettings("sqlite://", adjudicators=frozenset({"ana", "bo"}))
    roles = [find_staff(store, name, settings, trusted=True) for name in ("ana", "bo")]
    assert [each.role for each in roles if each] == ["adjudicator", "admin"]


def test_a_typed_name_is_let_in_as_admin_where_no_admin_is_named(store: Store) -> None:
    visitor = find_staff(store, "cleo", NOBODY, trusted=False)
    assert visitor is not None
    assert (visitor.name, visitor.role) == ("cleo", "admin")
    with store.read() as session:
        assert session.get_one(Rater, visitor.rater_id).role == "reviewer"


def test_a_typed_name_is_a_reviewer_where_an_admin_is_named(store: Store) -> None:
    visitor = find_staff(store, "cleo", AppSettings("sqlite://", admins=frozenset({"bo"})), trusted=False)
    assert visitor is not None
    assert visitor.role == "reviewer"


def test_an_empty_name_is_nobody(store: Store) -> None:
    assert find_staff(store, "  ", NOBODY, trusted=False) is None


def test_the_settings_are_read_from_the_environment() -> None:
    environ = {"CUEBENCH_DB": "study.db", "CUEBENCH_ADMINS": "Bo@x.org, ,eve", "CUEBENCH_ADJUDICATORS": "ana"}
    assert read_settings(environ) == AppSettings(
        "study.db", admins=frozenset({"bo@x.org", "eve"}), adjudicators=frozenset({"ana"})
    )


def test_an_environment_without_a_database_says_what_to_run() -> None:
    with pytest.raises(
        CuebenchError, match=r"CUEBENCH_DB: expected the URL of a database.*cuebench annotate"
    ):
        read_settings({})
