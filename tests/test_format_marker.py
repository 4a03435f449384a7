"""Every loader accepts one format, and refuses any other without quoting a stranger's text."""

from contextlib import closing

import pytest

import hushfade as hf
from hushfade.store import Store
from hushfade.store.open_store import connected
from hushfade.stream.partition import Mechanism, Part
from tests.spark.cases import key_file

NOISE = hf.UnsafeSeededNoise(5)
PLAN = hf.plan(hf.SlidingWindow(length=2), hf.Guarantee(epsilon=1, delta=1e-6))
OTHERS = ("drafts of alice 1", "1 alice", "1000000", "alice")  # what follows "hushfade KIND"


class Kind:
    """A kind of document: its format, a document as text or bytes, and its loader."""

    format: str

    def __init__(self, folder):
        self.folder = folder

    def document(self):
        raise NotImplementedError

    def load(self, document):
        raise NotImplementedError

    def marked(self, other):
        """The document with another format."""
        document = self.document()
        if isinstance(document, str):
            return document.replace(self.format, other, 1)
        return document.replace(self.format.encode(), other.encode(), 1)


class SavedPlan(Kind):
    format = "hushfade plan draft"

    def document(self):
        return PLAN.to_json()

    def load(self, document):
        hf.Plan.from_json(document)


class Stream(Kind):
    format = "hushfade stream draft"

    def document(self):
        return PLAN.start(NOISE).save()

    def load(self, document):
        hf.Stream.load(document, noise=NOISE)


class Trace(Kind):
    format = "hushfade trace draft"

    def document(self):
        stream = PLAN.start(NOISE)
        self.state = stream.save()
        stream.step([1.0])
        return stream.trace()

    def load(self, document):
        hf.Stream.load(self.state, noise=NOISE, traces=[document])


class SavedPart(Kind):
    format = "hushfade part draft"
    part = Part(Mechanism.of(PLAN), first=0, lanes=1)

    def document(self):
        return self.part.resumed(NOISE).save()

    def load(self, document):
        self.part.resumed(NOISE, document)


class CorrelatedNoise(Kind):
    format = "hushfade correlated noise draft"

    def document(self):
        one = hf.Guarantee(epsilon=1, delta=1e-6)
        decay = hf.Exponential(half_life=3)
        return hf.CorrelatedNoise(decay, 2, guarantee=one, norm=1.0, noise=NOISE).save()

    def load(self, document):
        hf.CorrelatedNoise.load(document, noise=NOISE)


class Loss(Kind):
    format = "hushfade loss draft"

    def document(self):
        return PLAN.privacy.to_json()

    def load(self, document):
        hf.PrivacyLoss.from_json(document)


class KeyUses(Kind):
    format = "hushfade key use draft"

    def document(self):
        self.key = key_file(self.folder)
        PLAN.start(hf.KeyFile(self.key, stream="a"))
        self.record = self.key.with_name(f"{self.key.name}.uses")
        return self.record.read_text()

    def load(self, document):
        self.record.write_text(document)
        PLAN.start(hf.KeyFile(self.key, stream="b"))


class MarkOfAStore(Kind):
    format = "hushfade mark draft"

    def document(self):
        self.path = self.folder / "releases.db"
        with closing(Store.open(self.path)) as store:
            store.add_dataset("clinics", PLAN.guarantee)
        return self.path.with_name("releases.db.mark").read_bytes().replace(b"\0", b" ")

    def marked(self, other):
        return self.document().replace(self.format.encode(), other.encode())

    def load(self, document):
        self.path.with_name("releases.db.mark").write_bytes(document)
        Store.open(self.path).close()


class TablesOfAStore(Kind):
    format = "hushfade store draft"

    def document(self):
        self.path = self.folder / "releases.db"
        Store.open(self.path).close()
        return self.format

    def load(self, document):
        with closing(connected(self.path)) as database, database.transaction():
            database.write("UPDATE meta SET value = ? WHERE name = 'format'", document)
        Store.open(self.path).close()


KINDS = (
    SavedPlan, Stream, Trace, SavedPart, CorrelatedNoise, Loss, KeyUses, MarkOfAStore,
    TablesOfAStore,
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_of_this_version_is_loaded(kind, tmp_path):
    made = kind(tmp_path)
    made.load(made.document())


@pytest.mark.parametrize("kind", KINDS)
def test_another_format_of_hushfade_is_refused_by_its_name(kind, tmp_path):
    made = kind(tmp_path)
    other = made.format.replace("draft", "1")
    document = made.marked(other)
    with pytest.raises(hf.HushfadeError) as refused:
        made.load(document)
    assert f"must have the format {made.format!r}, got {other!r}: " in str(refused.value)


@pytest.mark.parametrize("kind", KINDS)
def test_any_other_marker_is_refused_and_never_quoted(kind, tmp_path):
    for number, more in enumerate(OTHERS):
        folder = tmp_path / str(number)
        folder.mkdir()
        made = kind(folder)
        document = made.marked(made.format.replace("draft", more))
        with pytest.raises(hf.HushfadeError) as refused:
            made.load(document)
        message = str(refused.value).replace(str(folder), "")
        assert f"must have the format {made.format!r}" in message, more
        assert "alice" not in message
        assert "1000000" not in message
