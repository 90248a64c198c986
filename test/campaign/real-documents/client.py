"""The official Python SDK (mcp 2): reads every tool at a URL, compiles its schemas, and makes one call."""
import asyncio
import json
import sys

from jsonschema import FormatChecker
from jsonschema.validators import Draft202012Validator
from mcp import Client

NO_FORMATS = FormatChecker(formats=())


async def read(url, call):
    async with Client(url) as client:
        tools, cursor = [], None
        while True:
            page = await client.list_tools(cursor=cursor)
            tools.extend(page.tools)
            cursor = page.next_cursor
            if not cursor:
                break
        for tool in tools:
            # Patterns are those of ECMAScript, which Python's are not; of arguments nobody compiles them.
            Draft202012Validator.check_schema(tool.input_schema, format_checker=NO_FORMATS)
            if tool.output_schema is not None:
                Draft202012Validator.check_schema(tool.output_schema)
        names = [tool.name for tool in tools]
        if call is None:
            return {"names": names}
        # Checks structured content against the output schema.
        result = await client.call_tool(call["name"], call["arguments"])
        return {"names": names, "isError": bool(result.is_error)}


for line in sys.stdin:
    try:
        given = json.loads(line)
        said = asyncio.run(read(given["url"], given.get("call")))
    except BaseException as error:  # Groups of a task group, too.
        said = {"error": repr(error)[:500]}
    print(json.dumps(said), flush=True)
