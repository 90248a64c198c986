import { expect, it } from "vitest";
import { z } from "zod";
import { definePlugin, type Json, type Peer } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";

/** A tool that asks in place of an answer until it knows a name. */
const asker = definePlugin({
  name: "asker",
  setup(gateway) {
    gateway.tool("greet", {
      description: "Greets.",
      input: z.looseObject({}),
      run: (_args, { params }): Json => {
        const { who } = (params?.["inputResponses"] ?? {}) as {
          who?: { content: { name: string } };
        };
        if (who) return { content: [{ type: "text", text: `Hello, ${who.content.name}` }] };
        const request = { method: "elicitation/create", params: { message: "Who?" } };
        return { resultType: "input_required", inputRequests: { who: request } };
      },
    });
  },
});

it("a call of a plugin that names a peer has the peer answer what a tool asks in place of an answer", async () => {
  const { gateway } = await setupGateway({ plugins: [asker], client: false });
  const asked: unknown[] = [];
  const peer: Peer = {
    key: "k",
    capabilities: { elicitation: {} },
    ask: (method, params) => {
      asked.push(method, params);
      return Promise.resolve({ action: "accept", content: { name: "Ada" } });
    },
    tell: () => {},
  };
  const answer = await gateway.call({ server: "asker", name: "greet", args: {}, peer });
  expect(answer.result).toMatchObject({ content: [{ text: "Hello, Ada" }] });
  expect(asked).toEqual(["elicitation/create", { message: "Who?" }]);
});

it("a call of a plugin without a peer gets to see the question", async () => {
  const { gateway } = await setupGateway({ plugins: [asker], client: false });
  const answer = await gateway.call({ server: "asker", name: "greet", args: {} });
  expect(answer.result).toMatchObject({ resultType: "input_required" });
});
