import asyncio
import os

os.environ.update(CREWAI_DISABLE_TELEMETRY="true", OTEL_SDK_DISABLED="true", CREWAI_TRACING_ENABLED="false")

from crewai import LLM, Agent, Crew, Task
from crewai_tools import MCPServerAdapter

from cells import HEADERS, MODEL_URL, URL, WRONG, Client, cells, main, tell, wrong_key

model = LLM(model="openai/gpt-4o", base_url=MODEL_URL, api_key="none")


def connect(headers):
    return MCPServerAdapter({"url": URL, "transport": "streamable-http", "headers": headers}, connect_timeout=30)


class CrewAi(Client):
    def __init__(self, tools):
        self.tools = tools

    async def list(self):
        return [tool.name for tool in self.tools]

    async def run(self, prompt):
        agent = Agent(role="tester", goal="obey", backstory="none", llm=model, tools=list(self.tools), max_iter=4)
        task = Task(description=f"\n{prompt}\n", expected_output="the answer", agent=agent)
        return str(await asyncio.to_thread(Crew(agents=[agent], tasks=[task]).kickoff))

    async def wrong_key(self):
        adapter = await asyncio.to_thread(connect, WRONG)
        return [tool.name for tool in adapter.tools]


async def work():
    adapter = await asyncio.to_thread(connect, HEADERS)
    tell("connect", "yes")
    client = CrewAi(adapter.tools)
    await cells(client)
    await wrong_key(client)


main(work)
