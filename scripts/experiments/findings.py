"""Says of each check of the published results what was found, and counts it by paper and result.

VERDICTS.md and the page show the same Findings. A check is judged by the native rows, or by a
simulated machine if the native rows do not decide it (report_data.Entry.judged)."""

import dataclasses
import typing

from experiments import check_values, verdicts

NATIVE, SIMULATED, BY_DEVICE = "native", "simulated", "device"  # who judges a check


@dataclasses.dataclass
class Finding:
    """A check, its verdict, and the Run that gives the verdict (None without rows)."""

    id: str  # of the result
    paper: str
    check: dict  # of the result's file
    verdict: str
    run: typing.Any
    cause: str  # of the result, or of this check alone

    @property
    def word(self):
        return verdicts.word_of(self.verdict)

    @property
    def judge(self):
        """Returns NATIVE, SIMULATED, or BY_DEVICE if a device's formula gives our number, whether
        it agrees or not. Returns "" if the check is not tested."""
        if self.verdict not in verdicts.JUDGED:
            return ""
        return (BY_DEVICE if "device_bound" in self.check else
                SIMULATED if self.run.simulated else NATIVE)

    @property
    def published(self):
        """Returns the number beside which ours stands, or None for a sentence."""
        return self.check.get("published")

    @property
    def derived(self):
        """Returns how the published number follows from the paper, or "" if the paper has it."""
        return self.check.get("derived", "")

    @property
    def ours(self):
        """Returns our number, or None for a sentence and for a check that is not judged."""
        return check_values.ours_of(self.run.measured, self.check) if self.judge else None

    @property
    def ratio(self):
        """Returns our number over the published one, or None if there is no ratio above 0."""
        ours = self.ours if self.published else None
        return ours / self.published if ours and ours / self.published > 0 else None

    @property
    def sentence(self):
        """Returns the check, both numbers, and the verdict with its judge or reason."""
        beside = self.judge and check_values.beside_published(self.run.measured, self.check)
        by = {NATIVE: "native", SIMULATED: "simulated", BY_DEVICE: "a device's formula"}
        return ". ".join(part for part in (
            f"{self.id}: {self.check['says']}", beside,
            self.verdict + (f" ({by[self.judge]})" if self.judge else "")) if part)


def paper_of(experiment):
    """Returns the paper's name: "Aether, Fig. 2" is of Aether."""
    return experiment.source.partition(",")[0]


def of_entry(entry):
    one = entry.experiment
    return [Finding(one.id, paper_of(one), check, verdict, run, check.get("cause", one.cause))
            for check, verdict, run in entry.judged]


def of_entries(entries):
    """Returns the Findings of all checks of published results, in the files' order."""
    return [finding for entry in entries if not entry.experiment.own
            for finding in of_entry(entry)]


def counts(found):
    """Maps the words of verdicts.EVERY to numbers of Findings, which add up to all of them. NATIVE
    and SIMULATED say which rows judge those of verdicts.OWN."""
    of_words = [one.word for one in found]
    simulated = [one.run.simulated for one in found if one.verdict in verdicts.OWN]
    return {**{word: of_words.count(word) for word in verdicts.EVERY},
            NATIVE: simulated.count(False), SIMULATED: simulated.count(True)}
