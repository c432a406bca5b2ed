"""Feature suppression: photographs that lose their global shape, their texture or their colour, step by step.

Settings of "ImageNet-trained CNNs are not biased towards texture" (Burgert et al., NeurIPS 2025, arXiv 2509.20234)
and its published protocol; there the photograph is squashed to 224 x 224 px first (bilinear, `squash`).
Two things differ from the published code: a blend with grey is rounded instead of cut off (1 level at most), and the
picture is not resized again after each step, which at 224 px changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Literal, Protocol

import cv2
import numpy as np

from data_manifests.errors import CuebenchError
from generation.peers.pictures import Image, blend, check_image
from generation.peers.tiles import random_order, rotate_tiles, shuffle_tiles
from generation.quilting import Random

Feature = Literal["shape", "texture", "colour"]

SIDE_PX = 224
GRIDS = (2, 4, 6, 8, 10, 12, 14, 16)
BILATERAL = ((4, 50), (6, 80), (8, 110), (10, 140), (12, 170), (14, 200))
GAUSSIAN = ((3, 0.33), (5, 0.66), (7, 1.0), (9, 1.33), (11, 1.66), (13, 2.0), (15, 2.33))
NL_MEANS_H = (5, 10, 15, 20, 25)
GREY_ALPHAS = (0.2, 0.4, 0.6, 0.8, 1.0)
FIXED_BILATERAL = (12, 170)


class Step(Protocol):
    """One operation on an (H, W, 3) uint8 picture; its name is that of its class."""

    def apply(self, image: Image, random: Random) -> Image:
        """Return the changed picture, of the same shape."""
        ...


def _at_least(name: str, value: float, low: float) -> None:
    if not value >= low:
        raise CuebenchError(f"{name}: expected at least {low:g}, got {value:g}")


@dataclass(frozen=True)
class PatchShuffle:
    """The tiles of a grid x grid grid in random order (see `shuffle_tiles`).

    As published, any order may come up: of 24 pictures on a grid of 2, one stays as it was on average.
    """

    grid: int

    def __post_init__(self) -> None:
        _at_least("grid", self.grid, 1)

    def apply(self, image: Image, random: Random) -> Image:
        """Return the shuffled picture."""
        return shuffle_tiles(image, self.grid, random)


@dataclass(frozen=True)
class PatchRotation:
    """The tiles of a grid x grid grid, each turned by a random number of quarters (see `rotate_tiles`)."""

    grid: int

    def __post_init__(self) -> None:
        _at_least("grid", self.grid, 1)

    def apply(self, image: Image, random: Random) -> Image:
        """Return the picture with its tiles turned."""
        return rotate_tiles(image, self.grid, random)


@dataclass(frozen=True)
class Bilateral:
    """A bilateral filter; `sigma_colour` in levels, `sigma_space` in px."""

    diameter_px: int
    sigma_colour: float
    sigma_space: float = 75

    def __post_init__(self) -> None:
        _at_least("diameter_px", self.diameter_px, 1)

    def apply(self, image: Image, random: Random) -> Image:  # noqa: ARG002
        """Return the filtered picture."""
        return np.asarray(
            cv2.bilateralFilter(image, self.diameter_px, self.sigma_colour, self.sigma_space), np.uint8
        )


@dataclass(frozen=True)
class Gaussian:
    """A Gaussian blur with a square kernel of an odd side."""

    kernel_px: int
    sigma_px: float

    def __post_init__(self) -> None:
        if self.kernel_px < 1 or self.kernel_px % 2 == 0:
            raise CuebenchError(f"kernel_px: expected an odd number, got {self.kernel_px}")

    def apply(self, image: Image, random: Random) -> Image:  # noqa: ARG002
        """Return the blurred picture."""
        return np.asarray(cv2.GaussianBlur(image, (self.kernel_px,) * 2, self.sigma_px), np.uint8)


@dataclass(frozen=True)
class NonLocalMeans:
    """Non-local means over the three channels together; `h` in levels. OpenCV takes windows of the next odd side."""

    h: float
    template_px: int = 14
    search_px: int = 21

    def __post_init__(self) -> None:
        _at_least("h", self.h, 0)

    def apply(self, image: Image, random: Random) -> Image:  # noqa: ARG002
        """Return the denoised picture."""
        return np.asarray(
            cv2.fastNlMeansDenoising(image, None, self.h, self.template_px, self.search_px), np.uint8
        )


@dataclass(frozen=True)
class GreyBlend:
    """The picture mixed with its own grey values: 0 leaves it, 1 takes all colour."""

    alpha: float

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise CuebenchError(f"alpha: expected 0 to 1, got {self.alpha:g}")

    def apply(self, image: Image, random: Random) -> Image:  # noqa: ARG002
        """Return the mixture."""
        grey = cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)
        return blend(np.asarray(grey, np.uint8), image, self.alpha)


@dataclass(frozen=True)
class ChannelShuffle:
    """The three channels in random order, which may be their own."""

    def apply(self, image: Image, random: Random) -> Image:
        """Return the picture with its channels exchanged."""
        return np.ascontiguousarray(image[..., random_order(random, 3)])


@dataclass(frozen=True)
class Suppression:
    """One or two steps, in their order, under the name of the protocol; `features` are what they suppress."""

    protocol: str
    features: tuple[Feature, ...]
    steps: tuple[Step, ...]

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters of all steps; a suppression has no two of one name."""
        return {name: value for step in self.steps for name, value in asdict(step).items()}  # type: ignore[call-overload]

    @property
    def name(self) -> str:
        """The protocol with the parameters that are not at their defaults, as a file name.

        >>> Suppression("bilateral", ("texture",), (Bilateral(4, 50),)).name
        'bilateral-diameter_px=4-sigma_colour=50'
        """
        defaults = {item.name: item.default for step in self.steps for item in fields(step)}  # type: ignore[arg-type]
        told = [f"{name}={value:g}" for name, value in self.parameters.items() if value != defaults[name]]
        return "-".join([self.protocol, *told])

    def apply(self, image: Image, seed: int) -> Image:
        """Return the picture after all steps, (H, W, 3) uint8; the same seed gives the same bytes.

        Raises
        ------
        CuebenchError
            If it is no (H, W, 3) uint8 picture, or a grid does not fit it.
        """
        check_image(image)
        random = Random(seed)
        for step in self.steps:
            image = step.apply(image, random)
        return image


