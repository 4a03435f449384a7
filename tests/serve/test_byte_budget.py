import asyncio

import pytest

from hushfade.serve.byte_budget import ByteBudget
from hushfade.serve.error_responses import Refusal


def run(work):
    return asyncio.run(work)


def test_room_is_never_more_than_the_limits_and_all_of_it_comes_back():
    async def work():
        budget = ByteBudget(100, 60)
        most = {"all": 0, "a": 0}

        async def reader(caller, size):
            async with budget.room(caller, size):
                most["all"] = max(most["all"], budget.taken)
                most["a"] = max(most["a"], budget._taken["a"])
                await asyncio.sleep(0)

        await asyncio.gather(*(reader("a" if n % 3 else "b", 7 + n % 30) for n in range(200)))
        return most, budget.taken, dict(budget._taken)

    most, left, callers = run(work())
    assert most["all"] <= 100
    assert most["a"] <= 60
    assert (left, callers) == (0, {})


def test_a_caller_at_its_limit_waits_and_holds_up_nobody():
    async def work():
        budget = ByteBudget(100, 60)
        told = []

        async def reader(name, caller, size):
            async with budget.room(caller, size):
                told.append(name)

        async with budget.room("a", 50):
            waiting = asyncio.create_task(reader("second of a", "a", 20))
            await asyncio.sleep(0)
            await reader("first of b", "b", 40)
            assert told == ["first of b"]
        await waiting
        return told

    assert run(work()) == ["first of b", "second of a"]


def test_a_large_response_is_not_overtaken_for_ever():
    async def work():
        budget = ByteBudget(100, 100)
        told = []

        async def reader(name, size):
            async with budget.room(name, size):
                told.append(name)
                await asyncio.sleep(0)

        async with budget.room("x", 60):
            large = asyncio.create_task(reader("large", 90))
            await asyncio.sleep(0)
            small = [asyncio.create_task(reader(f"small {n}", 30)) for n in range(3)]
            await asyncio.sleep(0)
            assert told == []
        await asyncio.gather(large, *small)
        return told

    assert run(work())[0] == "large"


def test_a_response_larger_than_a_limit_is_sent_when_it_is_alone():
    async def work():
        budget = ByteBudget(100, 60)
        async with budget.room("a", 10**9):
            return budget.taken

    assert run(work()) == 60


def test_one_that_waits_too_long_is_refused_and_takes_nothing():
    async def work():
        budget = ByteBudget(100, 60, patience=0.01)
        async with budget.room("a", 60):
            with pytest.raises(Refusal) as refusal:
                async with budget.room("a", 1):
                    pass
        return refusal.value.status, budget.taken, len(budget._waiting)

    assert run(work()) == (503, 0, 0)


def test_one_that_is_cancelled_while_it_waits_takes_nothing():
    async def work():
        budget = ByteBudget(100, 60)

        async def reader():
            async with budget.room("a", 30):
                pass

        async with budget.room("a", 60):
            waiting = asyncio.create_task(reader())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        async with budget.room("a", 60):
            return budget.taken

    assert run(work()) == 60


def test_room_that_is_freed_in_the_moment_of_a_cancellation_is_not_lost():
    async def work():
        budget = ByteBudget(100, 60)

        async def reader():
            async with budget.room("a", 30):
                pass

        async with budget.room("a", 60):
            waiting = asyncio.create_task(reader())
            await asyncio.sleep(0)
            waiting.cancel()  # its future is cancelled now, its task runs after this block
        await asyncio.gather(waiting, return_exceptions=True)
        return budget.taken, len(budget._waiting)

    assert run(work()) == (0, 0)


def test_a_caller_takes_only_its_share_of_the_places_to_wait():
    async def work():
        budget = ByteBudget(100, 60, waiting_each=2)
        told = []

        async def reader(caller):
            async with budget.room(caller, 60):
                told.append(caller)

        async with budget.room("a", 60):
            waiting = [asyncio.create_task(reader(caller)) for caller in "aab"]
            await asyncio.sleep(0)
            with pytest.raises(Refusal):
                await reader("a")
        await asyncio.gather(*waiting)
        return sorted(told), budget.taken

    assert run(work()) == (["a", "a", "b"], 0)
