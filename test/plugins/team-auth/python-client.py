"""Uses a gateway with a token: lists the tools, calls one, and a second that runs until the token is revoked."""

import asyncio
import sys

from mcp import ClientSession
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


async def main(url, token):
    headers = {"Authorization": f"Bearer {token}"}
    async with create_mcp_http_client(headers=headers) as http:
        async with streamable_http_client(url, http_client=http) as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                await session.initialize()
                tools = await session.list_tools()
                print("tools", *(tool.name for tool in tools.tools), flush=True)
                result = await session.call_tool("sees", {})
                print("sees", result.content[0].text, flush=True)
                try:
                    result = await session.call_tool("wait", {})
                    print("ended", result.content[0].text, flush=True)
                except Exception as error:
                    print("ended", error, flush=True)


asyncio.run(main(*sys.argv[1:]))
