from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from data_manifests.jsonl import read_records
from data_manifests.records import CueRecord
from generation.gallery import GalleryParams, write_gallery
from tests.generation.gallery_run import HOSTILE, write_large_run, write_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no chromium at {CHROMIUM}"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_run(tmp_path_factory.mktemp("gallery"))
    write_gallery(str(folder))
    return folder


@pytest.fixture
def page(browser: Browser, run: Path) -> Iterator[Page]:
    """The page of the small run; no test may leave a message on its console, or a request of its own."""
    yield from opened(browser, run)


def opened(browser: Browser, folder: Path) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    shown = context.new_page()
    address = (folder / "gallery.html").as_uri()
    heard: list[str] = []
    shown.on("console", lambda message: heard.append(message.text))
    shown.on("pageerror", lambda error: heard.append(str(error)))
    shown.on("dialog", lambda dialog: heard.append(dialog.message))
    shown.on("request", lambda request: heard.append(request.url))
    shown.goto(address)
    yield shown
    context.close()
    loaded = [text for text in heard if not text.startswith("data:")]
    assert {text.partition("#")[0] for text in loaded} == {address}


def counter(page: Page) -> str:
    return page.locator("#counter").inner_text()


def cards(page: Page) -> list[str]:
    return page.locator(".card .file").all_inner_texts()


def focused(page: Page) -> Any:
    return page.evaluate("document.activeElement.closest('[data-cue]')?.dataset.cue")


def test_every_cue_is_on_the_page_exactly_once(page: Page, run: Path) -> None:
    wanted = Counter(record.cue_id for record in read_records(str(run / "cues.jsonl"), CueRecord))
    shown = page.locator("[data-cue]").evaluate_all("nodes => nodes.map(node => node.dataset.cue)")
    assert Counter(shown) == wanted
    assert counter(page) == "showing 5 of 5 photographs, 6 of 6 cues"


def test_pictures_are_decoded(page: Page) -> None:
    page.locator("img").first.wait_for()
    n_loaded = page.locator("img").evaluate_all(
        "async nodes => { await Promise.all(nodes.map(node => node.decode()));"
        " return nodes.filter(node => node.naturalWidth > 0).length }"
    )
    assert n_loaded == 3 + 4  # photographs that are there, cues that are there


def test_hostile_text_is_shown_as_text(page: Page) -> None:
    hostile = page.locator(".card", has_text="onerror").first
    title = hostile.locator(".file").get_attribute("title")
    assert title == f"../photos/{HOSTILE}"
    assert page.locator("img[src=x]").count() == 0
    hostile.locator("summary").click()
    assert hostile.locator("a[href^='javascript']").count() == 0
    assert "javascript:alert(3)" in hostile.inner_text()


def test_a_failed_cue_shows_its_status_and_sentence(page: Page) -> None:
    tile = page.locator(".tile.cue", has_text="too few patches")
    assert "7 patches of 56 px; 16 are needed." in tile.inner_text()
    assert tile.locator("img").count() == 0


def test_a_photograph_without_a_cue_says_why(page: Page) -> None:
    card = page.locator(".card", has_text="cut.jpg")
    assert "It ends early." in card.inner_text()


def test_kind_and_state_filter(page: Page) -> None:
    page.get_by_role("button", name="Texture", exact=True).click()
    assert counter(page) == "showing 3 of 5 photographs, 4 of 6 cues"
    page.get_by_role("button", name="✕ failed", exact=True).click()
    assert counter(page) == "showing 1 of 5 photographs, 1 of 6 cues"
    assert page.locator(".tile.cue.dimmed").count() == 2
    page.get_by_role("button", name="– no cue", exact=True).click()
    assert cards(page) == ["cut.jpg"]
    page.get_by_role("button", name="Clear filters").click()
    assert counter(page) == "showing 5 of 5 photographs, 6 of 6 cues"


def test_status_flag_and_text_filter(page: Page) -> None:
    page.locator("#status").select_option("truncated")
    assert cards(page) == ["cut.jpg"]
    page.locator("#status").select_option("")
    page.locator("#flag").select_option("seam_ratio")
    assert cards(page) == ["30.png"]
    page.locator("#flag").select_option("")
    page.locator("#q").fill("TIGER drawer")
    assert cards(page) == ["50.png"]
    page.locator("#q").fill("nothing like it")
    assert counter(page) == "showing 0 of 5 photographs, 0 of 6 cues"
    assert page.get_by_text("No photograph matches these filters.").is_visible()
    page.get_by_role("button", name="Clear them").click()
    assert counter(page) == "showing 5 of 5 photographs, 6 of 6 cues"
    assert not page.get_by_text("No photograph matches these filters.").is_visible()


