"""A line chart as an SVG file, for pages that show no more than that."""
import dataclasses
import html
import math

COLOURS = {"ours": "#0072b2", "upstream": "#d55e00", "Vulkan": "#009e73", "CUDA": "#cc79a7"}  # told apart by everybody
WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 200, 40, 50  # margins; the names of the curves stand in the right one


@dataclasses.dataclass
class Curve:
    name: str
    points: list          # (x, y)
    colour: str
    dash: str = ""
    marks: bool = True


class Axis:
    """Maps values to the range from "start" to "end", by their logarithms or as they are."""

    def __init__(self, values, start, end, log):
        self.log = log
        self.start, self.end = start, end
        if log:
            self.low, self.high = math.log(min(values)), math.log(max(values) * 1.1)
            decades = range(math.floor(self.low / math.log(10)), math.ceil(self.high / math.log(10)) + 1)
            self.ticks = [m * 10.0 ** d for d in decades for m in (1, 2, 5)]
        else:
            self.low, self.high = 0, max(values) * 1.05 or 1
            step = 10.0 ** math.floor(math.log10(self.high))
            step /= 5 if self.high / step < 2 else 2 if self.high / step < 5 else 1
            self.ticks = [i * step for i in range(int(self.high / step) + 1)]
        self.ticks = [t for t in self.ticks if self.low - 1e-9 <= self.scale(t) <= self.high]

    def scale(self, value):
        return math.log(value) if self.log else value

    def at(self, value):
        return self.start + (self.end - self.start) * (self.scale(value) - self.low) / (self.high - self.low)


def chart(title, x_name, y_name, curves, log=True):
    """"log" is both axes'."""
    curves = [c for c in curves if c.points]
    x = Axis([p[0] for c in curves for p in c.points], LEFT, WIDTH - RIGHT, log)
    y = Axis([p[1] for c in curves for p in c.points], HEIGHT - BOTTOM, TOP, log)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>', text(LEFT, 24, title, "start", 15)]
    for tick in x.ticks:
        out += [line(x.at(tick), TOP, x.at(tick), HEIGHT - BOTTOM), text(x.at(tick), HEIGHT - BOTTOM + 16, f"{tick:g}", "middle")]
    for tick in y.ticks:
        out += [line(LEFT, y.at(tick), WIDTH - RIGHT, y.at(tick)), text(LEFT - 6, y.at(tick) + 4, f"{tick:g}", "end")]
    out += [text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x_name, "middle"), text(LEFT - 6, TOP - 8, y_name, "end")]
    for i, curve in enumerate(curves):
        points = [(x.at(px), y.at(py)) for px, py in curve.points]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{curve.colour}" stroke-width="2" stroke-dasharray="{curve.dash}"/>')
        if curve.marks:
            out += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{curve.colour}"/>' for px, py in points]
        at, right = TOP + 10 + 20 * i, WIDTH - RIGHT + 12
        out.append(f'<line x1="{right}" y1="{at}" x2="{right + 24}" y2="{at}" stroke="{curve.colour}" stroke-width="2" '
                   f'stroke-dasharray="{curve.dash}"/>')
        out.append(text(right + 30, at + 4, curve.name, "start"))
    return "\n".join([*out, "</svg>"]) + "\n"


def text(x, y, words, anchor, size=12):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{html.escape(words)}</text>'


def line(x1, y1, x2, y2):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#dddddd"/>'
