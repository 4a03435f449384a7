"""Lines that arrive at given times, without a process that stamps them."""


class Arrivals:
    """A source of lines, each given with the time at which it arrives."""

    def __init__(self, *lines):
        self.coming, self.ended = list(lines), False

    def before(self, due):
        while self.coming and (due is None or self.coming[0][0] < due):
            yield [self.coming.pop(0)[1]]
        self.ended = not self.coming


def all_at_once(data):
    """The lines of the data, which arrive together."""
    *lines, rest = data.split(b"\n")
    whole = [line + b"\n" for line in lines]
    return Arrivals(*((0, line) for line in [*whole, rest] if line))