def test_the_counts_of_the_header_filter(page: Page) -> None:
    page.locator("#q").fill("nothing like it")
    page.get_by_role("button", name="2 flagged: show only these").click()
    assert counter(page) == "showing 2 of 5 photographs, 2 of 6 cues"
    page.get_by_role("button", name="1 no cue: show only these").click()
    assert cards(page) == ["cut.jpg"]


def test_pictures_and_flags_say_what_they_are(page: Page) -> None:
    card = page.locator(".card", has_text="30.png")
    alt = card.locator("img").evaluate_all("nodes => nodes.map(node => node.alt)")
    assert alt == [
        "Photograph of zebra, 30.png",
        "Texture 8×8 cue of zebra, 30.png",
        "Texture 16×16 cue of zebra, 30.png",
    ]
    chip = card.locator(".chip", has_text="seam ratio")
    assert chip.get_attribute("title") == "mean gradient across the cell grid / mean gradient elsewhere"


def test_a_long_name_is_cut_and_whole_in_its_title(page: Page) -> None:
    name = "a name of a class that nobody could want to read in full " * 3
    for selector in (".card h3", ".side tbody th button"):
        box = page.locator(selector).first
        height = box.evaluate("node => node.offsetHeight")
        box.evaluate("(node, name) => { node.textContent = name }", name)
        assert box.evaluate("node => node.offsetHeight") == height
        assert box.evaluate("node => node.scrollWidth > node.clientWidth")
        assert box.get_attribute("title")
    assert page.evaluate("document.documentElement.scrollWidth") == 1366


def test_an_open_card_leaves_no_hole_beside_it(page: Page) -> None:
    second = page.locator(".card").nth(1)
    second.locator("summary").click()
    grid = page.locator("#cards").bounding_box()
    assert grid is not None
    box = second.bounding_box()
    assert box is not None
    assert (box["x"], box["width"]) == (grid["x"], grid["width"])


def test_the_class_table_filters(page: Page) -> None:
    page.get_by_role("button", name="zebra", exact=True).click()
    assert cards(page) == ["30.png", "cut.jpg"]
    page.get_by_role("button", name="tiger", exact=True).click()
    assert cards(page) == ["50.png", "30.png", "cut.jpg"]
    page.get_by_role("button", name="1 flagged in zebra: show only these").click()
    assert cards(page) == ["30.png"]
    assert counter(page) == "showing 1 of 5 photographs, 1 of 6 cues"


def test_sorting_by_a_quality_number(page: Page) -> None:
    page.locator("#sort").select_option("seam_ratio")
    assert cards(page)[:2] == ["30.png", "50.png"]
    page.locator("#q").fill("50.png")
    assert page.locator(".label .value").inner_text() == "seam ratio 1.2"
    page.locator("#q").fill("")
    page.get_by_role("button", name="Ascending: click for descending").click()
    assert cards(page)[:2] == ["30.png", "50.png"]  # its worst grid has 1.4
    page.get_by_role("button", name="✓ ok", exact=True).click()
    assert cards(page)[:2] == ["50.png", "30.png"]  # of the cues that are ok, 1.2 and 1.1


def test_the_address_holds_the_view(page: Page, browser: Browser) -> None:
    page.locator("#q").fill("zebra & more=1#")
    page.locator("#q").fill("zebra")
    page.get_by_role("button", name="⚑ flagged", exact=True).click()
    page.get_by_role("button", name="zebra", exact=True).click()
    page.locator("#outline").uncheck()
    other = browser.new_page()
    other.goto(page.url)
    assert counter(other) == counter(page) == "showing 1 of 5 photographs, 1 of 6 cues"
    assert other.locator("#q").input_value() == "zebra"
    assert not other.locator("#outline").is_checked()
    other.goto(page.url.partition("#")[0] + "#kind=shape")
    assert counter(other) == "showing 2 of 5 photographs, 2 of 6 cues"
    other.close()


def test_the_outline_can_be_hidden(page: Page) -> None:
    assert page.locator("svg.outline").first.is_visible()
    page.locator("#outline").uncheck()
    assert not page.locator("svg.outline").first.is_visible()


