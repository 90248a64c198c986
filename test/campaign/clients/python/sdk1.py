import json
from contextlib import AsyncExitStack

from mcp import ClientSession, McpError, types
from mcp.client.streamable_http import streamablehttp_client

from cells import HEADERS, URL, WRONG, Client, cells, main, tell, wrong_key


async def elicit(context, params):
    return types.ElicitResult(action="accept", content={"name": "Ada"})


def text_of(result):
    return " ".join(part.text for part in result.content if part.type == "text")


async def connect(stack, headers):
    read, write, _ = await stack.enter_async_context(streamablehttp_client(URL, headers=headers))
    session = await stack.enter_async_context(ClientSession(read, write, elicitation_callback=elicit))
    await session.initialize()
    return session


class Sdk(Client):
    def __init__(self, stack, session):
        self.stack = stack
        self.session = session

    async def list(self):
        return [tool.name for tool in (await self.session.list_tools()).tools]

    async def run(self, prompt):
        """As a program does: the SDK leaves it to its user to begin anew where the session is gone."""
        _, name, arguments = prompt.split(" ", 2)
        try:
            return text_of(await self.session.call_tool(name, json.loads(arguments)))
        except McpError as error:
            if "Session terminated" not in str(error):
                raise
            self.session = await connect(self.stack, HEADERS)
            return text_of(await self.session.call_tool(name, json.loads(arguments)))

    async def progress(self):
        seen = []

        async def note(progress, total, message):
            seen.append(progress)

        await self.session.call_tool("slow", {}, progress_callback=note)
        return len(seen)

    async def question(self):
        return text_of(await self.session.call_tool("ask", {}))

    async def wrong_key(self):
        async with AsyncExitStack() as stack:
            await connect(stack, WRONG)


async def work():
    async with AsyncExitStack() as stack:
        client = Sdk(stack, await connect(stack, HEADERS))
        tell("connect", "yes")
        await cells(client)
        await wrong_key(client)


main(work)
