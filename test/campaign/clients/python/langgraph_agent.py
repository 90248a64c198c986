from langchain.agents import create_agent
from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from langchain_openai import ChatOpenAI
from mcp.types import ElicitResult

from cells import HEADERS, MODEL_URL, URL, WRONG, Client, cells, main, tell, wrong_key

model = ChatOpenAI(model="scripted", base_url=MODEL_URL, api_key="none")


def text_of(content):
    if isinstance(content, str):
        return content
    return " ".join(part.get("text", "") for part in content if isinstance(part, dict))


def connection(headers):
    return {"demo": {"transport": "streamable_http", "url": URL, "headers": headers}}


class LangGraph(Client):
    """One session is kept, as a program that lives for long does."""

    def __init__(self, tools, noted):
        self.tools = tools
        self.noted = noted
        for tool in tools:
            tool.handle_tool_error = True
        self.agent = create_agent(model, tools)

    async def list(self):
        return [tool.name for tool in self.tools]

    async def run(self, prompt):
        state = await self.agent.ainvoke({"messages": [("user", prompt)]})
        return text_of(state["messages"][-1].content)

    async def progress(self):
        await self.run("use slow {}")
        return len(self.noted)

    async def question(self):
        return await self.run("use ask {}")

    async def wrong_key(self):
        return [tool.name for tool in await MultiServerMCPClient(connection(WRONG)).get_tools()]


async def work():
    noted = []

    async def on_progress(progress, total, message, context):
        noted.append(progress)

    async def on_elicitation(context, params, where):
        return ElicitResult(action="accept", content={"name": "Ada"})

    callbacks = Callbacks(on_progress=on_progress, on_elicitation=on_elicitation)
    multi = MultiServerMCPClient(connection(HEADERS), callbacks=callbacks)
    async with multi.session("demo") as session:
        tell("connect", "yes")
        tools = await load_mcp_tools(session, callbacks=callbacks, server_name="demo")
        client = LangGraph(tools, noted)
        await cells(client)
        await wrong_key(client)


main(work)
