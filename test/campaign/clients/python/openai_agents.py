from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from openai import AsyncOpenAI

from cells import HEADERS, MODEL_URL, URL, WRONG, Client, cells, main, tell, wrong_key

set_tracing_disabled(True)
model = OpenAIChatCompletionsModel("scripted", AsyncOpenAI(base_url=MODEL_URL, api_key="none"))


def server(headers):
    return MCPServerStreamableHttp(params={"url": URL, "headers": headers}, client_session_timeout_seconds=30)


class OpenAiAgents(Client):
    def __init__(self, mcp):
        self.mcp = mcp
        self.agent = Agent(name="tester", instructions="Do what you are told.", model=model, mcp_servers=[mcp])

    async def list(self):
        return [tool.name for tool in await self.mcp.list_tools()]

    async def run(self, prompt):
        return (await Runner.run(self.agent, prompt)).final_output

    async def wrong_key(self):
        async with server(WRONG) as mcp:
            return [tool.name for tool in await mcp.list_tools()]


async def work():
    async with server(HEADERS) as mcp:
        tell("connect", "yes")
        client = OpenAiAgents(mcp)
        await cells(client)
        await wrong_key(client)


main(work)
