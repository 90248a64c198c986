from openai import AsyncOpenAI
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.connectors.mcp import MCPStreamableHttpPlugin

from cells import HEADERS, MODEL_URL, URL, WRONG, Client, cells, main, tell, wrong_key

service = OpenAIChatCompletion(ai_model_id="scripted", async_client=AsyncOpenAI(base_url=MODEL_URL, api_key="none"))


def plugin(headers):
    return MCPStreamableHttpPlugin(name="demo", url=URL, headers=headers)


class SemanticKernel(Client):
    def __init__(self, tools):
        self.tools = tools
        self.agent = ChatCompletionAgent(service=service, name="tester", plugins=[tools])

    async def list(self):
        return list(self.agent.kernel.plugins["demo"].functions)

    async def run(self, prompt):
        return str((await self.agent.get_response(messages=prompt)).message)

    async def wrong_key(self):
        async with plugin(WRONG) as tools:
            return list(ChatCompletionAgent(service=service, name="t", plugins=[tools]).kernel.plugins["demo"].functions)


async def work():
    async with plugin(HEADERS) as tools:
        tell("connect", "yes")
        client = SemanticKernel(tools)
        await cells(client)
        await wrong_key(client)


main(work)
