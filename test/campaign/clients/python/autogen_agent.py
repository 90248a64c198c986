from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from autogen_ext.tools.mcp import McpWorkbench, StreamableHttpServerParams

from cells import HEADERS, MODEL_URL, URL, WRONG, Client, cells, main, tell, wrong_key

INFO = {"vision": False, "function_calling": True, "json_output": False, "family": "unknown", "structured_output": False}
model = OpenAIChatCompletionClient(model="scripted", base_url=MODEL_URL, api_key="none", model_info=INFO)


def workbench(headers):
    return McpWorkbench(StreamableHttpServerParams(url=URL, headers=headers, timeout=30))


class AutoGen(Client):
    def __init__(self, bench):
        self.bench = bench

    async def list(self):
        return [tool["name"] for tool in await self.bench.list_tools()]

    async def run(self, prompt):
        agent = AssistantAgent("tester", model_client=model, workbench=self.bench, reflect_on_tool_use=True)
        return str((await agent.run(task=prompt)).messages[-1].content)

    async def wrong_key(self):
        async with workbench(WRONG) as bench:
            return [tool["name"] for tool in await bench.list_tools()]


async def work():
    async with workbench(HEADERS) as bench:
        tell("connect", "yes")
        client = AutoGen(bench)
        await cells(client)
        await wrong_key(client)


main(work)
