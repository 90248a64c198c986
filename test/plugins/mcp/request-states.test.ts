import { definePlugin, type Json, Answer } from "propylon";
import { describe, expect, it } from "vitest";
import { setupGateway } from "../../../core/testing/index.ts";
import { KeptStore } from "../../fixtures/kept-store.ts";
import { FakeServer, modernMeta, postModern, text } from "./kit.ts";

/** A server of the modern era: it asks, and keeps nothing of the question but what the client brings back. */
const asking = () =>
  new FakeServer("shop").tool("order", ({ params }) =>
    params?.["requestState"] === "step 2"
      ? text("ordered")
      : Answer.result({
          resultType: "input_required",
          inputRequests: { sure: { method: "elicitation/create", params: { message: "Sure?" } } },
          requestState: "step 2",
        }),
  );

async function start(kept: KeptStore, store: string) {
  const shop = definePlugin({ name: "shop", setup: (gateway) => gateway.server(asking()) });
  const { gateway } = await setupGateway({
    plugins: [kept.plugin, shop],
    config: { store },
    client: false,
  });
  const _meta = modernMeta({ elicitation: { form: {} } });
  const call = async (more: Json = {}): Promise<Json> => {
    const url = new URL(gateway.endpoints[0]!.url);
    const params = { name: "order", arguments: {}, _meta, ...more };
    const response = await postModern(url, 1, "tools/call", params);
    return (await response.json()) as Json;
  };
  return { gateway, call };
}

describe("a server's question to a modern client", () => {
  const inputResponses = { sure: { action: "accept" } };

  it.each([
    [
      "is answered after a restart, with a durable store",
      "kept",
      { result: { content: [{ text: "ordered" }] } },
    ],
    [
      "is refused after a restart, with a store that keeps nothing",
      "memory",
      { error: { code: -32602 } },
    ],
  ])("%s", async (_what, store, expected) => {
    const kept = new KeptStore();
    const first = await start(kept, store);
    const { requestState } = (await first.call())["result"] as Json;
    expect(requestState).toMatch(/^propylon-state\./);
    await first.gateway.close();
    const second = await start(kept, store);
    expect(await second.call({ requestState, inputResponses })).toMatchObject(expected);
  });

  it("is refused when its state is another's, or was changed", async () => {
    const kept = new KeptStore();
    const { call } = await start(kept, "kept");
    const { requestState } = (await call())["result"] as Json;
    const changed = String(requestState).replace("step 2", "step 3");
    expect(await call({ requestState: changed, inputResponses })).toMatchObject({
      error: { code: -32602 },
    });
  });
});
