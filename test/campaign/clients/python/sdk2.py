import json
import os

from mcp import Client as McpClient
from mcp import types
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

from cells import HEADERS, URL, WRONG, Client, cells, main, tell, wrong_key


async def elicit(context, params):
    return types.ElicitResult(action="accept", content={"name": "Ada"})


def text_of(result):
    return " ".join(part.text for part in result.content if part.type == "text")


def connect(headers):
    transport = streamable_http_client(URL, http_client=create_mcp_http_client(headers=headers))
    return McpClient(transport, elicitation_callback=elicit, mode=os.environ.get("MCP_MODE", "auto"))


class Sdk(Client):
    def __init__(self, client):
        self.client = client

    async def list(self):
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def run(self, prompt):
        _, name, arguments = prompt.split(" ", 2)
        return text_of(await self.client.call_tool(name, json.loads(arguments)))

    async def progress(self):
        seen = []

        async def note(progress, total, message):
            seen.append(progress)

        await self.client.call_tool("slow", {}, progress_callback=note)
        return len(seen)

    async def question(self):
        return text_of(await self.client.call_tool("ask", {}))

    async def wrong_key(self):
        async with connect(WRONG) as client:
            await client.list_tools()


async def work():
    async with connect(HEADERS) as client:
        tell("connect", "yes")
        sdk = Sdk(client)
        await cells(sdk)
        await wrong_key(sdk)


main(work)
