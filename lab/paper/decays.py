"""The decays of the report: the ones in the paper, and similar ones."""

from __future__ import annotations

from hushfade.decays import Decay, Exponential, NoDecay, PowerLaw, SlidingWindow

DECAYS: dict[str, Decay] = {
    "counting": NoDecay(),
    "exponential, α = 1.01": Exponential.from_alpha(1.01),
    "exponential, α = 1.1": Exponential.from_alpha(1.1),
    "exponential, α = 2": Exponential.from_alpha(2),
    "power 0.1": PowerLaw(0.1),
    "power 0.25": PowerLaw(0.25),
    "power 0.5": PowerLaw(0.5),
    "power 1": PowerLaw(1),
    "power 2": PowerLaw(2),
    "power 3": PowerLaw(3),
    "window 16": SlidingWindow(16),
    "window 256": SlidingWindow(256),
    "window 4096": SlidingWindow(4096),
}
