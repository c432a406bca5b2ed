"""Lines of an object as smooth curves: its outline, the structure inside of it, its skeleton."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter1d
from skimage.measure import find_contours
from skimage.morphology import skeletonize

Points = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """`points` (N, 2) float64, x and y in pixels of the array it came from (the centre of a pixel is whole)."""

    points: Points
    closed: bool


def trace_outline(coverage: npt.NDArray[np.float32], sigma_px: float, min_extent_px: float) -> list[Curve]:
    """Return the boundaries of an object, holes included, as smooth closed curves.

    Parameters
    ----------
    coverage
        (H, W) float32 in [0, 1], the share of each pixel that the object covers, 0 along the frame.
    sigma_px
        Standard deviation of the Gaussian along the curve, in pixels of arc.
    min_extent_px
        Boundaries with a smaller diagonal of their bounding box are specks and left out.
    """
    rings = (ring[:-1, ::-1] for ring in find_contours(coverage, 0.5))
    return [smooth(Curve(ring, closed=True), sigma_px) for ring in rings if extent(ring) >= min_extent_px]


def extent(points: npt.NDArray[np.floating]) -> float:
    """Return the diagonal of the bounding box of (N, 2) points, in their unit."""
    return float(np.hypot(*np.ptp(points, axis=0)))


def smooth(curve: Curve, sigma_px: float) -> Curve:
    """Return a curve sampled once a pixel of arc and smoothed by a Gaussian; an open one keeps its ends."""
    points = np.vstack([curve.points, curve.points[:1]]) if curve.closed else curve.points
    arc = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
    n_steps = max(3 if curve.closed else 1, round(float(arc[-1])))
    at = np.linspace(0.0, arc[-1], n_steps + 1)
    even = np.column_stack([np.interp(at, arc, points[:, axis]) for axis in (0, 1)])
    if curve.closed:
        return Curve(gaussian_filter1d(even[:-1], sigma_px, axis=0, mode="wrap"), closed=True)
    return Curve(_smooth_open(even, sigma_px), closed=False)


def _smooth_open(points: Points, sigma_px: float) -> Points:
    # Reflection through the end points (odd extension) keeps the ends where they are.
    n_pad = min(len(points) - 1, int(4 * sigma_px) + 1)
    head = 2 * points[0] - points[n_pad:0:-1]
    tail = 2 * points[-1] - points[-2 : -2 - n_pad : -1]
    padded = np.vstack([head, points, tail])
    return np.asarray(
        gaussian_filter1d(padded, sigma_px, axis=0, mode="nearest")[n_pad : n_pad + len(points)]
    )


def split_where(curve: Curve, hidden: npt.NDArray[np.bool_]) -> list[Curve]:
    """Return the pieces of a closed curve whose points are not `hidden` ((N,) bool)."""
    if not hidden.any():
        return [curve]
    start = int(np.flatnonzero(hidden)[0])
    points, hidden = np.roll(curve.points, -start, axis=0), np.roll(hidden, -start)
    steps = np.diff(np.concatenate([hidden, [True]]).astype(np.int8))
    begins, ends = np.flatnonzero(steps == -1) + 1, np.flatnonzero(steps == 1) + 1
    return [Curve(points[b:e], closed=False) for b, e in zip(begins, ends, strict=True) if e - b >= 2]


def trace_lines(lines: npt.NDArray[np.bool_], sigma_px: float, max_spur_px: float) -> list[Curve]:
    """Return the arcs of a one-pixel-wide (H, W) bool drawing as smooth curves that meet at its junctions.

    Arcs of at most `max_spur_px` with a free end at a junction are left out: skeletons grow them at corners.
    """
    ink = np.pad(lines, 1).astype(np.uint8)
    n_neighbours = cv2.filter2D(ink, -1, np.ones((3, 3), np.uint8), borderType=cv2.BORDER_CONSTANT) - ink
    junctions = (ink > 0) & (n_neighbours > 2)
    rings, tree = cv2.findContours(ink - junctions, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    outer = (ring for ring, node in zip(rings, tree[0], strict=True) if node[3] < 0) if rings else ()
    arcs = (_arc_from_ring(ring.reshape(-1, 2)) for ring in outer)
    return [smooth(arc, sigma_px) for arc in _join_junctions(arcs, junctions, max_spur_px)]


def _arc_from_ring(ring: npt.NDArray[np.int32]) -> Curve:
    # OpenCV walks around an arc and comes back over the same pixels: it turns at the two ends.
    turns = np.flatnonzero((np.roll(ring, 1, axis=0) == np.roll(ring, -1, axis=0)).all(axis=1))
    if len(ring) <= 2 or len(turns) >= 2:
        first, last = (0, len(ring) - 1) if len(ring) <= 2 else (int(turns[0]), int(turns[1]))
        return Curve(ring[first : last + 1].astype(np.float64), closed=False)
    return Curve(ring.astype(np.float64), closed=True)


def _join_junctions(
    arcs: Iterable[Curve], junctions: npt.NDArray[np.bool_], max_spur_px: float
) -> Iterator[Curve]:
    for arc in arcs:
        if arc.closed:
            yield Curve(arc.points - 1, closed=True)
            continue
        head, tail = (_junction_near(point, junctions) for point in (arc.points[0], arc.points[-1]))
        points = np.vstack([part for part in (head, arc.points, tail) if part is not None])
        is_spur = (head is None) != (tail is None) and len(points) <= max_spur_px
        if len(points) >= 2 and not is_spur:
            yield Curve(points - 1, closed=False)


def _junction_near(point: Points, junctions: npt.NDArray[np.bool_]) -> Points | None:
    x, y = int(point[0]), int(point[1])
    rows, columns = np.nonzero(junctions[y - 1 : y + 2, x - 1 : x + 2])
    if not len(rows):
        return None
    nearest = int(np.argmin(abs(rows - 1) + abs(columns - 1)))
    return np.array([x - 1 + columns[nearest], y - 1 + rows[nearest]], np.float64)


def structure_lines(
    image: npt.NDArray[np.uint8],
    mask: npt.NDArray[np.bool_],
    texture_suppression: float,
    min_extent_px: float,
) -> npt.NDArray[np.bool_]:
    """Return the one-pixel-wide lines of an object's inner structure, without texture and background.

    The pixels outside of the object and in a thin band along its edge are first replaced by the nearest ones
    inside, so that neither the background nor the outline makes an edge. Texture is then lowered by a small
    bilateral filter and by surround suppression: an edge among edges counts less than one that stands alone
    (Grigorescu, Petkov and Westenberg, "Contour detection based on nonclassical receptive field inhibition",
    IEEE TIP 12(7), 2003, isotropic form). Canny's hysteresis with a threshold from the object's own gradients
    finds the edges; the two edges of a thin line are fused into its middle.

    Parameters
    ----------
    image
        (H, W, 3) uint8 sRGB; the object is a few hundred pixels long.
    mask
        (H, W) bool, False along the frame.
    texture_suppression
        Weight of the surround (alpha of the paper); 0 turns it off.
    min_extent_px
        Connected lines with a smaller diagonal of their bounding box are left out.
    """
    depth = cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, 5)
    inner = depth > _BAND_PX
    if not inner.any():
        return np.zeros(mask.shape, np.bool_)
    smoothed = cv2.bilateralFilter(_fill_outside(image, inner), 5, 40, 3)
    dx, dy = _colour_gradient(smoothed)
    dx, dy, strength = _suppress_surround(dx, dy, inner, texture_suppression)
    high = _edge_threshold(strength[inner])
    edges = cv2.Canny(dx.astype(np.int16), dy.astype(np.int16), 0.4 * high, high, L2gradient=True)
    edges[depth <= _RIM_PX] = 0
    return _drop_small(skeletonize(cv2.dilate(edges, _disk(_FUSE_PX)) > 0), min_extent_px)


# Lengths in pixels of the working image (objects are 384 px long there by default).
_BAND_PX = 4.0  # the edge of the mask and of the object differ by about a hundredth of the object
_RIM_PX = 2.0
_FUSE_PX = 2
_SURROUND_PX = 12.0
_CENTRE_PX = 3.0
# Sobel units: a step of about 20 and 45 grey levels.
_LOWEST_THRESHOLD = 40.0
_HIGHEST_THRESHOLD = 110.0


def _disk(radius_px: int) -> npt.NDArray[np.uint8]:
    return np.asarray(cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius_px + 1,) * 2), np.uint8)


def _fill_outside(image: npt.NDArray[np.uint8], inner: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    _, labels = cv2.distanceTransformWithLabels(
        (~inner).astype(np.uint8), cv2.DIST_L2, 5, labelType=cv2.DIST_LABEL_PIXEL
    )
    source = np.zeros(int(labels.max()) + 1, np.int64)
    source[labels[inner]] = np.flatnonzero(inner)
    return image.reshape(-1, 3)[source[labels]]


def _colour_gradient(
    image: npt.NDArray[np.uint8],
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return x and y Sobel derivatives of the CIELAB channel that changes most at each pixel."""
    lab = cv2.GaussianBlur(cv2.cvtColor(image, cv2.COLOR_RGB2LAB).astype(np.float32), (0, 0), 1.2)
    dx, dy = cv2.Sobel(lab, cv2.CV_32F, 1, 0), cv2.Sobel(lab, cv2.CV_32F, 0, 1)
    best = (dx * dx + dy * dy).argmax(axis=2)[..., None]
    return np.take_along_axis(dx, best, 2)[..., 0], np.take_along_axis(dy, best, 2)[..., 0]


