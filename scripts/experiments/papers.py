"""Collects what the results of one paper show, and writes a page for each paper in Markdown.

A page has the paper's claims, the counts of its checks, and its reasons: the results with the most
checks that do not agree, each with its figure. The settings, checks and rows of every result follow.
"""

import collections
import dataclasses
import math
import re

from experiments import definition, findings, report, tomllib, verdicts

PAPERS = definition.CONFIG / "papers.toml"
MOST_REASONS = 3
FALLING = (verdicts.DIRECTION, verdicts.DISAGREES)
UNKNOWN = "unknown"  # the cause of a check whose file names none


def falling(entry):
    """Returns the Findings that do not agree."""
    return [one for one in entry.findings if one.word in FALLING]


def what_falls(entry):
    """Returns the sentences of the Findings that do not agree, each with its cause if it is known."""
    return [one.sentence + (f"; cause: {one.cause}" if one.cause else "") for one in falling(entry)]


def _farthest(entry):
    """Returns the largest distance of our numbers from the published ones, as a logarithm."""
    return max((abs(math.log(one.ratio)) for one in falling(entry) if one.ratio), default=0)


@dataclasses.dataclass
class Paper:
    name: str
    entries: list
    why: str = ""
    settle: str = ""

    @property
    def findings(self):
        return [one for entry in self.entries for one in entry.findings]

    @property
    def slug(self):
        return re.sub("[^a-z0-9]+", "-", self.name.lower())

    @property
    def reasons(self):
        """Returns the results with the most checks that fall and a reason, at most MOST_REASONS."""
        known = [entry for entry in self.entries if falling(entry) and entry.why]
        return sorted(known, key=lambda entry: (-len(falling(entry)), -_farthest(entry)))[
            :MOST_REASONS]


def about():
    """Maps the papers' names to their fields `why` and `settle`."""
    return tomllib.loads(PAPERS.read_text(encoding="utf-8"))


def of_entries(entries):
    """Returns the Papers of the published results, in the results' order."""
    found, said = {}, about()
    for entry in entries:
        if not entry.experiment.own:
            found.setdefault(findings.paper_of(entry.experiment), []).append(entry)
    return [Paper(name, of_paper, **said.get(name, {})) for name, of_paper in found.items()]


def causes(found):
    """Returns a text with the numbers of causes of the checks that do not agree, or ""."""
    number = collections.Counter(one.cause or UNKNOWN for one in found if one.word in FALLING)
    return ", ".join(f"{cause} {checks}" for cause, checks in number.most_common())


def formulas(found):
    """Maps the devices' formulas that give our numbers to how many checks each decides."""
    return collections.Counter(one.check["device_bound"] for one in found
                               if one.judge == findings.BY_DEVICE)


def markdown(paper, folder):
    number = findings.counts(paper.findings)
    said = [report.HEAD, f"# {paper.name}", "", "[All papers](REPORT.md)", "",
            f"{len(paper.findings)} checks: {report.counts_in_words(number)}.", "",
            "## What the paper says, and what we find", "",
            report.table(["result", "the paper says", "our checks"], [
                [f"[{', '.join(entry.ids)}](#{report.anchor(entry)})", entry.experiment.claim,
                 "; ".join(part for part in (f"**{entry.words}**", entry.note) if part)]
                for entry in paper.entries])]
    said += [f"- {what}: {of}" for what, of in (
        ("Why checks do not agree", paper.why), ("Causes, in checks", causes(paper.findings)),
        ("What would settle it", paper.settle),
        *(("A device's formula decides " + str(checks), formula)
          for formula, checks in formulas(paper.findings).items())) if of]
    if paper.reasons:
        said += ["", "## The reasons that explain most", ""]
    for entry in paper.reasons:
        said += [f"### {', '.join(entry.ids)}: {len(falling(entry))} of {len(entry.findings)} checks "
                 f"do not agree", "", *report.figure_lines(entry, entry.shown, folder), entry.why, "",
                 *(f"- {report.plain(one)}" for one in what_falls(entry)), ""]
    said += ["", "## Appendix: settings, checks and rows of each result", ""]
    for entry in paper.entries:
        said += report.section(entry, folder, entry in paper.reasons)
    return "\n".join(said).rstrip() + "\n"
