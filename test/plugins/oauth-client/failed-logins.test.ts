import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import { setupGateway } from "../../../core/testing/index.ts";
import { FailedLogins } from "../../../plugins/oauth-client/login/failed-logins.ts";
import { Mismatch, providerFault } from "../../../plugins/oauth-client/provider/faults.ts";
import { OddLogin } from "../../fixtures/odd-login.ts";
import { LoginBrowser } from "../../fixtures/login-provider.ts";
import { startClock } from "../../fixtures/clock.ts";
import { openLogin } from "./kit.ts";
import { setupOdd } from "./odd-rig.ts";

const RESOURCE = "GET /.well-known/oauth-protected-resource/mcp";
const METADATA = "GET /.well-known/oauth-authorization-server";
const whoami = { server: "odd", name: "whoami", args: {} };

it("bugs-rest 14: a server that fails in ever new ways has ten warnings a minute", () => {
  const lines: { level: number }[] = [];
  const log = pino(
    { level: "debug" },
    { write: (line: string) => void lines.push(JSON.parse(line) as { level: number }) },
  );
  const failed = new FailedLogins(log);
  const cause = new Mismatch("little", "x".repeat(100_000));
  for (let i = 0; i < 500; i++) failed.tell("bad", "code", providerFault(`fault ${i}`, cause));
  failed.tell("good", "code", providerFault("fault"));
  expect(lines.filter(({ level }) => level === 40)).toHaveLength(11);
  expect(Math.max(...lines.map((line) => JSON.stringify(line).length))).toBeLessThan(1_000);
});

it("bugs-rest 9: PKCE is assumed of an issuer that the operator names, of no other", async () => {
  const auth = { type: "oauth", pkce: "assume" } as never;
  const servers = { entra: { url: "http://127.0.0.1:1/mcp", auth } };
  await expect(setupGateway({ config: { servers }, client: false })).rejects.toMatchObject({
    message: expect.stringMatching(/servers\.entra\.auth\.pkce .*issuer/),
  });
});

describe("bugs-rest 17: a redirect of metadata", () => {
  it("to another host is not followed", async () => {
    const visits: string[] = [];
    const other = createServer((req, res) => {
      visits.push(req.url!);
      res.end("{}");
    }).listen(0, "127.0.0.1");
    await once(other, "listening");
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    for (const host of ["127.0.0.1", "localhost"]) {
      const location = `http://${host}:${port}/meta.json`;
      const odd = await OddLogin.start(() => ({
        [RESOURCE]: { status: 302, headers: { location } },
        [METADATA]: { status: 307, headers: { location } },
        "POST /register": { status: 404, body: {} },
      }));
      const { logIn } = await setupOdd(odd);
      expect((await logIn()).told).toContain("HTTP 404");
    }
    expect(visits).toEqual([]);
  });

  it("that leads round and round ends after three", async () => {
    const odd = await OddLogin.start(() => ({
      [RESOURCE]: { status: 302, headers: { location: "/round" } },
      "GET /round": { status: 302, headers: { location: "/round" } },
    }));
    const { logIn } = await setupOdd(odd);
    expect((await logIn()).told).toContain("is connected with odd");
    expect(odd.visits.filter((visit) => visit === "GET /round")).toHaveLength(3);
  });
});

it("bugs-rest 17: default endpoints are those of the server's own origin only", async () => {
  const odd = await OddLogin.start((own) => ({
    [RESOURCE]: own.resource({ authorization_servers: [`${own.origin}/tenant`] }),
  }));
  const { logIn, failures } = await setupOdd(odd);
  expect((await logIn()).told).toContain("it publishes no metadata");
  expect(failures()[0]).toMatchObject({ came: expect.stringContaining("404 at http") });
  expect(odd.visits).not.toContain("POST /register");
});

it("bugs-rest 14: a redirect at another login's address leaves a line that says so", async () => {
  const odd = await OddLogin.start();
  const { url, failures } = await setupOdd(odd);
  const { location } = await openLogin(url, new LoginBrowser(), "odd");
  const back = await fetch(location, { redirect: "manual" });
  const target = new URL(back.headers.get("location")!);
  const own = target.pathname;
  target.pathname = `/oauth-client/callback/${"a".repeat(32)}`;
  expect((await fetch(target)).status).toBe(403);
  expect(failures()).toMatchObject([
    { server: "odd", step: "redirect", expected: expect.stringContaining(own), level: 40 },
  ]);
  for (let i = 0; i < 5; i++) await fetch(`${url}${own}?state=guess-${i}`);
  expect(failures().map(({ level }) => level)).toEqual([40, 40, 20, 20, 20, 20]);
});

describe("bugs-rest: a refresh", () => {
  const TOKENS = { refresh_token: "refresh-of-ada", expires_in: 3_600 };

  async function setupRefresh(answer: (odd: OddLogin) => object) {
    const odd = await OddLogin.start((own) => ({
      "POST /token": ({ fields }) =>
        fields.get("grant_type") === "refresh_token" ? answer(own) : own.tokens(TOKENS),
    }));
    const rig = await setupOdd(odd);
    await rig.logIn();
    expect(await rig.whoami()).toBe("ada");
    const passTime = startClock();
    passTime(3_601_000);
    return { ...rig, odd, passTime };
  }

  it("without a new refresh token keeps the one that there is", async () => {
    const { gateway, odd, passTime } = await setupRefresh((own) => own.tokens({ scope: null }));
    for (let i = 0; i < 3; i++) {
      await gateway.call(whoami);
      passTime(3_601_000);
    }
    const refreshed = odd.forms.filter((form) => form.has("refresh_token"));
    expect(refreshed.map((form) => form.get("refresh_token"))).toEqual([
      "refresh-of-ada",
      "refresh-of-ada",
      "refresh-of-ada",
    ]);
  });

  it.each([
    ["with 200 (Slack)", { body: { ok: false, error: "invalid_refresh_token" } }],
    ["with 200 (GitHub)", { body: { error: "bad_refresh_token" } }],
    ["with 200 and invalid_grant", { body: { error: "invalid_grant" } }],
    [
      "with 401 and a challenge",
      {
        status: 401,
        headers: { "www-authenticate": 'Basic realm="odd"' },
        body: { error: "invalid_client" },
      },
    ],
  ])("that is refused %s ends the login, and says so", async (_what, answer) => {
    const { gateway, failures } = await setupRefresh(() => answer);
    await expect(gateway.call(whoami)).rejects.toMatchObject({ data: { login: true } });
    expect(failures()).toMatchObject([{ step: "refresh", came: answer.body.error }]);
  });

  it.each([
    ["fails with the error of a grant", { status: 502, body: { error: "invalid_grant" } }],
    ["is asked for too often", { status: 429, body: { error: "slow_down" } }],
  ])("that %s ends no login", async (_what, answer) => {
    const { gateway, view } = await setupRefresh(() => answer);
    await expect(gateway.call(whoami)).rejects.toMatchObject({ code: "upstream_error" });
    expect(await view()).toMatchObject({ servers: [{ connected: true }] });
  });
});
