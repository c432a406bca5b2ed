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
    n_points = np.array([len(curve.points) for curve in curves])
    extended, is_pad = _extended(curves, n_points, n_pad)
    flat = gaussian_filter1d(extended, sigma_px, axis=0)[~is_pad]
    smoothed = []
    for curve, points in zip(curves, np.split(flat, np.cumsum(n_points)[:-1]), strict=True):
        if not curve.closed:
            points[0], points[-1] = curve.points[0], curve.points[-1]
        smoothed.append(Curve(points, curve.closed))
    return smoothed


def _extended(
    curves: Sequence[Curve], n_points: npt.NDArray[np.intp], n_pad: int
) -> tuple[Points, npt.NDArray[np.bool_]]:
    """Return the points of all curves, each with `n_pad` more on both sides, and where those are.

    A closed curve goes on around, an open one turned about its end points.
    """
    lengths = n_points + 2 * n_pad
    last, first = np.repeat(n_points - 1, lengths), np.repeat(np.cumsum(n_points) - n_points, lengths)
    is_open = np.repeat([not curve.closed for curve in curves], lengths)
    at = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths + n_pad, lengths)
    end = np.clip(at, 0, last)
    is_pad = at != end
    turned = np.clip(2 * end - at, 0, last)
    points = np.vstack([curve.points for curve in curves])
    extended = points[first + np.where(is_open, turned, at % (last + 1))]
    about_end = is_open & is_pad
    extended[about_end] = 2 * points[(first + end)[about_end]] - extended[about_end]
    return extended, is_pad


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

    Gradients are those of the object alone, without a thin band along its edge, so that the background makes
    no line. Texture is lowered by surround suppression: an edge among edges counts less than one that stands
    alone (after Grigorescu, Petkov and Westenberg, "Contour detection based on nonclassical receptive field
    inhibition", IEEE TIP 12(7), 2003, isotropic form). A gradient g in a surround of mean gradient t becomes
    g (1 - (alpha t / g)^2), where the paper subtracts alpha t: details lose less, texture as much. Canny's
    hysteresis with thresholds from the object's own gradients finds the edges. A thin line has two, and both
    stay: networks trained on photographs give the right class half the probability when the two are fused.

    Parameters
    ----------
    image
        (H, W, 3) uint8 sRGB; the object is a few hundred pixels long.
    mask
        (H, W) bool, False along the frame.
    texture_suppression
        Weight of the surround, alpha; 0 turns it off.
    min_extent_px
        Connected lines with a smaller diagonal of their bounding box are left out.
    """
    inner = cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, 5) > _BAND_PX
    if not inner.any():
        return np.zeros(mask.shape, np.bool_)
    dx, dy = _colour_gradient(image, inner)
    high, low = _edge_thresholds(np.hypot(dx, dy)[inner])
    dx, dy = _suppress_surround(dx, dy, inner, texture_suppression)
    edges = cv2.Canny(dx.astype(np.int16), dy.astype(np.int16), low, high, L2gradient=True)
    edges[~inner] = 0
    ink = cv2.morphologyEx(edges, cv2.MORPH_CLOSE, np.ones(_FUSED, np.uint8))
    return _drop_small(_thin(ink > 0), min_extent_px)


# Lengths in pixels of the working image (objects are 576 px long there by default).
_BAND_PX = 3.5  # the edge of the mask and of the object differ by about a hundredth of the object
_BLUR_PX = 1.5
_WINDOW = (9, 9)
_SURROUND_PX = 30.0  # texture covers more than the details of a lens or a dial do
_FUSED = (3, 3)  # edges so near would touch in a small cue, and make one thick stroke
# Sobel units: a sharp step of about 15 and 55 levels of CIELAB.
_LOWEST_THRESHOLD = 30.0
_HIGHEST_THRESHOLD = 110.0


def _colour_gradient(
    image: npt.NDArray[np.uint8], inner: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return x and y Sobel derivatives of the CIELAB channel that changes most at each pixel.

    Channels are blurred by a Gaussian over the inner pixels alone (Knutsson and Westin, "Normalized and
    differential convolution", CVPR 1993). Derivatives are 0 where there are none nearby.
    """
    weight = inner.astype(np.float32)
    shares = np.maximum(cv2.GaussianBlur(weight, _WINDOW, _BLUR_PX), np.float32(1e-6))
    near = cv2.dilate(weight, np.ones((5, 5), np.uint8))
    best_dx, best_dy, strongest = (np.zeros(inner.shape, np.float32) for _ in range(3))
    for channel in cv2.split(np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2LAB))):
        blurred = cv2.GaussianBlur(channel * weight, _WINDOW, _BLUR_PX) / shares
        dx = np.asarray(cv2.Sobel(blurred, cv2.CV_32F, 1, 0), np.float32)
        dy = np.asarray(cv2.Sobel(blurred, cv2.CV_32F, 0, 1), np.float32)
        strength = (dx * dx + dy * dy) * near
        stronger = strength > strongest
        for best, values in ((best_dx, dx), (best_dy, dy), (strongest, strength)):
            np.copyto(best, values, where=stronger)
    return best_dx, best_dy


def _suppress_surround(
    dx: npt.NDArray[np.float32], dy: npt.NDArray[np.float32], inner: npt.NDArray[np.bool_], weight: float
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    strength = np.maximum(cv2.magnitude(dx, dy), np.float32(1e-3))
    share = np.maximum(_blur(inner.astype(np.float32), _SURROUND_PX), np.float32(0.05))
    crowding = np.float32(weight) * _blur(strength * inner, _SURROUND_PX) / share / strength
    left = np.maximum(1 - crowding * crowding, 0)
    return np.asarray(dx * left, np.float32), np.asarray(dy * left, np.float32)


def _blur(values: npt.NDArray[np.float32], sigma_px: float) -> npt.NDArray[np.float32]:
    """Return a Gaussian blur, computed on fewer pixels: enough for what it leaves, and many times faster."""
    height, width = values.shape
    shrink = max(1, int(sigma_px / 1.5))
    small = cv2.resize(values, (-(-width // shrink), -(-height // shrink)), interpolation=cv2.INTER_AREA)
    blurred = cv2.GaussianBlur(small, (0, 0), sigma_px / shrink)
    return np.asarray(cv2.resize(blurred, (width, height), interpolation=cv2.INTER_LINEAR), np.float32)


def _edge_thresholds(strength: npt.NDArray[np.float32]) -> tuple[float, float]:
    """Return the strengths at which an edge starts, and down to which it goes on."""
    levels = np.clip(strength, 0, 255).astype(np.uint8).reshape(1, -1)
    otsu, _ = cv2.threshold(levels, 0, 255, cv2.THRESH_BINARY | cv2.THRESH_OTSU)
    high = float(np.clip(0.9 * otsu, _LOWEST_THRESHOLD, _HIGHEST_THRESHOLD))
    return high, 0.3 * high


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
