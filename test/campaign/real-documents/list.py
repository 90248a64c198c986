"""Counts the tools at each URL of its input with the official SDK (mcp 2)."""
import asyncio
import sys

from mcp import Client


async def count(url):
    async with Client(url) as client:
        total, cursor = 0, None
        while True:
            page = await client.list_tools(cursor=cursor)
            total += len(page.tools)
            cursor = page.next_cursor
            if not cursor:
                return total


for line in sys.stdin:
    try:
        print(asyncio.run(count(line.strip())), flush=True)
    except Exception as error:
        print(-1, flush=True)
        print(repr(error)[:500], file=sys.stderr)
