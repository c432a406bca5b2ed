"""The numbers of cues that came without a manifest: measured from their pixels, as the audit does."""

from __future__ import annotations

from collections.abc import Sequence

from curation.audit_files import AuditFile
from curation.audit_pictures import measure_picture
from curation.sieve_cases import Case


def measure_missing(cases: Sequence[Case]) -> list[Case]:
    """Return the cues, those without quality numbers with the numbers that their pixels tell.

    A picture that can't be read any more has its size only; the audit says what is wrong with it.
    """
    return [case if case.is_measured else _measured(case) for case in cases]


def _measured(case: Case) -> Case:
    file = AuditFile(case.sha256, case.file_url, case.cue_kind, case.superclass, case.grid)
    picture = measure_picture(file)
    return case.with_numbers({**picture.quality, "is_grey": float(picture.mode == "L")})
