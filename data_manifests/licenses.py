"""The licences that photographs come under, by their SPDX ids: the common ones of 700."""

from __future__ import annotations

import re

_CREATIVE_COMMONS = ("BY", "BY-SA", "BY-NC", "BY-NC-SA", "BY-ND", "BY-NC-ND")
_VERSIONS = ("1.0", "2.0", "2.5", "3.0", "4.0")

COMMON_LICENSES = frozenset(
    {
        *(f"CC-{terms}-{version}" for terms in _CREATIVE_COMMONS for version in _VERSIONS),
        *(
            "CC0-1.0",
            "CC-PDDC",
            "CC-PDM-1.0",
            "PDDL-1.0",
            "ODbL-1.0",
            "ODC-By-1.0",
            "C-UDA-1.0",
            "OGL-UK-3.0",
        ),
        *(
            "Apache-2.0",
            "BSD-2-Clause",
            "BSD-3-Clause",
            "GFDL-1.2-or-later",
            "GFDL-1.3-or-later",
            "GPL-2.0-only",
        ),
        *("GPL-2.0-or-later", "GPL-3.0-only", "GPL-3.0-or-later", "LAL-1.3", "MIT", "Unlicense"),
        *("NOASSERTION", "NONE"),
    }
)


def is_known_license(expression: str) -> bool:
    """Return whether every id of an SPDX expression is a common one or one's own.

    >>> is_known_license("CC-BY-4.0 OR LicenseRef-mine"), is_known_license("CC-BY-40")
    (True, False)
    """
    ids = re.split(r" AND | OR ", re.sub(r"[()]| WITH [^ )]+", "", expression))
    return all(name in COMMON_LICENSES or name.startswith("LicenseRef-") for name in ids)
