import json
import os
import tempfile

# It reads its settings from the folder that it is started in.
FOLDER = tempfile.mkdtemp()
os.chdir(FOLDER)

from cells import HEADERS, MODEL_URL, URL, WRONG, Client, cells, main, tell, wrong_key

SERVERS = {name: {"transport": "http", "url": URL, "headers": headers} for name, headers in (("demo", HEADERS), ("locked", WRONG))}
with open("fastagent.config.yaml", "w") as file:
    json.dump(
        {
            "default_model": "generic.scripted",
            "generic": {"base_url": MODEL_URL, "api_key": "none"},
            "logger": {"type": "none", "progress_display": False, "show_chat": False, "show_tools": False},
            "mcp": {"servers": SERVERS},
        },
        file,
    )

from mcp_agent.core.fastagent import FastAgent

fast = FastAgent("tester", parse_cli_args=False)


@fast.agent("tester", "Do what you are told.", servers=["demo"])
async def tester():
    pass


class FastAgentClient(Client):
    def __init__(self, app):
        self.app = app

    async def list(self):
        return [tool.name for tool in (await self.app.tester.list_tools()).tools]

    async def run(self, prompt):
        return await self.app.tester.send(prompt)

    async def wrong_key(self):
        locked = FastAgent("locked", parse_cli_args=False)

        @locked.agent("locked", "Do what you are told.", servers=["locked"])
        async def agent():
            pass

        async with locked.run() as app:
            return [tool.name for tool in (await app.locked.list_tools()).tools]


async def work():
    async with fast.run() as app:
        tell("connect", "yes")
        client = FastAgentClient(app)
        await cells(client)
        await wrong_key(client)


main(work)
