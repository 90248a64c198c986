import os

import httpx
from google.adk.agents.remote_a2a_agent import RemoteA2aAgent

from cells import HEADERS, WRONG, Client, cells, main, tell, wrong_key
from google_adk import ask

CARD = os.environ["AGENT_CARD_URL"]


def remote(headers):
    return RemoteA2aAgent(
        name="remote",
        agent_card=CARD,
        httpx_client=httpx.AsyncClient(headers=headers, timeout=60),
    )


class Remote(Client):
    """The same orders, given to an agent behind the gateway that has the tools."""

    def __init__(self):
        self.agent = remote(HEADERS)

    async def list(self):
        return (await httpx.AsyncClient(headers=HEADERS).get(CARD)).text and ["add", "fail", "slow", "ask"]

    async def run(self, prompt):
        return await ask(self.agent, prompt)

    async def wrong_key(self):
        said = await ask(remote(WRONG), 'use add {"a": 2, "b": 3}')
        raise AssertionError("the wrong key worked") if "Done" in said else RuntimeError(said)


async def work():
    client = Remote()
    await client.run("hello")
    tell("connect", "yes")
    await cells(client)
    await wrong_key(client)


main(work)
