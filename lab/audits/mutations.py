"""The changes of hushfade's own lines that make the mutants, and the plans that they break.

Three kinds of changes are missing here:

- changes that no release can show, such as loading a state that is one step too old (hushfade
  refuses each of its steps), or loading a state for another plan than declared;
- changes after an interrupted step, which docs/how-to/audit.md names as a limit;
- changes of a noise law that are smaller than the audit can measure, such as accepting every
  position within a cell of the noise's table.
"""

from __future__ import annotations

from collections.abc import Callable

from hushfade import Exponential, Guarantee, NoDecay, Person, Plan, PowerLaw, SlidingWindow, plan
from hushfade.planning.exact_factors import Method
from lab.audits import statistic_mutations
from lab.audits.mutant import Edit, Mutant, one

__all__ = ["MUTANTS", "PLANS", "Edit", "Mutant", "one"]

ONE = Guarantee(1, 1e-6)
ROOT: Method = "square_root"  # Gaussian noise
PLANS: dict[str, Callable[[], Plan]] = {
    "numbers": lambda: plan(Exponential(half_life=24), ONE, method=ROOT),
    "below zero": lambda: plan(Exponential(half_life=8), ONE, low=-2, high=1, method=ROOT),
    "keys": lambda: plan(Exponential(half_life=8), ONE, keys=["at", "ch", "de"], method=ROOT),
    "vectors": lambda: plan(
        Exponential(half_life=3),
        Guarantee(1, 1e-6, protects=Person(records_per_step=2)),
        width=3,
        norm=1.0,
    ),
    "often": lambda: plan(
        Exponential(half_life=8), Guarantee(1, 1e-6, protects=Person(steps=3, apart=4)), method=ROOT
    ),
    "replaced": lambda: plan(
        PowerLaw(power=1),
        Guarantee(2, 1e-8, neighbours="replace"),
        low=-1,
        high=2,
        method=ROOT,
    ),
    "moved": lambda: plan(
        Exponential(half_life=8),
        Guarantee(1, 1e-6, neighbours="replace"),
        keys=["at", "ch"],
        method=ROOT,
    ),
    "window": lambda: plan(SlidingWindow(length=5), ONE, method=ROOT),
    "counting": lambda: plan(NoDecay(), ONE, horizon=48, method="normalized"),
    "counting by key": lambda: plan(
        NoDecay(), ONE, horizon=48, method="normalized", keys=["at", "ch", "de"]
    ),
    "ending": lambda: plan(NoDecay(), ONE, horizon=48, method=ROOT),
    # its bounds lie between two points of the grid
    "halves": lambda: plan(
        Exponential(half_life=8),
        Guarantee(1, 1e-6, neighbours="replace"),
        low=-1.5,
        high=1.5,
        resolution=1.0,
        method=ROOT,
    ),
    # a few ten thousand of its records are more than a step may have
    "fine": lambda: plan(
        Exponential(half_life=24), Guarantee(100, 1e-6), resolution=2.0**-28, method=ROOT
    ),
    "Laplace": lambda: plan(SlidingWindow(length=7), ONE, law="laplace"),
    "Laplace counts": lambda: plan(SlidingWindow(length=7), Guarantee(1, 0), resolution=1.0),
    "Laplace, below zero": lambda: plan(SlidingWindow(length=7), Guarantee(1, 0), low=-2, high=1),
    "Laplace, often": lambda: plan(
        SlidingWindow(length=7),
        Guarantee(1, 1e-6, protects=Person(steps=4, apart=3)),
        law="laplace",
    ),
    "Huber": lambda: plan(Exponential(half_life=24), ONE, method="blend"),
    "Huber, moved": lambda: plan(
        Exponential(half_life=24),
        Guarantee(1, 1e-6, neighbours="replace"),
        keys=["at", "ch"],
        method="blend",
    ),
} | statistic_mutations.PLANS


def _ends_at(sigmas: str) -> Mutant:
    """The mutant whose noise table ends at this multiple of sigma."""
    line = "            above.append(entry(total))\n"
    end = f"            if (len(above) << self.cell_bits) > {sigmas} * self.law.sigma:\n"
    stop = "                break\n"
    return one("crossing/exact_probabilities/gaussian.py", line, line + end + stop)


