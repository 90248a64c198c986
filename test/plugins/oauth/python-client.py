"""Logs in at a gateway with the official Python client, and calls tools of it.

Both directions are lines of JSON. The browser is on the other side of the pipe: it is told the URL to open (`open`), and answers
with the URL that it was sent to (`visited`).
"""

import asyncio
import json
import sys
import time
from urllib.parse import parse_qs, urlparse

from mcp import ClientSession
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

visited = asyncio.Queue()


def tell(**message):
    print(json.dumps(message), flush=True)


class Storage:
    """Keeps what the client is given, and tells of it."""

    def __init__(self, before):
        self.tokens = self.client = None
        if before:
            self.tokens = OAuthToken(access_token=before["access_token"], scope=before["scope"])
            self.client = OAuthClientInformationFull(**before["client"])

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens
        tell(tokens=tokens.model_dump(mode="json"))

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client
        tell(client=client.client_id)


async def open_browser(url):
    tell(open=url)


async def wait_for_answer():
    query = {name: values[0] for name, values in parse_qs(urlparse(await visited.get()).query).items()}
    return AuthorizationCodeResult(code=query["code"], state=query.get("state"), iss=query.get("iss"))


def pass_time(seconds):
    """For the client, and not for its sockets and timers."""
    now = time.time
    time.time = lambda: now() + seconds


async def hold_session(auth, endpoint, ready):
    """Until the process ends; a session that the gateway ended is replaced by another."""
    async with create_mcp_http_client(auth=auth) as http:
        async with streamable_http_client(endpoint, http_client=http) as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                await session.initialize()
                ready.set_result(session)
                await asyncio.Future()


async def call(session, number, tool):
    try:
        result = await session.call_tool(tool, {})
        tell(number=number, text=result.content[0].text)
    except Exception as error:
        tell(number=number, error=str(error))


async def main(settings):
    metadata = OAuthClientMetadata(client_name="Python", redirect_uris=[settings["redirect"]])
    auth = OAuthClientProvider(
        settings["endpoint"],
        metadata,
        Storage(settings.get("before")),
        open_browser,
        wait_for_answer,
        client_metadata_url=settings.get("document"),
    )
    async with asyncio.TaskGroup() as tasks:

        async def open_session():
            ready = asyncio.get_running_loop().create_future()
            tasks.create_task(hold_session(auth, settings["endpoint"], ready))
            session = await ready
            tell(ready=True)
            return session

        session = tasks.create_task(open_session())
        while line := await asyncio.to_thread(sys.stdin.readline):
            command = json.loads(line)
            if "visited" in command:
                visited.put_nowait(command["visited"])
            elif "later" in command:
                pass_time(command["later"])
            elif "anew" in command:
                session = tasks.create_task(open_session())
            else:
                tasks.create_task(call(await session, command["number"], command["call"]))


asyncio.run(main(json.loads(sys.argv[1])))
