"""Logs in at a gateway with the official Python client, and prints what its tool `who` says.

The browser is on the other side of the pipe: it is told the URL to open, and answers with the URL that it was sent to.
"""

import asyncio
import sys
from urllib.parse import parse_qs, urlparse

from mcp import ClientSession
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.shared.auth import OAuthClientMetadata


class Storage:
    """Keeps what the client is given."""

    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


async def open_browser(url):
    print(f"open {url}", flush=True)


async def wait_for_answer():
    line = await asyncio.to_thread(sys.stdin.readline)
    query = {name: values[0] for name, values in parse_qs(urlparse(line.strip()).query).items()}
    return AuthorizationCodeResult(code=query["code"], state=query.get("state"), iss=query.get("iss"))


async def main(url, redirect):
    metadata = OAuthClientMetadata(client_name="Python", redirect_uris=[redirect])
    auth = OAuthClientProvider(url, metadata, Storage(), open_browser, wait_for_answer)
    async with create_mcp_http_client(auth=auth) as http:
        async with streamable_http_client(url, http_client=http) as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                await session.initialize()
                result = await session.call_tool("who", {})
                print(f"who {result.content[0].text}", flush=True)


asyncio.run(main(*sys.argv[1:]))
