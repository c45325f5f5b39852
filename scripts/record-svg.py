#!/usr/bin/env python3
"""Records a command on a terminal of its own and writes an animated SVG of it.

    scripts/record-svg.py docs/images/demo.svg ralph demo
    scripts/record-svg.py --columns 100 --rows 30 OUT.svg COMMAND...

The picture is what the command really printed, in its order and colours. Only the pace is changed:
nothing stands longer than --longest or shorter than --shortest seconds, so that it can be read.
Needs nothing but Python. The SVG has no script and loads nothing; readers who do not want motion
see its last frame.
"""

import argparse
import fcntl
import html
import os
import pty
import re
import select
import struct
import sys
import termios
import time

COLOURS = ["#3b4252", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d7dae0"]
BRIGHT = ["#7f848e", "#ff7b86", "#b5e08d", "#ffd68a", "#82c4ff", "#dd9bf0", "#79d4df", "#ffffff"]
PLAIN, BACK, DIM = "#d7dae0", "#1e2127", "#8b919c"
CELL_W, CELL_H, SIZE, PAD = 8.4, 19, 14, 14


class Screen:
    """As much of a terminal as a program that prints lines and redraws one needs."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.cells = [self.blank() for _ in range(rows)]
        self.x = self.y = 0
        self.style = (None, False, False)
        self.rest = ""

    def blank(self):
        return [(" ", (None, False, False))] * self.columns

    def feed(self, text):
        text, self.rest = self.rest + text, ""
        at = 0
        while at < len(text):
            char = text[at]
            if char == "\x1b":
                found = re.match(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[=>78()][0B]?)", text[at:])
                if not found:
                    if len(text) - at < 64:
                        self.rest = text[at:]
                        return
                    at += 1
                    continue
                self.escape(found.group(0))
                at += len(found.group(0))
                continue
            self.put(char)
            at += 1

    def put(self, char):
        if char == "\n":
            self.down()
        elif char == "\r":
            self.x = 0
        elif char == "\b":
            self.x = max(0, self.x - 1)
        elif char == "\t":
            self.x = min(self.columns - 1, (self.x // 8 + 1) * 8)
        elif char >= " ":
            if self.x >= self.columns:
                self.x = 0
                self.down()
            self.cells[self.y][self.x] = (char, self.style)
            self.x += 1

    def down(self):
        if self.y + 1 < self.rows:
            self.y += 1
        else:
            self.cells = self.cells[1:] + [self.blank()]

    def escape(self, code):
        found = re.match(r"\x1b\[([0-9;]*)([A-Za-z])$", code)
        if not found:
            return
        numbers = [int(n or 0) for n in found.group(1).split(";")]
        first = max(1, numbers[0])
        what = found.group(2)
        if what == "m":
            self.paint(numbers)
        elif what == "A":
            self.y = max(0, self.y - first)
        elif what == "B":
            self.y = min(self.rows - 1, self.y + first)
        elif what == "C":
            self.x = min(self.columns - 1, self.x + first)
        elif what == "D":
            self.x = max(0, self.x - first)
        elif what == "G":
            self.x = min(self.columns, first) - 1
        elif what in "Hf":
            self.y = min(self.rows, first) - 1
            self.x = min(self.columns, max(1, (numbers + [1])[1])) - 1
        elif what == "K":
            start, end = {0: (self.x, self.columns), 1: (0, self.x + 1)}.get(numbers[0], (0, self.columns))
            for x in range(start, min(end, self.columns)):
                self.cells[self.y][x] = (" ", (None, False, False))
        elif what == "J":
            begin = self.y if numbers[0] == 0 else 0
            for x in range(self.x if numbers[0] == 0 else 0, self.columns):
                self.cells[begin][x] = (" ", (None, False, False))
            for y in range(begin + 1, self.rows):
                self.cells[y] = self.blank()

    def paint(self, numbers):
        colour, bold, dim = self.style
        numbers = list(numbers)
        while numbers:
            n = numbers.pop(0)
            if n == 0:
                colour, bold, dim = None, False, False
            elif n == 1:
                bold = True
            elif n == 2:
                dim = True
            elif n == 22:
                bold = dim = False
            elif 30 <= n <= 37:
                colour = COLOURS[n - 30]
            elif 90 <= n <= 97:
                colour = BRIGHT[n - 90]
            elif n == 39:
                colour = None
            elif n in (38, 48) and numbers:
                kind = numbers.pop(0)
                taken, numbers = numbers[: {5: 1, 2: 3}.get(kind, 0)], numbers[{5: 1, 2: 3}.get(kind, 0) :]
                if n == 38 and kind == 5 and taken and taken[0] < 16:
                    colour = (COLOURS + BRIGHT)[taken[0]]
                elif n == 38 and kind == 2 and len(taken) == 3:
                    colour = "#%02x%02x%02x" % tuple(taken)
        self.style = (colour, bold, dim)

    def lines(self):
        return tuple(tuple(row) for row in self.cells)


def record(command, columns, rows):
    """What the command prints on a terminal: pieces with their times, and its exit code."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS=str(columns), LINES=str(rows))
        os.environ.pop("NO_COLOR", None)
        try:
            os.execvp(command[0], command)
        finally:
            os._exit(127)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    pieces, limit = [], time.monotonic() + 300
    while time.monotonic() < limit:
        ready, _, _ = select.select([terminal], [], [], 1)
        if not ready:
            continue
        try:
            data = os.read(terminal, 4096)
        except OSError:
            break
        if not data:
            break
        pieces.append((time.monotonic(), data))
    os.close(terminal)
    return pieces, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def frames(pieces, title, columns, rows, shortest, longest):
    """Screens with the seconds that each is shown."""
    screen = Screen(columns, rows)
    shown = []

    def snap(seconds):
        lines = screen.lines()
        if shown and shown[-1][0] == lines:
            shown[-1][1] += seconds
        else:
            shown.append([lines, seconds])

    screen.feed("\x1b[1;32m$\x1b[0m ")
    snap(0.6)
    for char in title:
        screen.feed(char)
        snap(0.05)
    snap(0.5)
    screen.feed("\r\n")
    before = pieces[0][0] if pieces else 0
    decoder = __import__("codecs").getincrementaldecoder("utf-8")("replace")
    for when, data in pieces:
        if shown:
            shown[-1][1] += min(longest, max(0.0, when - before))
        before = when
        # A burst of lines comes line by line, as one would read it.
        for part in re.split(r"(?<=\n)", decoder.decode(data)):
            if part:
                screen.feed(part)
                snap(shortest if part.endswith("\n") else 0.0)
    snap(5.0)
    # What stands for less than a blink joins its neighbour.
    merged = []
    for lines, seconds in shown:
        if merged and merged[-1][1] < 0.04:
            merged[-1] = [lines, merged[-1][1] + seconds]
        else:
            merged.append([lines, seconds])
    return merged


def text_of(row):
    """One row as an SVG text, or nothing for an empty one."""
    cells = list(row)
    while cells and cells[-1][0] == " ":
        cells.pop()
    if not cells:
        return ""
    runs = []
    for char, style in cells:
        if runs and runs[-1][1] == style:
            runs[-1][0] += char
        else:
            runs.append([char, style])
    out = []
    for text, (colour, bold, dim) in runs:
        fill = DIM if dim and colour is None else colour
        paint = (f' fill="{fill}"' if fill else "") + (' font-weight="bold"' if bold else "")
        words = html.escape(text, quote=False)
        out.append(f"<tspan{paint}>{words}</tspan>" if paint else words)
    width = len(cells) * CELL_W
    return f'<text textLength="{width:.1f}" xml:space="preserve">{"".join(out)}</text>'


def svg(shown, title, columns, rows):
    """The whole picture: every row once, frames side by side, and an animation that steps through."""
    width, height = columns * CELL_W + 2 * PAD, rows * CELL_H + 2 * PAD + 24
    known, symbols, strips = {}, [], []
    for number, (lines, _) in enumerate(shown):
        uses = []
        for y, row in enumerate(lines):
            text = text_of(row)
            if not text:
                continue
            if text not in known:
                known[text] = f"r{len(known)}"
                symbols.append(f'<g id="{known[text]}">{text}</g>')
            uses.append(f'<use href="#{known[text]}" y="{y * CELL_H + SIZE}"/>')
        strips.append(f'<g transform="translate({number * width:.0f})">{"".join(uses)}</g>')
    total, at, steps = sum(s for _, s in shown), 0.0, []
    for number, (_, seconds) in enumerate(shown):
        steps.append(f"{100 * at / total:.3f}%{{transform:translateX({-number * width:.0f}px)}}")
        at += seconds
    last = -(len(shown) - 1) * width
    steps.append(f"100%{{transform:translateX({last:.0f}px)}}")
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img" aria-label="{html.escape(title)} in a terminal">
<title>{html.escape(title)}</title>
<style>
text{{font:{SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:{PLAIN}}}
.film{{animation:film {total:.2f}s step-end infinite}}
@keyframes film{{{"".join(steps)}}}
@media (prefers-reduced-motion:reduce){{.film{{animation:none;transform:translateX({last:.0f}px)}}}}
</style>
<defs>{"".join(symbols)}</defs>
<rect width="100%" height="100%" rx="8" fill="{BACK}"/>
<g fill="#4b515c"><circle cx="20" cy="18" r="5"/><circle cx="38" cy="18" r="5"/><circle cx="56" cy="18" r="5"/></g>
<svg x="{PAD}" y="{PAD + 18}" width="{columns * CELL_W:.0f}" height="{rows * CELL_H + 4}"><g class="film">{"".join(strips)}</g></svg>
</svg>
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--rows", type=int, default=28)
    parser.add_argument("--shortest", type=float, default=0.22, help="seconds for each line")
    parser.add_argument("--longest", type=float, default=0.8, help="seconds without anything new")
    parser.add_argument("--title", help="what is typed; else the command")
    parser.add_argument("out")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    pieces, code = record(args.command, args.columns, args.rows)
    if code != 0:
        sys.stdout.buffer.write(b"".join(data for _, data in pieces))
        sys.exit(f"error: {' '.join(args.command)} ended with {code}; nothing was written")
    title = args.title or " ".join(args.command)
    shown = frames(pieces, title, args.columns, args.rows, args.shortest, args.longest)
    picture = svg(shown, title, args.columns, args.rows)
    with open(args.out, "w", encoding="utf-8") as file:
        file.write(picture)
    print(f"{args.out}: {len(shown)} frames, {sum(s for _, s in shown):.0f} s, {len(picture) // 1024} kB")


if __name__ == "__main__":
    main()
