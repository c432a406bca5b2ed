from __future__ import annotations

import json
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from click.testing import CliRunner, Result

from curation.audit_command import audit
from data_manifests.errors import CuebenchError
from generation.cue_files import encode_png
from tests.curation.audit_cues import cut_tiles, draw_noise, draw_outline


def run_audit(*args: object) -> Result:
    return CliRunner().invoke(audit, [str(arg) for arg in args])


def error_of(*args: object) -> str:
    error = run_audit(*args).exception
    assert isinstance(error, CuebenchError)
    return str(error)


@pytest.fixture
def cues(tmp_path: Path) -> Path:
    """Return three clean shapes and a texture of shuffled tiles."""
    folder = tmp_path / "cues"
    pictures = {f"shape/clock/{number}.png": draw_outline(number) for number in range(3)}
    pictures["texture/zebra/4x4_zebra_1.png"] = cut_tiles(draw_noise(1, 150, 150), 4, seed=1)
    for name, image in pictures.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(encode_png(image))
    return folder


def test_clean_cues_end_with_code_0(cues: Path) -> None:
    done = run_audit(cues / "shape")
    assert done.exit_code == 0
    assert "clean: no defect found" in done.stdout


def test_defects_end_with_code_3_and_progress_goes_to_stderr(cues: Path) -> None:
    done = run_audit(cues)
    assert done.exit_code == 3
    assert "reassembly 1: textures whose tiles overlap" in done.stdout
    assert "    texture/zebra/4x4_zebra_1.png: 100% of the tiles" in done.stdout
    assert "audit" not in done.stdout
    assert "4/4" in done.stderr


def test_json_holds_the_numbers_and_flags_of_every_file(cues: Path) -> None:
    report = json.loads(run_audit(cues, "--format", "json").stdout)
    assert report["n_files"] == 4
    assert report["duplicates"] == report["wrong_size"] == report["wrong_mode"] == []
    assert {row["superclass"]: row["n_files"] for row in report["per_class"]} == {"clock": 3, "zebra": 1}
    texture = next(row for row in report["files"] if row["cue_kind"] == "texture")
    assert texture["quality"]["reassembly_share"] == 1
    assert texture["flags"] == ["max_shared_share", "reassembly", "seam_ratio"]


def test_markdown_has_a_table_row_for_every_number(cues: Path) -> None:
    done = run_audit(cues, "--format", "md")
    assert done.stdout.startswith(f"# Audit of {cues}\n\n")
    assert "\n### reassembly: 1\n\n" in done.stdout
    assert "\n- texture/zebra/4x4_zebra_1.png: 100% of the tiles\n" in done.stdout
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("| shape | - | peak |")]
    assert row == "| shape | - | peak | 3 | 255 | 255 | 255 | >= 230 | 0 |"


def test_only_the_first_files_of_a_defect_are_shown(cues: Path) -> None:
    for number in range(7):
        path = cues / f"shape/clock/1{number}.png"
        path.write_bytes(encode_png(draw_outline(10 + number)[..., 0]))
    for number in range(10, 20):
        (cues / f"shape/clock/{number + 10}.png").write_bytes(encode_png(draw_outline(20 + number)))
    text = run_audit(cues, "--cue-kind", "shape").stdout
    assert "wrong_mode 7: files of another mode" in text
    assert "    ... and 2 more (all of them: --format json)" in text


@pytest.mark.parametrize(
    ("options", "exit_code"),
    [
        (["--ignore", "reassembly"], 3),
        (["--ignore", "reassembly", "--ignore", "max_shared_share", "--ignore", "seam_ratio"], 0),
        (["--cue-kind", "shape"], 0),
        (["--cue-kind", "shape", "--taxonomy", "demo"], 3),
    ],
)
def test_options_say_what_counts(cues: Path, options: Sequence[str], exit_code: int) -> None:
    assert run_audit(cues, *options).exit_code == exit_code


def test_limits_are_those_of_the_recipe(cues: Path) -> None:
    recipe = cues / "strict.toml"
    recipe.write_text('name = "strict"\n[limits.shape]\nstroke_px = { max = 1 }\n')
    report = json.loads(run_audit(cues / "shape", "--recipe", recipe, "--format", "json").stdout)
    assert [(defect["check"], defect["n"]) for defect in report["defects"]] == [("stroke_px", 3)]
    assert report["recipe"] == "strict"


def test_an_unknown_check_is_an_error_that_names_the_nearest(cues: Path) -> None:
    message = error_of(cues, "--ignore", "wrong_sise")
    assert message.startswith("--ignore wrong_sise: no such check (did you mean `wrong_size`?); there are ")


class _Pictures(HTMLParser):
    """The addresses of the pictures of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img":
            self.found.append(dict(attrs)["src"] or "")


def test_the_page_shows_the_flagged_pictures(cues: Path, tmp_path: Path) -> None:
    odd = cues / "texture/zebra/50% <b> & #1.png"
    odd.write_bytes(encode_png(draw_noise(3)))
    (cues / "texture/zebra/broken.png").write_bytes(b"")
    out = tmp_path / "pages/audit.html"
    done = run_audit(cues, "--out", out)
    assert f"wrote {out}" in done.stderr
    page = out.read_text()
    shown = {(out.parent / unquote(source)).resolve() for source in _Pictures(page).found}
    assert shown == {odd.resolve(), (cues / "texture/zebra/4x4_zebra_1.png").resolve()}
    assert '<div class="none">not_an_image</div>' in page
    assert "<b>texture/zebra/50% &lt;b&gt; &amp; #1.png</b>unportable_name" in page
    assert "3 of 6 files are flagged." in page


def test_the_page_is_not_overwritten_without_force(cues: Path, tmp_path: Path) -> None:
    out = tmp_path / "audit.html"
    out.write_text("mine")
    assert error_of(cues, "--out", out) == (
        f"{out}: there is already a file; choose another name, or overwrite it with --force"
    )
    assert out.read_text() == "mine"
    assert run_audit(cues, "--out", out, "--force").exit_code == 3
    assert out.read_text().startswith("<!doctype html>")


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    assert error_of(tmp_path / "nowhere").endswith("nowhere: no such folder")
