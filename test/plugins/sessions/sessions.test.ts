import { describe, expect, it, vi } from "vitest";
import { testPlugin } from "../../../core/testing/index.ts";
import sessions, { Sessions } from "../../../plugins/sessions/index.ts";
import { makeLink } from "../../../plugins/sessions/link.ts";
import { optionsSchema } from "../../../plugins/sessions/options.ts";
import { isOwn, ownOriginOf } from "../../../plugins/sessions/origin.ts";
import { BrowserSessions } from "../../../plugins/sessions/sessions.ts";
import { definePlugin, type PluginContext } from "../../../core/index.ts";
import { authOf, KEYS, startSessions } from "./kit.ts";
import type { SessionsService } from "../../../plugins/sessions/service.ts";

testPlugin(sessions, { config: {}, changed: { maxSessions: 5 } });

describe("signing in", () => {
  it("a key is sent once, and the cookie has its rights on the management", async () => {
    const { browser, url } = await startSessions();
    const page = browser();
    const headers = { authorization: `Bearer ${KEYS.ops}` };
    const response = await page.ask("POST", "/ui/session", { headers, body: {} });
    expect(response.status).toBe(201);
    expect(await response.json()).toEqual({
      ok: true,
      principal: { ref: "key:ops", kind: "key", roles: ["operator"] },
      expiresAt: expect.stringMatching(/^\d{4}-/),
      idleTimeout: 28_800,
    });
    expect(response.headers.get("cache-control")).toBe("no-store");
    const { port } = new URL(url);
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        new RegExp(`^propylon-${port}=pps_\\w{43}_\\w{6}; Path=/; HttpOnly; SameSite=Strict$`),
      ),
    ]);
    const ui = (await (await page.ask("GET", "/_meta/ui")).json()) as { principal: object };
    expect(ui.principal).toMatchObject({ ref: "key:ops", session: true });
    expect((await page.ask("POST", "/_meta/reinit", { body: {} })).status).toBe(200);
    expect(await (await page.ask("GET", "/ui/session")).json()).toMatchObject({
      principal: { ref: "key:ops" },
    });
  });

  it.each([
    ["no credential", {}, 401],
    ["a wrong key", { authorization: "Bearer wrong" }, 401],
    ["another origin", { authorization: `Bearer ${KEYS.ops}`, origin: "http://127.0.0.1:1" }, 403],
    ["no JSON", { authorization: `Bearer ${KEYS.ops}`, "content-type": "text/plain" }, 415],
  ])("refuses %s", async (_, headers, status) => {
    const { browser } = await startSessions();
    const response = await browser().ask("POST", "/ui/session", { headers, body: {} });
    expect(response.status).toBe(status);
    expect(response.headers.getSetCookie()).toEqual([]);
  });

  it("an open gateway has nothing to sign in to", async () => {
    const { browser } = await startSessions({}, { auth: {} });
    expect((await browser().ask("POST", "/ui/session", { body: {} })).status).toBe(422);
  });

  it("a session that is fixed beforehand is none, and a new sign-in ends the old one", async () => {
    const { browser, signIn, url } = await startSessions();
    const page = browser();
    page.cookie = `propylon-${new URL(url).port}=pps_${"a".repeat(43)}_000000`;
    expect((await page.ask("GET", "/_meta/servers")).status).toBe(401);
    const first = await signIn();
    const old = first.cookie;
    // The page signs in again with its cookie, as somebody else.
    await first.ask("POST", "/ui/session", {
      headers: { authorization: `Bearer ${KEYS.look}` },
      body: {},
    });
    expect(first.cookie).not.toBe(old);
    const { principal } = (await (await first.ask("GET", "/ui/session")).json()) as {
      principal: object;
    };
    expect(principal).toMatchObject({ ref: "key:look" });
    const { status } = await fetch(`${url}/_meta/servers`, { headers: { cookie: old! } });
    expect(status).toBe(401);
  });

  it("ends the session of this browser, and no other of its principal", async () => {
    const { signIn } = await startSessions();
    const [here, there] = [await signIn(), await signIn()];
    const old = here.cookie;
    const headers = { authorization: `Bearer ${KEYS.ops}` };
    expect((await here.ask("POST", "/ui/session", { headers, body: {} })).status).toBe(201);
    const statusWith = async (cookie = ""): Promise<number> =>
      (await here.ask("GET", "/_meta/servers", { headers: { cookie } })).status;
    expect(await Promise.all([old, here.cookie, there.cookie].map(statusWith))).toEqual([
      401, 200, 200,
    ]);
  });
});

