import { setupGateway } from "propylon/testing";
import { expect, it } from "vitest";

const environment = { GATEWAY_KEY: "a-key-for-the-test-only", STORE: "memory" };
const setup = { file: "gateway.yaml", environment };

it("greets through a real MCP client", async () => {
  const { client } = await setupGateway(setup);
  const { content } = await client.callTool({ name: "greet", arguments: { name: "Ada" } });
  expect(content).toEqual([{ type: "text", text: "Hello, Ada!" }]);
});

it("says its greeting over HTTP", async () => {
  const { url } = await setupGateway({ ...setup, client: false });
  const response = await fetch(`${url}/hello`);
  expect(await response.json()).toEqual({ greeting: "Hello" });
});

it("lets nobody in without the key", async () => {
  const { url } = await setupGateway({ ...setup, client: false });
  expect((await fetch(`${url}/mcp`, { method: "POST", body: "{}" })).status).toBe(401);
});
