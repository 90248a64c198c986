import { randomBytes, randomUUID } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { definePlugin } from "propylon";
import events from "propylon/plugins/events";
import history from "propylon/plugins/history";
import metrics from "propylon/plugins/metrics";
import { expect, it, onTestFinished } from "vitest";
import { Fernet } from "propylon/kit";
import { connectClient } from "../../../core/testing/index.ts";
import { startPropylon } from "../../core/cli/propylon.ts";
import { HEAP_SNAPSHOTS, takeHeapSnapshot } from "../../fixtures/heap-snapshot.ts";
import { makeFolder } from "../../kit/folder.ts";
import {
  ADMIN_KEY,
  type IssuerRequests,
  requestsTo,
  type RunningIssuer,
  SECRET_KEY,
  type Sent,
  startIssuer,
} from "./issuer.ts";

/** Secrets of each of five kinds. */
const EACH = 10;
const HELLO = {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "test", version: "1" },
};

const shelf = definePlugin({
  name: "shelf",
  setup: (gateway) =>
    void gateway.tool("canary_tool", {
      description: "Answers.",
      run: (_, { principal }) => principal.ref,
    }),
});

/** A secret, in every form in which it travels. */
type Canary = readonly string[];

interface Places {
  readonly [place: string]: string;
}

/** The end of a token is the secret of it: its head and claims may be known. */
const tokenCanary = (token: string): Canary => [token.slice(-32), sealed(token)];
const sealed = (text: string): string => Buffer.from(text).toString("base64").replace(/=+$/, "");

it("T051, T144, T170, T171, T172: no secret is at rest in the open, or in anything that the gateway tells", async () => {
  const issuer = await startIssuer(
    { resolutionLog: "info" },
    { plugins: [events, history, metrics, shelf] },
  );
  const told = listen(issuer);
  const canaries = await useAll(issuer, (jwt) => callTool(issuer.url, jwt));
  const places: Places = { ...(await readRunning(issuer)), events: await told() };
  // T173: every wrong password is counted, up to the one from which on the address waits.
  expect(places["metrics"]).toContain('reason=\\"wrong_password\\"} 10');
  await issuer.gateway.close();
  const all = { ...places, ...readFiles(issuer.folder, "closed") };
  // Each place is one in which something of this test is found at all.
  for (const [place, text] of Object.entries(all))
    expect([place, /canary|team-auth|mcp_auth_failures/.test(text)]).toEqual([place, true]);
  const hits = Object.entries(all).flatMap(([place, text]) =>
    [...canaries, [ADMIN_KEY], [SECRET_KEY]]
      .flat()
      .filter((canary) => text.includes(canary))
      .map((canary) => `${place}: ${canary.slice(0, 8)}...`),
  );
  expect(hits).toEqual([]);
});

it("T172: what the database has of a signing key is a Fernet token of the configured key", async () => {
  const { admin, gateway, folder } = await startIssuer();
  const { body } = await admin("POST", "/keys", { body: {} });
  const { secret } = (await admin("POST", `/keys/${body.kid as string}/reveal`)).body as {
    secret: string;
  };
  await gateway.close();
  const [token] =
    /gAAAAA[\w-]+={0,2}/.exec(Object.values(readFiles(folder, "closed")).join("")) ?? [];
  expect(new Fernet([SECRET_KEY]).open(token!)).toBe(secret);
  expect(() => new Fernet([`${SECRET_KEY}!`]).open(token!)).toThrow(/another key/);
});

it("T051, T144: no secret stays in the memory of the process once it was used", async () => {
  const folder = makeFolder();
  const config = {
    listeners: { main: { port: 0 } },
    store: "sqlite:./gateway.db",
    auth: { apiKey: "${ADMIN_KEY}", maxFailures: 0 },
    management: { mutations: true },
    plugins: { "team-auth": { secretKeys: ["${OWN_KEY}"] }, history: {}, events: {} },
  };
  writeFileSync(join(folder, "gateway.json"), JSON.stringify(config));
  const gateway = await startPropylon(["start", "gateway.json"], {
    cwd: folder,
    env: { ADMIN_KEY, OWN_KEY: SECRET_KEY, NODE_OPTIONS: HEAP_SNAPSHOTS },
  });
  const { origin } = new URL(gateway.url);
  const requests = requestsTo(origin);
  const canaries = await useAll(requests, (jwt) => call(requests.send, { bearer: jwt }));
  // What a connection read last is in its parser, and kept for 50 ms.
  const used = performance.now();
  for (let each = 0; each < EACH || performance.now() - used < 100; each++)
    await requests.send("GET", "/healthz", { bearer: null });
  const snapshot = await takeHeapSnapshot(gateway, folder);
  await gateway.stop();
  // What has to be kept is found: the keys of the config.
  for (const kept of [SECRET_KEY, ADMIN_KEY, "canary-user"]) expect(snapshot).toContain(kept);
  const hits = canaries
    .flatMap((canary, kind) => canary.map((text) => [Math.floor(kind / EACH), text] as const))
    .filter(([, text]) => snapshot.includes(text))
    .map(([kind, text]) => `kind ${kind}: ${text.slice(0, 8)}...`);
  expect(hits).toEqual([]);
});

/** Fifty secrets of five kinds that were used. */
async function useAll(
  requests: IssuerRequests,
  useTeam: (jwt: string) => Promise<void>,
): Promise<Canary[]> {
  const canaries = [
    ...(await useTokens(requests)),
    ...(await useTeams(requests, useTeam)),
    ...(await useKeys(requests)),
    ...(await useAccounts(requests)),
    ...(await guess(requests)),
  ];
  expect(canaries).toHaveLength(5 * EACH);
  return canaries;
}