def _suppress_surround(
    dx: npt.NDArray[np.float32], dy: npt.NDArray[np.float32], inner: npt.NDArray[np.bool_], weight: float
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    strength = np.sqrt(dx * dx + dy * dy)
    inside = np.where(inner, strength, np.float32(0))
    surround = cv2.GaussianBlur(inside, (0, 0), _SURROUND_PX) - 0.25 * cv2.GaussianBlur(
        inside, (0, 0), _CENTRE_PX
    )
    share = cv2.GaussianBlur(inner.astype(np.float32), (0, 0), _SURROUND_PX)
    left = np.maximum(strength - weight * np.maximum(surround, 0) / np.maximum(share, 0.05), 0)
    ratio = left / np.maximum(strength, 1e-3)
    return dx * ratio, dy * ratio, left


def _edge_threshold(strength: npt.NDArray[np.float32]) -> float:
    levels = np.clip(strength, 0, 255).astype(np.uint8).reshape(1, -1)
    otsu, _ = cv2.threshold(levels, 0, 255, cv2.THRESH_BINARY | cv2.THRESH_OTSU)
    return float(np.clip(1.3 * otsu, _LOWEST_THRESHOLD, _HIGHEST_THRESHOLD))


def _drop_small(lines: npt.NDArray[np.bool_], min_extent_px: float) -> npt.NDArray[np.bool_]:
    _, labels, stats, _ = cv2.connectedComponentsWithStats(lines.astype(np.uint8), connectivity=8)
    keep = np.hypot(stats[:, cv2.CC_STAT_WIDTH], stats[:, cv2.CC_STAT_HEIGHT]) >= min_extent_px
    keep[0] = False
    return np.asarray(keep[labels], np.bool_)


def skeleton_lines(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return the one-pixel-wide medial axis of a (H, W) bool mask (thinning of Zhang and Suen, 1984)."""
    return np.asarray(skeletonize(mask), np.bool_)
