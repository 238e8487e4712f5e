"""The colours, markers and numbers of all figures, in the PNGs and on the page.

A scheme has the same colour and marker in every figure, and no other scheme has this pair. Schemes
of one family, and schemes in one published figure, have different colours. A scheme that SCHEMES
does not list is cyan, with a marker that follows from its name, so a new scheme changes no other
scheme's look. Colour-blind readers can distinguish the first seven colours (Okabe and Ito).
"""

import dataclasses
import typing
import zlib

# The page uses only the names, because it has other colours on a dark background.
COLOURS = {"blue": "#0072B2", "orange": "#E69F00", "green": "#009E73", "vermillion": "#D55E00",
           "purple": "#CC79A7", "sky": "#56B4E9", "black": "#222222", "olive": "#8a8a00",
           "brown": "#7f4f24", "navy": "#332288", "wine": "#882255", "cyan": "#00b4b4",
           "grey": "#9a9a9a"}
PALETTE = list(COLOURS)[:7]  # for series that are not schemes
UNKNOWN_SCHEME = "cyan"
# Matplotlib's names of the markers; the page draws the same shapes.
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*"]
SCHEMES = {
    "none": ("grey", "X"), "centr": ("blue", "o"), "centr-faa": ("sky", "s"),
    "centr-lockflush": ("black", "v"), "command": ("olive", "P"),
    "aether-c": ("orange", "v"), "aether-d": ("sky", "v"), "aether-cd": ("green", "s"),
    "aether-cde": ("purple", "D"), "aether-cd-socket": ("vermillion", "P"),
    "dlog-s": ("wine", "v"), "dlog-r": ("navy", "^"),
    "eleda": ("vermillion", "D"), "eleda-crawl": ("brown", "^"), "eleda-bitmap": ("purple", "X"),
    "scm": ("black", "*"), "innodb": ("blue", "D"), "postgres": ("navy", "s"),
    "mariadb": ("sky", "P"), "wiredtiger": ("green", "^"), "rocksdb": ("wine", "X"),
    "poplar": ("green", "D"), "silo": ("orange", "^"), "nvmd": ("purple", "v"),
    "nvlog": ("brown", "P"), "pwal": ("vermillion", "s"),
    "border-collie": ("navy", "o"), "border-collie-d": ("olive", "X"), "rfa": ("sky", "*"), "taurus": ("brown", "v"),
    "fasterlog": ("wine", "s"), "ermia": ("olive", "^"), "autonomous": ("purple", "o"),
    "tide": ("navy", "D"), "tide-announced": ("sky", "D"), "tide-scanned": ("brown", "s"),
    "tide-epochs": ("orange", "o"),
}
# A figure with very many schemes has a panel for each family.
FAMILIES = {
    "one mutex": ("centr", "centr-lockflush"),
    "Aether, one buffer": ("aether-c", "aether-d", "aether-cd", "aether-cde"),
    "Aether, sockets": ("aether-cd-socket", "dlog-s", "dlog-r"),
    "fetch-add, ELEDA": ("centr-faa", "command", "eleda", "eleda-crawl", "eleda-bitmap"),
    "fetch-add, a word per worker": ("border-collie", "fasterlog", "ermia"),
    "database systems": ("innodb", "postgres", "mariadb", "wiredtiger", "rocksdb"),
    "log streams": ("poplar", "rfa", "taurus", "silo", "autonomous", "tide", "pwal"),
    "ablations of tide": ("tide-announced", "tide-scanned", "tide-epochs"),
    "a log per worker, NVM": ("nvlog", "nvmd", "border-collie-d", "scm"),
}
OTHERS = "other schemes"
# Dashes and hatches of series that must also differ in grey (in_grey()). A figure in colours uses
# only the first three dashes, and hatches only unsafe bars. Hatches of dots or rings would make a PGF of
# many megabytes.
DASHES = ["-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 1.5, 1.5, 1.5)), (0, (9, 2, 4, 2))]
HATCHES = ["", "\\\\\\\\", "----", "xxxx", "||||", "++++", "\\\\", "--"]
UNSAFE_HATCH = "///"
POLICIES = {"sync": ("blue", "o"), "pipelined": ("green", "D"), "async": ("orange", "^")}
COMPONENTS = {"work": "green", "lock wait": "orange", "log contention": "vermillion",
              "log work": "blue", "flush wait": "purple", "space wait": "sky", "idle": "grey"}
VERDICTS = {"agrees": "#00734f", "direction only": "#8a6100", "disagrees": "#b34700",
            "by a device's formula": "#005b8c", "not tested": "#666666", "picture": "#666666"}


@dataclasses.dataclass(frozen=True)
class Style:
    """The look of a series. Series of one scheme differ in `variant`: 0 has full markers, others
    have hollow markers. `place` is the number of the series in a figure that may be printed in grey,
    or None."""

    colour: str
    marker: str
    variant: int = 0
    unsafe: bool = False
    place: typing.Optional[int] = None

    @property
    def rgb(self):
        return COLOURS[self.colour]

    @property
    def hollow(self):
        return bool(self.variant or self.unsafe)

    @property
    def dashes(self):
        return DASHES[min(self.variant, 2) if self.place is None else self.place % len(DASHES)]

    @property
    def hatch(self):
        return UNSAFE_HATCH if self.unsafe else HATCHES[(self.place or 0) % len(HATCHES)]


def in_grey(styles):
    """Returns the Styles with places, so that no two series have the same marker, hollow or full,
    and the same dashes, nor the same hatch."""
    used, found = set(), {}
    for number, (name, style) in enumerate(styles.items()):
        places = range(number, number + len(DASHES))
        place = next((place for place in places if
                      (style.marker, style.hollow, place % len(DASHES)) not in used), number)
        used.add((style.marker, style.hollow, place % len(DASHES)))
        found[name] = dataclasses.replace(style, place=place)
    return found


def look_of(scheme):
    if scheme in SCHEMES:
        return SCHEMES[scheme]
    return UNKNOWN_SCHEME, MARKERS[zlib.crc32(scheme.encode()) % len(MARKERS)]


def family_of(scheme):
    return next((family for family, members in FAMILIES.items() if scheme in members), OTHERS)


def schemes_of(series):
    """Maps series to their scheme, or to None if a series has several schemes."""
    return {name: _only(logs) or None for name, (logs, _, _) in series.items()}


def styles(series):
    """Maps the series' names to Styles. `series` maps the names, in order, to the schemes, the
    commit policies and the safety of their rows. A series has its scheme's look if the figure
    compares schemes, or its policy's look if all series have one scheme and different commit
    policies. Otherwise it has the look of its position."""
    logs = schemes_of(series)
    commits = {name: _only(commits) for name, (_, commits, _) in series.items()
               if logs[name] != "none"}
    if set(logs.values()) == {"none"}:
        logs = dict.fromkeys(logs)  # the figure does not show logs
    of_logs = [log for log in logs.values() if log != "none"]
    schemes = set(of_logs) - {None}
    if len(set(of_logs)) == 1 < len(of_logs) == len(set(commits.values())) and all(
            commit in POLICIES for commit in commits.values()):
        look = {name: POLICIES[commit] for name, commit in commits.items()}
    else:
        look = {name: _place(i)
                for i, name in enumerate(name for name in logs if logs[name] != "none")}
        if len(schemes) > 1 or len(of_logs) == 1:
            look.update({name: look_of(log) for name, log in logs.items() if log})
    found, seen = {}, {}
    for name, (_, _, unsafe) in series.items():
        of_series = look.get(name, SCHEMES["none"])
        variant = seen.get(of_series, 0)
        colour, marker = of_series
        # The dashes of a short line are invisible, so series of one colour also differ in markers.
        marker = MARKERS[(MARKERS.index(marker) + variant) % len(MARKERS)]
        found[name] = Style(colour, marker, variant, unsafe)
        seen[of_series] = variant + 1
    return found


def _place(i):
    return PALETTE[i % len(PALETTE)], MARKERS[i % len(MARKERS)]


def at_place(name, place):
    return Style(*SCHEMES.get(name, _place(place)))


def of_bar(style, x):
    """Returns the Style of a bar in a figure with one series. A scheme x has its own Style."""
    return Style(*SCHEMES[x], style.variant, style.unsafe) if x in SCHEMES else style


def name_of(series, style):
    return series if not style.unsafe or "unsafe" in series.lower() else f"{series} (unsafe)"


def _only(values):
    return next(iter(values)) if len(values) == 1 else None


def duration(us, digits=3):
    size, unit = next(((size, unit) for size, unit in ((1e6, "s"), (1e3, "ms")) if us >= size),
                      (1, "\u00b5s"))
    return f"{float(f'{us / size:.{digits}g}'):g} {unit}"


def short(value, digits=3):
    """Returns a number in short form: 1.23M, 350k, 12.5, 0.023."""
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
    """Returns a number with significant digits, without exponent. Integers keep all digits."""
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    text = f"{value:.{digits}g}"
    return text if "e" not in text else f"{float(text):.12f}".rstrip("0").rstrip(".")


def words_of(column):
    """Returns the function that formats this column's values, times with a suitable unit."""
    for end, micros in (("_us", 1), ("_ms", 1000)):
        if column.endswith(end):
            return lambda value, digits=3: duration(value * micros, digits)
    return short


def component_names(columns):
    """Returns the columns' names without their common first and last words."""
    words = [column.split("_") for column in columns]
    while len(words) > 1 and all(len(w) > 1 and w[0] == words[0][0] for w in words):
        words = [w[1:] for w in words]
    while len(words) > 1 and all(len(w) > 1 and w[-1] == words[0][-1] for w in words):
        words = [w[:-1] for w in words]
    return [" ".join(w) for w in words]


def component_colours(names):
    """Maps a stack's parts to names of colours. Parts outside COMPONENTS get unused colours."""
    left = [colour for colour in COLOURS
            if colour not in {COMPONENTS[name] for name in names if name in COMPONENTS}]
    return {name: COMPONENTS[name] if name in COMPONENTS else left.pop(0) if left else "grey"
            for name in names}


def short_machine(machine):
    """Returns a short name of the machine: "Intel Xeon, 2 cores"."""
    for noise in ("(R)", "(TM)", " Processor", " CPU"):
        machine = machine.replace(noise, "")
    return ", ".join(part for part in machine.split(", ") if not part.startswith("Linux"))
