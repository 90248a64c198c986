import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { propylon } from "../../core/cli/propylon.ts";
import { startHost, type AgentHost } from "./agent-host.ts";
import {
  type AgentView,
  type InstanceView,
  QUICK_HEALTH,
  SECRET_KEY,
  setupConsole,
  type TestConsole,
} from "./kit.ts";

const KEY = "canary-key-of-the-host";
const OPTIONS = { ...QUICK_HEALTH, secretKeys: [SECRET_KEY] };

type View = InstanceView & { readonly host_key: string };

async function attach({ ask }: TestConsole, host: AgentHost, more: object): Promise<View> {
  const body = { registry_url: host.url, name: "Kottos", ...more };
  const made = await ask<View>("POST", "/instances", body);
  expect(made.status).toBe(201);
  await ask("POST", "/workspaces", { id: "ws_a", name: "A" });
  expect((await ask("PUT", `/workspaces/ws_a/teams/${made.body.id}`)).status).toBe(200);
  return made.body;
}

const healths = async ({ ask }: TestConsole): Promise<unknown[]> =>
  (await ask<{ agents: AgentView[] }>("GET", "/agents")).body.agents.map(({ health }) => health);

it("newcomer 5: agents of a host with a key are reached with it, and what it is stands nowhere in the clear", async () => {
  const host = await startHost(["harper"]);
  host.key = KEY;
  const running = await setupConsole(OPTIONS);
  const instance = await attach(running, host, { host_key: KEY });
  expect(instance.host_key).toBe("set");
  await expect.poll(() => healths(running)).toMatchObject([{ status: "ok" }]);
  const turn = { agent: `${instance.id}:harper`, message: "hello" };
  const { status } = await fetch(`${running.url}/api/v1/workspaces/ws_a/chat`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(turn),
  });
  expect(status).toBe(200);
  const seen = [
    await running.ask("GET", "/instances"),
    await running.ask("GET", "/agents"),
    running.lines,
    await running.page(),
  ];
  expect(JSON.stringify(seen)).not.toContain(KEY);
  await running.close();
  for (const file of ["gateway.db", "gateway.db-wal"]) {
    const bytes = ((): string => {
      try {
        return readFileSync(join(running.folder, file), "latin1");
      } catch {
        return "";
      }
    })();
    expect(bytes).not.toContain(KEY);
  }
});

it("requirements F7: an agent whose host wants a key says so in words for people, and is well with the right one", async () => {
  const host = await startHost(["harper"]);
  host.key = KEY;
  const running = await setupConsole(OPTIONS);
  const { id, host_key: before } = await attach(running, host, {});
  expect(before).toBe("none");
  await expect.poll(() => healths(running)).toMatchObject([{ status: "error" }]);
  const [health] = (await healths(running)) as [{ message: string }];
  expect(health.message).toMatch(
    /^The agent "[^"]+" wants authentication \(HTTP 401\)\..* Enter the key of its host\.$/,
  );
  expect(health.message).not.toContain(id);
  const set = await running.ask<View>("PUT", `/instances/${id}/host-key`, { host_key: KEY });
  expect([set.status, set.body.host_key]).toEqual([200, "set"]);
  await expect.poll(() => healths(running)).toMatchObject([{ status: "ok" }]);
  const none = await running.ask<View>("PUT", `/instances/${id}/host-key`, { host_key: null });
  expect(none.body.host_key).toBe("none");
  await expect.poll(() => healths(running)).toMatchObject([{ status: "error" }]);
});

it("requirements F7: an agent whose host is away says so without the gateway's own names", async () => {
  const host = await startHost(["harper"]);
  const running = await setupConsole(OPTIONS);
  const { id } = await attach(running, host, {});
  await expect.poll(() => healths(running)).toMatchObject([{ status: "ok" }]);
  await host.stop();
  await expect
    .poll(() => healths(running), { timeout: 15_000 })
    .toMatchObject([{ status: "error" }]);
  await expect
    .poll(async () => JSON.stringify(await healths(running)), { timeout: 15_000 })
    .toContain("The agent");
  const said = JSON.stringify(await healths(running));
  expect(said).not.toContain(id);
  expect(said).not.toMatch(/not available|backoff|Next attempt/);
});

it("shows the key of a host to no other address that its registry names", async () => {
  const other = await startHost(["harper"]);
  const host = await startHost(["harper"]);
  host.elsewhere = other.url;
  const running = await setupConsole(OPTIONS);
  await attach(running, host, { host_key: KEY });
  await expect.poll(() => healths(running)).toMatchObject([{ status: "ok" }]);
  expect(host.shown).toEqual(host.shown.map(() => `Bearer ${KEY}`));
  expect(other.shown.length).toBeGreaterThan(0);
  expect(other.shown).toEqual(other.shown.map(() => undefined));
});

it("newcomer 5: propylon console register takes the key of the host from the environment, too", async () => {
  const host = await startHost(["harper"]);
  host.key = KEY;
  const { url, ask } = await setupConsole(OPTIONS);
  const made = await propylon(["console", "register", host.url, "--url", url, "--name", "Kottos"], {
    env: { HOST_KEY: KEY },
  });
  expect([made.code, made.stdout]).toEqual([
    0,
    expect.stringMatching(/^[\da-f-]{36} {2}Kottos {2}\S/) as string,
  ]);
  const { body } = await ask<{ instances: View[] }>("GET", "/instances");
  expect(body.instances).toMatchObject([{ name: "Kottos", host_key: "set" }]);
  const again = await propylon(["console", "register", host.url, "--url", url]);
  expect([again.code, again.stderr]).toEqual([
    1,
    expect.stringContaining("There is an instance with this registry already.") as string,
  ]);
});

it("refuses a key of a host where nothing seals it, and one that cannot stand in a header", async () => {
  const host = await startHost(["harper"]);
  const running = await setupConsole(QUICK_HEALTH);
  const register = (key: string) =>
    running.ask<{ error: { message: string } }>("POST", "/instances", {
      registry_url: host.url,
      host_key: key,
    });
  const refused = await register(KEY);
  expect([refused.status, refused.body.error.message]).toEqual([
    422,
    "There is no key to seal the secrets of console with.",
  ]);
  expect((await register("two words")).status).toBe(422);
  expect((await register("a\r\nx: y")).status).toBe(422);
});
