import {
  Client as ModernClient,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { definePlugin } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";

const greeter = definePlugin({
  name: "greeter",
  config: z.strictObject({ greeting: z.string().default("Hello") }),
  setup(gateway) {
    const { greeting } = gateway.config;
    gateway.tool("greet", {
      description: "Greets somebody by name.",
      input: z.object({ name: z.string().min(1), loud: z.boolean().default(false) }),
      run: ({ name, loud }) => `${greeting}, ${loud ? name.toUpperCase() : name}!`,
    });
  },
});

it("a legacy client (SDK 1.x) lists and calls a plugin's tool", async () => {
  const { client } = await setupGateway({ plugins: [[greeter, { greeting: "Hi" }]] });
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(["greet"]);
  expect(tools[0]!.inputSchema).toMatchObject({ type: "object", required: ["name"] });
  const result = await client.callTool({ name: "greet", arguments: { name: "Ada", loud: true } });
  expect(result.content).toEqual([{ type: "text", text: "Hi, ADA!" }]);
});

it("a modern client (SDK 2.x, 2026-07-28) lists and calls a plugin's tool", async () => {
  const { gateway } = await setupGateway({ plugins: [greeter], client: false });
  const client = new ModernClient(
    { name: "test", version: "1" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(gateway.endpoints[0]!.url)));
  onTestFinished(() => client.close());
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["greet"]);
  const result = await client.callTool({ name: "greet", arguments: { name: "Ada" } });
  expect(result.content).toEqual([{ type: "text", text: "Hello, Ada!" }]);
});

it("wrong arguments are a tool result that names the field (MCP 2025-11-25)", async () => {
  const { client } = await setupGateway({ plugins: [greeter] });
  const result = await client.callTool({ name: "greet", arguments: { name: 7 } });
  expect(result).toMatchObject({
    isError: true,
    content: [{ type: "text", text: expect.stringMatching(/name: .*string/) as string }],
  });
});
