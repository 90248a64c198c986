"""Uses an agent with fast-agent, whose model passes the call of a tool on. Prints one line of JSON.

Arguments: the config file, and the message.
"""

import asyncio
import json
import sys

from mcp_agent.core.fastagent import FastAgent

fast = FastAgent("consumer", config_path=sys.argv[1], parse_cli_args=False)


@fast.agent(instruction="Pass it on.", servers=["team"], model="passthrough")
async def main():
    async with fast.run() as agent:
        tools = [each.name for each in (await agent.default.list_tools()).tools]
        print(json.dumps({"tools": tools, "text": await agent.send(sys.argv[2])}))


asyncio.run(main())
