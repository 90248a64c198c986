"""What every Python client is asked to do, and how it tells what came of it: one line of JSON per cell on stdout."""

import asyncio
import json
import os
import re
import sys
import traceback

URL = os.environ["GATEWAY_URL"]
KEY = os.environ["GATEWAY_KEY"]
MODEL_URL = os.environ["MODEL_URL"]
HEADERS = {"Authorization": f"Bearer {KEY}"}
WRONG = {"Authorization": "Bearer wrong"}
TOOLS = {"add", "fail", "slow", "ask"}
LIMIT = 60


class NotOffered(Exception):
    """The framework has no way to do it."""


def tell(cell, result, detail=""):
    print(json.dumps({"cell": cell, "result": result, "detail": str(detail)[:300]}), flush=True)


def roots(error):
    """The errors inside groups: anyio wraps what a transport said."""
    inner = getattr(error, "exceptions", None)
    if inner:
        return [root for each in inner for root in roots(each)]
    return [error]


def words(error):
    cause = error.__cause__ or error.__context__
    own = "; ".join(f"{type(each).__name__}: {each}" for each in roots(error))
    return own if cause is None or cause is error else f"{own} <- {words(cause)}"


async def attempt(cell, work, expected):
    try:
        # Not wait_for, which makes a task of its own on Python 3.11: what is opened in one cannot be closed in another.
        async with asyncio.timeout(LIMIT):
            seen = await work()
        ok = expected(seen)
        tell(cell, "yes" if ok else "no", "" if ok else f"got {seen!r}")
    except NotOffered as reason:
        tell(cell, "not offered", reason)
    except BaseException as error:
        traceback.print_exc()
        tell(cell, "no", words(error))


async def restarted():
    """Asks the campaign to restart the gateway, and waits until it has."""
    print(json.dumps({"restart": True}), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)


def has_tools(names):
    return TOOLS <= {re.split(r"[._-]", name)[-1] for name in names}


async def cells(client):
    """`client`: list(), run(prompt), and where offered progress() -> count, question() -> text, wrong_key()."""
    await attempt("list", client.list, has_tools)
    await attempt("call", lambda: client.run('use add {"a": 2, "b": 3}'), lambda text: "5" in text)
    await attempt("error", lambda: client.run("use fail {}"), lambda text: "Atlantis" in text)
    await attempt("progress", client.progress, lambda count: count == 3)
    await attempt("question", client.question, lambda text: "hello Ada" in text)
    await restarted()
    await attempt("restart", lambda: client.run('use add {"a": 20, "b": 30}'), lambda text: "50" in text)


async def wrong_key(client):
    """Yes when the program is told why; an agent that silently runs without tools is a no."""
    try:
        async with asyncio.timeout(LIMIT):
            seen = await client.wrong_key()
        tell("key", "no", f"no error: {seen!r}")
    except BaseException as error:
        said = words(error)
        clear = any(mark in said for mark in ("401", "nauthorized", "Invalid", "API key", "bearer"))
        tell("key", "yes" if clear else "no", "" if clear else said)


class Client:
    async def progress(self):
        raise NotOffered("no callback for progress")

    async def question(self):
        raise NotOffered("no elicitation")


def main(work):
    try:
        asyncio.run(work())
    except BaseException as error:
        traceback.print_exc()
        tell("connect", "no", words(error))
        os._exit(1)
    sys.stdout.flush()
    os._exit(0)
