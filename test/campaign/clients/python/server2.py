"""`server2.py stdio`, or `http`: in both eras, with sessions in the old one; prints its URL."""

import asyncio
import json
import socket
import sys

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

server = MCPServer("demo", log_level="ERROR")


class Name(BaseModel):
    name: str


@server.tool()
def add(a: float, b: float) -> str:
    return f"{a + b:g}"


@server.tool()
def fail() -> str:
    raise ToolError("There is no city Atlantis.")


@server.tool()
async def slow(ctx: Context) -> str:
    for done in (1, 2, 3):
        await ctx.report_progress(done, 3)
    return "done"


@server.tool()
async def ask(ctx: Context) -> str:
    answer = await ctx.elicit("What is your name?", Name)
    return f"hello {answer.data.name}" if answer.action == "accept" else f"refused: {answer.action}"


if sys.argv[1] == "stdio":
    server.run()
else:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(json.dumps({"url": f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"}), flush=True)
        app = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error"))
        asyncio.run(app.serve(sockets=[listener]))
