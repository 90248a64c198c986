import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { findLogin } from "../../../plugins/oauth-client/provider/discovery.ts";
import { optionsSchema } from "../../../plugins/oauth-client/options.ts";
import { ProviderHttp } from "../../../core/kit/provider-http.ts";
import { providerFault } from "../../../plugins/oauth-client/provider/faults.ts";
import { isBrowsable } from "../../../plugins/oauth-client/provider/provider.ts";
import { readChallenge } from "../../../plugins/oauth-client/provider/challenge.ts";
import { INSIDE } from "../../fixtures/inside.ts";
import { LoginBrowser } from "../../fixtures/login-provider.ts";
import { answerOf, openLogin, setupRig } from "./kit.ts";

type Answer = (req: IncomingMessage, res: ServerResponse) => void;

/** A web server that answers as a test says. */
async function serve(answer: Answer): Promise<{ url: string; visits: string[] }> {
  const visits: string[] = [];
  const server = createServer((req, res) => {
    visits.push(req.url ?? "");
    answer(req, res);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, visits };
}

function setupHttp(options: object = {}): ProviderHttp {
  const { allowedAddresses, timeout } = optionsSchema.parse(options);
  const http = new ProviderHttp({
    allowedAddresses,
    option: "plugins.oauth-client.allowedAddresses",
    timeout,
    fault: providerFault,
  });
  onTestFinished(() => http.close());
  return http;
}

const json = (res: ServerResponse, value: unknown): void => {
  res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
};

describe("what a server of the Internet names (SSRF)", () => {
  const server = new URL("https://mcp.example.org/mcp");

  it.each(INSIDE)("leads to nothing inside: %s", async (inside) => {
    const fetch = setupHttp().from([server]);
    for (const url of [`${inside}/.well-known/oauth-protected-resource`, `${inside}/token`])
      await expect(fetch(url)).rejects.toMatchObject({
        code: "upstream_error",
        message: expect.stringMatching(/not allowed|not known|looked up/),
      });
    await expect(findLogin(server, { metadata: `${inside}/x` }, undefined, fetch)).rejects.toThrow(
      "cannot be used",
    );
  });

  it("may be inside where the operator says so, or is there itself", async () => {
    const place = await serve((_req, res) => json(res, {}));
    const allowed = setupHttp({ allowedAddresses: ["127.0.0.0/8"] }).from([server]);
    expect((await allowed(place.url)).status).toBe(200);
    const near = setupHttp().from([new URL("http://localhost:1/mcp")]);
    expect((await near(place.url)).status).toBe(200);
    await expect(near("https://10.0.0.5/")).rejects.toThrow("not allowed");
  });
});

describe("a provider that answers", () => {
  const ask = async (answer: Answer, options: object = {}): Promise<unknown> => {
    const { url, visits } = await serve(answer);
    const http = setupHttp(options).from([new URL(url)]);
    const outcome = await findLogin(new URL(`${url}/mcp`), {}, undefined, http).catch(
      (error: Error) => error.message,
    );
    return { outcome, visits };
  };

  it("with a redirect leads nowhere", async () => {
    const inside = await serve((_req, res) => json(res, {}));
    await ask((_req, res) => void res.writeHead(302, { location: inside.url }).end());
    expect(inside.visits).toEqual([]);
  });

  it("with 50 MB is cut off", async () => {
    const piece = Buffer.alloc(1_048_576, " ");
    let sent = 0;
    const told = await ask((_req, res) => {
      const more = (): void => {
        while (sent++ < 50 && res.write(piece));
        if (sent < 50) res.once("drain", more);
        else res.end();
      };
      res.writeHead(200, { "content-type": "application/json" });
      more();
    });
    expect(told).toMatchObject({ outcome: expect.stringContaining("too large") });
    expect(sent).toBeLessThan(50);
  });

  it("with an object that nests 100,000 levels is refused", async () => {
    const told = await ask(
      (_req, res) => void res.end(`${"[".repeat(100_000)}${"]".repeat(100_000)}`),
    );
    expect(told).toMatchObject({ outcome: expect.stringContaining("nests too deep") });
  });

  it("never, ends in time", async () => {
    const told = await ask((_req, res) => void res.writeHead(200).write("{"), { timeout: "300ms" });
    expect(told).toMatchObject({ outcome: expect.stringContaining("in time") });
  });

  it.each([
    ["the metadata of another server", { resource: "https://other.example/mcp" }],
    ["those of a server beside it", { resource: "$/mcpx" }],
    ["no authorization server", { resource: "$/mcp", authorization_servers: [] }],
    [
      "an issuer that is no URL",
      { resource: "$/mcp", authorization_servers: ["javascript:alert(1)", 7] },
    ],
    ["a list", []],
  ])("with %s is refused", async (_what, document) => {
    let base = "";
    const { url } = await serve((_req, res) =>
      json(res, JSON.parse(JSON.stringify(document).replaceAll("$", base))),
    );
    base = url;
    const http = setupHttp().from([new URL(url)]);
    await expect(findLogin(new URL(`${url}/mcp`), {}, undefined, http)).rejects.toThrow(
      "The login cannot be used",
    );
  });

  it("as somebody else is refused, and not asked for a token (mix-up)", async () => {
    let base = "";
    const { url } = await serve((req, res) =>
      req.url!.includes("protected-resource")
        ? json(res, { resource: `${base}/mcp`, authorization_servers: [base] })
        : json(res, { issuer: "https://honest.example", token_endpoint: `${base}/token` }),
    );
    base = url;
    const http = setupHttp().from([new URL(url)]);
    await expect(findLogin(new URL(`${url}/mcp`), {}, undefined, http)).rejects.toThrow(
      "not those of its issuer",
    );
    await expect(
      findLogin(new URL(`${url}/mcp`), {}, "https://login.example.org", http),
    ).rejects.toThrow("another authorization server");
  });
});

it.each([
  "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "http://login.example.org/authorize", "//evil.example",
  "vscode://x", "ftp://login.example.org", "", "https:", "blob:https://x",
])("nobody is sent to a page such as %j", (url) => {
  expect(isBrowsable(url)).toBe(false);
}); // prettier-ignore

describe("a redirect", () => {
  it.each([
    ["of another issuer", (query: URLSearchParams) => query.set("iss", "https://evil.example")],
    ["without the issuer that was announced", (query: URLSearchParams) => query.delete("iss")],
    [
      "with a second issuer",
      (query: URLSearchParams) => query.append("iss", "https://evil.example"),
    ],
    ["with another code", (query: URLSearchParams) => query.set("code", "guessed")],
    ["with two codes", (query: URLSearchParams) => query.append("code", "guessed")],
    ["with an error", (query: URLSearchParams) => query.set("error", "access_denied")],
  ])("%s gives no account", async (_what, change) => {
    const { url, server, begin, end, status } = await setupBegun();
    const target = await begin();
    change(target.searchParams);
    const ended = await end(target);
    const text = await ended.text();
    expect([ended.status, text]).toEqual([400, expect.stringContaining("Not connected")]);
    expect(text).not.toMatch(/evil|guessed|stack|node_modules/);
    expect(status().state).not.toBe("ready");
    expect(server.seen).toEqual([]);
    const view = (await (await fetch(`${url}/_meta/oauth-client/servers`)).json()) as object;
    expect(view).toMatchObject({ servers: [{ connected: false }] });
  });

  it.each([
    "",
    "?state=",
    "?state=guessed&code=x",
    "?state=a&state=b",
    `?state=${"x".repeat(9_000)}`,
    "?code=x",
  ])("that nobody waits for is refused: %s", async (query) => {
    const { url } = await setupBegun();
    const { status } = await fetch(`${url}/oauth-client/callback/guarded${query}`);
    expect([400, 403, 414, 431]).toContain(status);
  });

  it("attacks S1-5: at the address of another login gives no account, and uses the login up", async () => {
    const { url, server, begin, end, status } = await setupBegun();
    const target = await begin();
    const own = target.href;
    expect(new URL(own).pathname).toMatch(/^\/oauth-client\/callback\/[\w-]{32}$/);
    target.pathname = "/oauth-client/callback/other";
    const ended = await end(target);
    expect([ended.status, await ended.text()]).toEqual([
      403,
      expect.stringContaining("This login is not known"),
    ]);
    expect((await end(own)).status).toBe(403);
    expect(status().state).not.toBe("ready");
    expect(server.seen).toEqual([]);
    expect(url).toBe(new URL(own).origin);
  });

  it("is good once", async () => {
    const { begin, end, becomes } = await setupBegun();
    const target = await begin();
    expect((await end(target)).status).toBe(200);
    await becomes("ready");
    expect((await end(target)).status).toBe(403);
  });
});

/** A gateway whose login is under way; `begin` gives the redirect that would end it. */
async function setupBegun() {
  const rig = await setupRig();
  const { url } = rig;
  const browser = new LoginBrowser();
  const begin = async (): Promise<URL> => answerOf(await openLogin(url, browser), url);
  /** The same browser comes back. */
  const end = (target: URL | string): Promise<Response> => browser.fetch(String(target));
  return { ...rig, begin, end };
}

it.each([
  [
    'Bearer scope="a b", resource_metadata="https://x/y"',
    { scopes: ["a", "b"], metadata: "https://x/y" },
  ],
  ['Basic realm="x", Bearer error=insufficient_scope', { error: "insufficient_scope" }],
  ['bearer SCOPE="a", scope="b"', { scopes: ["a"] }],
  ['Bearer error="a\\"b"', { error: 'a"b' }],
  ["Negotiate abc", {}],
  ["", {}],
  [`Bearer scope="${"x ".repeat(100_000)}"`, {}],
  ['Bearer scope="a\u0000b c"', { scopes: ["c"] }],
])("a challenge is read as it is written: %s", (header, expected) => {
  expect(readChallenge(header)).toEqual(expected);
});
