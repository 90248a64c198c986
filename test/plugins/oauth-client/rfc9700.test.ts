import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { LoginBrowser } from "../../fixtures/login-provider.ts";
import { startClock } from "../../fixtures/clock.ts";
import { answerOf, beginLogin, clientOf, openLogin, setupPersonal, setupRig } from "./kit.ts";

const WHOAMI = { server: "guarded", name: "whoami", args: {} } as const;

/** Begins a login of the gateway's account. @returns where its person is sent */
async function begin(url: string): Promise<URL> {
  return new URL((await openLogin(url)).location);
}

it("a login that an operator begins ends in the browser that opened its link, and in no other", async () => {
  const { url, server, status, becomes } = await setupRig();
  const { link } = await beginLogin(url);
  // The page of the provider is told to a browser that is bound to the login, and to nobody else.
  expect(link).toMatch(/\/oauth-client\/connect\/[\w-]{32}$/);
  const page = await fetch(link);
  expect([page.status, await page.text()]).toEqual([
    200,
    expect.stringContaining("will be used for everything that everybody does there"),
  ]);
  const browser = new LoginBrowser();
  const location = await browser.start(link);
  expect((await new LoginBrowser().fetch(link, { method: "POST" })).status).toBe(404);
  const answer = await answerOf({ location, browser }, url);
  const other = await openLogin(url);
  for (const thief of [undefined, other.browser]) {
    const mine = await openLogin(url);
    const stolen = await answerOf(mine, url);
    expect((await (thief ? thief.fetch(stolen.href) : fetch(stolen))).status).toBe(403);
    expect((await mine.browser.fetch(stolen.href)).status).toBe(403);
  }
  expect(status().state).not.toBe("ready");
  expect(server.seen).toEqual([]);
  expect((await browser.fetch(answer.href)).status).toBe(200);
  await becomes("ready");
});

it("a login is not ended with a cookie that another host of the domain set (cookie tossing)", async () => {
  const own = "https://gw.example/base";
  const { url } = await setupRig({ config: { publicUrl: own } });
  /** What a browser asks of the gateway behind its proxy. */
  const ask = (target: string, init: RequestInit = {}): Promise<Response> =>
    fetch(target.replace(own, url), { redirect: "manual", ...init });
  const open = async () => {
    const { link } = await beginLogin(url);
    const opened = await ask(link, { method: "POST" });
    const { location } = (await opened.json()) as { location: string };
    const answer = await answerOf({ location, browser: new LoginBrowser() }, own);
    return { answer: answer.href, set: opened.headers.get("set-cookie")! };
  };
  const { answer, set } = await open();
  // Sent wherever the gateway is below its host, and set by that host alone (RFC 6265bis section 4.1.3.2).
  expect(set).toMatch(/^__Host-propylon-login=[\w-]+; Path=\/; .*; Secure$/);
  const value = /=([\w-]+)/.exec(set)![1]!;
  const tossed = await ask(answer, { headers: { cookie: `propylon-login=${value}` } });
  expect(tossed.status).toBe(403);
  const next = await open();
  const cookie = `propylon-login=tossed; ${next.set.split(";")[0]}; x=y`;
  expect((await ask(next.answer, { headers: { cookie } })).status).toBe(200);
});

it("a login asks for a code, with a challenge and a state that no other login has", async () => {
  const { url } = await setupRig();
  const asked = [await begin(url), await begin(url), await begin(url)];
  for (const { searchParams } of asked) {
    expect(searchParams.get("response_type")).toBe("code");
    expect(searchParams.get("code_challenge_method")).toBe("S256");
    expect(searchParams.has("response_mode")).toBe(false);
    expect(searchParams.get("state")).toMatch(/^[\w-]{43}$/);
    expect(searchParams.get("code_challenge")).toMatch(/^[\w-]{43}$/);
  }
  for (const name of ["state", "code_challenge"])
    expect(new Set(asked.map(({ searchParams }) => searchParams.get(name))).size).toBe(3);
});

