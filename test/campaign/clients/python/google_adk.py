from google.adk.agents import LlmAgent
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool.mcp_toolset import McpToolset, StreamableHTTPConnectionParams
from google.genai import types
from mcp.types import ElicitResult

from cells import HEADERS, MODEL_URL, URL, WRONG, Client, cells, main, tell, wrong_key


reports = []


async def note(progress, total, message):
    reports.append(progress)


async def elicit(context, params):
    return ElicitResult(action="accept", content={"name": "Ada"})


def toolset(headers):
    return McpToolset(
        connection_params=StreamableHTTPConnectionParams(url=URL, headers=headers),
        progress_callback=note,
        elicitation_callback=elicit,
    )


async def ask(agent, prompt):
    runner = InMemoryRunner(agent=agent, app_name="tester")
    session = await runner.session_service.create_session(app_name="tester", user_id="user")
    message = types.Content(role="user", parts=[types.Part(text=prompt)])
    said = []
    async for event in runner.run_async(user_id="user", session_id=session.id, new_message=message):
        if event.error_message:
            said.append(event.error_message)
        if event.is_final_response() and event.content:
            said += [part.text for part in event.content.parts if part.text]
    return " ".join(said)


class GoogleAdk(Client):
    def __init__(self, tools):
        self.tools = tools
        model = LiteLlm("openai/scripted", api_base=MODEL_URL, api_key="none")
        self.agent = LlmAgent(name="tester", model=model, instruction="Do what you are told.", tools=[tools])

    async def list(self):
        return [tool.name for tool in await self.tools.get_tools()]

    async def run(self, prompt):
        return await ask(self.agent, prompt)

    async def progress(self):
        reports.clear()
        await self.run("use slow {}")
        return len(reports)

    async def question(self):
        return await self.run("use ask {}")

    async def wrong_key(self):
        return [tool.name for tool in await toolset(WRONG).get_tools()]


async def work():
    client = GoogleAdk(toolset(HEADERS))
    await client.tools.get_tools()
    tell("connect", "yes")
    await cells(client)
    await wrong_key(client)


if __name__ == "__main__":
    main(work)
