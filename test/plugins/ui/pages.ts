import type { BrowserContextOptions } from "playwright-core";
import { digestOf } from "propylon/kit";
import { expect } from "vitest";
import { createKey } from "../../../plugins/keys/key.ts";
import { makeFolder } from "../../kit/folder.ts";
import { until } from "../../kit/until.ts";
import { fakeUpstream, type FakeUpstream } from "../../../core/testing/index.ts";
import { startHost } from "../console/agent-host.ts";
import { withIssuer } from "../console/kit.ts";
import { startIssuer } from "../console/scripted-issuer.ts";
import { fileStore, SECRET_KEY } from "../team-auth/gateway-kit.ts";
import { FULL, openPage, startGateway } from "./kit.ts";

/** Text that is harmless only where it is shown as text. */
export const HOSTILE = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>{{7*7}}\u202Egnp.\u200B`;

/** Every page of {@link startShop}, as its path. */
export const ALL_PAGES = [
  "/",
  "/servers",
  "/servers/shop",
  "/servers/shop?view=config",
  "/activity",
  "/logs",
  "/access?server=shop&tool=price",
  "/config",
  "/clients",
  "/docs",
] as const;

/** Every page of the console in {@link startTeams}, as its path. */
export const TEAM_PAGES = [
  "/panels/console/instances",
  "/panels/console/new-instance",
  "/panels/console/workspaces",
  "/panels/console/new-workspace",
  "/panels/console/agents",
  "/panels/console/chat?workspace=ws_work&settings=1",
] as const;

/** Every page of team-auth in {@link startDirectory}, as its path. */
export const ACCESS_PAGES = [
  "users",
  "libraries",
  "memberships",
  "tokens",
  "teams",
  "keys",
  "accounts",
  "audit",
].map((view) => `/panels/team-auth/${view}`);

/** The whole of team-auth, and an admin who is signed in. */
export async function startDirectory(options: BrowserContextOptions = {}) {
  const key = createKey("admin");
  const text = `${FULL}  access: {}
  sessions: {}
  sqlite: {}
  team-auth: { secretKeys: ["${SECRET_KEY}"] }
store: "${fileStore()}"
auth:
  keys:
    admin: { role: admin, hash: "sha256:${digestOf(key)}" }
`;
  const { url } = await startGateway(text);
  const ask = async (method: string, path: string, body?: object): Promise<unknown> => {
    const reply = await fetch(`${url}/_meta/team-auth/${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    expect(reply.ok, `${method} ${path}: ${reply.status}`).toBe(true);
    return reply.json();
  };
  const opened = await openPage(`${url}/ui/panels/team-auth/tokens`, options);
  await opened.page.getByLabel("Key or token").fill(key);
  await opened.page.getByRole("button", { name: "Sign in" }).click();
  await opened.page.getByText("live", { exact: true }).waitFor();
  return { url, ask, ...opened };
}

/** A gateway with a console: a team of two agents that is attached to one of two workspaces, and an issuer. */
export async function startTeams(): Promise<Awaited<ReturnType<typeof startGateway>>> {
  const [host, issuer] = await Promise.all([startHost(["harper", "mentor"]), startIssuer()]);
  const options = withIssuer(issuer, { healthInterval: "1s", healthTimeout: "500ms" });
  const text = `${FULL}  sqlite: {}\n  console: ${JSON.stringify(options)}\nstore: sqlite:${makeFolder()}/gateway.db\n`;
  const started = await startGateway(text);
  const ask = (method: string, path: string, body?: object): Promise<Response> =>
    fetch(`${started.url}/api/v1/${path}`, {
      method,
      headers: { "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
  const made = await ask("POST", "instances", { registry_url: host.url, name: "Kottos" });
  const { id } = (await made.json()) as { id: string };
  await ask("POST", "workspaces", { id: "ws_work", name: "Work" });
  await ask("POST", "workspaces", { id: "ws_home", name: "Home" });
  await ask("PUT", "workspaces/ws_work/teams", { teams: [id] });
  await until(async () => {
    const agents = await (await ask("GET", "agents")).text();
    return agents.split('"status":"ok"').length === 3;
  });
  return started;
}

/** A gateway with a server that works, one that is switched off, and a call in its history. */
export async function startShop(
  more = "",
  plugins = "",
): Promise<Awaited<ReturnType<typeof startGateway>> & { readonly shop: FakeUpstream }> {
  const shop = await fakeUpstream({
    price: {
      description: "What a thing costs.",
      input: {
        type: "object",
        properties: {
          item: { type: "string", description: "Name of the thing." },
          amount: { type: "integer", minimum: 1 },
        },
        required: ["item"],
      },
      run: ({ item }) => `${String(item)}: 3 EUR`,
    },
    echo: { description: HOSTILE, run: () => HOSTILE },
  });
  const full = FULL.replace("admin: {}", "admin: { allowConfigEdits: true }");
  const text = `${full}  openapi: {}\n  health: {}\n  access: {}\n${plugins}servers:\n  shop: { url: "${shop.url}" }\n  drafts: { command: nothing, enabled: false }\n${more}`;
  const started = await startGateway(text);
  await fetch(`${started.url}/shop/echo`, { method: "POST" });
  return { ...started, shop };
}
