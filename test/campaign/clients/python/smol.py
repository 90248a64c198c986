import asyncio

from smolagents import MCPClient, OpenAIServerModel, ToolCallingAgent

from cells import HEADERS, MODEL_URL, URL, WRONG, Client, cells, main, tell, wrong_key

model = OpenAIServerModel("scripted", api_base=MODEL_URL, api_key="none")


def connect(headers):
    return MCPClient({"url": URL, "transport": "streamable-http", "headers": headers}, structured_output=False)


class SmolAgents(Client):
    def __init__(self, tools):
        self.tools = tools

    async def list(self):
        return [tool.name for tool in self.tools]

    async def run(self, prompt):
        agent = ToolCallingAgent(tools=list(self.tools), model=model, max_steps=4)
        return str(await asyncio.to_thread(agent.run, prompt))

    async def wrong_key(self):
        client = await asyncio.to_thread(connect, WRONG)
        return [tool.name for tool in client.get_tools()]


async def work():
    client = await asyncio.to_thread(connect, HEADERS)
    tell("connect", "yes")
    smol = SmolAgents(client.get_tools())
    await cells(smol)
    await wrong_key(smol)


main(work)
