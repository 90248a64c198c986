"""Uses an agent with the official Python client: lists its tools, asks how it is, and calls it with progress. Prints one line of JSON."""

import asyncio
import json
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

reports = []


async def hear(progress, total, message):
    reports.append({"progress": progress, "total": total, "message": message})


async def main(endpoint, tool):
    async with streamable_http_client(endpoint) as streams:
        async with ClientSession(streams[0], streams[1]) as session:
            await session.initialize()
            tools = [each.name for each in (await session.list_tools()).tools]
            health = json.loads((await session.call_tool("get_health", {})).content[0].text)
            result = await session.call_tool(tool, {"message": "tea"}, progress_callback=hear)
            text = result.content[0].text
            print(json.dumps({"tools": tools, "health": health, "text": text, "reports": reports}))


asyncio.run(main(*sys.argv[1:]))
