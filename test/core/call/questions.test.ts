import { fileURLToPath } from "node:url";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, it } from "vitest";
import { setupGateway } from "../../../core/testing/index.ts";
import { deferred } from "../../kit/deferred.ts";

const MODERN = fileURLToPath(new URL("../../fixtures/upstreams/modern.mjs", import.meta.url));
const ASKING = "test_input_required_result_elicitation";

/** A gateway before a modern server, and a legacy client whose user has been asked and not yet answered. */
async function askedUser() {
  const { gateway, client } = await setupGateway({
    config: {
      servers: { modern: { command: process.execPath, args: [MODERN, "stdio"] } },
      endpoints: { mcp: { naming: "none" } },
      timeouts: { drain: 10_000 },
    },
    client: { capabilities: { elicitation: {} } },
  });
  const { promise: answered, resolve: answer } = deferred();
  const asked = new Promise<void>((resolve) =>
    client.setRequestHandler(ElicitRequestSchema, async () => {
      resolve();
      await answered;
      return { action: "accept" as const, content: { name: "Ada" } };
    }),
  );
  const call = client.callTool({ name: ASKING }).then(
    ({ content }) => content,
    (error: unknown) => error,
  );
  await asked;
  return { gateway, call, answer };
}

const GREETING = [{ type: "text", text: expect.stringContaining("Ada") }];

it("a shutdown waits for a call whose legacy client is being asked, and lets it end", async () => {
  const { gateway, call, answer } = await askedUser();
  expect(gateway.inFlight).toBe(1);
  const closed = gateway.close({ grace: 10_000 });
  answer();
  expect(await call).toEqual(GREETING);
  await closed;
});

it("a shutdown aborts such a call after the grace time and says why", async () => {
  const { gateway, call } = await askedUser();
  await gateway.close({ grace: 10 });
  expect(await call).toMatchObject({ message: expect.stringContaining("shutting down") });
});

it("a reload keeps the server of such a call until it ended", async () => {
  const { gateway, call, answer } = await askedUser();
  await gateway.apply({ listeners: { main: { port: 0 } }, timeouts: { drain: 10_000 } });
  expect(gateway.servers.has("modern")).toBe(false);
  answer();
  expect(await call).toEqual(GREETING);
});
