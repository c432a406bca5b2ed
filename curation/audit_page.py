"""The contact sheet of an audit: every flagged picture with its flags, on one page that needs no script."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from urllib.parse import quote

from curation.audit_files import AuditSet
from curation.audit_report import AuditReport, FileReport
from data_manifests import storage
from data_manifests.records import OK

_STYLE = """
body { font: 14px/1.4 system-ui, sans-serif; margin: 1.5rem; color: #222; background: #fff }
main { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)) }
figure { margin: 0; overflow-wrap: anywhere }
img, .none { width: 100%; aspect-ratio: 1; object-fit: contain; background: #8886; display: block }
.none { display: grid; place-items: center }
figcaption b { display: block; font-weight: 600 }
"""


def audit_page(report: AuditReport, audited: AuditSet, url: str) -> str:
    """Return the page to be written to `url`; its pictures stay where they are, named relative to the page."""
    places = {file.name: file.url for file in audited.files}
    flagged = sorted((f for f in report.files if f.flags), key=lambda f: (-len(f.flags), f.file))
    title = escape(f"Audit of {report.audited}")
    counts = ", ".join(f"{escape(defect.check)} {defect.n}" for defect in report.defects) or "no defect"
    folder = storage.parent(url)
    figures = "\n".join(line for file in flagged for line in _figure(file, places[file.file], folder))
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title>\n'
        f"<style>{_STYLE}</style>\n<h1>{title}</h1>\n"
        f"<p>{len(flagged)} of {report.n_files} files are flagged. {counts}</p>\n<main>\n{figures}\n</main>\n</html>\n"
    )


def _figure(file: FileReport, url: str, folder: str) -> Iterator[str]:
    name, flags = escape(file.file), escape(", ".join(file.flags))
    yield "<figure>"
    if file.status == OK:
        place = storage.relative(url, folder)
        source = place if "://" in place else quote(place.encode("utf-8", "surrogateescape"))
        yield f'<img loading="lazy" src="{escape(source)}" alt="{name}">'
    else:
        yield f'<div class="none">{escape(file.status)}</div>'
    yield f"<figcaption><b>{name}</b>{flags}</figcaption></figure>"