it.each(["idleTimeout", "maxAge"] as const)("%s is a minute at least", (option) => {
  const isTaken = (ms: number): boolean => optionsSchema.safeParse({ [option]: `${ms}ms` }).success;
  expect([0, 59_999, 60_000].map(isTaken)).toEqual([false, false, true]);
});

describe("where a cookie counts", () => {
  it("never at an MCP endpoint, nor for tools over HTTP", async () => {
    const desk = definePlugin({
      name: "desk",
      setup: (gateway: PluginContext) =>
        gateway.tool("echo", { description: "", run: () => "hello" }),
    });
    const { gateway, signIn } = await startSessions({}, { plugins: [desk] });
    const page = await signIn();
    const path = new URL(gateway.endpoints[0]!.url).pathname;
    const message = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const accept = { accept: "application/json, text/event-stream" };
    const answer = await page.ask("POST", path, { headers: accept, body: message });
    expect(answer.status).toBe(401);
    expect((await page.ask("POST", "/desk/echo", { body: {} })).status).toBe(401);
    // By the management it is called, with the rules for changes.
    const call = { server: "desk", tool: "echo" };
    expect((await page.ask("POST", "/_meta/calls", { body: call })).status).toBe(200);
  });

  it.each([
    ["another origin", { origin: "http://localhost:1" }],
    ["another port of this host", { origin: "http://127.0.0.1:1" }],
    ["another site, as the browser says", { "sec-fetch-site": "same-site" }],
    ["a form", { "content-type": "application/x-www-form-urlencoded" }],
    ["text that looks like JSON", { "content-type": "text/plain" }],
  ])("a change is refused from %s", async (_, headers) => {
    const { signIn } = await startSessions();
    const page = await signIn();
    const response = await page.ask("POST", "/_meta/reinit", { headers, body: {} });
    expect(response.status).toBe(403);
    const out = await page.ask("DELETE", "/ui/session", { headers });
    expect(out.status).toBeGreaterThanOrEqual(400);
    expect((await page.ask("GET", "/_meta/servers")).status).toBe(200);
  });

  it("a request without a cookie of ours is not asked where it comes from", async () => {
    const { browser } = await startSessions();
    const headers = { cookie: "theme=dark", "sec-fetch-site": "cross-site" };
    const statusWith = async (more: object): Promise<number> =>
      (await browser().ask("GET", "/_meta/servers", { headers: { ...headers, ...more } })).status;
    expect(await statusWith({})).toBe(401);
    expect(await statusWith({ authorization: `Bearer ${KEYS.ops}` })).toBe(200);
  });

  it("a change without an Origin is refused", async () => {
    const { signIn, url } = await startSessions();
    const { cookie } = await signIn();
    const headers = { cookie: cookie!, "content-type": "application/json" };
    const response = await fetch(`${url}/_meta/reinit`, { method: "POST", headers });
    expect(response.status).toBe(403);
    expect((await fetch(`${url}/_meta/servers`, { headers })).status).toBe(200);
  });

  it("two cookies of one name are none, and a secret counts under its own name alone", async () => {
    const { signIn, url } = await startSessions();
    const { cookie } = await signIn();
    const ask = (value: string): Promise<Response> =>
      fetch(`${url}/_meta/servers`, { headers: { cookie: value } });
    expect((await ask(`a=b; ${cookie}; c=d`)).status).toBe(200);
    expect((await ask(`${cookie}; ${cookie!.replace(/=.*/, "=x")}`)).status).toBe(401);
    expect((await ask(cookie!.replace(/^[^=]+/, "__Host-propylon"))).status).toBe(401);
  });
});

