from __future__ import annotations

import sys
import types
import warnings
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFile
from pydantic import ValidationError

from generation.hashing import pixel_sha256
from generation.outcome import Unavailable
from generation.photograph import DecodeLimits, Photograph, decode_photograph
from tests.generation import torture

CASES = {case.file_name: case for case in torture.torture_cases()}


def decoded(data: bytes, file_name: str = "1.png", **limits: Any) -> Photograph:
    photograph = decode_photograph(data, file_name, DecodeLimits(**limits))
    assert isinstance(photograph, Photograph), photograph
    return photograph


def refused(data: bytes, **limits: Any) -> Unavailable:
    outcome = decode_photograph(data, "1.png", DecodeLimits(**limits))
    assert isinstance(outcome, Unavailable)
    return outcome


def srgb_levels(linear: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the sRGB levels, 0 to 255, of linear light, 0.0031308 to 1 (IEC 61966-2-1)."""
    return 255 * np.asarray(1.055 * linear ** (1 / 2.4) - 0.055)


def mean_difference(one: torture.Pixels, other: torture.Pixels) -> float:
    return float(np.abs(one.astype(int) - other.astype(int)).mean())


def test_a_plain_photograph_is_what_was_saved() -> None:
    pixels = torture.scene(1)

    photograph = decoded(torture.encoded(pixels, "PNG"), "clock/1.png")

    assert np.array_equal(photograph.image, pixels)
    assert photograph.image.dtype == np.uint8
    assert photograph.alpha is None
    assert photograph.pixel_sha256 == pixel_sha256(pixels)
    assert (photograph.file_name, photograph.mode, photograph.format) == ("clock/1.png", "RGB", "PNG")
    assert photograph.flags == ()


@pytest.mark.parametrize("orientation", sorted(torture.STORED_BY_ORIENTATION))
@pytest.mark.parametrize(
    ("file_format", "options"),
    [
        ("PNG", {}),
        ("WEBP", {"lossless": True}),
        ("TIFF", {}),
        ("TIFF", {"compression": "tiff_lzw"}),
    ],
)
def test_every_orientation_is_turned_upright_exactly_once(
    orientation: int, file_format: str, options: dict[str, Any]
) -> None:
    upright = torture.scene(2)

    photograph = decoded(torture.oriented(upright, orientation, file_format, **options))

    assert np.array_equal(photograph.image, upright)
    assert "rotated" in photograph.flags


@pytest.mark.parametrize("orientation", sorted(torture.STORED_BY_ORIENTATION))
def test_every_orientation_of_a_jpeg_is_turned_upright(orientation: int) -> None:
    upright = torture.scene(3)

    photograph = decoded(torture.oriented(upright, orientation, "JPEG", quality=95), "1.jpg")

    assert mean_difference(photograph.image, upright) < 3


def test_the_orientation_of_a_damaged_exif_block_still_counts() -> None:
    upright = torture.scene(151)

    photograph = decoded(CASES["exif_damaged_rotated.jpg"].data, "1.jpg")

    assert mean_difference(photograph.image, upright) < 5


@pytest.mark.parametrize(
    ("exif", "turned"),
    [
        (
            b"Exif\x00\x00II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x03\x00\x00\x00",
            True,
        ),
        (
            b"Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x03\x00\x00",
            True,
        ),
        (
            b"Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x63\x00\x00",
            False,
        ),
        (b"Exif\x00\x00II*\x00\xff\xff\xff\xff", False),
        (b"Exif\x00\x00II*", False),
        (b"", False),
    ],
)
def test_an_exif_block_that_pillow_refuses_is_read_by_hand(
    exif: bytes, turned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    upright = torture.scene(4)
    stored = Image.fromarray(upright).transpose(Image.Transpose.ROTATE_180) if turned else upright
    data = torture.encoded(stored, "PNG", exif=exif or None)

    def fail(*_: object) -> None:
        raise SyntaxError("not a TIFF file")

    monkeypatch.setattr(Image.Exif, "load", fail)
    monkeypatch.setattr(Image.Image, "getexif", fail)

    photograph = decoded(data)

    assert np.array_equal(photograph.image, upright)
    assert "exif_bad" in photograph.flags
    assert ("rotated" in photograph.flags) == turned


def test_sixteen_bit_grey_keeps_its_upper_eight_bits() -> None:
    levels = np.linspace(0, 65535, 100 * 80).astype(np.uint16).reshape(80, 100)

    photograph = decoded(torture.encoded(levels, "PNG"))

    assert np.array_equal(photograph.image, np.repeat((levels >> 8)[..., None], 3, axis=2))
    assert photograph.mode == "I;16"


@pytest.mark.parametrize("name", ["sixteen_bit_big_endian.tif", "thirty_two_bit_grey.tif"])
def test_other_deep_greys_keep_their_upper_eight_bits(name: str) -> None:
    seed = {"sixteen_bit_big_endian.tif": 212, "thirty_two_bit_grey.tif": 213}[name]

    photograph = decoded(CASES[name].data)

    assert np.array_equal(photograph.image[..., 0], torture.scene(seed)[..., 0])


def test_hidden_colours_are_not_exposed_but_laid_on_grey() -> None:
    photograph = decoded(CASES["rgba_cut_out.png"].data)

    assert photograph.alpha is not None
    assert np.array_equal(photograph.alpha, torture.disk_alpha())
    outside = photograph.alpha == 0
    assert np.unique(photograph.image[outside]).tolist() == [128]
    assert np.array_equal(photograph.image[~outside], torture.scene(220)[~outside])


def test_half_transparent_pixels_are_mixed_with_grey() -> None:
    pixels = torture.scene(5)
    alpha = np.where(torture.disk_alpha() > 0, 255, 51).astype(np.uint8)

    photograph = decoded(torture.encoded(np.dstack([pixels, alpha]), "PNG"))

    expected = np.round(pixels[0, 0] * 0.2 + 128 * 0.8)
    assert np.array_equal(photograph.image[0, 0], expected)


@pytest.mark.parametrize("name", ["la_cut_out.png", "palette_trns.png", "rgb_trns.png"])
def test_every_kind_of_transparency_gives_the_same_outline(name: str) -> None:
    photograph = decoded(CASES[name].data)

    assert photograph.alpha is not None
    assert np.array_equal(photograph.alpha, torture.disk_alpha())


def test_alpha_is_part_of_the_pixel_hash() -> None:
    inverse = 255 - torture.disk_alpha()
    grey = np.full((torture.HEIGHT, torture.WIDTH, 3), 128, np.uint8)
    grey[40:50] = 255  # else nothing is to be seen
    one = decoded(torture.encoded(np.dstack([grey, torture.disk_alpha()]), "PNG"))
    other = decoded(torture.encoded(np.dstack([one.image, inverse]), "PNG"), min_std=0)

    assert one.pixel_sha256 == pixel_sha256(np.dstack([one.image, torture.disk_alpha()]))
    assert one.pixel_sha256 != other.pixel_sha256


@pytest.mark.parametrize(
    ("colorants", "gamma"), [(torture.ADOBE_RGB, 2.19921875), (torture.DISPLAY_P3, None)], ids=["adobe", "p3"]
)
def test_wide_gamut_colours_come_out_as_the_same_colours_in_srgb(
    colorants: tuple[tuple[float, ...], ...], gamma: float | None
) -> None:
    wide = np.random.default_rng(6).integers(110, 165, (80, 80, 3), dtype=np.uint8)
    profile = torture.rgb_profile(colorants, gamma)

    photograph = decoded(torture.encoded(wide, "PNG", icc_profile=profile))

    light = torture.srgb_curve(wide / 255) if gamma is None else (wide / 255) ** gamma
    linear = light @ np.array(colorants) @ np.linalg.inv(np.array(torture.SRGB))
    assert linear.min() > 0.0031308  # all of it on the curved part, none out of gamut
    expected = srgb_levels(linear)
    assert np.abs(photograph.image - expected).max() < 2
    assert np.abs(wide - expected).max() > 8
    assert photograph.flags == ("icc_converted",)


def test_an_srgb_profile_under_any_name_changes_nothing() -> None:
    photograph = decoded(CASES["srgb_profile.png"].data)

    assert np.array_equal(photograph.image, torture.scene(232))


@pytest.mark.parametrize("name", ["grey_profile_on_rgb.png"])
def test_a_profile_of_another_colour_space_changes_nothing(name: str) -> None:
    assert np.array_equal(decoded(CASES[name].data).image, torture.scene(239))


def test_a_grey_profile_of_linear_light_brightens_the_midtones() -> None:
    photograph = decoded(CASES["grey_profile.png"].data)

    levels = torture.scene(236)[..., 0]
    middle = (levels > 40) & (levels < 200)
    expected = srgb_levels(levels[middle] / 255)
    assert np.abs(photograph.image[middle, 0] - expected).max() < 2
    assert (photograph.image[middle, 0] - levels[middle].astype(int)).min() > 15


def test_cmyk_without_a_profile_is_not_inverted() -> None:
    pixels = torture.scene(200)

    photograph = decoded(CASES["cmyk_adobe_inverted.jpg"].data, "1.jpg")

    assert mean_difference(photograph.image, pixels) < 6
    assert photograph.mode == "CMYK"


def test_cmyk_is_converted_by_its_own_profile() -> None:
    black = np.zeros((80, 80, 4), dtype=np.uint8)
    black[:, 40:, 3] = 255
    data = torture.encoded(Image.fromarray(black, "CMYK"), "TIFF", icc_profile=torture.cmyk_profile())

    photograph = decoded(data)

    assert photograph.image[40, 20].min() >= 254
    assert photograph.image[40, 60].max() <= 1


def test_lab_comes_back_as_the_colours_it_was_made_of() -> None:
    assert mean_difference(decoded(CASES["lab.tif"].data).image, torture.scene(204)) < 3


@pytest.mark.parametrize(("suffix", "seed"), [("gif", 240), ("webp", 242), ("png", 244)])
def test_the_first_frame_of_an_animation_counts(suffix: str, seed: int) -> None:
    photograph = decoded(CASES[f"animated.{suffix}"].data)

    first, second = torture.scene(seed), torture.scene(seed + 1)
    assert mean_difference(photograph.image, first) < 8 < mean_difference(second, first)


def test_decoding_leaves_the_settings_of_pillow_alone() -> None:
    before = (Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES, list(warnings.filters))

    for case in CASES.values():
        decode_photograph(case.data, case.file_name)

    assert (Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES, list(warnings.filters)) == before
    assert not ImageFile.LOAD_TRUNCATED_IMAGES


def test_a_truncated_jpeg_is_refused_at_any_length() -> None:
    data = torture.encoded(torture.scene(11), "JPEG")

    assert {refused(data[:length]).status for length in range(20, len(data) - 200, 50)} == {"truncated"}


def test_the_detail_of_a_truncated_photograph_says_how_much_there_is() -> None:
    data = CASES["truncated_baseline.jpg"].data

    assert refused(data).detail.startswith(f"the JPEG ends early, after {len(data)} bytes")


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        ("bad_crc.png", "wrong checksum of chunk IDAT"),
        ("bomb.png", "3600000000 pixels"),
        ("just_over_the_limit.png", "10001 x 10000 pixels, the limit is 100000000"),
        ("page.jpg", "the content is: HTML page"),
        ("drawing.png", "the content is: SVG drawing"),
        ("empty.jpg", "the content is: empty file"),
        ("pointer.jpg", "Git LFS pointer"),
        ("noise.jpg", "first bytes 01 02 03"),
        ("clip.jpg", "video or audio"),
        ("float.tif", "mode F has no defined"),
        ("thirty_two_bit_range.tif", "32-bit values from"),
        ("one_pixel.png", "1 x 1 pixels, the shorter side must have 64"),
        ("a_strip.png", "64 x 640 pixels, the sides may differ 8 times"),
        ("constant.png", "standard deviation 0.0 levels"),
    ],
)
def test_a_refusal_says_what_was_found_and_expected(name: str, detail: str) -> None:
    assert detail in refused(CASES[name].data).detail


def test_the_limits_decide() -> None:
    data = torture.encoded(torture.scene(7), "PNG")
    limits: dict[str, Any] = {"min_side_px": 90, "max_aspect": 4 / 3, "max_pixels": 120 * 90}

    assert decoded(data, **limits).image.shape == (90, 120, 3)
    assert refused(data, **limits | {"min_side_px": 91}).status == "too_small"
    assert refused(data, **limits | {"max_aspect": 1.33}).status == "extreme_aspect"
    assert refused(data, **limits | {"max_pixels": 120 * 90 - 1}).status == "too_large"
    assert refused(data, min_std=200).status == "no_foreground"


def test_limits_beyond_those_of_pillow_are_refused() -> None:
    with pytest.raises(ValidationError, match="less than or equal to 178956970"):
        DecodeLimits(max_pixels=10**9)


def test_running_out_of_memory_is_a_status(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(ImageFile.ImageFile, "load", fail)

    outcome = refused(torture.encoded(torture.scene(8), "PNG"))

    assert (outcome.status, outcome.detail) == ("too_large", "not enough memory to decode it")


def test_heic_without_its_decoder_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pillow_heif", None)

    outcome = refused(CASES["phone.jpg"].data)

    assert outcome.status == "unsupported_format"
    assert "pip install 'cuebench[heif]'" in outcome.detail


def test_heic_goes_to_its_decoder_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = torture.scene(9)

    class HeifImageFile:
        def __new__(cls, stream: BytesIO) -> Any:
            assert stream.getvalue() == CASES["phone.jpg"].data
            return Image.open(BytesIO(torture.encoded(pixels, "PNG")))

    module = types.ModuleType("pillow_heif")
    module.HeifImageFile = HeifImageFile  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pillow_heif", module)

    photograph = decoded(CASES["phone.jpg"].data, "phone.jpg")

    assert np.array_equal(photograph.image, pixels)
    assert photograph.flags == ("extension_mismatch",)


def test_a_real_heic_is_decoded_upright() -> None:
    pillow_heif = pytest.importorskip("pillow_heif")
    upright = torture.scene(10, 160, 128)
    stored = Image.fromarray(upright).transpose(torture.STORED_BY_ORIENTATION[6])
    stream = BytesIO()
    heif = pillow_heif.from_pillow(stored)
    heif.save(stream, quality=95, exif=torture.exif_of(6))

    photograph = decoded(stream.getvalue(), "1.heic")

    assert photograph.image.shape == upright.shape
    assert mean_difference(photograph.image, upright) < 6


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    name=st.sampled_from(sorted(name for name, case in CASES.items() if len(case.data) > 20)),
    damage=st.lists(st.tuples(st.floats(0, 0.999), st.integers(0, 255)), min_size=1, max_size=12),
    kept_share=st.floats(0.05, 1),
)
def test_damage_of_any_kind_is_a_status_and_never_an_exception(
    name: str, damage: list[tuple[float, int]], kept_share: float
) -> None:
    data = bytearray(CASES[name].data)
    del data[max(1, int(len(data) * kept_share)) :]
    for place, value in damage:
        data[int(place * place * len(data))] = value  # headers are hit more often

    outcome = decode_photograph(bytes(data), name)

    assert isinstance(outcome, Photograph) or outcome.status != "ok"
