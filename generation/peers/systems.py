"""Every stimulus of a system from one photograph with its mask, and a texture from another."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from data_manifests.errors import CuebenchError
from data_manifests.shipped import nearest
from generation.hashing import pixel_sha256
from generation.outcome import Unavailable
from generation.peers import burgert, conflict, dist, mohla, tartaglini
from generation.peers.pictures import Coverage, Image, Mask, square_around
from generation.texture import TextureCue, TextureParams, render_texture

Parameters = dict[str, str | int | float]

OPACITIES = (0.5, 1.0)
N_COLUMNS, MOSAICS = 4, (1, 8)
LINE_OPACITIES = (0.0, 0.7)
_TEXTURE_GRID = 8


@dataclass(frozen=True)
class PeerPicture:
    """A photograph, (H, W, 3) uint8 sRGB, and the mask of its object, (H, W) bool."""

    image: Image
    mask: Mask

    @property
    def sha256(self) -> str:
        """The hash of the pixels of both."""
        return hashlib.sha256((pixel_sha256(self.image) + pixel_sha256(self.mask)).encode()).hexdigest()


@dataclass(frozen=True)
class Stimulus:
    """A rendered stimulus, or why there is none; `name` is one of its system, and fit for a file."""

    name: str
    parameters: Parameters
    seed: int
    image: Image | Unavailable


class _Job(NamedTuple):
    """A stimulus before it is rendered: `render` takes its seed."""

    name: str
    parameters: Parameters
    render: Callable[[int], Image | Unavailable]


class System(NamedTuple):
    """A system: its jobs for a photograph, a texture and a side in px, and which of the two it looks at."""

    jobs: Callable[[PeerPicture, PeerPicture, int], Iterator[_Job]]
    needs_mask: bool
    needs_texture: bool


def stimuli_of(
    system: str, picture: PeerPicture, texture: PeerPicture, side_px: int, seed: int
) -> Iterator[Stimulus]:
    """Yield the stimuli of a system, each with a seed of its own that does not depend on the others.

    Parameters
    ----------
    texture
        Looked at by the systems that mix two photographs; for the others any picture will do.
    side_px
        Side of the square stimuli, a multiple of 16.

    Raises
    ------
    CuebenchError
        If there is no such system, or the side does not fit it.
    """
    known = find_system(system)
    if side_px < 1 or side_px % 16:
        raise CuebenchError(f"side_px: expected a multiple of 16, got {side_px}")
    parts = [picture.sha256, texture.sha256] if known.needs_texture else [picture.sha256]
    for name, parameters, render in known.jobs(picture, texture, side_px):
        digest = hashlib.sha256("|".join(["peer-v1", system, name, *parts, str(seed)]).encode()).digest()
        own_seed = int.from_bytes(digest[:8], "big") >> 1
        yield Stimulus(name, parameters, own_seed, render(own_seed))


def find_system(name: str) -> System:
    """Return a system by its name.

    Raises
    ------
    CuebenchError
        If there is none of that name.
    """
    if name not in SYSTEMS:
        raise CuebenchError(
            f"no such system: {name}{nearest(name, list(SYSTEMS))}; there are {', '.join(SYSTEMS)}"
        )
    return SYSTEMS[name]


def _burgert(picture: PeerPicture, texture: PeerPicture, side_px: int) -> Iterator[_Job]:  # noqa: ARG001
    image = burgert.squash(picture.image, side_px)
    yield _Job("plain", {}, lambda seed: image)  # noqa: ARG005
    for suppression in burgert.PUBLISHED:
        yield _Job(suppression.name, {**suppression.parameters}, partial(suppression.apply, image))


def _tartaglini(picture: PeerPicture, texture: PeerPicture, side_px: int) -> Iterator[_Job]:
    image, coverage = square_around(picture.image, picture.mask, side_px)
    # Their textures fill the frame; that of a photograph is quilted first, as large as their enlarged ones. Its
    # seed is its own: a texture is the same in all stimuli, which show different windows of it.
    surface_px, seed = tartaglini.TEXTURE_ENLARGEMENT * side_px, int(texture.sha256[:15], 16)
    surface = render_texture(texture.image, texture.mask, surface_px, _TEXTURE_GRID, seed, TextureParams())
    everything = (*tartaglini.PUBLISHED, *(tartaglini.SilhouetteParams(opacity=o) for o in OPACITIES))
    for params in everything:
        name = f"{params.place}-size={params.size_share:g}-opacity={params.opacity:g}"
        yield _Job(name, asdict(params), partial(_filled, coverage, surface, params, image))


def _filled(
    coverage: Coverage,
    surface: TextureCue | Unavailable,
    params: tartaglini.SilhouetteParams,
    background: Image,
    seed: int,
) -> Image | Unavailable:
    if isinstance(surface, Unavailable):
        return surface
    return tartaglini.fill_silhouette(coverage, surface.image, params, seed, background)


def _dist(picture: PeerPicture, texture: PeerPicture, side_px: int) -> Iterator[_Job]:  # noqa: ARG001
    image, _ = square_around(picture.image, picture.mask, side_px, may_cut=True)
    for params in (dist.DisruptionParams("quilt"), dist.DisruptionParams("permute")):
        for version in (1, 2):
            render = partial(dist.disrupt_structure, image, params)
            yield _Job(f"{params.method}-{version}", asdict(params), render)
    yield _Job("plain", {}, lambda seed: image)  # noqa: ARG005


def _mohla(picture: PeerPicture, texture: PeerPicture, side_px: int) -> Iterator[_Job]:  # noqa: ARG001
    image, _ = square_around(picture.image, picture.mask, side_px, may_cut=True)
    thresholds: Parameters = {"low": mohla.LOW_THRESHOLD, "high": mohla.HIGH_THRESHOLD}
    yield _Job("scene_edges", thresholds, lambda seed: mohla.scene_edges(image))  # noqa: ARG005
    for mosaic in MOSAICS:
        parameters: Parameters = {"n_columns": N_COLUMNS, "mosaic": mosaic}
        render = partial(mohla.repeat_silhouette, picture.image, picture.mask, side_px, N_COLUMNS, mosaic)
        yield _Job(f"repeated-mosaic={mosaic}", parameters, render)


def _conflict(picture: PeerPicture, texture: PeerPicture, side_px: int) -> Iterator[_Job]:
    shape, surface = (picture.image, picture.mask), (texture.image, texture.mask)
    for opacity in LINE_OPACITIES:
        params = conflict.ConflictParams(line_opacity=opacity)
        parameters: Parameters = {"grid": params.grid, "line_opacity": opacity}
        render = partial(conflict.fill_shape, shape, surface, side_px, params)
        yield _Job(f"filled-lines={opacity:g}", parameters, render)


SYSTEMS: Mapping[str, System] = MappingProxyType(
    {
        "burgert": System(_burgert, needs_mask=False, needs_texture=False),
        "conflict": System(_conflict, needs_mask=True, needs_texture=True),
        "dist": System(_dist, needs_mask=False, needs_texture=False),
        "mohla": System(_mohla, needs_mask=True, needs_texture=False),
        "tartaglini": System(_tartaglini, needs_mask=True, needs_texture=True),
    }
)