describe("where a session ends", () => {
  it("with its sign-out: a stolen cookie is good for nothing", async () => {
    const { signIn, browser } = await startSessions();
    const [page, thief] = [await signIn(), browser()];
    thief.cookie = page.cookie;
    expect((await thief.ask("GET", "/_meta/servers")).status).toBe(200);
    const out = await page.ask("DELETE", "/ui/session");
    expect(await out.json()).toEqual({ ok: true, ended: 1 });
    expect(out.headers.getSetCookie().every((each) => each.includes("Max-Age=0"))).toBe(true);
    expect((await thief.ask("GET", "/_meta/servers")).status).toBe(401);
    expect((await page.ask("DELETE", "/ui/session")).status).toBe(401);
  });

  it("everywhere, and for nobody else", async () => {
    const { signIn } = await startSessions();
    const [one, two, other] = [await signIn(), await signIn(), await signIn(KEYS.look)];
    const out = await one.ask("DELETE", "/ui/session?all=1");
    expect(await out.json()).toEqual({ ok: true, ended: 2 });
    expect((await two.ask("GET", "/_meta/servers")).status).toBe(401);
    expect((await other.ask("GET", "/_meta/servers")).status).toBe(200);
  });

  it("with its credential: a role that changes counts at once, a key that goes ends all", async () => {
    const { gateway, signIn } = await startSessions();
    const page = await signIn();
    const stream = await page.ask("GET", "/_meta/events");
    const ended = stream.text();
    await gateway.apply({
      ...gateway.written,
      auth: { ...gateway.written.auth, ...authOf("viewer") },
    });
    expect(await ended).toContain("The credential is no longer valid");
    expect((await page.ask("POST", "/_meta/reinit", { body: {} })).status).toBe(403);
    expect((await page.ask("GET", "/_meta/servers")).status).toBe(200);
    const { look } = (authOf() as { keys: { look: object } }).keys;
    await gateway.apply({
      ...gateway.written,
      auth: { ...gateway.written.auth, keys: { look } },
    } as never);
    expect((await page.ask("GET", "/_meta/servers")).status).toBe(401);
    // It is gone, not only refused: nobody gets it back with the key.
    await gateway.apply({ ...gateway.written, auth: { ...gateway.written.auth, ...authOf() } });
    expect((await page.ask("GET", "/_meta/servers")).status).toBe(401);
  });

  it("its open streams end with it", async () => {
    const { signIn } = await startSessions();
    const page = await signIn();
    const ended = (await page.ask("GET", "/_meta/events")).text();
    await page.ask("DELETE", "/ui/session");
    expect(await ended).toContain("The session has ended.");
  });

  it("when nobody uses it, and when it is old", () => {
    vi.useFakeTimers({ toFake: ["Date", "performance"] });
    try {
      const kept = new BrowserSessions();
      const bounds = { idleTimeout: 1_000, maxAge: 5_000, maxSessions: 9, maxPerPrincipal: 9 };
      const principal = { ref: "key:a" } as never;
      const ended: string[] = [];
      kept.onEnd = ({ id }) => void ended.push(id);
      const idle = kept.open({ principal, authorization: "x" }, "c", bounds);
      const used = kept.open({ principal, authorization: "x" }, "c", bounds);
      for (let i = 0; i < 5; i++) {
        vi.advanceTimersByTime(999);
        expect(kept.use("c", used.secret, 1_000)?.id).toBe(used.session.id);
      }
      expect(kept.use("c", idle.secret, 1_000)).toBeUndefined();
      vi.advanceTimersByTime(5);
      kept.sweep(1_000);
      expect(ended).toEqual([idle.session.id, used.session.id]);
      expect(kept.size).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});

it("one more session of a principal ends its oldest, one more in all is refused", async () => {
  const { signIn } = await startSessions({ maxSessions: 3, maxPerPrincipal: 2 });
  const [one, two] = [await signIn(), await signIn()];
  const three = await signIn();
  expect((await one.ask("GET", "/_meta/servers")).status).toBe(401);
  for (const page of [two, three])
    expect((await page.ask("GET", "/_meta/servers")).status).toBe(200);
  await signIn(KEYS.look);
  await expect(signIn(KEYS.look)).rejects.toThrow("rate_limited");
});

describe("the link of a terminal", () => {
  it("signs in once, with every role", async () => {
    let service: SessionsService | undefined;
    const peek = definePlugin({
      name: "peek",
      inject: { sessions: Sessions },
      setup: (gateway: PluginContext<undefined, { sessions: typeof Sessions }>) => {
        service = gateway.services.sessions;
      },
    });
    const { browser } = await startSessions({}, { plugins: [peek as never] });
    const code = service!.createCode();
    const page = browser();
    expect((await page.ask("POST", "/ui/session", { body: { code } })).status).toBe(201);
    const ui = (await (await page.ask("GET", "/_meta/ui")).json()) as { principal: object };
    expect(ui.principal).toMatchObject({
      ref: "service:sign-in-link",
      roles: ["viewer", "caller", "operator", "admin"],
    });
    expect((await browser().ask("POST", "/ui/session", { body: { code } })).status).toBe(401);
    expect((await browser().ask("POST", "/ui/session", { body: { code: "x" } })).status).toBe(401);
  });

  it("a code is good for a minute", () => {
    vi.useFakeTimers({ toFake: ["Date", "performance"] });
    try {
      const kept = new BrowserSessions();
      const [late, soon] = [kept.createCode(), kept.createCode()];
      vi.advanceTimersByTime(59_999);
      expect(kept.takeCode(soon).ref).toBe("service:sign-in-link");
      vi.advanceTimersByTime(1);
      expect(() => kept.takeCode(late)).toThrow(/older than 60 s/);
    } finally {
      vi.useRealTimers();
    }
  });

  it("is there only where there is a page and a sign-in", () => {
    const description = {
      plugins: [{ name: "ui" }],
      authenticators: [{ name: "keys" }],
      listeners: [{ url: "http://127.0.0.1:8080" }],
    };
    const make = (more: object = {}, publicUrl?: string): string | undefined =>
      makeLink(
        { describe: () => ({ ...description, ...more }) } as never,
        () => "the-code",
        publicUrl,
      );
    expect(make()).toBe("http://127.0.0.1:8080/ui/#code=the-code");
    expect(make({}, "https://tools.example/gateway/")).toBe(
      "https://tools.example/gateway/ui/#code=the-code",
    );
    expect(make({ plugins: [] })).toBeUndefined();
    expect(make({ authenticators: [] })).toBeUndefined();
  });
});

describe("the origin of a page", () => {
  const of = (origin: string, host = "gw.example.org"): unknown =>
    ownOriginOf(new Headers({ origin, host }), undefined);

  it("decides which cookie it gets", () => {
    expect(of("https://gw.example.org")).toEqual({ cookie: "__Host-propylon", isSecure: true });
    expect(of("http://localhost:8080", "localhost:8080")).toEqual({
      cookie: "propylon-8080",
      isSecure: false,
    });
    expect(() => of("http://gw.example.org")).toThrow(/plain HTTP/);
    expect(() => of("https://gw.example.org.evil.net")).toThrow(/pages of this gateway/);
    expect(() => of("null")).toThrow(/pages of this gateway/);
  });

  it("is the public URL's, too, where a proxy changes the Host", () => {
    expect(isOwn("https://gw.example.org", "inside:8080", "https://gw.example.org/base")).toBe(
      true,
    );
    expect(isOwn("https://other.example.org", "inside:8080", "https://gw.example.org")).toBe(false);
  });
});
