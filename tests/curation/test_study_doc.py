"""The tables of docs/study.md say what the models say."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import get_args

import pytest
from click.testing import CliRunner
from pydantic import BaseModel

from curation.gate_rules import GateRules
from curation.protocol import CONSENT, StudyProtocol, protocol_names
from curation.release_content import About
from curation.screening import ExclusionRules
from curation.study_commands import study
from tests.repository import ROOT

DOC = (ROOT / "docs" / "study.md").read_text(encoding="utf-8")
SECTIONS: dict[str, type[BaseModel]] = {
    "Protocol": StudyProtocol,
    "Rules of exclusion": ExclusionRules,
    "Gate rules": GateRules,
    "`release --about FILE`": About,
}
IN_WORDS = frozenset(
    {"consent", "instructions", "check.question", "check.options", "check.answer", "exclusions"}
)


def section(title: str) -> str:
    return DOC.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(text: str) -> dict[str, str]:
    """Return key -> default of a table; a star marks what may be switched off."""
    return dict(re.findall(r"^\| `([\w.]+)` \*? ?\| (?:`(.*?)`|[\w ]*) ?\|", text, re.MULTILINE))


def keys(model: type[BaseModel], before: str = "") -> Iterator[tuple[str, object]]:
    """Yield key, default of a model and of the tables in it; rules of exclusion have a section of their own."""
    for name, field in model.model_fields.items():
        inner = [a for a in (field.annotation, *get_args(field.annotation)) if isinstance(a, type)]
        table = next((a for a in inner if issubclass(a, BaseModel) and a is not ExclusionRules), None)
        if table is not None:
            yield from keys(table, f"{name}.")
        else:
            default = None if field.is_required() else field.get_default(call_default_factory=True)
            yield before + name, list(default) if isinstance(default, tuple) else default


@pytest.mark.parametrize("title", SECTIONS)
def test_every_key_stands_in_its_table_with_its_default(title: str) -> None:
    told, there = rows(section(title)), dict(keys(SECTIONS[title]))
    assert sorted(told) == sorted(there)
    for key in sorted(there.keys() - IN_WORDS):
        assert (tomllib.loads(f"x = {told[key]}")["x"] if told[key] else None) == there[key], key


def test_the_rules_that_may_be_switched_off_are_marked() -> None:
    marked = re.findall(r"^\| `(\w+)` \* \|", section("Rules of exclusion"), re.MULTILINE)
    fields = ExclusionRules.model_fields
    assert marked == [name for name in fields if type(None) in get_args(fields[name].annotation)]


def test_every_shipped_protocol_is_named_in_the_doc_and_in_the_help() -> None:
    help_text = CliRunner().invoke(study, ["plan", "--help"]).stdout
    for name in protocol_names():
        assert f"`{name}`" in section("Protocol")
        assert name in help_text


@pytest.mark.parametrize("lacking", ["institution", "contact", "duration"])
def test_the_doc_says_what_the_shipped_consent_lacks(lacking: str) -> None:
    assert f"**{lacking}**" in section("Your own texts")
    assert not re.search(lacking + r"|university|minutes|@", CONSENT, re.IGNORECASE)


def test_every_command_of_the_doc_is_there() -> None:
    named = set(re.findall(r"^cuebench study ([\w-]+)", DOC, re.MULTILINE))
    assert named <= set(study.commands)
    assert len(named) == 8