MUTANTS: dict[str, Mutant] = {
    # The live mechanism ----------------------------------------------------------------------
    "live noise is always drawn from step 0": one(
        "stream/stream.py",
        "self._engine.noise(self.steps, n)",
        "self._engine.noise(0, n)",
    ),
    "live noise is always drawn from step 0, if it is fresh": one(
        "stream/stream.py",
        "self._engine.noise(self.steps, n)",
        "self._engine.noise(0 if self._engine.drawer._fresh else self.steps, n)",
    ),
    "live noise is counted from the first step of this copy": one(
        "stream/stream.py",
        "self._engine.noise(self.steps, n)",
        "self._engine.noise(self.steps - self._drawn_from, n)",
    ),
    "live noise is used in the order of drawing, not by step": Mutant(
        (
            ("stream/stream.py", "x, self._ahead[at], self._", "x, self._ahead.pop(0), self._"),
            ("stream/stream.py", "self._ahead[at], out)", "self._ahead.pop(0), out)"),
        ),
        ("numbers", "keys"),
    ),
    "live noise is a hundredth after the first block drawn ahead": one(
        "stream/stream.py",
        "        self._stddevs = stddevs\n",
        "        self._stddevs = stddevs\n"
        "        from hushfade.crossing.sampling_tables import table\n"
        "        from hushfade.laws import Gaussian\n"
        "        self._engine.law = table(Gaussian(max(1.0, self.plan.sigma / 100)))\n",
    ),
    "the reported stddev is a tenth after the first block computed ahead": one(
        "stream/stream.py",
        "        self._stddevs = stddevs\n",
        "        self._stddevs = [d / 10 if self.steps else d for d in stddevs]\n",
    ),
    "a live step does not mark its step as taken": one(
        "stream/stream.py", "            turn.taken = step + 1\n", ""
    ),
    "a live step does not check who owns the step": one(
        "stream/stream.py",
        "turn.taken <= step < self._ahead_until):\n"
        "                self._prepare()\n"
        "            at = step - self._ahead_from\n"
        "            turn.taken",
        "step < self._ahead_until):\n"
        "                self._prepare()\n"
        "            at = step - self._ahead_from\n"
        "            turn.taken",
    ),
    "a live step with keys does not check who owns the step": one(
        "stream/stream.py",
        "turn.taken <= step < self._ahead_until):\n"
        "                self._prepare()\n"
        "            at = step - self._ahead_from\n"
        "            out",
        "step < self._ahead_until):\n"
        "                self._prepare()\n"
        "            at = step - self._ahead_from\n"
        "            out",
        "keys",
    ),
    "a run marks one step too few as taken": one(
        "stream/stream.py",
        "self._turn.taken = self.steps + len(x)",
        "self._turn.taken = self.steps + len(x) - 1",
    ),
    "a run draws from its own step 0": one(
        "stream/stream.py",
        "self._engine.noise(self.steps, part.stop - part.start)",
        "self._engine.noise(part.start, part.stop - part.start)",
    ),
    "a run has noise in its first 32,768 draws only": one(
        "stream/stream.py",
        "self._engine.noise(self.steps, part.stop - part.start)",
        "self._engine.noise(self.steps, part.stop - part.start) * (part.start == 0)",
    ),
    "a run may end after the horizon": one(
        "stream/stream.py", "self.steps + steps > horizon", "self.steps + 1 > horizon", "ending"
    ),
    "a loaded stream draws with a sigma of 8": one(
        "stream/stream.py",
        "        stream._drawn_from = stream._ahead_from",
        "        from hushfade.crossing.sampling_tables import table\n"
        "        from hushfade.laws import Gaussian\n"
        "        stream._engine.law = table(Gaussian(8.0))\n"
        "        stream._drawn_from = stream._ahead_from",
    ),
    "a loaded stream accepts noise of another kind": one(
        "stream/stream.py", "        state.check_noise(source)\n", ""
    ),
    "traces are loaded without their noise": one(
        "stream/stream.py", "trace.z[None, :]", "0 * trace.z[None, :]"
    ),
    "a trace holds the noise of the step after it": one(
        "stream/stream.py",
        "self._engine.noise(self.steps - 1, 1)",
        "self._engine.noise(self.steps, 1)",
    ),
    # Records and totals ----------------------------------------------------------------------
    "step_total accepts totals of any size": one(
        "private/grid.py",
        "if -most <= units <= most and units.is_integer()",
        "if units.is_integer()",
    ),
    "step_total counts an integer a thousand times": one(
        "private/declared_totals.py",
        "divmod(Fraction(number), Fraction(resolution))",
        "divmod(Fraction(number) * 1000 ** isinstance(number, int), Fraction(resolution))",
    ),
    "run counts integer totals twice": one(
        "private/declared_totals.py", "round(1.0 / resolution)", "round(2.0 / resolution)"
    ),
    "run accepts integer totals of any size": one(
        "private/declared_totals.py",
        "if int(totals.max()) > limit or int(totals.min()) < -limit:",
        "if False:",
    ),
    "run accepts negative totals of any size": one(
        "private/unit_loops.py", "if not -limit <= total <= limit:", "if not total <= limit:"
    ),
    "step_units accepts totals of any size": one(
        "private/integer_totals.py", "if not -most <= units <= most:", "if False:"
    ),
    "run_units accepts totals of any size": one(
        "private/integer_totals.py",
        "if not loops().bounded(totals.reshape(-1), most):",
        "if False:",
    ),
    "step accepts sums of records of any size": one(
        "private/grid.py",
        "return integer_totals.single(total, most=self.largest_total)",
        "return total",
        "fine",
    ),
    "integer records are not clipped": one(
        "private/grid.py",
        "units = self._quantised(_column(records))",
        "units = self._quantised(_column(records))\n"
        "        if np.asarray(records).dtype.kind == 'i':\n"
        "            units = np.int64(np.atleast_1d(records)) * round(1.0 / self.resolution)",
    ),
    "float32 records are not clipped": one(
        "private/grid.py",
        "units = self._quantised(_column(records))",
        "units = self._quantised(_column(records))\n"
        "        if np.asarray(records).dtype == np.float32:\n"
        "            units = np.rint(records / self.resolution).astype(np.int64)",
    ),
    "records half way between grid points round to even": one(
        "private/grid.py",
        "self.rule(column[piece], np.clip, np.floor)",
        "self.rule(column[piece], np.clip, lambda x: np.rint(x - 0.5))",
        "halves",
    ),
    "quantise does not clip": one(
        "private/grid.py",
        "return np.multiply(self.units(records), self.resolution, dtype=np.float64)",
        "return np.rint(np.asarray(records) / self.resolution) * self.resolution",
    ),
    # Noise -----------------------------------------------------------------------------------
    "the noise's table ends at 3.2 sigma": _ends_at("3.2"),
    "the noise's table ends at 4 sigma": _ends_at("4.0"),
    "draws are clipped at 3.3 sigma": one(
        "crossing/random_bits.py",
        "        words.end()\n",
        "        np.clip(out, *np.array([-1, 1]) * round(3.3 * law.law.stddev), out=out)\n"
        "        words.end()\n",
    ),
    "fresh noise has a key of 16 bits": one(
        "crossing/noise_sources.py",
        "return Drawer(os.urandom(32), fresh=True)",
        "return Drawer(os.urandom(2) * 16, fresh=True)",
    ),
    "only half of the key is used": one(
        "crossing/noise_sources.py",
        "hmac.digest(self._key, context",
        "hmac.digest(self._key[:16], context",
    ),
    "the epoch is not in the key": one(
        "crossing/noise_sources.py", ' + self.epoch.to_bytes(8, "little")', ""
    ),
    "a forked child keeps words of its parent's key": one(
        "crossing/random_bits.py",
        "self.__init__(os.urandom(32), fresh=True)",
        "self._cipher = Cipher(algorithms.AES(os.urandom(32)), modes.ECB())",
    ),
    "draws ignore their first lane": one(
        "crossing/random_bits.py", "words.begin(step, lanes, lane)", "words.begin(step, lanes, 0)"
    ),
    "draws start over after 8,192 in one call": one(
        "crossing/sampling.py", "row = np.uint64(step + start // lanes)", "row = np.uint64(step)"
    ),
    "the sign is a bit of the position": one(
        "crossing/sampling.py",
        "        out[i] = (np.int64(size) ^ -s) + s",
        "        s = np.int64(b & np.uint64(1))\n        out[i] = (np.int64(size) ^ -s) + s",
    ),
    # The crossing ----------------------------------------------------------------------------
    "a live step subtracts its noise": one(
        "crossing/step.py", "y = cross(v, z, ", "y = cross(v, -z, "
    ),
    "a live step reads one row too early at the end of its ring": one(
        "crossing/step.py",
        "(row if row >= 0 else row + past)",
        "(row if row >= 0 else row + past - 1)",
    ),
    "a live renewal does not start from zero": one(
        "crossing/step.py", "            F[renewed] = 0.0\n", "", "window"
    ),
    "a live window ends a step early": one(
        "crossing/step.py", "row = here - length\n", "row = here - length + 1\n", "window"
    ),
    "a block is divided by its first gain": one(
        "crossing/step.py", "z[start + i], gain[t + i] if", "z[start + i], gain[t] if", "counting"
    ),
    "keys are not divided by their gain": one(
        "crossing/step.py", "noise[lane], weight)", "noise[lane], 1)", "counting by key"
    ),
    "keys beyond the 256th have the noise of the first": one(
        "crossing/step.py", "z[i][low:end]", "z[i][: end - low]", "keys"
    ),
    # The plan --------------------------------------------------------------------------------
    "the taps' energy is halved": one(
        "factors/sensitivity.py",
        "return taps.sum_of_squares(steps)",
        "return taps.sum_of_squares(steps) // 2",
    ),
    "the taps' squares are added up without the last piece": one(
        "factors/taps.py",
        "total, left = 0, self.support if steps is None else steps\n",
        "total, left = 0, int(self.jumps[-2]) if steps is None else steps\n",
    ),
    "the taps change a step too early": one(
        "factors/taps.py",
        "lags, rises = taps.jumps[kept], taps.heights[kept]",
        "lags, rises = np.maximum(taps.jumps[kept] - 1, 0), taps.heights[kept]",
    ),
    "participations are assumed one step farther apart": one(
        "planning/noise_scale.py",
        "separation=guarantee.protects.apart\n    )\n",
        "separation=guarantee.protects.apart + 1\n    )\n",
        "often",
    ),
    "a record that moves to another key is ignored": one(
        "planning/shifts.py", "keyed=grid.keys is not None", "keyed=False", "moved"
    ),
    "the reported error is the noise of one step": one(
        "planning/planned_mechanism.py",
        "self.noise_stddev * self.pair.errors(self._steps(n))",
        "self.noise_stddev * np.abs(self.pair.left(self._steps(n)))",
    ),
    "the largest total leaves no headroom": one(
        "planning/largest_total.py", "_ROOM = 1 << 54", "_ROOM = 1 << 66", "counting"
    ),
    "a replaced record's bounds are added": one(
        "privacy/guarantee.py", "(most * (high - low))", "(most * (high + low))", "replaced"
    ),
    "a record's lower bound is ignored": one(
        "privacy/guarantee.py",
        "most, largest = int(self.protects.records_per_step), max(abs(low), abs(high))",
        "most, largest = int(self.protects.records_per_step), abs(high)",
        "below zero",
    ),
    "several vectors in a step count as one": one(
        "privacy/guarantee.py", "(most * norm * (1 if", "(norm * (1 if", "vectors"
    ),
    "mu is for a delta that is a thousandth larger": one(
        "privacy/calibration.py",
        "<= budget, outward=1)",
        "<= budget * Decimal('1.001'), outward=1)",
    ),
    # Laplace and Huber noise -----------------------------------------------------------------
    "Laplace tails lose a factor": one(
        "crossing/exact_probabilities/laplace.py",
        "2 * fade / (1 + self._fallen(1))",
        "2 * fade / 2",
        "Laplace counts",
    ),
    "Huber's core has the probabilities of a narrower one": one(
        "crossing/exact_probabilities/huber.py",
        "return self._slope / self.law.core",
        "return self._slope / self.law.core * Fraction(17, 16)",
        "Huber",
    ),
    "Huber's tails fall 2 % faster than planned": one(
        "crossing/exact_probabilities/huber.py",
        "fade = (-decimal(self._slope * (1 << k))).exp()",
        "fade = (-decimal(self._slope * (1 << k)) * 102 / 100).exp()",
        "Huber",
    ),
    "Laplace noise is for an epsilon that is 5 % larger": one(
        "planning/noise_scale.py",
        "below(Fraction(float(guarantee.epsilon)) / total)",
        "below(Fraction(float(guarantee.epsilon)) * 21 / 20 / total)",
        "Laplace",
    ),
    "Huber noise stays below twice delta": one(
        "planning/noise_scale.py",
        "wanted = math.log(guarantee.delta) + math.log1p(-_MARGIN)",
        "wanted = math.log(2.0 * guarantee.delta)",
        "Huber",
    ),
    "the bound on delta is a tenth too small": one(
        "privacy/loss_distribution.py",
        "scale * bound * (1.0 + 1e-9) + self._infinite",
        "0.9 * scale * bound + self._infinite",
        "Huber",
    ),
    "a record that moves between keys shifts one lane": one(
        "planning/shifts.py", "for change in lanes:", "for change in lanes[:1]:", "Huber, moved"
    ),
    "a person's later records shift nothing": one(
        "planning/shifts.py", "+ times * count", "+ count", "Laplace, often"
    ),
    "a record's lower bound shifts nothing": one(
        "planning/shifts.py", "max(abs(low), abs(high))", "abs(high)", "Laplace, below zero"
    ),
    "the last tap shifts nothing": one(
        "planning/shifts.py",
        "left = min(steps, support)",
        "left = min(steps, support) - 1",
        "Huber",
    ),
    # Keys ------------------------------------------------------------------------------------
    "keyed noise is not bound to decay, guarantee and horizon": one(
        "planning/plan_file.py",
        "    text = json.dumps(document, sort",
        "    left_out = {'decay', 'guarantee', 'horizon'}\n"
        "    document = {k: v for k, v in document.items() if k not in left_out}\n"
        "    text = json.dumps(document, sort",
    ),
    "a saved stream does not know its epoch": one(
        "crossing/noise_sources.py",
        '"epoch": epoch, "fingerprint": fingerprint[:16]',
        '"fingerprint": fingerprint[:16]',
    ),
    # Copies, children and saved states -------------------------------------------------------
    "copies of a stream do not share the ownership of steps": one(
        "stream/ownership.py", "_turns.setdefault(identity, Turn(identity))", "Turn(identity)"
    ),
    "a forked child keeps its parent's lock": one(
        "stream/ownership.py", "        inherited.lock = Elsewhere()\n", ""
    ),
    "a forked child forgets what its parent released": one(
        "stream/ownership.py", "Turn(identity, inherited.taken)", "Turn(identity)"
    ),
    "the mark of a process stays in its child": one(
        "stream/ownership.py", "_WIPE_ON_FORK = 18", "_WIPE_ON_FORK = 19"
    ),
    "a saved state loses half of its digits": one(
        "stream/saved_state.py",
        "return SavedState(plan, noise, identity, steps, integers, floats)",
        "return SavedState(plan, noise, identity, steps, integers, floats.astype('f4'))",
    ),
    "a state with changed bytes is accepted": one(
        "stream/binary_container.py",
        "or hashlib.sha256(raw[:-_CHECKSUM]).digest() != raw[-_CHECKSUM:]",
        "",
    ),
    "a trace's totals are read as its noise": one(
        "stream/saved_state.py",
        "return Trace(step, x, z)",
        "return Trace(step, z, x)",
    ),
    "a trace of another stream is accepted": one(
        "stream/saved_state.py", 'if header.get("identity") != identity.hex() or type', "if type"
    ),
} | statistic_mutations.MUTANTS