/** Opaque tokens that are used, and that are replaced. */
async function useTokens({ admin, send }: IssuerRequests): Promise<Canary[]> {
  await admin("POST", "/users", { body: { id: "canary-user" } });
  return times(async () => {
    const { body } = await admin("POST", "/tokens", {
      body: { user: "canary-user", name: "canary" },
    });
    await call(send, { bearer: body.secret as string });
    await admin("POST", `/tokens/${body.token.id as string}/replace`);
    await call(send, { bearer: body.secret as string });
    return tokenCanary(body.secret as string);
  });
}

/** Tokens of teams that are used, rotated, and used again. */
async function useTeams(
  { admin, send }: IssuerRequests,
  use: (jwt: string) => Promise<void>,
): Promise<Canary[]> {
  return times(async () => {
    const headers = { "idempotency-key": randomUUID() };
    const body = { id: randomUUID(), name: "canary-team" };
    const made = await send("POST", "/mcp_server/api/teams/", { body, headers });
    const { jwt } = made.body as { jwt: string };
    await use(jwt);
    await admin("POST", `/teams/${body.id}/rotate`);
    await call(send, { bearer: jwt });
    return tokenCanary(jwt);
  });
}

async function useKeys({ admin }: IssuerRequests): Promise<Canary[]> {
  return times(async () => {
    const { body } = await admin("POST", "/keys", { body: {} });
    const revealed = await admin("POST", `/keys/${body.kid as string}/reveal`);
    const { secret } = revealed.body as { secret: string };
    return [secret, sealed(secret), Buffer.from(secret, "hex").toString("base64")];
  });
}

async function useAccounts({ admin, send }: IssuerRequests): Promise<Canary[]> {
  return times(async (each) => {
    const name = `canary-account-${each}`;
    const password = randomBytes(24).toString("base64url");
    await admin("POST", "/accounts", { body: { name, password } });
    await send("GET", `/mcp_server/api/teams/${randomUUID()}`, basic(name, password));
    return [password, sealed(`${name}:${password}`)];
  });
}

/** What somebody sends who mistook a password or token of somewhere else for one of ours. */
async function guess({ send }: IssuerRequests): Promise<Canary[]> {
  return times(async (each) => {
    const secret = randomBytes(24).toString("base64url");
    await send("GET", "/_meta/team-auth/users", basic("canary-account-0", secret));
    for (const bearer of [secret, `ppt_${secret}`, `e30.e30.${secret}`]) {
      await call(send, { bearer });
      await send("GET", "/_meta/team-auth/users", { bearer });
    }
    return [secret, sealed(`canary-account-0:${secret}`), `wrong-${each}-${secret}`];
  });
}

async function call(send: RunningIssuer["send"], sent: Sent): Promise<void> {
  const headers = { accept: "application/json, text/event-stream" };
  const body = { jsonrpc: "2.0", id: 1, method: "initialize", params: HELLO };
  await send("POST", "/mcp", { ...sent, body, headers });
}

/** As clients do, so that history has it. */
async function callTool(url: string, bearer: string): Promise<void> {
  const headers = { authorization: `Bearer ${bearer}` };
  const client = await connectClient(`${url}/mcp`, { headers });
  await client.callTool({ name: "canary_tool", arguments: {} });
  await client.close();
}

function basic(name: string, password: string): Sent {
  const authorization = `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`;
  return { bearer: null, headers: { authorization } };
}

async function times(make: (each: number) => Promise<Canary>): Promise<Canary[]> {
  const made: Canary[] = [];
  for (let each = 0; each < EACH; each++) made.push(await make(each));
  return made;
}

/** Reads the event stream of the gateway; the function ends that and gives what came. */
function listen({ url }: RunningIssuer): () => Promise<string> {
  const end = new AbortController();
  onTestFinished(() => end.abort());
  let text = "";
  const reading = (async () => {
    const headers = { authorization: `Bearer ${ADMIN_KEY}` };
    const { body } = await fetch(`${url}/_meta/events`, { headers, signal: end.signal });
    for await (const piece of body!.pipeThrough(new TextDecoderStream())) text += piece;
  })().catch(() => {});
  return async () => {
    await expect.poll(() => text).toContain("team-auth");
    end.abort();
    await reading;
    return text;
  };
}

async function readRunning({ admin, send, lines, folder }: RunningIssuer): Promise<Places> {
  const told = async (path: string): Promise<string> =>
    JSON.stringify((await send("GET", path)).body);
  const tables = ["/users", "/tokens", "/teams", "/keys", "/accounts", "/memberships", "/audit"];
  const lists = await Promise.all(
    tables.map(async (path) => (await admin("GET", path)).body as unknown),
  );
  return {
    log: JSON.stringify(lines),
    lists: JSON.stringify(lists),
    history: await told("/_meta/history"),
    exported: await told("/_meta/history/export"),
    metrics: await told("/metrics"),
    ...readFiles(folder, "running"),
  };
}

/** The bytes of the database: the store, its tables, and what is not merged into them yet. */
function readFiles(folder: string, when: string): Places {
  const names = readdirSync(folder).filter((name) => !/(?:\.lock|-shm)$/.test(name));
  expect(names).toContain("gateway.db.tables");
  const texts = names.map((name) => readFileSync(join(folder, name), "latin1"));
  return { [`database ${when}`]: texts.join("") };
}
