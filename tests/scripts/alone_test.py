"""A lock is held by one process at a time, and leaves no file."""

import os
from unittest import mock

from fixtures import InADirectory

from experiments.files import alone
from experiments.errors import Refused


class Alone(InADirectory):
    def test_the_second_is_refused_until_the_first_has_ended(self):
        place = self.directory / "new" / "x.csv"
        with alone(place):
            with self.assertRaisesRegex(Refused, "x.csv is in use by another"), alone(place):
                self.fail("held twice")
        with alone(place):
            pass
        self.assertEqual(list(place.parent.iterdir()), [])

    def test_a_lock_whose_file_the_other_removed_meanwhile_is_not_taken(self):
        place = self.directory / "x.csv"
        lock, flock = self.directory / "x.csv.lock", __import__("fcntl").flock

        def removed_before(file, how):
            if not removed:
                removed.append(os.unlink(lock))  # the holder ends between open() and flock()
            flock(file, how)

        removed = []
        with mock.patch("experiments.files.fcntl.flock", removed_before), alone(place):
            self.assertTrue(lock.exists())
            with self.assertRaises(Refused), alone(place):
                self.fail("held twice")
