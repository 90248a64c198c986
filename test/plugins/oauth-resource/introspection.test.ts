import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { now, ScriptedIssuer } from "../../fixtures/issuer.ts";
import { startClock } from "../../fixtures/clock.ts";
import { ask, setupRig } from "./kit.ts";

async function setupOpaque(introspection: Record<string, unknown> = {}) {
  const issuer = await ScriptedIssuer.start();
  const asking = { clientId: "gate way", clientSecret: "s:é", ...introspection };
  const issuers = { corp: { issuer: issuer.url, introspection: asking } };
  const rig = await setupRig({ issuer, isAsked: false, options: { issuers } });
  const make = (token: string, claims: Record<string, unknown> = {}): string => {
    issuer.introspected.set(token, { active: true, sub: "ada", aud: rig.endpoint, ...claims });
    return token;
  };
  return { ...rig, make };
}

describe("a token that its issuer is asked about (RFC 7662)", () => {
  it("opens what the issuer says, asked as a client of its own", async () => {
    const { endpoint, issuer, make } = await setupOpaque();
    expect((await ask(endpoint, make("opaque-1"))).status).toBe(200);
    const [visit] = issuer.visitsTo("/introspect");
    expect(visit!.fields).toEqual({ token: "opaque-1", token_type_hint: "access_token" });
    expect(Buffer.from(visit!.headers.authorization!.slice(6), "base64").toString()).toBe(
      "gate+way:s%3A%C3%A9",
    );
  });

  it.each([
    ["over", { active: false }],
    ["for somebody else", { aud: "https://other.example" }],
    ["for nobody", { aud: undefined }],
    ["of another issuer", { iss: "https://evil.example" }],
    ["of nobody", { sub: undefined }],
    ["expired", { exp: 1 }],
    ["from the future", { nbf: now() + 3_600 }],
    ["of an end that is no number", { exp: "soon" }],
  ])("is refused where it is %s", async (_what, claims) => {
    const { endpoint, make } = await setupOpaque();
    const told = await ask(endpoint, make("opaque-1", claims));
    expect([told.status, told.challenge]).toEqual([
      401,
      expect.stringContaining('error="invalid_token"'),
    ]);
    expect((await ask(endpoint, "opaque-unknown")).status).toBe(401);
  });

  it("is taken from its nbf on, with the tolerance of clocks", async () => {
    const { endpoint, make } = await setupOpaque();
    const statusOf = async (token: string, nbf: unknown): Promise<number> =>
      (await ask(endpoint, make(token, { nbf }))).status;
    expect(await statusOf("past", now() - 60)).toBe(200);
    expect(await statusOf("soon", now() + 20)).toBe(200);
    expect(await statusOf("late", now() + 60)).toBe(401);
  });

  it("is believed for its ttl, and no longer than the answer says", async () => {
    const { endpoint, issuer, make } = await setupOpaque({ ttl: "60s" });
    const count = async (token: string, times: number): Promise<number> => {
      const before = issuer.visitsTo("/introspect").length;
      for (let i = 0; i < times; i++) expect((await ask(endpoint, token)).status).toBe(200);
      return issuer.visitsTo("/introspect").length - before;
    };
    expect(await count(make("long"), 3)).toBe(1);
    issuer.introspectionHeaders = { "cache-control": "no-store" };
    expect(await count(make("never"), 3)).toBe(3);
    issuer.introspectionHeaders = { "cache-control": "private, max-age=10" };
    expect(await count(make("short"), 2)).toBe(1);
    issuer.introspectionHeaders = {};
    expect(await count(make("ending", { exp: now() - 10 }), 2)).toBe(1);
    const passTime = startClock();
    passTime(11_000);
    expect(await count("short", 1)).toBe(1);
    passTime(20_000);
    expect((await ask(endpoint, "ending")).status).toBe(401);
    expect(await count("long", 1)).toBe(0);
    passTime(30_000);
    issuer.introspected.set("long", { active: false });
    expect((await ask(endpoint, "long")).status).toBe(401);
  });

  it("is asked about once by all who send it at a time", async () => {
    const { endpoint, issuer, make } = await setupOpaque({ ttl: 0 });
    const token = make("opaque-1");
    let release = (): void => {};
    issuer.prank = (req, res) => {
      if (req.url !== "/introspect") return false;
      release = () => {
        res.writeHead(200, { "content-type": "application/json" });
        res.end(JSON.stringify(issuer.introspected.get(token)));
      };
      return true;
    };
    const all = Array.from({ length: 20 }, () => ask(endpoint, token));
    await expect.poll(() => issuer.visitsTo("/introspect").length).toBe(1);
    // The others wait for this answer by now, or ask after it.
    release();
    issuer.prank = undefined;
    expect(new Set((await Promise.all(all)).map(({ status }) => status))).toEqual(new Set([200]));
    expect(issuer.visitsTo("/introspect").length).toBeLessThan(20);
  });

  it("begins nothing with a slow body once a reload has taken its issuer away", async () => {
    const { endpoint, gateway, make } = await setupOpaque();
    const token = make("opaque-1");
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    const req = request(endpoint, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "content-length": body.length,
      },
    });
    const answer = once(req, "response");
    await new Promise((resolve) => req.write(body.slice(0, 5), resolve));
    expect((await ask(endpoint, token)).status).toBe(200);
    const other = await ScriptedIssuer.start();
    const plugins = {
      ...gateway.written.plugins,
      "oauth-resource": { issuers: { other: { issuer: other.url } } },
    };
    await gateway.apply({ ...gateway.written, plugins });
    req.end(body.slice(5));
    const [{ statusCode }] = (await answer) as [IncomingMessage];
    expect(statusCode).toBe(401);
  });

  it("waits for no more than 64 others", async () => {
    const { endpoint, issuer } = await setupOpaque();
    const waiting: (() => void)[] = [];
    issuer.prank = (req, res) => {
      if (req.url !== "/introspect") return false;
      waiting.push(() => res.writeHead(200).end('{"active":false}'));
      return true;
    };
    const statuses: number[] = [];
    const all = Array.from({ length: 100 }, async (_, index) => {
      const { status, body } = await ask(endpoint, `made-up-${index}`);
      statuses.push(status);
      return body.error.data.code;
    });
    await expect.poll(() => statuses).toEqual(Array.from({ length: 36 }, () => 503));
    const drain = setInterval(() => waiting.splice(0).forEach((answer) => answer()), 10);
    expect(new Set(await Promise.all(all))).toEqual(new Set(["unavailable", "unauthorized"]));
    clearInterval(drain);
    expect(statuses.filter((status) => status === 401)).toHaveLength(64);
    expect(statuses.filter((status) => status === 503)).toHaveLength(36);
  });

  it("that looks like one of the gateway's keys, or not like one of its own, is not sent to it", async () => {
    const { endpoint, issuer, make } = await setupOpaque({ prefix: "corp_" });
    for (const token of ["ppt_abc", "ppx_1", "other_1", await issuer.sign({ iss: "https://x.y" })])
      expect((await ask(endpoint, token)).status).toBe(401);
    expect(issuer.visitsTo("/introspect")).toEqual([]);
    expect((await ask(endpoint, make("corp_1"))).status).toBe(200);
    const signed = await issuer.sign({ aud: endpoint });
    expect((await ask(endpoint, signed)).status).toBe(401);
    // One that names it as its issuer is its own, whatever it looks like.
    expect((await ask(endpoint, make(signed))).status).toBe(200);
  });

  it.each([
    ["refuses the gateway itself", 401, '{"error":"invalid_client"}'],
    ["fails", 500, "{}"],
    ["says nothing of it", 200, "{}"],
    ["says it in a text", 200, '{"active":"true","sub":"ada"}'],
  ])("whose issuer %s cannot be checked", async (_what, status, body) => {
    const { endpoint, issuer } = await setupOpaque();
    issuer.prank = (req, res) => {
      if (req.url !== "/introspect") return false;
      res.writeHead(status).end(body);
      return true;
    };
    expect((await ask(endpoint, "opaque")).status).toBe(502);
  });
});
