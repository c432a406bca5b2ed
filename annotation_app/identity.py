"""Who is at the other end: participants by their link, staff by a sign-in, on one's own machine by a typed name.

Staff are known by what an identity provider (OIDC) or a proxy says of them. A typed name proves nothing, so it counts
only for a browser on the machine on which the app runs, and the app listens nowhere else without a sign-in.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from sqlalchemy import func, select

from annotation_app.settings import AppSettings
from curation.campaigns import participant_of, staff
from curation.database import Store
from curation.tables import Rater
from data_manifests.errors import CuebenchError

SignIn = Literal["oidc", "header", "name"]
MAX_NAME_CHARACTERS = 80

_RANKS = ("participant", "reviewer", "adjudicator", "admin")
_FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")


@dataclass(frozen=True)
class Visitor:
    """A person whom the record knows. `name` is what staff are called; a participant has none."""

    rater_id: int
    role: str
    name: str = ""

    def may(self, role: str) -> bool:
        """Return whether the rights of a role are among this visitor's: an admin's hold all of staff's."""
        return self.role != "participant" and _RANKS.index(self.role) >= _RANKS.index(role)


def is_loopback(host: str) -> bool:
    """Return whether an address is reached from this machine only.

    >>> [is_loopback(host) for host in ("127.0.0.1", "localhost", "[::1]", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    bare = host.strip("[]").lower()
    if bare == "localhost":
        return True
    try:
        return ipaddress.ip_address(bare).is_loopback
    except ValueError:
        return False


def choose_sign_in(auth: Mapping[str, object] | None, user_headers: Mapping[str, str] | None) -> SignIn:
    """Return how staff sign in: by the section `[auth]` of the secrets, by a proxy's header, or by typing a name."""
    if auth:
        return "oidc"
    return "header" if user_headers else "name"


def check_listen_address(host: str, sign_in: SignIn) -> None:
    """Refuse to listen for other machines while anybody may type any name.

    Raises
    ------
    CuebenchError
        If the address is not loopback and there is no sign-in.
    """
    if sign_in == "name" and not is_loopback(host):
        raise CuebenchError(
            f"--host {host}: other machines could reach the app, and nobody has to sign in; listen on 127.0.0.1, or "
            "set up OIDC ([auth] in .streamlit/secrets.toml) or a proxy's header (--user-header), see docs/deploy.md"
        )


def is_direct_and_local(headers: Mapping[str, str]) -> bool:
    """Return whether a request came from a browser on this machine, by no proxy: only then does a typed name count.

    `headers` are those of the request, their names in lower case.
    """
    if any(name in headers for name in _FORWARDED):
        return False
    hosts = [urlsplit(f"//{headers.get('host', '')}").hostname]
    if "origin" in headers:
        hosts.append(urlsplit(headers["origin"]).hostname)
    return all(host is not None and is_loopback(host) for host in hosts)


def find_participant(store: Store, token: str) -> Visitor | None:
    """Return the participant to whom the token of a link belongs; the record holds its hash only."""
    with store.read() as session:
        rater = participant_of(session, token)
        return Visitor(rater.id, rater.role) if rater is not None else None


def find_staff(store: Store, subject: str, settings: AppSettings, *, trusted: bool) -> Visitor | None:
    """Return the member of staff of an identity, if the record or the settings know them.

    Parameters
    ----------
    subject : an e-mail address, or a typed name; upper and lower case are the same
    trusted : whether an identity provider or a proxy vouches for it. Otherwise it is a name typed on this machine:
        anybody is let in, and where the settings name no admin, as one, since the database is theirs anyway.
    """
    subject = subject.strip()[:MAX_NAME_CHARACTERS]
    if not subject:
        return None
    granted = _granted(subject.lower(), settings)
    known = _known(store, subject)
    if known is None and granted is None and trusted:
        return None
    rater_id, role, name = known or (0, "", subject)
    wanted = max(role or "reviewer", granted or "reviewer", key=_RANKS.index)
    if wanted != role:
        rater_id = _enter(store, name, wanted)
    return Visitor(rater_id, wanted if trusted or settings.admins else "admin", name)


def _known(store: Store, subject: str) -> tuple[int, str, str] | None:
    """Return id, role and exact name of a member of staff; the same spelling goes before the same letters."""
    query = select(Rater.id, Rater.role, Rater.auth_subject).where(
        func.lower(Rater.auth_subject) == subject.lower(), Rater.role != "participant"
    )
    with store.read() as session:
        found = [(key, role, name or subject) for key, role, name in session.execute(query)]
    return min(found, key=lambda each: (each[2] != subject, each[0]), default=None)


def _granted(subject: str, settings: AppSettings) -> str | None:
    if subject in settings.admins:
        return "admin"
    return "adjudicator" if subject in settings.adjudicators else None


def _enter(store: Store, subject: str, role: str) -> int:
    """Make a member of staff, or raise the role of the one there is; return the id."""
    with store.write() as session:
        rater = staff(session, subject, role)
        rater.role = role
        return rater.id
