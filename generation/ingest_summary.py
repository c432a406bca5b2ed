"""What a person wants to know of a source manifest before cues are made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from data_manifests.licenses import COMMON_LICENSES, is_known_license
from data_manifests.records import OK, CueKind, SourceRecord
from data_manifests.shipped import nearest
from data_manifests.taxonomy import Taxonomy
from generation.outcome import SOURCE_STATUSES

N_SHOWN = 10


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Problem(_Part):
    """Something that kept files or rows of the CSV out of the manifest, or that looks like a mistake."""

    KINDS: ClassVar[dict[str, tuple[str, str]]] = {
        "unknown_class": (
            "photographs in folders that are no superclass of the taxonomy; they have no row",
            "rename the folder, or add the superclass to the taxonomy",
        ),
        "bad_name": (
            "files whose names are not UTF-8; they have no row",
            "rename them, e.g. with convmv",
        ),
        "no_class": (
            "photographs outside of any folder; they have no row",
            "move them into <superclass>/, or name the superclass in the CSV",
        ),
        "wrong_kind": (
            "rows of the CSV with a cue kind that the superclass does not have; left out",
            "correct the cue of the row, or the taxonomy",
        ),
        "csv_without_file": (
            "rows of the CSV whose file is not there",
            "file_name is relative to the folder of photographs; fetch the file, or delete the row",
        ),
        "file_without_csv": (
            "photographs without a row in the CSV; ingested without provenance",
            "add a row for each",
        ),
        "class_disagrees": (
            "photographs in the folder of one superclass and the CSV row of another; the CSV counts",
            "move the file, or correct the row",
        ),
        "subfolder": (
            "files in folders below that of a superclass; they count as that superclass",
            "nothing, if that is meant; else move them out",
        ),
        "unknown_license": (
            "usable rows with a licence that is none of the common SPDX ids",
            "correct license_spdx (https://spdx.org/licenses), or write LicenseRef-NAME for one of your own",
        ),
    }

    kind: str
    n: int
    what: str
    to_do: str
    examples: tuple[str, ...]

    @classmethod
    def of(cls, kind: str, found: Sequence[str], n: int | None = None) -> Problem:
        """Return the problem of a kind with what was found; `n` if they are not listed singly."""
        what, to_do = cls.KINDS[kind]
        return cls(kind=kind, n=len(found) if n is None else n, what=what, to_do=to_do, examples=tuple(found))


class ClassBalance(_Part):
    """How many usable photographs a class has, and how many it lacks."""

    cue_kind: CueKind
    superclass: str
    n_rows: int
    n_ok: int
    target: int
    n_missing: int


class DuplicateGroups(_Part):
    """Groups of file names: the same pixels in a class, nearly the same, the same in several classes."""

    exact: tuple[tuple[str, ...], ...] = ()
    near: tuple[tuple[str, ...], ...] = ()
    in_two_classes: tuple[tuple[str, ...], ...] = ()


class LicenceGaps(_Part):
    """Rows by licence, and how many of the usable ones nobody may publish as they stand."""

    by_license: dict[str, int]
    n_without_license: int
    n_redistribution_unknown: int


class IngestSummary(_Part):
    """The summary of an ingest; `model_dump_json` is the machine-readable form."""

    n_photographs: int
    n_rows: int
    n_ok: int
    n_ignored: int
    by_status: dict[str, int]
    by_flag: dict[str, int]
    classes: tuple[ClassBalance, ...]
    duplicates: DuplicateGroups
    licences: LicenceGaps
    problems: tuple[Problem, ...]

    def to_text(self) -> str:
        """Return the summary for a terminal."""
        sections = [
            self._status_lines(),
            self._flag_lines(),
            self._class_lines(),
            self._duplicate_lines(),
            self._licence_lines(),
            self._problem_lines(),
        ]
        return "\n\n".join(text for text in ("\n".join(lines) for lines in sections) if text)

    def _status_lines(self) -> Iterator[str]:
        ignored = f", {_count(self.n_ignored, 'other file')} ignored" if self.n_ignored else ""
        photographs, rows = _count(self.n_photographs, "photograph"), _count(self.n_rows, "row")
        yield f"{photographs}, {rows}, {self.n_ok} ok{ignored}"
        statuses = [
            (status, n, SOURCE_STATUSES[status].to_do if status in SOURCE_STATUSES else "")
            for status, n in self.by_status.items()
        ]
        yield from _table(("status", "rows", "what to do"), statuses)

    def _flag_lines(self) -> Iterator[str]:
        if self.by_flag:
            yield from _table(("flag", "rows"), list(self.by_flag.items()))

    def _class_lines(self) -> Iterator[str]:
        rows = [(c.superclass, c.cue_kind, c.n_ok, c.target, c.n_missing or "-") for c in self.classes]
        yield from _table(("class", "cue", "ok", "target", "missing"), rows)

    def _duplicate_lines(self) -> Iterator[str]:
        named = (
            ("same photograph twice in a class", self.duplicates.exact),
            ("nearly the same in a class", self.duplicates.near),
            ("same photograph in two classes", self.duplicates.in_two_classes),
        )
        for title, groups in named:
            if groups:
                yield f"{title}: {_count(len(groups), 'group')}"
                yield from _shown([" = ".join(group) for group in groups])
        if not any(groups for _, groups in named):
            yield "no duplicates"

    def _licence_lines(self) -> Iterator[str]:
        gaps = self.licences
        listed = ", ".join(f"{name} {n}" for name, n in gaps.by_license.items())
        yield f"licences: {listed}"
        if gaps.n_without_license:
            yield f"  {gaps.n_without_license} usable rows without a licence: add license_spdx to the CSV"
        if gaps.n_redistribution_unknown:
            yield (
                f"  {gaps.n_redistribution_unknown} usable rows that say nothing on passing them on: "
                "add redistributable (yes, derivative-only, no) to the CSV"
            )

    def _problem_lines(self) -> Iterator[str]:
        for problem in self.problems:
            yield f"{problem.kind}: {problem.n} {problem.what}"
            yield f"  to do: {problem.to_do}"
            yield from _shown(problem.examples)


def summarise(
    records: Sequence[SourceRecord],
    taxonomy: Taxonomy,
    target_per_class: int,
    duplicates: DuplicateGroups,
    problems: Iterable[Problem],
    n_ignored: int,
) -> IngestSummary:
    """Return the summary of records; `target_per_class` is in usable photographs of a class and cue kind."""
    usable = [record for record in records if record.status == OK]
    return IngestSummary(
        n_photographs=len({record.file_name for record in records}),
        n_rows=len(records),
        n_ok=len(usable),
        n_ignored=n_ignored,
        by_status=_sorted_counts(record.status for record in records),
        by_flag=_sorted_counts(flag for record in records for flag in record.flags),
        classes=tuple(_balance(records, taxonomy, target_per_class)),
        duplicates=duplicates,
        licences=LicenceGaps(
            by_license=_sorted_counts(record.license_spdx for record in records),
            n_without_license=sum(record.license_spdx in ("", "NOASSERTION", "NONE") for record in usable),
            n_redistribution_unknown=sum(record.redistributable == "unknown" for record in usable),
        ),
        problems=(*problems, *_licence_problems(usable)),
    )


def _licence_problems(usable: Sequence[SourceRecord]) -> Iterator[Problem]:
    unknown = Counter(
        record.license_spdx
        for record in usable
        if record.license_spdx and not is_known_license(record.license_spdx)
    )
    if unknown:
        named = [
            f"{name}: {count} rows{nearest(name, sorted(COMMON_LICENSES))}"
            for name, count in sorted(unknown.items())
        ]
        yield Problem.of("unknown_license", named, unknown.total())


def _balance(records: Sequence[SourceRecord], taxonomy: Taxonomy, target: int) -> Iterator[ClassBalance]:
    n_rows = Counter((record.superclass, record.cue_kind) for record in records)
    n_ok = Counter((record.superclass, record.cue_kind) for record in records if record.status == OK)
    for superclass in taxonomy.superclasses:
        for kind in taxonomy.kinds(superclass):
            key = (superclass, kind)
            yield ClassBalance(
                cue_kind=kind,
                superclass=superclass,
                n_rows=n_rows[key],
                n_ok=n_ok[key],
                target=target,
                n_missing=max(0, target - n_ok[key]),
            )


def _sorted_counts(values: Iterable[str]) -> dict[str, int]:
    """Return value -> count, most frequent first."""
    return dict(sorted(Counter(values).items(), key=lambda item: (-item[1], item[0])))


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a table; numbers to the right."""
    cells = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    to_right = [any(isinstance(cell, int) for cell in column) for column in zip(*rows, strict=True)]
    for line in cells:
        padded = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, to_right, strict=True)
        )
        yield f"  {'  '.join(padded)}".rstrip()


def _shown(lines: Sequence[str]) -> Iterator[str]:
    yield from (f"    {line}" for line in lines[:N_SHOWN])
    if len(lines) > N_SHOWN:
        yield f"    ... and {len(lines) - N_SHOWN} more (all of them: --format json)"