def _published() -> Iterator[Suppression]:
    for grid in GRIDS:
        yield Suppression("patch_shuffle", ("shape",), (PatchShuffle(grid),))
    for grid in GRIDS:
        yield Suppression("patch_rotation", ("shape",), (PatchRotation(grid),))
    for d, sigma in BILATERAL:
        yield Suppression("bilateral", ("texture",), (Bilateral(d, sigma),))
    for kernel, sigma_px in GAUSSIAN:
        yield Suppression("gaussian", ("texture",), (Gaussian(kernel, sigma_px),))
    for h in NL_MEANS_H:
        yield Suppression("nl_means", ("texture",), (NonLocalMeans(h),))
    for alpha in GREY_ALPHAS:
        yield Suppression("grey", ("colour",), (GreyBlend(alpha),))
    yield Suppression("channel_shuffle", ("colour",), (ChannelShuffle(),))
    for grid in GRIDS:
        steps = (PatchShuffle(grid), GreyBlend(1.0))
        yield Suppression("patch_shuffle_grey", ("shape", "colour"), steps)
    for (d, sigma), grid in zip(BILATERAL, GRIDS, strict=False):  # weak with weak, strong with strong
        both = (Bilateral(d, sigma), PatchShuffle(grid))
        yield Suppression("bilateral_patch_shuffle", ("texture", "shape"), both)
    for grid in GRIDS:
        fixed = (Bilateral(*FIXED_BILATERAL), PatchShuffle(grid))
        yield Suppression("fixed_bilateral_patch_shuffle", ("texture", "shape"), fixed)
    for d, sigma in BILATERAL:
        greyed = (Bilateral(d, sigma), GreyBlend(1.0))
        yield Suppression("bilateral_grey", ("texture", "colour"), greyed)


PUBLISHED: tuple[Suppression, ...] = tuple(_published())


def squash(image: Image, side_px: int = SIDE_PX) -> Image:
    """Return the whole photograph on a square, bilinear and without regard to its aspect, as published."""
    check_image(image)
    return np.asarray(cv2.resize(image, (side_px, side_px), interpolation=cv2.INTER_LINEAR), np.uint8)