def test_details_show_numbers_limits_mask_and_provenance(page: Page) -> None:
    card = page.locator(".card", has_text="30.png")
    card.locator("summary").press("Enter")
    card.locator(".numbers").first.wait_for()
    text = card.inner_text()
    assert "⚑ 1.4 (≤ 1.3)" in text
    assert "the better one of two candidates" in text
    assert "fullframe" in text
    assert str(2**63 - 1) in text
    assert card.locator("a[href^='./cues/texture/zebra/']").count() == 2


def test_the_enlarged_view_works_by_keyboard(page: Page) -> None:
    page.get_by_role("button", name="Texture", exact=True).click()
    viewer = page.locator("#viewer")
    title = page.locator("#viewer-title")
    page.locator(".tile.cue button").first.press("Enter")
    assert title.inner_text() == "tiger · texture 8×8"
    assert "is missing or can't be read" in viewer.inner_text()
    page.keyboard.press("ArrowRight")
    assert title.inner_text() == "zebra · texture 4×4"
    assert "7 patches of 56 px; 16 are needed." in viewer.inner_text()
    page.keyboard.press("ArrowUp")
    assert title.inner_text() == "tiger · texture 8×8"
    page.keyboard.press("ArrowLeft")
    assert page.locator("#viewer-place").inner_text() == "1 of 5"
    page.keyboard.press("ArrowDown")
    assert title.inner_text() == "zebra · texture 8×8"
    page.keyboard.press("Escape")
    assert not viewer.is_visible()
    assert focused(page) == page.locator(".card", has_text="30.png").locator("[data-cue]").nth(
        1
    ).get_attribute("data-cue")


def test_the_enlarged_view_steps_through_what_the_filters_show(page: Page) -> None:
    page.get_by_role("button", name="⚑ flagged", exact=True).click()
    page.locator(".tile.cue:not(.dimmed) button").first.click()
    place = page.locator("#viewer-place")
    assert place.inner_text() == "1 of 2"
    page.get_by_role("button", name="Next cue").click()
    assert page.locator("#viewer-title").inner_text() == "zebra · texture 16×16"
    page.get_by_role("button", name="8×8 ✓").click()
    assert place.inner_text() == "outside of the filters"
    page.get_by_role("button", name="Previous cue").click()
    assert place.inner_text() == "1 of 2"
    page.get_by_role("button", name="Close").click()
    assert not page.locator("#viewer").is_visible()


def test_a_photograph_without_a_cue_can_be_enlarged(page: Page) -> None:
    page.locator(".card", has_text="cut.jpg").locator("button.frame").click()
    assert page.locator("#viewer-title").inner_text() == "zebra · texture"
    page.keyboard.press("Escape")
    assert (
        page.evaluate("document.activeElement.closest('.card').querySelector('.file').textContent")
        == "cut.jpg"
    )


def test_slash_goes_to_the_search(page: Page) -> None:
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"


@pytest.mark.parametrize("width", [390, 820, 1366])
def test_nothing_overflows_sideways(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    for summary in page.locator(".card summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(page: Page, scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme)
    ratios: dict[str, float] = page.evaluate(CONTRAST)
    assert ratios
    assert {name: ratio for name, ratio in ratios.items() if ratio < 4.5} == {}


def test_a_large_run_opens_with_a_part_and_says_so(browser: Browser, tmp_path: Path) -> None:
    folder = write_large_run(tmp_path, 60)
    write_gallery(str(folder), params=GalleryParams(max_cue_pictures=4))
    for page in opened(browser, folder):
        notice = page.locator(".notice").first
        assert notice.inner_text().startswith("4 of 60 photographs come with pictures")
        assert counter(page) == "showing 60 of 60 photographs, 60 of 60 cues"
        assert 0 < page.locator(".card").count() < 60
        assert "No pictures of this photograph in this page" in page.locator("#cards").inner_text()
        page.wait_for_function(
            "() => { scrollTo(0, document.body.scrollHeight);"
            " return document.querySelectorAll('.card').length === 60 }"
        )
        assert not page.locator("#more").is_visible()


# WCAG 2.2 contrast of every element with text of its own against the nearest opaque background.
CONTRAST = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const behind = (node) => {
    const [r, g, b, alpha = 1] = parse(getComputedStyle(node).backgroundColor);
    return alpha === 1 ? [r, g, b] : behind(node.parentElement);
  };
  const result = {};
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!own || !node.checkVisibility() || node.closest(":disabled, script, style, svg")) continue;
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(behind(node))];
    const name = `${node.tagName}.${node.className}`;
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    result[name] = Math.min(result[name] ?? 21, ratio);
  }
  return result;
}"""
