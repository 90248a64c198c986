import { digestOf } from "propylon/kit";
import { expect, it } from "vitest";
import { createKey } from "../../../plugins/keys/key.ts";
import { KeptStore } from "../../fixtures/kept-store.ts";
import { until } from "../../kit/until.ts";
import { call, silent, start, startOne, statuses, statusOf } from "./kit.ts";

const ALICE = createKey("caller");
const BOB = createKey("caller");
const auth = {
  keys: {
    alice: { role: "caller", hash: `sha256:${digestOf(ALICE)}` },
    bob: { role: "caller", hash: `sha256:${digestOf(BOB)}` },
  },
} as const;

const UNKNOWN = "00000000-0000-4000-8000-000000000000";

it("any replica tells how an agent is doing and stops it, wherever it runs", async () => {
  const kept = new KeptStore({ shared: true });
  const talk = ({ messages }: { readonly messages: readonly unknown[] }) =>
    messages.length === 1 ? { text: "Half of it." } : silent();
  const here = await start(talk, {}, { kept });
  const there = await start(silent, {}, { kept });
  const id = await startOne(here.client);
  await until(async () => (await statusOf(here.client, id))["status"] === "running");
  expect(await statusOf(there.client, id)).toEqual(await statusOf(here.client, id));
  const shown = (await (await fetch(`${there.url}/api/agents/${id}`)).json()) as object;
  expect(shown).toMatchObject({
    agent_id: id,
    status: "running",
    agent: "worker",
    contract: "work",
  });
  expect(await statuses(there.client, [UNKNOWN, "no id", id])).toMatchObject([
    { agent_id: UNKNOWN, error: "Agent not found" },
    { agent_id: "no id", error: "Agent not found" },
    { agent_id: id, status: "running" },
  ]);

  expect(await call(there.client, "agent_stop", { agent_id: id })).toMatchObject({
    status: "stopped",
  });
  const stopped = { status: "stopped", stop_reason: "requested" };
  expect(await statusOf(here.client, id)).toMatchObject(stopped);
  expect(await statusOf(there.client, id)).toMatchObject(stopped);
  expect(await call(there.client, "agent_stop", { agent_id: id })).toMatchObject({
    status: "stopped",
    already: true,
  });
  await expect(call(there.client, "agent_stop", { agent_id: UNKNOWN })).rejects.toThrow(
    "not found",
  );
  expect(there.agents.asked).toEqual([]);
});

it("of others' agents nobody hears at another replica, nor stops them", async () => {
  const kept = new KeptStore({ shared: true });
  const one = () => start(silent, {}, { kept, client: false, config: { auth } });
  const [here, there] = [await one(), await one()];
  const send = (url: string, key: string, method: string, path: string, body?: object) =>
    fetch(`${url}/api/agents${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
  const made = await send(here.url, ALICE, "POST", "", { contract: "work", start: true });
  const { agent_id: id } = (await made.json()) as { agent_id: string };
  for (const [method, path] of [
    ["GET", `/${id}`],
    ["POST", `/${id}/stop`],
  ] as const)
    expect((await send(there.url, BOB, method, path)).status).toBe(404);
  expect((await send(there.url, ALICE, "GET", `/${id}`)).status).toBe(200);
  const stop = await send(there.url, ALICE, "POST", `/${id}/stop`);
  expect([stop.status, await stop.json()]).toMatchObject([200, { status: "stopped" }]);
});

it("an agent of a replica that died is told of and ended by the one that is asked", async () => {
  const kept = new KeptStore({ shared: true });
  const here = await start(silent, {}, { kept });
  const there = await start(silent, {}, { kept });
  const id = await startOne(here.client);
  await until(async () => (await statusOf(there.client, id))["status"] === "running");
  await kept.loseGateway();
  const ended = await until(async () => {
    const status = await statusOf(there.client, id).catch(() => undefined);
    return status?.["status"] === "stopped" && status;
  });
  expect(ended).toMatchObject({ stop_reason: "restarted" });
});
