import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, it } from "vitest";
import access from "../../../plugins/access/index.ts";
import { createForge, populate, startIssuer, turnClaims } from "./gateway-kit.ts";
import { startIssuer as startAdmin } from "./issuer.ts";
import { KOTTOS } from "./kit.ts";

interface CallResult {
  readonly structuredContent?: unknown;
}

interface Caller {
  connect(transport: unknown): Promise<void>;
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  callTool(params: { name: string; arguments: object }): Promise<unknown>;
  close(): Promise<void>;
}

const CLIENTS = {
  "up to 2025-11-25": [Client, StreamableHTTPClientTransport],
  "of 2026-07-28": [ModernClient, ModernTransport],
} as const;
const INFO = { name: "test", version: "1" };

/** What the tool tells an official client that sends the bearer as a header, and nothing else. */
async function callAs(
  endpoint: string,
  bearer: string,
  era: keyof typeof CLIENTS = "of 2026-07-28",
): Promise<{ readonly tools: readonly string[]; readonly result: CallResult }> {
  const [Of, Transport] = CLIENTS[era];
  const client = new Of(INFO) as unknown as Caller;
  const requestInit = { headers: { authorization: `Bearer ${bearer}` } };
  await client.connect(new Transport(new URL(endpoint), { requestInit }));
  try {
    const { tools } = await client.listTools();
    const result = (await client.callTool({ name: "sees", arguments: {} })) as CallResult;
    return { tools: tools.map(({ name }) => name), result };
  } finally {
    await client.close();
  }
}

it.each(Object.keys(CLIENTS) as (keyof typeof CLIENTS)[])(
  "T001, T014, T145: whatever the bearer, an official client %s gets the set of its principal, without a login",
  async (era) => {
    const { issuer, gateway } = await startIssuer();
    const endpoint = gateway.endpoints[0]!.url;
    const { jwt, opaque } = await populate(issuer);
    for (const [bearer, libraries] of [
      [opaque, ["lib-d", "lib-a"]],
      [jwt, ["lib-a", "lib-b"]],
    ] as const) {
      const { tools, result } = await callAs(endpoint, bearer, era);
      expect(tools).toContain("sees");
      expect(result.structuredContent).toEqual({ libraries });
    }
    await expect(callAs(endpoint, `${opaque}x`, era)).rejects.toThrow(/Invalid MCP token/);
  },
);

it("T067: tokens of a turn, of a team and of a user count beside each other", async () => {
  const { issuer, sees } = await startIssuer();
  const { jwt, opaque } = await populate(issuer);
  const forge = await createForge(issuer, jwt);
  const answers = await Promise.all([sees(await forge(turnClaims())), sees(jwt), sees(opaque)]);
  expect(answers).toEqual([
    ["lib-b", "lib-a"],
    ["lib-a", "lib-b"],
    ["lib-d", "lib-a"],
  ]);
});

it("T004, T017: one gateway has libraries, users, memberships, tokens, teams, assignments and keys, and an endpoint for third parties", async () => {
  const started = await startAdmin();
  const { admin, gateway, send } = started;
  const made = async (path: string, body: object) => {
    const reply = await admin("POST", path, { body });
    expect([path, reply.status < 300]).toEqual([path, true]);
    return reply.body as Record<string, unknown>;
  };
  await made("/users", { id: "ada" });
  await made("/libraries", { uid: "lib-a", workspace_id: "ws-1", owner: "ada" });
  await made("/memberships", { user: "ada", library: "lib-a", role: "manager" });
  await made("/keys", { alg: "EdDSA" });
  const token = await made("/tokens", { user: "ada", name: "laptop", libraries: ["lib-a"] });
  const team = await made("/teams", { id: KOTTOS, name: "Kottos" });
  const assigned = { workspace_ids: ["ws-1"] };
  expect((await admin("PUT", `/teams/${KOTTOS}/workspaces`, { body: assigned })).status).toBe(200);
  const initialize = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: INFO },
  };
  const path = new URL(gateway.endpoints[0]!.url).pathname;
  const headers = { accept: "application/json, text/event-stream" };
  const statusOf = async (bearer: unknown) =>
    (await send("POST", path, { bearer: String(bearer), body: initialize, headers })).status;
  expect(await statusOf(token["secret"])).toBe(200);
  expect(await statusOf(team["jwt"])).toBe(200);
  expect(await statusOf("ppt_unknown")).toBe(401);
});

it("T049: a rule narrows one team further, and its token, workspaces and rows stay as they are", async () => {
  const rules = [{ deny: ["reader.sees"], for: { team: [KOTTOS] } }, { allow: ["*"] }];
  const { issuer, gateway } = await startIssuer({}, {}, [[access, { rules }]]);
  const { jwt, opaque } = await populate(issuer);
  const endpoint = gateway.endpoints[0]!.url;
  expect((await callAs(endpoint, opaque)).tools).toEqual(["sees", "wait"]);
  await expect(callAs(endpoint, jwt)).rejects.toThrow(/sees/);
  expect((await issuer.directory.teams.get(KOTTOS)).workspaces).toEqual(["ws-1"]);
});
