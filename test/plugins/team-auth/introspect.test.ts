import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { SignJWT, decodeProtectedHeader } from "jose";
import * as oauth from "oauth4webapi";
import { describe, expect, it, onTestFinished } from "vitest";
import { ADMIN_KEY, type RunningIssuer, startIssuer } from "./issuer.ts";
import { turnClaims } from "./gateway-kit.ts";

const PATH = "/mcp_server/api/introspect";
/** As the command makes them: without a character that OAuth clients encode (RFC 6749 section 2.3.1). */
const PASSWORD = "c29tZXRoaW5nLWxvbmctYW5kLXJhbmRvbQ";

const makeAccount = ({ admin }: RunningIssuer, name: string): Promise<unknown> =>
  admin("POST", "/accounts", { body: { name, password: PASSWORD } });

interface Rig extends RunningIssuer {
  /** As an official client of RFC 7662 asks and reads. */
  readonly introspect: (token: string, account?: string) => Promise<oauth.IntrospectionResponse>;
  readonly mint: (input?: object) => Promise<{ id: string; secret: string }>;
  /** The token of a team that sees lib-a. */
  readonly team: { readonly id: string; readonly jwt: string };
}

async function start(): Promise<Rig> {
  const issuer = await startIssuer();
  const { admin, url } = issuer;
  await makeAccount(issuer, "search");
  await admin("POST", "/users", { body: { id: "ada" } });
  for (const [uid, workspace_id] of [
    ["lib-a", "ws-1"],
    ["lib-b", null],
  ])
    await admin("POST", "/libraries", { body: { uid, owner: "ada", workspace_id } });
  const mint: Rig["mint"] = async (input = { libraries: ["lib-b", "lib-a"] }) => {
    const { body } = await admin("POST", "/tokens", { body: { user: "ada", name: "t", ...input } });
    return { id: body.token.id as string, secret: body.secret as string };
  };
  const id = randomUUID();
  const { body } = await admin("POST", "/teams", { body: { id, name: "Kottos" } });
  await admin("PUT", `/teams/${id}/workspaces`, { body: { workspace_ids: ["ws-1"] } });
  const introspect: Rig["introspect"] = async (token, account = "search") => {
    const server = { issuer: url, introspection_endpoint: url + PATH };
    const client = { client_id: account };
    const response = await oauth.introspectionRequest(
      server,
      client,
      oauth.ClientSecretBasic(PASSWORD),
      token,
      { [oauth.allowInsecureRequests]: true },
    );
    return oauth.processIntrospectionResponse(server, client, response);
  };
  return { ...issuer, mint, introspect, team: { id, jwt: body.jwt as string } };
}

/** A service that stands beside the gateway: it holds a bearer, and asks whose it is. */
async function startThird({ introspect }: Rig): Promise<(bearer: string) => Promise<unknown>> {
  const server = createServer((req, res) => {
    const bearer = /^Bearer (\S+)$/.exec(req.headers.authorization ?? "")?.[1] ?? "";
    introspect(bearer).then(
      ({ active, sub, libraries }) => {
        res.statusCode = active ? 200 : 401;
        res.end(JSON.stringify(active ? { sub, libraries } : {}));
      },
      () => void res.writeHead(500).end("{}"),
    );
  });
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return async (bearer) => {
    const headers = { authorization: `Bearer ${bearer}` };
    const reply = await fetch(`http://127.0.0.1:${port}/`, { headers });
    return reply.ok ? reply.json() : reply.status;
  };
}

async function signTurn({ admin }: Rig, jwt: string): Promise<string> {
  const { kid } = decodeProtectedHeader(jwt);
  const { body } = await admin("POST", `/keys/${kid!}/reveal`);
  const key = new TextEncoder().encode(body.secret as string);
  return new SignJWT(turnClaims()).setProtectedHeader({ alg: "HS256", kid: kid! }).sign(key);
}

describe("issue line 22: a service beside the gateway asks who a bearer is", () => {
  it("and serves each what it sees at that moment", async () => {
    const rig = await start();
    const third = await startThird(rig);
    const { id, secret } = await rig.mint();
    expect(await third(secret)).toEqual({ sub: "user:ada", libraries: ["lib-b", "lib-a"] });
    const team = { sub: `team:${rig.team.id}`, libraries: ["lib-a"] };
    expect(await third(rig.team.jwt)).toEqual(team);
    await rig.admin("PATCH", `/tokens/${id}`, { body: { libraries: ["lib-a"] } });
    expect(await third(secret)).toEqual({ sub: "user:ada", libraries: ["lib-a"] });
    await rig.admin("DELETE", `/tokens/${id}`);
    expect(await third(secret)).toBe(401);
    const workspaces = { body: { workspace_ids: [] } };
    await rig.admin("PUT", `/teams/${rig.team.id}/workspaces`, workspaces);
    expect(await third(rig.team.jwt)).toEqual({ ...team, libraries: [] });
    await rig.admin("DELETE", `/teams/${rig.team.id}`);
    expect(await third(rig.team.jwt)).toBe(401);
    await rig.admin("POST", `/teams/${rig.team.id}/reactivate`);
    expect(await third(rig.team.jwt)).toEqual({ ...team, libraries: [] });
  });

  it("with the claims of RFC 7662, and never to be kept", async () => {
    const rig = await start();
    const expires_at = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 60_000).toISOString();
    const { id, secret } = await rig.mint({ libraries: ["lib-a"], expires_at });
    expect(await rig.introspect(secret)).toEqual({
      active: true,
      token_type: "Bearer",
      sub: "user:ada",
      jti: id,
      exp: Date.parse(expires_at) / 1_000,
      scope: "caller",
      libraries: ["lib-a"],
    });
    const reply = await ask(rig, `token=${secret}`, "search");
    expect(reply.headers.get("cache-control")).toBe("no-store");
  });

  it("a per-turn token once, wherever it is shown first", async () => {
    const rig = await start();
    const first = await signTurn(rig, rig.team.jwt);
    expect(await rig.introspect(first)).toMatchObject({
      active: true,
      sub: "service:daedalus-chat/ws-1",
      libraries: ["lib-b", "lib-a"],
    });
    expect(await rig.introspect(first)).toEqual({ active: false });
    const used = await signTurn(rig, rig.team.jwt);
    await rig.send("GET", "/_meta/team-auth/tokens", { bearer: used });
    expect(await rig.introspect(used)).toEqual({ active: false });
  });

  it("and learns of everything else that it is not active, and nothing more", async () => {
    const rig = await start();
    const off = await rig.mint();
    await rig.admin("DELETE", `/tokens/${off.id}`);
    const ended = await rig.mint({ expires_at: new Date(Date.now() + 50).toISOString() });
    await expect.poll(() => rig.introspect(ended.secret)).toEqual({ active: false });
    const others = [
      off.secret,
      ADMIN_KEY,
      "ppt_nothere0_x",
      "a.b.c",
      `${rig.team.jwt}x`,
      rig.team.jwt.replace(/\.[^.]*$/, ".AAAA"),
      "x",
      Buffer.from(`search:${PASSWORD}`).toString("base64"),
    ];
    for (const token of others) expect(await rig.introspect(token)).toEqual({ active: false });
  });
});

