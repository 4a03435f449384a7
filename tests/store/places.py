"""Where the tests' stores are: a SQLite file, or a database of a server that they start."""

from hushfade.store import Store


class Place:
    """A place for one store: where its database is, and its mark."""

    def __init__(self, where, mark):
        self.where, self.mark = where, mark
        self._opened = []

    def open(self, **settings):
        """The store, which is closed after the test."""
        self._opened.append(Store.open(self.where, mark=self.mark, **settings))
        return self._opened[-1]

    def close(self):
        for store in self._opened:
            store.close()
