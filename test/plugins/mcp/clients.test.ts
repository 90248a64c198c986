import { afterEach, describe, expect, it } from "vitest";
import { FakeServer, legacyClient, sdk2Client, serve, text, type Served } from "./kit.ts";

let served: Served | undefined;
afterEach(async () => {
  await served?.close();
  served = undefined;
});

function echoServer(): FakeServer {
  return new FakeServer("one", { instructions: "Use echo." }).tool("echo", (call) =>
    text(String(call.args?.["text"])),
  );
}

describe("real clients", () => {
  it("SDK 1.32 initialises, lists and calls", async () => {
    served = await serve([echoServer()]);
    const client = await legacyClient(served.url);
    expect(client.getServerVersion()).toMatchObject({ name: "test-gateway", version: "1.2.3" });
    expect(client.getInstructions()).toBe("Use echo.");
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["echo"]);
    const result = await client.callTool({ name: "echo", arguments: { text: "hi" } });
    expect(result.content).toEqual([{ type: "text", text: "hi" }]);
    await client.close();
  });

  it.each(["legacy", "modern"] as const)(
    "SDK 2.4 in %s mode initialises, lists and calls",
    async (era) => {
      served = await serve([echoServer()]);
      const client = await sdk2Client(served.url, era);
      expect(client.getProtocolEra()).toBe(era);
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["echo"]);
      const result = await client.callTool({ name: "echo", arguments: { text: "hi" } });
      expect(result.content).toEqual([{ type: "text", text: "hi" }]);
      await client.close();
    },
  );
});
