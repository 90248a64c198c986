import { digestOf } from "propylon/kit";
import { describe, expect, it } from "vitest";
import {
  configSchema,
  createLogger,
  definePlugin,
  GatewayError,
  type Mutation,
} from "../../core/index.ts";
import { createKey } from "../../plugins/keys/key.ts";
import { setupGateway } from "../../core/testing/index.ts";

const VIEWER = createKey("viewer");
const OPERATOR = createKey("operator");
const hashOf = (key: string): string => `sha256:${digestOf(key)}`;
const AUTH = {
  keys: {
    watcher: { role: "viewer", hash: hashOf(VIEWER) },
    ci: { role: "operator", hash: hashOf(OPERATOR) },
  },
} as const;

const SECRET = "body-canary-4711";
const switchboard = definePlugin({
  name: "switchboard",
  setup(gateway) {
    const policy = { access: "operator", mutates: true, management: true } as const;
    gateway.route("POST", "/servers/:server/enable", policy, async (event) => {
      await event.req.text();
      return { ok: true };
    });
    gateway.route("DELETE", "/servers/:server", policy, () => {
      throw new GatewayError("not_found", "No such server.");
    });
    gateway.route("PUT", "/servers/:server", policy, () => {
      throw new Error(`unforeseen ${SECRET}`);
    });
    gateway.route("PATCH", "/servers/:server", policy, () => new Response("{}", { status: 202 }));
    gateway.route("GET", "/servers/:server", { access: "viewer", mutates: false }, () => "read");
  },
});

/** A gateway whose mutations and log lines are kept. */
async function setup(config: object = { auth: AUTH, management: { mutations: true } }) {
  const lines: string[] = [];
  const log = await createLogger(configSchema.parse({}).log, {
    write: (line) => void lines.push(line),
  });
  const { gateway, url } = await setupGateway({
    plugins: [switchboard],
    config,
    client: false,
    log,
  });
  const mutations: Mutation[] = [];
  gateway.hook("mutation", (mutation) => mutations.push(mutation));
  const send = async (method: string, path: string, key?: string, body = `{"a":"${SECRET}"}`) => {
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const response = await fetch(url + path, {
      method,
      headers,
      body: method === "GET" ? null : body,
    });
    await response.arrayBuffer();
    return response.status;
  };
  const audited = (): unknown[] =>
    lines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => msg === "mutation");
  return { mutations, send, audited, lines };
}

describe("M118, M143: who changed what, when, and how it ended", () => {
  it("M143: is one log line and one hook for each attempt, refused ones included, reads not", async () => {
    const { mutations, send, audited } = await setup();
    expect(await send("POST", "/servers/search/enable", OPERATOR)).toBe(200);
    expect(await send("POST", "/servers/search/enable", VIEWER)).toBe(403);
    expect(await send("POST", "/servers/search/enable")).toBe(401);
    expect(await send("POST", "/servers/search/enable", "wrong")).toBe(401);
    expect(await send("DELETE", "/servers/gone", OPERATOR)).toBe(404);
    expect(await send("PUT", "/servers/broken", OPERATOR)).toBe(500);
    expect(await send("PATCH", "/servers/slow", OPERATOR)).toBe(202);
    expect(await send("GET", "/servers/search", VIEWER)).toBe(200);
    const enable = { action: "POST /servers/:server/enable", target: { server: "search" } };
    const nobody = { who: "anonymous@127.0.0.1", outcome: "refused", status: 401 };
    expect(mutations).toEqual(
      [
        { ...enable, who: "key:ci", outcome: "ok", status: 200, error: null },
        { ...enable, who: "key:watcher", outcome: "refused", status: 403, error: "forbidden" },
        { ...enable, ...nobody, error: "unauthorized" },
        { ...enable, ...nobody, error: "unauthorized" },
        {
          action: "DELETE /servers/:server",
          target: { server: "gone" },
          who: "key:ci",
          outcome: "refused",
          status: 404,
          error: "not_found",
        },
        {
          action: "PUT /servers/:server",
          target: { server: "broken" },
          who: "key:ci",
          outcome: "failed",
          status: 500,
          error: "internal",
        },
        {
          action: "PATCH /servers/:server",
          target: { server: "slow" },
          who: "key:ci",
          outcome: "ok",
          status: 202,
          error: null,
        },
      ].map((entry) => ({
        ...entry,
        at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
        request: expect.stringMatching(/^[\da-f-]{36}$/) as string,
      })),
    );
    expect(new Set(mutations.map(({ request }) => request)).size).toBe(mutations.length);
    expect(audited()).toEqual(
      mutations.map(({ at: _at, error, ...line }) => ({
        ...line,
        error_code: error,
        level: "info",
        msg: "mutation",
        ts: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      })),
    );
  });

  it("C50: somebody without credentials is told apart by address where no authentication is set", async () => {
    const { mutations, send } = await setup({ management: { mutations: true } });
    expect(await send("POST", "/servers/search/enable")).toBe(200);
    expect(mutations[0]).toMatchObject({ who: "anonymous@127.0.0.1", outcome: "ok" });
  });

  it("M031: a key for reading and a more privileged one for writing", async () => {
    const { send } = await setup();
    for (const key of [VIEWER, OPERATOR])
      expect(await send("GET", "/servers/search", key)).toBe(200);
    expect(await send("POST", "/servers/search/enable", VIEWER)).toBe(403);
    expect(await send("POST", "/servers/search/enable", OPERATOR)).toBe(200);
  });

  it("names the refusal of read-only mode", async () => {
    const { mutations, send } = await setup({ auth: AUTH, management: { readOnly: true } });
    expect(await send("POST", "/servers/search/enable", OPERATOR)).toBe(403);
    expect(mutations).toMatchObject([{ who: "key:ci", outcome: "refused", error: "read_only" }]);
  });
});

it("M121: holds no body, no key and no query, and only the start of a long target", async () => {
  const { mutations, send, audited, lines } = await setup();
  await send("POST", `/servers/search/enable?token=${SECRET}`, OPERATOR);
  await send("POST", `/servers/search/enable?token=${SECRET}`, `${SECRET}-key`);
  await send("POST", `/servers/${"x".repeat(5_000)}/enable`, OPERATOR, "x".repeat(5_000_000));
  expect(audited()).toHaveLength(3);
  const told = JSON.stringify(mutations) + lines.join("\n");
  for (const canary of [SECRET, OPERATOR, VIEWER]) expect(told).not.toContain(canary);
  expect(mutations[2]).toMatchObject({ status: 413, target: { server: "x".repeat(200) } });
});
