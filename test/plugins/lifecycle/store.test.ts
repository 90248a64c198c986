import { describe, expect, it } from "vitest";
import { KeptStore } from "../../fixtures/kept-store.ts";
import { deferred } from "../../kit/deferred.ts";
import { until } from "../../kit/until.ts";
import { call, completes, silent, start, startOne, statusOf, type Reply } from "./kit.ts";

const contractOf = (id: string, url: string): Promise<Record<string, unknown>> =>
  fetch(`${url}/api/agents/${id}`).then(
    (response) => response.json() as Promise<Record<string, unknown>>,
  );

const make = (url: string, key: string, contract = "later"): Promise<Response> =>
  fetch(`${url}/api/agents`, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": key },
    body: JSON.stringify({ contract }),
  });

describe("agents after a restart", () => {
  it("those that ended keep their state, their summary and their output", async () => {
    const kept = new KeptStore();
    const first = await start(
      ({ id }) => ({ text: "I say something.", ...completes("done")({ id } as never) }),
      {},
      { kept },
    );
    const id = await startOne(first.client);
    const before = await until(async () => {
      const status = await statusOf(first.client, id);
      return status["status"] === "completed" && status;
    });
    const stopped = await startOne(first.client);
    await call(first.client, "agent_stop", { agent_id: stopped });
    await first.gateway.close();
    const second = await start(silent, {}, { kept });
    expect(await statusOf(second.client, id)).toEqual(before);
    expect(await contractOf(id, second.url)).toMatchObject({
      contract: "work",
      output: "I say something.",
    });
    expect(await call(second.client, "agent_stop", { agent_id: id })).toMatchObject({
      status: "completed",
      already: true,
    });
    expect(second.agents.asked).toEqual([]);
  });

  it("one that ran when its process was killed is stopped, and says why", async () => {
    const kept = new KeptStore();
    const said = deferred<Reply>();
    const first = await start(
      ({ messages }) => (messages.length === 1 ? { text: "Half of it." } : said.promise),
      {},
      { kept },
    );
    const id = await startOne(first.client);
    await until(async () =>
      (await kept.driver.get("lifecycle/agents", id))?.value.includes("Half of it."),
    );
    const second = await start(silent, {}, { kept });
    expect(await statusOf(second.client, id)).toMatchObject({
      status: "stopped",
      stop_reason: "restarted",
      error: "The gateway was restarted while the agent was running.",
    });
    expect(await contractOf(id, second.url)).toMatchObject({ output: "Half of it." });
    expect(second.agents.asked).toEqual([]);
    await second.gateway.close();
    const third = await start(silent, {}, { kept });
    expect(await statusOf(third.client, id)).toMatchObject({ stop_reason: "restarted" });
  });

  it("those that wait go on to wait, or run as soon as there is a place", async () => {
    const kept = new KeptStore();
    const first = await start(silent, { concurrency: 1 }, { kept });
    const running = await startOne(first.client);
    const waiting = await startOne(first.client, "wait");
    const made = (await (await make(first.url, "k1")).json()) as { agent_id: string };
    await first.gateway.close({ grace: 0 });
    const second = await start(completes("after"), {}, { kept });
    expect(await statusOf(second.client, running)).toMatchObject({ stop_reason: "shutdown" });
    expect(await statusOf(second.client, made.agent_id)).toMatchObject({ status: "ready" });
    await until(async () => (await statusOf(second.client, waiting))["status"] === "completed");
    const again = (await (await make(second.url, "k1")).json()) as { agent_id: string };
    expect(again.agent_id).toBe(made.agent_id);
    expect((await make(second.url, "k1", "other")).status).toBe(422);
  });

  it("only as many as are to be kept, and a record that cannot be read harms nothing", async () => {
    const kept = new KeptStore();
    const first = await start(completes(), {}, { kept });
    const ids: string[] = [];
    for (let count = 0; count < 5; count++) {
      const id = await startOne(first.client);
      await until(async () => (await statusOf(first.client, id))["status"] === "completed");
      ids.push(id);
    }
    await first.gateway.close();
    await kept.driver.put("lifecycle/agents", "broken", '1:{"id":7}');
    const second = await start(silent, { retention: { maxAgents: 2 } }, { kept });
    const found = await Promise.all(ids.map((id) => statusOf(second.client, id)));
    const states = found.map(({ status }) => status ?? "gone");
    expect(states.join(" ")).toBe("gone gone gone completed completed");
    await until(async () => {
      const left = await kept.driver.list("lifecycle/agents", { prefix: "", limit: 10 });
      return left.length === 3;
    });
  });

  it("nothing is told that is not stored: while the store is away 503, and everything stays", async () => {
    const kept = new KeptStore();
    const first = await start(silent, {}, { kept });
    const id = await startOne(first.client);
    const made = (await (await make(first.url, "k1")).json()) as { agent_id: string };
    kept.isAway = true;
    expect((await make(first.url, "k2")).status).toBe(503);
    await expect(call(first.client, "agent_stop", { agent_id: id })).rejects.toThrow(/store/);
    expect(await statusOf(first.client, id)).toMatchObject({ status: "running" });
    const remove = await fetch(`${first.url}/api/agents/${made.agent_id}`, { method: "DELETE" });
    expect(remove.status).toBe(503);
    kept.isAway = false;
    await until(() =>
      call(first.client, "agent_stop", { agent_id: id }).then(
        () => true,
        () => false,
      ),
    );
    const second = await start(silent, {}, { kept });
    expect(await statusOf(second.client, id)).toMatchObject({ stop_reason: "requested" });
    expect(await statusOf(second.client, made.agent_id)).toMatchObject({ status: "ready" });
  });

  it("an end that comes while the store is away counts when it is back", async () => {
    const kept = new KeptStore();
    const answer = deferred<Reply>();
    const first = await start(() => answer.promise, {}, { kept });
    const id = await startOne(first.client);
    await until(() => first.agents.asked.length === 1);
    kept.isAway = true;
    answer.resolve({ text: "All done. [CONTRACT COMPLETE]" });
    await expect(make(first.url, "k1").then(({ status }) => status)).resolves.toBe(503);
    expect(await statusOf(first.client, id)).toMatchObject({ status: "running" });
    kept.isAway = false;
    await until(async () => (await statusOf(first.client, id))["status"] === "completed");
    const second = await start(silent, {}, { kept });
    expect(await statusOf(second.client, id)).toMatchObject({ status: "completed" });
  });

  it("agents of a gateway that lives are its own; those of one that ended are taken over by one", async () => {
    const kept = new KeptStore({ shared: true });
    const first = await start(silent, {}, { kept });
    const id = await startOne(first.client);
    const options = { retention: { ttl: 1 } };
    const second = await start(silent, options, { kept });
    const listed = await fetch(`${second.url}/api/agents`);
    expect(await listed.json()).toEqual({ agents: [] });
    for (const { client } of [first, second])
      expect(await statusOf(client, id)).toMatchObject({ status: "running" });
    await kept.loseGateway();
    await until(async () =>
      (await kept.driver.get("lifecycle/agents", id))?.value.includes("restarted"),
    );
    expect(await statusOf(second.client, id)).toMatchObject({ stop_reason: "restarted" });
  });
});