function ask(
  { url }: Rig,
  body: string,
  account: string | null,
  type = "application/x-www-form-urlencoded",
): Promise<Response> {
  const pair = Buffer.from(`${account}:${PASSWORD}`).toString("base64");
  const authorization = account === null ? {} : { authorization: `Basic ${pair}` };
  return fetch(url + PATH, {
    method: "POST",
    headers: { "content-type": type, ...authorization },
    body,
  });
}

describe("who asks", () => {
  it("is a service account: nobody else, and no bearer about itself", async () => {
    const rig = await start();
    const { secret } = await rig.mint();
    expect((await ask(rig, `token=${secret}`, null)).status).toBe(401);
    expect((await ask(rig, `token=${secret}`, "nobody")).status).toBe(401);
    for (const bearer of [secret, rig.team.jwt]) {
      const own = await rig.send("POST", PATH, { bearer });
      expect(own.status).toBe(403);
    }
    await rig.admin("PATCH", "/accounts/search", { body: { active: false } });
    expect((await ask(rig, `token=${secret}`, "search")).status).toBe(401);
  });

  it("is told what is wrong with a question", async () => {
    const rig = await start();
    expect((await ask(rig, "", "search")).status).toBe(422);
    expect((await ask(rig, "token=a&token=b", "search")).status).toBe(422);
    expect((await ask(rig, `token=${"x".repeat(10_000)}`, "search")).status).toBe(422);
    expect((await ask(rig, `token=${"x".repeat(100_000)}`, "search")).status).toBe(413);
    expect((await ask(rig, '{"token":"x"}', "search", "application/json")).status).toBe(415);
    expect((await rig.send("GET", `${PATH}?token=x`)).status).toBe(405);
  });

  it("is held up when it guesses, and still served the tokens that count", async () => {
    const rig = await start();
    const { secret } = await rig.mint();
    const guess = async (token: string): Promise<number> =>
      (await ask(rig, `token=${token}`, "search")).status;
    for (let round = 0; round < 300; round++) expect(await guess("the-same-old-one")).toBe(200);
    const statuses = [];
    for (let round = 0; round < 110; round++) statuses.push(await guess(`ppt_guess${round}_x`));
    expect(statuses.slice(0, 99).every((status) => status === 200)).toBe(true);
    expect(statuses.at(-1)).toBe(429);
    expect(await guess(secret)).toBe(200);
    await makeAccount(rig, "other");
    expect((await ask(rig, "token=x", "other")).status).toBe(200);
  });

  it("is answered in the same time, whatever the token", async () => {
    const rig = await start();
    const [there, gone] = [await rig.mint(), await rig.mint()];
    await rig.admin("DELETE", `/tokens/${gone.id}`);
    const kinds = { there: there.secret, gone: gone.secret, unknown: "ppt_nothere0_x", other: "x" };
    const times = Object.values(kinds).map((token) => ({ token, all: [] as number[] }));
    // What load adds lies on top; who measures to guess takes the fast ones too.
    const fast = (all: number[]): number => all.toSorted((a, b) => a - b)[all.length >> 3]!;
    const spread = (some: number[]): number => Math.max(...some) / Math.min(...some);
    const halves = (all: number[]): number[] =>
      [0, 1].map((half) => fast(all.filter((_, index) => index % 2 === half)));
    // On a busy machine it is measured until two halves of each kind agree.
    const isSteady = (): boolean => times.every(({ all }) => spread(halves(all)) < 1.2);
    for (let round = 1; round <= 2_000 && (round < 120 || !isSteady()); round++)
      // In one order the turns of a busy machine would meet the same kind again and again.
      for (const { token, all } of times.toSorted(() => Math.random() - 0.5)) {
        const begun = performance.now();
        await (await ask(rig, `token=${token}`, "search")).text();
        all.push(performance.now() - begun);
      }
    expect(spread(times.map(({ all }) => fast(all)))).toBeLessThan(1.6);
  });
});
