import { digestOf } from "propylon/kit";
import { expect, it } from "vitest";
import { createKey } from "../../../plugins/keys/key.ts";
import type { Mutation } from "../../../core/index.ts";
import { connectClient } from "../../../core/testing/index.ts";
import { call, silent, start } from "./kit.ts";

const KEYS = { ann: createKey("admin"), bob: createKey("caller") };
const AUTH = {
  keys: {
    ann: { role: "admin", hash: `sha256:${digestOf(KEYS.ann)}` },
    bob: { role: "caller", hash: `sha256:${digestOf(KEYS.bob)}` },
  },
} as const;

it("who starts and stops agents is in the audit, over MCP as over HTTP", async () => {
  const { gateway, url } = await start(silent, {}, { config: { auth: AUTH }, client: false });
  const mutations: Mutation[] = [];
  gateway.hook("mutation", (mutation) => void mutations.push(mutation));
  const clientOf = (key: string) =>
    connectClient(gateway.endpoints[0]!.url, { headers: { authorization: `Bearer ${key}` } });
  const [ann, bob] = [await clientOf(KEYS.ann), await clientOf(KEYS.bob)];
  const { agent_id: agent } = await call(bob, "agent_start", { contract: "secret plans" });
  await call(bob, "agent_stop", { agent_id: agent });
  // The second time nothing is stopped.
  await call(bob, "agent_stop", { agent_id: agent });
  await expect(call(bob, "agent_stop", { agent_id: "x" })).rejects.toThrow("Agent not found");
  const made = await fetch(`${url}/api/agents`, {
    method: "POST",
    headers: { authorization: `Bearer ${KEYS.ann}`, "content-type": "application/json" },
    body: JSON.stringify({ contract: "secret plans" }),
  });
  const { agent_id: second } = (await made.json()) as { agent_id: string };
  const target = { agent, name: "worker", owner: "key:bob" };
  expect(mutations).toMatchObject([
    { who: "key:bob", action: "lifecycle:start", target },
    { who: "key:bob", action: "lifecycle:stop", target },
    { who: "key:ann", action: "POST /api/agents", target: { agent: second, owner: "key:ann" } },
  ]);
  expect(JSON.stringify(mutations)).not.toContain("secret plans");
  await ann.close();
  await bob.close();
});
