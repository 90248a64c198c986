import { setupGateway } from "propylon/testing";
import { expect, it } from "vitest";

it("greets through a real MCP client", async () => {
  const { client } = await setupGateway({ file: "gateway.yaml" });
  const { content } = await client.callTool({
    name: "greet",
    arguments: { name: "Ada" },
  });
  expect(content).toEqual([{ type: "text", text: "Hello, Ada!" }]);
});

it("says its greeting over HTTP", async () => {
  const { url } = await setupGateway({ file: "gateway.yaml", client: false });
  const response = await fetch(`${url}/hello`);
  expect(await response.json()).toEqual({ greeting: "Hello" });
});
