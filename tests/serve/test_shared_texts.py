import asyncio

import anyio

from hushfade.serve.shared_texts import SharedTexts


def run(work):
    return asyncio.run(work)


def test_texts_are_bounded_by_number_and_by_bytes_and_the_newest_stays():
    async def work(limit, most, size):
        texts = SharedTexts(anyio.CapacityLimiter(2), limit, most)
        kept = 0
        for number in range(50):
            await texts.pieces(number, 1, lambda: [b"x" * size])
            kept = max(kept, len(texts))
        await texts.pieces(49, 1, lambda: [b"never made"])
        return kept, texts.count, texts._size

    assert run(work(10**6, 7, 10)) == (7, 50, 70)  # empty texts and small texts are texts too
    assert run(work(10**6, 7, 0)) == (7, 50, 0)
    assert run(work(100, 10**6, 30)) == (3, 50, 90)


def test_texts_that_are_still_being_made_are_bounded_too():
    async def work():
        texts = SharedTexts(anyio.CapacityLimiter(2), most=5)
        all_ = await asyncio.gather(*(texts.pieces(n, 1, lambda: [b"a"]) for n in range(40)))
        return len(texts), all_ == [[b"a"]] * 40

    assert run(work()) == (5, True)


def test_a_newer_version_replaces_the_older_one_and_its_bytes():
    async def work():
        texts = SharedTexts(anyio.CapacityLimiter(2))
        for version in (1, 2, 3):
            await texts.pieces("a", version, lambda version=version: [b"x" * version])
        assert await texts.pieces("a", 2, lambda: [b"old"]) == [b"old"]  # made, and not kept
        assert await texts.pieces("a", 3, lambda: [b"never made"]) == [b"xxx"]
        return len(texts), texts._size

    assert run(work()) == (1, 3)
