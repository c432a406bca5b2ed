"""Lines of an object as smooth curves: its outline, the structure inside of it, its skeleton."""

from __future__ import annotations

from collections.abc import Sequence
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
    """`points` (N, 2) float64: x and y in pixels of the array they came from, whole at a pixel's centre."""

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
    rings = (ring[:, ::-1] for ring in find_contours(coverage, 0.5))  # type: ignore[no-untyped-call]
    return smooth([_resample_ring(ring) for ring in rings if extent(ring) >= min_extent_px], sigma_px)


def extent(points: npt.NDArray[np.floating]) -> float:
    """Return the diagonal of the bounding box of (N, 2) points, in their unit."""
    return float(np.hypot(*np.ptp(points, axis=0)))


def _resample_ring(ring: Points) -> Curve:
    """Return a ring (first point repeated at the end) as a curve with a point for each pixel of arc."""
    arc = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(ring, axis=0).T))])
    at = np.linspace(0.0, arc[-1], max(3, round(float(arc[-1]))), endpoint=False)
    return Curve(np.column_stack([np.interp(at, arc, ring[:, axis]) for axis in (0, 1)]), closed=True)


def smooth(curves: Sequence[Curve], sigma_px: float) -> list[Curve]:
    """Return curves of about a point a pixel, smoothed by a Gaussian along them; open ends stay."""
    if not curves or sigma_px == 0:
        return list(curves)
    n_pad = int(4 * sigma_px) + 1
    flat = gaussian_filter1d(np.vstack([_extended(curve, n_pad) for curve in curves]), sigma_px, axis=0)
    smoothed, start = [], n_pad
    for curve in curves:
        points = flat[start : start + len(curve.points)]
        start += len(points) + 2 * n_pad
        if not curve.closed:
            points[0], points[-1] = curve.points[0], curve.points[-1]
        smoothed.append(Curve(points, curve.closed))
    return smoothed


def _extended(curve: Curve, n_pad: int) -> Points:
    """Return the points with `n_pad` more on both sides: going on around, or turned about the end points."""
    points, last = curve.points, len(curve.points) - 1
    if curve.closed:
        return points[np.arange(-n_pad, last + 1 + n_pad) % len(points)]
    steps = np.arange(1, n_pad + 1)
    head = 2 * points[0] - points[np.minimum(steps[::-1], last)]
    tail = 2 * points[-1] - points[np.maximum(last - steps, 0)]
    return np.concatenate([head, points, tail])


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

    Arcs of at most `max_spur_px` with a free end are left out: skeletons grow them at corners.
    """
    ink = np.pad(lines, 1).astype(np.uint8)
    n_neighbours = cv2.filter2D(ink, -1, np.ones((3, 3), np.uint8), borderType=cv2.BORDER_CONSTANT) - ink
    junctions = (ink > 0) & (n_neighbours > 2)
    rings, tree = cv2.findContours(ink - junctions, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    if not rings:
        return []
    # The inner boundary of a closed line (it has a parent) is the same line again.
    arcs = _arcs(
        [np.asarray(ring[:, 0], np.int32) for ring, node in zip(rings, tree[0], strict=True) if node[3] < 0]
    )
    return smooth(_join_junctions(arcs, junctions, max_spur_px), sigma_px)


def _arcs(rings: list[npt.NDArray[np.int32]]) -> list[Curve]:
    """Return the lines that OpenCV has walked around: an open one there and back, with a turn at each end."""
    points = np.concatenate(rings)
    stops = np.cumsum([len(ring) for ring in rings])
    starts = np.concatenate([[0], stops[:-1]])
    before, after = np.arange(len(points)) - 1, np.arange(len(points)) + 1
    before[starts], after[stops - 1] = stops - 1, starts
    turns = np.flatnonzero((points[before] == points[after]).all(axis=1))
    firsts, lasts = np.searchsorted(turns, starts), np.searchsorted(turns, stops)
    arcs = []
    for start, stop, first, last in zip(starts, stops, firsts, lasts, strict=True):
        is_open = last - first >= 2
        begin, end = (turns[first], turns[first + 1] + 1) if is_open else (start, stop)
        arcs.append(Curve(points[begin:end].astype(np.float64), closed=not is_open and end - begin > 1))
    return arcs


def _join_junctions(
    arcs: Sequence[Curve], junctions: npt.NDArray[np.bool_], max_spur_px: float
) -> list[Curve]:
    """Return arcs with the junction pixels that their ends touch, in pixels of the unpadded drawing."""
    heads = _junctions_near(np.array([arc.points[0] for arc in arcs]), junctions)
    tails = _junctions_near(np.array([arc.points[-1] for arc in arcs]), junctions)
    joined = []
    for arc, head, tail in zip(arcs, heads, tails, strict=True):
        before = [head[None]] if not arc.closed and head[0] >= 0 else []
        is_bridge = len(arc.points) > 1 or (head != tail).any()
        after = [tail[None]] if not arc.closed and tail[0] >= 0 and is_bridge else []
        points = np.concatenate([*before, arc.points, *after]) - 1
        is_spur = not (arc.closed or (before and after)) and len(points) <= max_spur_px
        if len(points) >= 2 and not is_spur:
            joined.append(Curve(points, arc.closed))
    return joined


def _junctions_near(ends: Points, junctions: npt.NDArray[np.bool_]) -> Points:
    """Return for each of (N, 2) points the junction pixel beside it, the nearest one, or (-1, -1)."""
    found = np.full(ends.shape, -1.0)
    for dx, dy in ((1, 1), (1, -1), (-1, 1), (-1, -1), (1, 0), (0, 1), (-1, 0), (0, -1)):
        beside = ends + np.array([dx, dy])
        is_junction = junctions[beside[:, 1].astype(np.intp), beside[:, 0].astype(np.intp)]
        found[is_junction] = beside[is_junction]
    return found


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
    depth = np.asarray(cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, 5), np.float32)
    inner = depth > _BAND_PX
    if not inner.any():
        return np.zeros(mask.shape, np.bool_)
    smoothed = np.asarray(cv2.bilateralFilter(_fill_outside(image, inner), 5, 40, 3), np.uint8)
    dx, dy = _colour_gradient(smoothed)
    high = _edge_threshold(np.hypot(dx, dy)[inner])
    dx, dy = _suppress_surround(dx, dy, inner, texture_suppression)
    edges = cv2.Canny(dx.astype(np.int16), dy.astype(np.int16), 0.4 * high, high, L2gradient=True)
    edges[(depth <= _RIM_PX) | _repeats_outline(dx, dy, depth)] = 0
    return _drop_small(_thin(cv2.dilate(edges, _disk(_FUSE_PX)) > 0), min_extent_px)


# Lengths in pixels of the working image (objects are 384 px long there by default).
_BAND_PX = 4.0  # the edge of the mask and of the object differ by about a hundredth of the object
_RIM_PX = 2.0
_BESIDE_PX = 9.0
_PARALLEL_COSINE = 0.87  # 30 degrees
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
    return np.asarray(image.reshape(-1, 3)[source[labels]], np.uint8)


def _colour_gradient(
    image: npt.NDArray[np.uint8],
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return x and y Sobel derivatives of the CIELAB channel that changes most at each pixel."""
    best_dx, best_dy, strongest = (np.zeros(image.shape[:2], np.float32) for _ in range(3))
    for channel in cv2.split(np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2LAB))):
        blurred = cv2.GaussianBlur(channel.astype(np.float32), (7, 7), 1.2)
        dx = np.asarray(cv2.Sobel(blurred, cv2.CV_32F, 1, 0), np.float32)
        dy = np.asarray(cv2.Sobel(blurred, cv2.CV_32F, 0, 1), np.float32)
        strength = dx * dx + dy * dy
        stronger = strength > strongest
        for best, values in ((best_dx, dx), (best_dy, dy), (strongest, strength)):
            np.copyto(best, values, where=stronger)
    return best_dx, best_dy


