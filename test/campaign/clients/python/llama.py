from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

from cells import HEADERS, MODEL_URL, URL, WRONG, Client, cells, main, tell, wrong_key

model = OpenAILike(
    model="scripted", api_base=MODEL_URL, api_key="none", is_chat_model=True, is_function_calling_model=True
)


def tools_of(headers):
    return McpToolSpec(client=BasicMCPClient(URL, headers=headers, timeout=30)).to_tool_list_async()


class LlamaIndex(Client):
    def __init__(self, tools):
        self.tools = tools
        self.agent = FunctionAgent(tools=tools, llm=model)

    async def list(self):
        return [tool.metadata.name for tool in self.tools]

    async def run(self, prompt):
        return str(await self.agent.run(user_msg=prompt))

    async def wrong_key(self):
        return [tool.metadata.name for tool in await tools_of(WRONG)]


async def work():
    client = LlamaIndex(await tools_of(HEADERS))
    tell("connect", "yes")
    await cells(client)
    await wrong_key(client)


main(work)
