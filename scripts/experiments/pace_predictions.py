"""Counts what the pace of each paper predicts (config/papers/paces.toml).

A pace is found on one published number, so every other check of rows with the pace is a prediction.
A check that a device's formula decides is none, because the pace does not enter the formula. Beside
each prediction stands the verdict on the same check by the rows without the pace."""

from experiments import definition, findings, verdicts

COLUMNS = ["paper", "pace", "results", "predictions", *verdicts.OWN, verdicts.UNTESTED,
           "without the pace: agree"]


def _pairs(entry, found_on):
    """Pairs the words of each prediction of an Entry: with the pace, and without."""
    paced = next((run for run in entry.simulated if run.paced), None)
    plain = paced and next((run for run in entry.simulated if not run.paced and
                            (run.profile, run.size) == (paced.profile, paced.size)), None)
    return [tuple(verdicts.word_of(run.checks[place][1]) for run in (paced, plain))
            for place, check in enumerate(entry.experiment.checks)
            if "device_bound" not in check and check["says"] != found_on] if plain else []


def _cells(pairs):
    with_pace = [pair[0] for pair in pairs]
    return [str(number) for number in (
        len(pairs), *map(with_pace.count, (*verdicts.OWN, verdicts.UNTESTED)),
        [pair[1] for pair in pairs].count(verdicts.AGREES))]


def table_of(entries):
    """Returns the columns and lines of the table, without lines if no rows have a pace."""
    lines, every = [], []
    for name, pace in definition.paces().items():
        of_paper = [entry for entry in entries if not entry.experiment.own and
                    findings.paper_of(entry.experiment).lower() == name]
        of_results = {entry.experiment.id: pairs for entry in of_paper
                      if (pairs := _pairs(entry, pace.get("found_on")))}
        pairs = [pair for of_one in of_results.values() for pair in of_one]
        every += pairs
        if pairs:
            lines.append([findings.paper_of(of_paper[0].experiment), f"{pace['work_us']} us",
                          ", ".join(of_results), *_cells(pairs)])
    return COLUMNS, [*lines, ["all", "", "", *_cells(every)]] if lines else []
