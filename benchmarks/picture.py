"""Quality against latency as an SVG: up is better, left is faster."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 860, 480
LEFT, RIGHT, TOP, BOTTOM = 60, 20, 24, 52
LINE = 15
OURS, THEIRS = "#0b6e4f", "#8a5a00"


@dataclass(frozen=True, slots=True)
class Point:
    """A way to search: its median milliseconds and its NDCG."""

    label: str
    ms: float
    ndcg: float
    ours: bool


def draw(points: Sequence[Point]) -> str:
    """The picture of at least one point; milliseconds on a logarithmic axis, labels moved apart where they would meet."""
    scale = _Scale(points)
    body = [*_axes(scale), *_marks(points, scale)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


class _Scale:
    def __init__(self, points: Sequence[Point]) -> None:
        times = [max(point.ms, 0.01) for point in points]
        self.decades = range(math.floor(math.log10(min(times))), math.ceil(math.log10(max(times))) + 1)
        if len(self.decades) < 2:
            self.decades = range(self.decades[0], self.decades[0] + 2)

    def x(self, ms: float) -> float:
        share = (math.log10(max(ms, 0.01)) - self.decades[0]) / (self.decades[-1] - self.decades[0])
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, ndcg: float) -> float:
        return HEIGHT - BOTTOM - ndcg * (HEIGHT - TOP - BOTTOM)


def _axes(scale: _Scale) -> Iterator[str]:
    for tenths in range(0, 11, 2):
        y = scale.y(tenths / 10)
        yield f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tenths / 10}</text>'
    for decade in scale.decades:
        x = scale.x(10.0**decade)
        yield f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>'
        yield f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{10.0**decade:g}</text>'
    yield f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">median milliseconds of a query</text>'
    yield f'<text x="16" y="{HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 16 {HEIGHT / 2})">NDCG@10</text>'


def _marks(points: Sequence[Point], scale: _Scale) -> Iterator[str]:
    taken: list[tuple[float, float, float]] = []
    for point in sorted(points, key=lambda point: -point.ndcg):
        x, y = scale.x(point.ms), scale.y(point.ndcg)
        color = OURS if point.ours else THEIRS
        right = x < WIDTH * 0.6
        width = 6.6 * len(point.label)
        start = x + 9 if right else x - 9 - width
        label_y = _free_line(taken, start, start + width, y + 4)
        taken.append((start, start + width, label_y))
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{color}"/>'
        if abs(label_y - y - 4) > 1:
            end = start if right else start + width
            yield f'<path d="M{x:.1f} {y:.1f}L{end:.1f} {label_y - 4:.1f}" stroke="{color}" stroke-width=".6"/>'
        text = f"{escape(point.label)} {point.ndcg:.3f}"
        anchor, at = ("start", start) if right else ("end", start + width)
        yield f'<text x="{at:.1f}" y="{label_y:.1f}" text-anchor="{anchor}" fill="{color}">{text}</text>'


def _free_line(taken: Sequence[tuple[float, float, float]], start: float, end: float, y: float) -> float:
    """The next line downwards on which no label stands in the way."""
    while any(left < end + 40 and start - 40 < right and abs(y - line) < LINE for left, right, line in taken):
        y += 3
    return y
