import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startPropylon } from "../../core/cli/propylon.ts";
import { GuardedServer } from "../../fixtures/guarded-server.ts";
import { HEAP_SNAPSHOTS, takeHeapSnapshot } from "../../fixtures/heap-snapshot.ts";
import { LoginProvider } from "../../fixtures/login-provider.ts";
import { makeFolder } from "../../kit/folder.ts";
import { clientOf, headersOf, KEYS } from "./kit.ts";

const SECRET_KEY = "a key for the tests that is long enough";

it("no token stays in the memory of the process once its account is disconnected or has another", async () => {
  const folder = makeFolder();
  const provider = await LoginProvider.start();
  const server = await GuardedServer.start({ issuer: provider.url });
  const canaries: string[] = [];
  provider.onAnswer = (answer) => {
    for (const name of ["access_token", "refresh_token"])
      // The end of a signed token is the secret of it: its head is that of all.
      if (typeof answer[name] === "string") canaries.push(answer[name].slice(-32));
  };
  const config = {
    listeners: { main: { port: 0 } },
    store: "sqlite:./gateway.db",
    auth: { keys: KEYS, maxFailures: 0 },
    management: { mutations: true },
    servers: { guarded: { url: server.url, auth: { type: "oauth", per: "principal" } } },
    plugins: { "oauth-client": { secretKeys: ["${OWN_KEY}"] }, history: {}, events: {} },
  };
  writeFileSync(join(folder, "gateway.json"), JSON.stringify(config));
  const env = { OWN_KEY: SECRET_KEY, NODE_OPTIONS: HEAP_SNAPSHOTS };
  const gateway = await startPropylon(["start", "gateway.json"], { cwd: folder, env });
  const { origin } = new URL(gateway.url);
  const ann = await clientOf(origin, "ann");
  for (let i = 0; i < 25; i++) {
    await ann.connect("ann-at-work");
    await expect.poll(() => ann.call("whoami")).toBe("ann-at-work");
    expect(await ann.call("disconnect_account", { server: "guarded" })).toContain("disconnected");
  }
  expect(new Set(canaries).size).toBeGreaterThanOrEqual(50);
  const used = canaries.slice();
  await ann.connect("ann-at-work");
  await expect.poll(() => ann.call("whoami")).toBe("ann-at-work");
  // What a connection read last is in its parser.
  for (let i = 0; i < 10; i++) await fetch(`${origin}/healthz`, { headers: headersOf("boss") });
  const snapshot = await takeHeapSnapshot(gateway, folder);
  await gateway.stop();
  // What has to be kept is found: the key of the config, and the tokens of who is at work.
  for (const kept of [SECRET_KEY, ...canaries.slice(used.length)])
    expect(snapshot.includes(kept)).toBe(true);
  expect(used.filter((secret) => snapshot.includes(secret))).toEqual([]);
});
