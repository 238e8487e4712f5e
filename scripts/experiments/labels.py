"""Writes the names of points beside the points. No name covers another name or a point.

Each name takes the cheapest position around its point. Then all names choose again, because each
name now knows the other names' positions. This is done in several orders of the names, and the
cheapest result counts. A thin line joins a distant name to its point.
"""

import math

ANGLES = 24
RADII = (9, 13, 18, 24, 31, 39, 48, 58, 69, 81, 94)  # points from the mark to the name's edge
ROUNDS = 5
MARKER = 5.5  # half of a marker's width, plus a margin
NEAR = 14  # a name within this distance needs no line
# The costs of covering a mark, a name or a line, in points of distance.
OVER_NAME, OVER_MARKER, THROUGH_NAME, LINES_CROSS, THROUGH_MARKER = 400, 300, 200, 90, 40
NEAR_ANOTHER = 60  # the name is about as near to another point as to its own


def name_points(axes, marks, styles):
    """Writes the names of the marks. The axes must already have their final size."""
    scale = axes.figure.dpi / 72  # pixels per typographical point
    renderer = axes.figure.canvas.get_renderer()
    texts, points, sizes = [], [], []
    for mark in marks:
        text = axes.annotate(mark.series, (mark.x, mark.middle), (0, 0), ha="center", va="center",
                             textcoords="offset points", fontsize=8.5, zorder=5,
                             color=styles[mark.series].rgb, annotation_clip=False)
        box = text.get_window_extent(renderer)
        texts.append(text)
        sizes.append((box.width / scale + 2, box.height / scale))
        x, y = axes.transData.transform((mark.x, mark.middle))
        points.append((x / scale, y / scale))
    frame = axes.get_window_extent(renderer)
    chosen = places(points, sizes, [side / scale for side in frame.extents])
    for mark, text, (x, y), (to_x, to_y), size in zip(marks, texts, points, chosen, sizes):
        text.set_position((to_x - x, to_y - y))
        end = _nearest((x, y), _box((to_x, to_y), size))
        if math.dist((x, y), end) > NEAR:
            axes.annotate("", (mark.x, mark.middle), (end[0] - x, end[1] - y),
                          textcoords="offset points", annotation_clip=False, zorder=1.5,
                          arrowprops={"arrowstyle": "-", "lw": 0.6, "shrinkA": 1, "shrinkB": 0,
                                      "color": styles[mark.series].rgb})


def places(points, sizes, frame):
    """Returns the names' centres. `sizes`: their widths and heights; `frame`: the plot's sides."""
    crowd = [sum(1 / (20 + math.dist(p, q)) for q in points) for p in points]
    count = range(len(points))
    orders = (sorted(count, key=lambda i: -crowd[i]), sorted(count, key=lambda i: crowd[i]),
              sorted(count, key=lambda i: points[i]), sorted(count, key=lambda i: points[i][::-1]))
    found = [_in_order(order, points, sizes, frame) for order in orders]
    return min(found, key=lambda of: of[0])[1]


def _in_order(order, points, sizes, frame):
    """Places the names in this order, ROUNDS times. Returns the total cost and the positions."""
    chosen, costs = [None] * len(points), [0.0] * len(points)
    for _ in range(ROUNDS):
        before = list(chosen)
        for i in order:
            others = [(points[j], chosen[j], sizes[j]) for j in order if j != i and chosen[j]]
            markers = [p for j, p in enumerate(points) if j != i]
            chosen[i], costs[i] = _cheapest(points[i], sizes[i], frame, others, markers)
        if chosen == before:  # a further round would move no name
            break
    return sum(costs), chosen


def _cheapest(point, size, frame, others, markers):
    best, least = point, math.inf
    for at in _around(point, size, frame):
        if math.dist(point, _nearest(point, _box(at, size))) < least:
            cost = _cost(point, at, size, others, markers, least)
            if cost < least:
                best, least = at, cost
    return best, least


def _around(point, size, frame):
    for radius in RADII:
        for step in range(ANGLES):
            angle = 2 * math.pi * step / ANGLES
            x = point[0] + math.cos(angle) * (radius + size[0] / 2)
            y = point[1] + math.sin(angle) * (radius + size[1] / 2)
            left, bottom, right, top = _box((x, y), size)
            if left >= frame[0] and right <= frame[2] and bottom >= frame[1] and top <= frame[3]:
                yield x, y


def _cost(point, at, size, others, markers, limit):
    """Returns the cost of a name at this position. Stops adding once the cost exceeds `limit`."""
    box = _box(at, size)
    end = _nearest(point, box)
    cost = distance = math.dist(point, end)
    for marker in markers:
        if cost > limit:
            return cost
        away = math.dist(marker, _nearest(marker, box))
        if away < MARKER:
            cost += OVER_MARKER
        elif away < 1.8 * distance and distance <= NEAR:
            cost += NEAR_ANOTHER
        elif distance > NEAR and _distance(marker, point, end) < MARKER:
            cost += THROUGH_MARKER
    for other, other_at, other_size in others:
        if cost > limit:
            break
        other_box = _box(other_at, other_size)
        other_end = _nearest(other, other_box)
        if _overlap(box, other_box):
            cost += OVER_NAME
        if _passes(point, end, other_box) or _passes(other, other_end, box):
            cost += THROUGH_NAME
        if _cross(point, end, other, other_end):
            cost += LINES_CROSS
    return cost


def _box(middle, size):
    return (middle[0] - size[0] / 2, middle[1] - size[1] / 2,
            middle[0] + size[0] / 2, middle[1] + size[1] / 2)


def _nearest(point, box):
    return (min(max(point[0], box[0]), box[2]), min(max(point[1], box[1]), box[3]))


def _overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _distance(point, a, b):
    dx, dy = b[0] - a[0], b[1] - a[1]
    length = dx * dx + dy * dy or 1
    share = min(1, max(0, ((point[0] - a[0]) * dx + (point[1] - a[1]) * dy) / length))
    return math.dist(point, (a[0] + share * dx, a[1] + share * dy))


def _passes(a, b, box):
    """Returns whether the line from a to b begins in the box or crosses one of its diagonals."""
    left, bottom, right, top = box
    return (left < a[0] < right and bottom < a[1] < top or
            _cross(a, b, (left, bottom), (right, top)) or
            _cross(a, b, (left, top), (right, bottom)))


def _cross(a, b, c, d):
    def side(p, q, r):
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])
    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0
