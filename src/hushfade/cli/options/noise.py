"""The options for the source of noise of `hushfade run`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hushfade.cli.options.parameters import OptionGroup, count, option, option_group
from hushfade.errors import InvalidValue

if TYPE_CHECKING:
    from hushfade.crossing.noise_sources import NoiseSource
    from hushfade.planning.plan import Plan


@option_group("Noise")
class NoiseOptions(OptionGroup):
    """The source of noise: the operating system by default, a secret key, or a known seed."""

    noise_key: Annotated[
        Path | None,
        option(
            "A file of 32 secret bytes with mode 0600, so that a repeated run draws the same "
            "noise. Needs --stream. Never use the key for other data.",
            "FILE",
        ),
    ] = None
    stream: Annotated[
        str | None,
        option(
            "With --noise-key or --store: the name of this series. Give every series its own name.",
            "NAME",
        ),
    ] = None
    unsafe_seed: Annotated[
        int | None,
        count(
            "Draw noise that anyone can repeat, for tests and examples. Nothing is private.",
            "NUMBER",
        ),
    ] = None

    @property
    def unsafe(self) -> bool:
        """Whether the noise has a known seed."""
        return self.unsafe_seed is not None

    def check(self, *, live: bool) -> None:
        """Raise if the options contradict each other, or the key cannot be read."""
        if self.unsafe and self.noise_key is not None:
            raise InvalidValue("--unsafe-seed and --noise-key cannot be combined")
        if (self.noise_key is None) != (self.stream is None):
            raise InvalidValue(
                "--noise-key and --stream must be given together, or --stream with --store"
            )
        if self.noise_key is not None and live:
            raise InvalidValue(
                "--noise-key and --live cannot be combined: a second run would use the same noise "
                "for other lines"
            )
        self.source(b"")

    def source(self, job: bytes) -> "NoiseSource | None":
        """The source of noise for a job; `job` is a digest of its input and options.

        Keyed noise depends on this digest.  The same job draws the same noise again.  A job with
        other records or options draws other noise.
        """
        from hushfade.crossing.key_file import KeyFile
        from hushfade.crossing.noise_sources import UnsafeSeededNoise

        if self.unsafe_seed is not None:
            return UnsafeSeededNoise(self.unsafe_seed)
        if self.noise_key is None or self.stream is None:
            return None
        return KeyFile(self.noise_key, stream=self.stream).opened().of_job(job)

    def claimed(self, plan: "Plan", job: bytes) -> "NoiseSource | None":
        """The source of noise for a job, after the key's record lists the job for its stream.

        The record contains a keyed digest: a plain digest of totals would confirm a guess.
        """
        from hushfade.crossing.key_file import KeyFile
        from hushfade.crossing.noise_sources import KeyedNoise

        source = self.source(job)
        if isinstance(source, KeyedNoise) and self.noise_key is not None and self.stream:
            named = KeyFile(self.noise_key, stream=self.stream)
            named.claim(plan.digest, "run", source.sealed(job))
        return source

    @property
    def description(self) -> str:
        """The description of the source for the companion file."""
        if self.unsafe:
            return "NOT PRIVATE: a known seed, for tests and examples"
        if self.noise_key is None:
            return "fresh, from the operating system"
        return "from a secret key: the same if the same job is run again"