it("nobody is sent to an authorization server that does not say that it supports PKCE", async () => {
  const { url, provider } = await setupRig();
  provider.prank = (req, res) => {
    if (!req.url!.startsWith("/.well-known/")) return false;
    const { url: issuer } = provider;
    const metadata = {
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      registration_endpoint: `${issuer}/reg`,
      response_types_supported: ["code"],
      code_challenge_methods_supported: ["plain"],
    };
    res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(metadata));
    return true;
  };
  const path = `${url}/_meta/oauth-client/servers/guarded/login`;
  const begun = await fetch(path, { method: "POST" });
  expect([begun.status, await begun.text()]).toEqual([
    502,
    expect.stringContaining("it does not say that it supports PKCE with S256"),
  ]);
});

it("a code that belongs to another login is not redeemed (injection)", async () => {
  const { url, status, server } = await setupRig();
  const [victim, own] = [await openLogin(url), await openLogin(url)];
  const attacker = await answerOf(own, url);
  attacker.searchParams.set("code", (await answerOf(victim, url)).searchParams.get("code")!);
  const ended = await own.browser.fetch(attacker.href);
  expect([ended.status, await ended.text()]).toEqual([
    400,
    expect.stringContaining("Not connected"),
  ]);
  expect(status().state).not.toBe("ready");
  expect(server.seen).toEqual([]);
});

it("tokens travel in headers and bodies, never in a URL", async () => {
  const targets: string[] = [];
  const note = (message: unknown): void => {
    targets.push((message as { request: IncomingMessage }).request.url ?? "");
  };
  subscribe("http.server.request.start", note);
  onTestFinished(() => void unsubscribe("http.server.request.start", note));
  const { url, gateway, provider, becomes, logIn } = await setupRig();
  const tokens = new Set<string>();
  provider.onAnswer = (answer) => {
    for (const name of ["access_token", "refresh_token", "client_secret"])
      if (typeof answer[name] === "string") tokens.add(answer[name]);
  };
  await logIn();
  await becomes("ready");
  await gateway.call(WHOAMI);
  startClock()(3_600_000 - 3_000);
  await gateway.call(WHOAMI);
  await fetch(`${url}/_meta/oauth-client/servers/guarded/login`, { method: "DELETE" });
  expect(provider.visitsTo("/token")).toHaveLength(2);
  expect(tokens.size).toBeGreaterThanOrEqual(4);
  expect(targets.length).toBeGreaterThan(8);
  const found = targets.filter(
    (target) =>
      /access_token|refresh_token/.test(target) ||
      [...tokens].some((each) => target.includes(each)),
  );
  expect(found).toEqual([]);
});

it("no page of a login leads to an address that a query names (open redirect)", async () => {
  const { url } = await setupPersonal();
  const ann = await clientOf(url, "ann");
  const link = await ann.linkOf();
  const places = [
    link,
    `${link}x`,
    `${url}/oauth-client/callback/x`,
    `${url}/oauth-client/clients/x`,
  ];
  for (const place of places)
    for (const name of ["next", "return_to", "redirect_uri", "url", "state", "error_uri"]) {
      const target = `${place}?${name}=${encodeURIComponent("https://evil.example/")}`;
      const { status, headers } = await fetch(target, { redirect: "manual" });
      expect([target, headers.get("location")]).toEqual([target, null]);
      expect(status === 200 || status >= 400).toBe(true);
    }
});

it("the page at the end of a login loads nothing, links nowhere and tells nobody its address", async () => {
  const { url } = await setupRig();
  const own = await openLogin(url);
  const ended = await own.browser.fetch((await answerOf(own, url)).href);
  const text = await ended.text();
  expect([ended.status, text]).toEqual([200, expect.stringContaining("Connected")]);
  expect(ended.headers.get("referrer-policy")).toBe("no-referrer");
  expect(ended.headers.get("content-security-policy")).toMatch(
    /^default-src 'none'; .*frame-ancestors 'none'$/,
  );
  expect(text).not.toMatch(/https?:|<(?:script|img|iframe|link|a)\b|postMessage/);
});
