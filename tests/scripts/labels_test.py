"""Tests that each point's name is next to the point, and covers no other name and no point."""

import math
import random
import unittest

from experiments import labels

SIZE, FRAME = (50, 10), (0, 0, 600, 300)


def crowd(seed, count=20):
    """Returns random points that lie in one eighth of the figure's frame."""
    draw = random.Random(seed)
    return [(250 + draw.random() * 150, 120 + draw.random() * 75) for _ in range(count)]


def box(middle):
    return (middle[0] - SIZE[0] / 2, middle[1] - SIZE[1] / 2,
            middle[0] + SIZE[0] / 2, middle[1] + SIZE[1] / 2)


def away(point, of_box):
    return math.hypot(max(of_box[0] - point[0], 0, point[0] - of_box[2]),
                      max(of_box[1] - point[1], 0, point[1] - of_box[3]))


class Labels(unittest.TestCase):
    def test_in_a_crowd_no_name_is_over_another_or_over_a_point(self):
        for seed in range(2):
            points = crowd(seed)
            boxes = [box(at) for at in labels.places(points, [SIZE] * len(points), FRAME)]
            for i, a in enumerate(boxes):
                self.assertTrue(all(away(point, a) > 0 for point in points), seed)
                self.assertTrue(0 <= a[0] and a[2] <= 600 and 0 <= a[1] and a[3] <= 300, seed)
                for b in boxes[:i]:
                    self.assertTrue(a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3],
                                    seed)

    def test_a_point_alone_has_its_name_beside_it(self):
        at, = labels.places([(300, 150)], [SIZE], FRAME)
        self.assertLess(away((300, 150), box(at)), 12)
