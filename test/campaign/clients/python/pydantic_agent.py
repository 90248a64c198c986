from mcp.types import ElicitResult
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from cells import HEADERS, MODEL_URL, URL, WRONG, Client, cells, main, tell, wrong_key

model = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=MODEL_URL, api_key="none"))


class PydanticAi(Client):
    def __init__(self):
        self.noted = []
        self.toolset = MCPToolset(
            URL,
            headers=HEADERS,
            elicitation_handler=self.elicit,
            progress_handler=self.note,
            tool_error_behavior="failed",
        )
        self.agent = Agent(model, toolsets=[self.toolset])

    async def elicit(self, message, response_type, params, context):
        return {"name": "Ada"}

    async def note(self, progress, total, message):
        self.noted.append(progress)

    async def list(self):
        return [tool.name for tool in await self.toolset.list_tools()]

    async def run(self, prompt):
        return (await self.agent.run(prompt)).output

    async def progress(self):
        await self.run("use slow {}")
        return len(self.noted)

    async def question(self):
        return await self.run("use ask {}")

    async def wrong_key(self):
        toolset = MCPToolset(URL, headers=WRONG)
        async with toolset:
            return [tool.name for tool in await toolset.list_tools()]


async def work():
    client = PydanticAi()
    async with client.agent:
        tell("connect", "yes")
        await cells(client)
        await wrong_key(client)


main(work)
