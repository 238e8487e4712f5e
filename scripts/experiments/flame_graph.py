"""Draws flame graphs (Brendan Gregg's) as one SVG that needs no other file.

A panel has the stacks of one class of threads. A frame is as wide as its share of the panel's
weight, and lies above its caller. Debian has no package that draws such an SVG: perf's own
flamegraph.py loads a library of JavaScript that Debian 12 does not have.
"""

import dataclasses
import html
import re
import zlib

WIDTH, MARGIN, ROW, TITLE, HEAD = 1400, 12, 17, 92, 40  # pixels
LETTER, FONT = 6.7, 11  # pixels of a letter, and of the font
LEAST_PIXELS = 2  # a narrower frame is not drawn
KERNEL, PREEMPTED = " [kernel]", "preempted"  # the ending of a kernel's frame; a frame of its own
# The outermost frames of each thread, which say nothing.
STARTERS = re.compile(r"\[unknown\]$|std::thread::_State_impl|start_thread$|__?clone3?$|_start$|"
                      r"__libc_start|execute_native_thread_routine$")
# The lightest colour of each kind of frame, and the range of its three channels. Text is black.
SHADES = {"on": ((255, 184, 92), (0, 40, 60)), "off": ((140, 190, 240), (50, 30, 15)),
          "kernel": ((205, 205, 205), (25, 25, 25)), PREEMPTED: ((240, 130, 100), (0, 0, 0))}


@dataclasses.dataclass
class Panel:
    title: str
    stacks: dict  # from a tuple of frames, the outermost first, to a weight


@dataclasses.dataclass
class _Node:
    weight: float = 0
    callees: dict = dataclasses.field(default_factory=dict)


def short_name(name):
    """Returns a function's name without namespaces of ours and without template arguments."""
    name = name.replace("(anonymous namespace)::", "").replace("logjam::", "")
    while True:
        shorter = re.sub(r"(?<!operator)<[^<>]+>", "", name)
        if shorter == name:
            return name
        name = shorter


def without_starters(frames):
    """Returns frames, the outermost first, without those that begin each thread."""
    for index, frame in enumerate(frames):
        if not STARTERS.match(frame):
            return tuple(frames[index:])
    return tuple(frames[:1])


def _tree(stacks):
    root = _Node()
    for frames, weight in stacks.items():
        root.weight += weight
        node = root
        for frame in frames:
            node = node.callees.setdefault(frame, _Node())
            node.weight += weight
    return root


def _colour(name, kind):
    kind = PREEMPTED if name == PREEMPTED else "kernel" if name.endswith(KERNEL) else kind
    lightest, ranges = SHADES[kind]
    share = zlib.crc32(name.encode()) % 1000 / 1000
    return "#" + "".join(f"{round(light - share * of):02x}" for light, of in zip(lightest, ranges))


def _walk(node, x, scale, depth=0):
    """Yields (name, node, depth, x) of the frames above a node that are wide enough to see."""
    for name, callee in sorted(node.callees.items()):
        width = callee.weight * scale
        if width >= LEAST_PIXELS:
            yield name, callee, depth, x
            yield from _walk(callee, x, scale, depth + 1)
        x += width


def _frames(root, kind, bottom, unit):
    """Yields the frames of a panel whose outermost frames stand at `bottom`."""
    scale = (WIDTH - 2 * MARGIN) / root.weight
    for name, node, depth, x in _walk(root, MARGIN, scale):
        width, y = node.weight * scale, bottom - (depth + 1) * ROW
        said = f"{name}: {unit(node.weight)}, {100 * node.weight / root.weight:.2f} %"
        yield (f'<g><title>{html.escape(said)}</title><rect x="{x:.1f}" y="{y}" '
               f'width="{max(width - 0.5, 0.3):.1f}" height="{ROW - 1}" '
               f'fill="{_colour(name, kind)}"/>')
        letters = int((width - 4) / LETTER)
        if letters >= 3:
            text = name.removesuffix(KERNEL)  # the colour says it
            text = text if len(text) <= letters else text[:letters - 1] + "…"
            yield f'<text x="{x + 2:.1f}" y="{y + 12}">{html.escape(text)}</text>'
        yield "</g>"


def draw(title, subtitles, panels, kind, unit):
    """Returns the SVG of panels. `kind` is "on" or "off"; `unit` makes a text of a weight."""
    body, y = [], TITLE
    for panel in panels:
        root = _tree(panel.stacks)
        y += HEAD
        body.append(f'<text class="head" x="{MARGIN}" y="{y - 14}">{html.escape(panel.title)}</text>')
        if not root.weight:
            continue
        y += max(depth for _, _, depth, _ in _walk(root, 0, (WIDTH - 2 * MARGIN) / root.weight)) \
            * ROW + ROW
        body.extend(_frames(root, kind, y, unit))
    height = y + MARGIN
    heads = [f'<text class="title" x="{MARGIN}" y="26">{html.escape(title)}</text>']
    heads += [f'<text x="{MARGIN}" y="{46 + 16 * line}">{html.escape(text)}</text>'
              for line, text in enumerate(subtitles)]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}">',
        "<style>text { font: " + f"{FONT}px monospace" + "; fill: black } .title { font: bold 18px "
        "sans-serif } .head { font: bold 14px sans-serif } g:hover rect { stroke: black }</style>",
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>', *heads, *body, "</svg>", ""])
