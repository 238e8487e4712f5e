"""The colours, markers and numbers of all figures, in the PNGs and on the page.

A scheme looks the same in every figure. The colours are Okabe and Ito's, which colour-blind readers
can tell apart; no two schemes that one published figure compares have the same one, and markers
differ too.
"""

import dataclasses

# The names of the colours, for the page, which has others on a dark background.
COLOURS = {"blue": "#0072B2", "orange": "#E69F00", "green": "#009E73", "vermillion": "#D55E00",
           "purple": "#CC79A7", "sky": "#56B4E9", "black": "#222222", "grey": "#9a9a9a"}
PALETTE = [name for name in COLOURS if name != "grey"]
# Matplotlib's names of the markers; the page has the same forms.
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*"]
SCHEMES = {
    "none": ("grey", "X"), "centr": ("blue", "o"), "centr-faa": ("sky", "s"),
    "centr-lockflush": ("black", "v"), "command": ("purple", "P"),
    "aether-c": ("orange", "^"), "aether-d": ("sky", "v"), "aether-cd": ("green", "s"),
    "aether-cde": ("purple", "D"), "aether-cd-socket": ("vermillion", "P"),
    "dlog-s": ("orange", "v"), "dlog-r": ("black", "^"),
    "eleda": ("vermillion", "D"), "eleda-crawl": ("orange", "^"), "eleda-bitmap": ("purple", "X"),
    "scm": ("black", "*"),
    "poplar": ("green", "D"), "silo": ("orange", "^"), "nvmd": ("purple", "v"),
    "nvlog": ("black", "P"), "pwal": ("vermillion", "s"),
}
POLICIES = {"sync": ("blue", "o"), "pipelined": ("green", "D"), "async": ("orange", "^")}
COMPONENTS = {"work": "green", "lock wait": "orange", "log contention": "vermillion",
              "log work": "blue", "flush wait": "purple", "space wait": "sky", "idle": "grey"}
VERDICTS = {"holds": "#00734f", "does not hold": "#b34700", "open": "#8a6100",
            "not measured": "#666666"}


@dataclasses.dataclass(frozen=True)
class Style:
    """How a series is drawn. `variant` counts the series of one scheme: 0 is a full line with full
    markers, the others are dashed and hollow. An unsafe series' bars are hatched."""

    colour: str
    marker: str
    variant: int = 0
    unsafe: bool = False

    @property
    def rgb(self):
        return COLOURS[self.colour]


def styles(series):
    """`series` maps names, in their order, to (schemes, commit policies, whether unsafe): what
    their rows have. Returns a map of names to Styles. Series that measure one scheme each have the
    schemes' colours, those that differ only in the commit policy have the policies', and others
    have those of their places."""
    logs = {name: _only(logs) for name, (logs, _, _) in series.items()}
    commits = {name: _only(commits) for name, (_, commits, _) in series.items()
               if logs[name] != "none"}
    if set(logs.values()) == {"none"}:
        logs = dict.fromkeys(logs)  # the figure is not about logs
    of_logs = [log for log in logs.values() if log != "none"]
    most = max((of_logs.count(log) for log in of_logs), default=0)
    if len(set(of_logs)) == 1 and most > 1 and len(set(commits.values())) == most and all(
            commit in POLICIES for commit in commits.values()):
        look = {name: POLICIES[commit] for name, commit in commits.items()}
    elif all(log in SCHEMES for log in of_logs) and most <= 3 and (
            len(set(of_logs)) > 1 or len(of_logs) == 1):
        look = {name: SCHEMES[log] for name, log in logs.items()}
    else:
        look = {name: _place(i)
                for i, name in enumerate(name for name in logs if logs[name] != "none")}
    found, seen = {}, {}
    for name, (_, _, unsafe) in series.items():
        colour, marker = look.get(name, SCHEMES["none"])
        found[name] = Style(colour, marker, seen.get(colour, 0), unsafe)
        seen[colour] = seen.get(colour, 0) + 1
    return found


def _place(i):
    return PALETTE[i % len(PALETTE)], MARKERS[i % len(MARKERS)]


def at_place(name, place):
    """The Style of a series that only the paper has: a scheme's own, or that of its place."""
    return Style(*SCHEMES.get(name, _place(place)))


def of_bar(style, x):
    """The Style of one bar in a figure of one series: where x are the schemes, each has its own."""
    if x not in SCHEMES:
        return style
    return Style(*SCHEMES[x], style.variant, style.unsafe)


def name_of(series, style):
    """A series' name in a legend."""
    return series if not style.unsafe or "unsafe" in series.lower() else f"{series} (unsafe)"


def _only(values):
    """The one member of a set, or None."""
    return next(iter(values)) if len(values) == 1 else None


def duration(us, digits=3):
    """A time, given in microseconds, with the unit that suits it."""
    size, unit = next(((size, unit) for size, unit in ((1e6, "s"), (1e3, "ms")) if us >= size),
                      (1, "\u00b5s"))
    return f"{float(f'{us / size:.{digits}g}'):g} {unit}"


def short(value, digits=3):
    """A number as people write it: 1.23M, 350k, 12.5, 0.023."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    size = abs(value)
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= limit * 0.9995:
            divisor = {"G": 1e9, "M": 1e6, "k": 1e3}[unit]
            return f"{_digits(value / divisor, digits)}{unit}"
    return _digits(value, digits)


def _digits(value, digits):
    """Significant digits, but never in the 1e+03 notation, and no digit of an integer is lost."""
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    text = f"{value:.{digits}g}"
    return text if "e" not in text else f"{float(text):.12f}".rstrip("0").rstrip(".")


def words_of(column):
    """The function that writes this column's values: times get the unit that suits them."""
    for end, micros in (("_us", 1), ("_ms", 1000)):
        if column.endswith(end):
            return lambda value, digits=3: duration(value * micros, digits)
    return short


def component_names(columns):
    """Names for the parts of a stack: the columns' without the words that all of them begin or end
    with."""
    words = [column.split("_") for column in columns]
    while len(words) > 1 and all(len(w) > 1 and w[0] == words[0][0] for w in words):
        words = [w[1:] for w in words]
    while len(words) > 1 and all(len(w) > 1 and w[-1] == words[0][-1] for w in words):
        words = [w[:-1] for w in words]
    return [" ".join(w) for w in words]


def component_colours(names):
    """A map of parts of a stack to colours' names: the usual ones, or else those left over."""
    left = [colour for colour in COLOURS
            if colour not in {COMPONENTS[name] for name in names if name in COMPONENTS}]
    return {name: COMPONENTS[name] if name in COMPONENTS else left.pop(0) if left else "grey"
            for name in names}


def short_machine(machine):
    """The machine's name without what all of them have: "Intel Xeon, 2 cores"."""
    for noise in ("(R)", "(TM)", " Processor", " CPU"):
        machine = machine.replace(noise, "")
    return ", ".join(part for part in machine.split(", ") if not part.startswith("Linux"))