def _suppress_surround(
    dx: npt.NDArray[np.float32], dy: npt.NDArray[np.float32], inner: npt.NDArray[np.bool_], weight: float
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    strength = np.asarray(np.sqrt(dx * dx + dy * dy), np.float32)
    inside = np.where(inner, strength, np.float32(0))
    surround = cv2.GaussianBlur(inside, (0, 0), _SURROUND_PX) - 0.25 * cv2.GaussianBlur(
        inside, (0, 0), _CENTRE_PX
    )
    share = cv2.GaussianBlur(inner.astype(np.float32), (0, 0), _SURROUND_PX)
    suppression = np.float32(weight) * np.maximum(surround, 0) / np.maximum(share, np.float32(0.05))
    left = np.maximum(strength - suppression, 0)
    ratio = left / np.maximum(strength, np.float32(1e-3))
    return np.asarray(dx * ratio, np.float32), np.asarray(dy * ratio, np.float32)


def _blur(values: npt.NDArray[np.float32], sigma_px: float) -> npt.NDArray[np.float32]:
    """Return a Gaussian blur, computed on fewer pixels: enough for what it leaves, and many times faster."""
    height, width = values.shape
    shrink = max(1, int(sigma_px / 1.5))
    small = cv2.resize(values, (-(-width // shrink), -(-height // shrink)), interpolation=cv2.INTER_AREA)
    blurred = cv2.GaussianBlur(small, (0, 0), sigma_px / shrink)
    return np.asarray(cv2.resize(blurred, (width, height), interpolation=cv2.INTER_LINEAR), np.float32)


def _repeats_outline(
    dx: npt.NDArray[np.float32], dy: npt.NDArray[np.float32], depth: npt.NDArray[np.float32]
) -> npt.NDArray[np.bool_]:
    """Return where an edge would run beside the outline: the object's own edge, beside that of its mask."""
    inward_x, inward_y = cv2.Sobel(depth, cv2.CV_32F, 1, 0), cv2.Sobel(depth, cv2.CV_32F, 0, 1)
    across = np.abs(dx * inward_x + dy * inward_y)
    both = np.sqrt((dx * dx + dy * dy) * (inward_x * inward_x + inward_y * inward_y))
    return np.asarray((depth < _BESIDE_PX) & (across > _PARALLEL_COSINE * both))


def _edge_threshold(strength: npt.NDArray[np.float32]) -> float:
    levels = np.clip(strength, 0, 255).astype(np.uint8).reshape(1, -1)
    otsu, _ = cv2.threshold(levels, 0, 255, cv2.THRESH_BINARY | cv2.THRESH_OTSU)
    return float(np.clip(1.3 * otsu, _LOWEST_THRESHOLD, _HIGHEST_THRESHOLD))


def _drop_small(lines: npt.NDArray[np.bool_], min_extent_px: float) -> npt.NDArray[np.bool_]:
    _, labels, stats, _ = cv2.connectedComponentsWithStats(lines.astype(np.uint8), connectivity=8)
    keep = np.hypot(stats[:, cv2.CC_STAT_WIDTH], stats[:, cv2.CC_STAT_HEIGHT]) >= min_extent_px
    keep[0] = False
    return np.asarray(keep[labels], np.bool_)


def _thin(ink: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    return np.asarray(skeletonize(ink), np.bool_)  # type: ignore[no-untyped-call]


def skeleton_lines(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return the one-pixel-wide medial axis of a (H, W) bool mask (thinning of Zhang and Suen, 1984)."""
    return _thin(mask)
