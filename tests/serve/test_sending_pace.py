import asyncio

from hushfade.serve.sending_pace import SendingPace


def test_a_pass_of_the_loop_grants_a_few_turns_in_order_and_others_run_between():
    async def work():
        pace, told = SendingPace(3), []

        async def client(number):
            await pace.turn()
            told.append(number)

        async def other():
            for _ in range(30):
                told.append("other")
                await asyncio.sleep(0)

        await asyncio.gather(*(client(number) for number in range(10)), other())
        return told

    told = asyncio.run(work())
    assert [x for x in told if x != "other"] == list(range(10))
    runs = "".join("o" if x == "other" else "c" for x in told).split("o")
    assert max(map(len, runs)) <= 3
    assert len([run for run in runs if run]) >= 4


def test_a_control_without_a_pace_sends_to_all_in_one_pass():
    async def work():
        pace, told = SendingPace(10**6), []

        async def client(number):
            await pace.turn()
            told.append("c")

        async def other():
            for _ in range(30):
                told.append("o")
                await asyncio.sleep(0)

        await asyncio.gather(*(client(number) for number in range(10)), other())
        return "".join(told)

    assert "c" * 10 in asyncio.run(work())


def test_a_client_that_left_takes_no_turn():
    async def work():
        pace = SendingPace(1)
        waiting = [asyncio.create_task(pace.turn()) for _ in range(5)]
        await asyncio.sleep(0)
        for task in waiting[:4]:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await pace.turn()
        return len(pace._waiting)

    assert asyncio.run(work()) == 0
