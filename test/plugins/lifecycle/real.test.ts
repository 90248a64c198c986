import { describe, expect, it, onTestFinished } from "vitest";
import { setupGateway } from "../../../core/testing/index.ts";
import agents from "../../../plugins/agents/index.ts";
import lifecycle from "../../../plugins/lifecycle/index.ts";
import payloads from "../../../plugins/payloads/index.ts";
import { startModel } from "../../fixtures/model/model.mjs";
import type { Script } from "../../fixtures/model/types.ts";
import { deferred } from "../../kit/deferred.ts";
import { call, idIn, optionsOf, startOne, statusOf, SOON } from "./kit.ts";

/** The real agents plugin, its loop and its adapter, against a model server over HTTP. */
async function startReal(script: Script, options: Record<string, unknown> = {}) {
  const model = await startModel({ script });
  onTestFinished(() => model.close());
  const started = await setupGateway({
    plugins: [[agents, optionsOf(model.url)], payloads, [lifecycle, options]],
  });
  return { ...started, model };
}

describe("with the agents plugin and a model server", () => {
  it("A028, A035, A036: the agent completes its contract with its own tools", async () => {
    const { client, model, url } = await startReal(({ body }, index) =>
      index === 0
        ? {
            calls: [
              { name: "append_payload", args: { agent_id: idIn(body), payload: "one two " } },
            ],
          }
        : {
            calls: [
              { name: "append_payload", args: { agent_id: idIn(body), payload: "three" } },
              { name: "agent_complete", args: { agent_id: idIn(body), summary: "Counted." } },
            ],
          },
    );
    const id = await startOne(client, "Count to three.");
    await expect
      .poll(() => statusOf(client, id), SOON)
      .toMatchObject({ status: "completed", summary: "Counted.", payload_size: 13 });
    expect(await (await fetch(`${url}/api/agents/${id}/payload`)).text()).toBe("one two three");
    expect(model.requests).toHaveLength(2);
    expect(idIn(model.requests[0]!.body)).toBe(id);
    expect(model.requests[0]!.text).toBe("Count to three.");
    expect(model.requests[0]!.tools.map(({ name }) => name)).toEqual([
      "agent_complete",
      "append_payload",
    ]);
  });

  it.each([
    ["agent_stop", {}, "stopped"],
    ["agent_complete", { summary: "enough" }, "completed"],
  ])(
    "A025, A030, A031: after %s the request in flight is answered and no further one arrives",
    async (name, more, status) => {
      const answer = deferred();
      const { client, model } = await startReal(({ body }) => ({
        until: answer.promise,
        text: "Still at it.",
        calls: [{ name: "append_payload", args: { agent_id: idIn(body), payload: "x" } }],
      }));
      const ids = [await startOne(client), await startOne(client)] as const;
      await model.when(({ requests }) => requests.length === 2);
      expect(await call(client, name, { agent_id: ids[0], ...more })).toMatchObject({ status });
      answer.resolve();
      // The other agent goes on: its next requests show that the first would have made its own by now.
      await model.when(
        ({ requests }) => requests.filter(({ body }) => idIn(body) === ids[1]).length >= 4,
      );
      const own = model.requests.filter(({ body }) => idIn(body) === ids[0]);
      expect(own).toHaveLength(1);
      expect(own[0]).toMatchObject({ answered: true, aborted: false });
      await call(client, "agent_stop", { agent_id: ids[1] });
    },
  );

  it("C20: a model that fails stops the agent, and the error says why", async () => {
    const { client } = await startReal([{ status: 401 }]);
    const id = await startOne(client);
    await expect
      .poll(() => statusOf(client, id), SOON)
      .toMatchObject({
        status: "stopped",
        stop_reason: "error",
        error: expect.stringContaining("401"),
      });
  });

  it("A037: [CONTRACT COMPLETE] in the model's words completes it; in the contract it does not", async () => {
    const replies = [{ text: "Not yet." }, { text: "Three. [CONTRACT COMPLETE]" }];
    const { client, model } = await startReal(replies);
    const id = await startOne(client, "Say [CONTRACT COMPLETE] when done.");
    await expect
      .poll(() => statusOf(client, id), SOON)
      .toMatchObject({ status: "completed", summary: "Three." });
    expect(model.requests[1]!.text).toContain("still open");
  });

  it("an agent that runs at a shutdown goes on to its end, with further requests to its model", async () => {
    const answer = deferred();
    const { client, model, gateway } = await startReal(({ body }, index) =>
      index === 0
        ? {
            until: answer.promise,
            calls: [{ name: "append_payload", args: { agent_id: idIn(body), payload: "half" } }],
          }
        : { calls: [{ name: "agent_complete", args: { agent_id: idIn(body), summary: "Done." } }] },
    );
    await startOne(client);
    await model.when(({ inFlight }) => inFlight === 1);
    const closed = gateway.close({ grace: 60_000 });
    answer.resolve();
    await closed;
    expect(model.requests.map(({ answered, aborted }) => ({ answered, aborted }))).toEqual([
      { answered: true, aborted: false },
      { answered: true, aborted: false },
    ]);
  });

  it("A005: the end of the gateway cuts requests in flight", async () => {
    const { client, model, gateway } = await startReal(() => ({ until: new Promise(() => {}) }));
    await startOne(client);
    await model.when(({ inFlight }) => inFlight === 1);
    await gateway.close({ grace: 0 });
    await model.when(({ requests }) => requests[0]!.aborted);
    expect(model.requests).toHaveLength(1);
  });
});
