import { expect, it } from "vitest";
import { definePlugin } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import { deferred } from "../../kit/deferred.ts";
import { sdk2Client } from "./kit.ts";

const ELICIT = {
  mode: "form",
  message: "Who?",
  requestedSchema: { type: "object", properties: { name: { type: "string" } } },
};

/** Asks twice, one after the other. */
const asking = definePlugin({
  name: "asking",
  setup(gateway) {
    gateway.tool("who", {
      description: "Asks.",
      async run(_, call) {
        const names = [];
        for (let round = 0; round < 2; round++) {
          const { content } = await call.peer.ask("elicitation/create", ELICIT);
          names.push((content as { name: string }).name);
        }
        return names.join(" and ");
      },
    });
  },
});

it.each(["modern", "legacy"] as const)(
  "lets the answers to an open question in during a shutdown: %s",
  async (era) => {
    const { gateway, url } = await setupGateway({ plugins: [asking], client: false });
    const client = await sdk2Client(new URL("/mcp", url), era, { elicitation: { form: {} } });
    const asked = deferred();
    const closing = deferred();
    const names = ["Ada", "Grace"];
    client.setRequestHandler("elicitation/create", async () => {
      asked.resolve();
      await closing.promise;
      return { action: "accept", content: { name: names.shift()! } };
    });
    const { tools } = await client.listTools();
    const result = client.callTool({ name: tools[0]!.name, arguments: {} });
    await asked.promise;
    const closed = gateway.close({ grace: 60_000 });
    // New work is refused all the same.
    await expect(client.callTool({ name: tools[0]!.name, arguments: {} })).rejects.toThrow(
      "shutting down",
    );
    closing.resolve();
    expect((await result).content).toEqual([{ type: "text", text: "Ada and Grace" }]);
    await closed;
  },
);
