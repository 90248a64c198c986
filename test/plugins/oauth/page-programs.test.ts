import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, it, onTestFinished } from "vitest";
import { Person, setupLogin } from "./kit.ts";

const ORIGIN = "https://inspector.example.org";
/** Headers that a page sends without a preflight (Fetch standard, CORS-safelisted). */
const SIMPLE = new Set(["accept", "accept-language", "content-language"]);
const SIMPLE_TYPES = ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];

/** What a page of an origin may do, as browsers have it (Fetch standard): preflights, and answers that it may read. */
function pageOf(origin: string) {
  const read: string[] = [];
  const refused: string[] = [];
  const mayRead = (response: Response): boolean =>
    [origin, "*"].includes(response.headers.get("access-control-allow-origin") ?? "");
  const ask = async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    const [, type] = [...headers].find(([name]) => name === "content-type") ?? [];
    const isSimple = type === undefined || SIMPLE_TYPES.some((each) => type.startsWith(each));
    const special = [...headers.keys()].filter(
      (name) => !SIMPLE.has(name) && (name !== "content-type" || !isSimple),
    );
    const fail = (): never => {
      refused.push(new URL(input).pathname);
      throw new TypeError("Failed to fetch");
    };
    if (special.length > 0) {
      const preflight = await fetch(input, {
        method: "OPTIONS",
        headers: {
          origin,
          "access-control-request-method": init.method ?? "GET",
          "access-control-request-headers": special.join(","),
        },
      });
      const allowed = preflight.headers.get("access-control-allow-headers")?.split(/, */) ?? [];
      if (!preflight.ok || !mayRead(preflight) || special.some((name) => !allowed.includes(name)))
        fail();
    }
    headers.set("origin", origin);
    const response = await fetch(input, { ...init, headers });
    if (!mayRead(response)) fail();
    read.push(new URL(input).pathname);
    return response;
  };
  return { fetch: ask, read, refused };
}

/** A program in a page, such as the MCP Inspector in direct mode, before a gateway that lets its origin in, or does not. */
async function setupPage(allowedOrigins: string[]) {
  const { endpoint } = await setupLogin({
    config: { listeners: { main: { port: 0, allowedOrigins } } },
  });
  const page = pageOf(ORIGIN);
  const person = new Person();
  const open = (): StreamableHTTPClientTransport =>
    new StreamableHTTPClientTransport(new URL(endpoint), {
      authProvider: person,
      fetch: page.fetch,
    });
  const client = new Client({ name: "page", version: "1" });
  onTestFinished(() => client.close());
  return { page, person, open, client, endpoint };
}

it("bugs-rest 20: a program in a page of an allowed origin finds the login, logs in and calls", async () => {
  const { page, person, open, client } = await setupPage([ORIGIN]);
  const first = open();
  await expect(client.connect(first)).rejects.toThrow(UnauthorizedError);
  await first.finishAuth(person.code);
  await client.connect(open());
  const { content } = await client.callTool({ name: "who", arguments: {} });
  expect(content).toMatchObject([{ text: "user:login:ada" }]);
  expect(page.refused).toEqual([]);
  for (const path of [
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-authorization-server",
    "/oauth/register",
    "/oauth/token",
    "/mcp",
  ])
    expect(page.read).toContain(path);
});

it("bugs-rest 20: a page of another origin reads nothing, public metadata neither", async () => {
  const { page, open, client, endpoint } = await setupPage(["https://other.example.org"]);
  await expect(client.connect(open())).rejects.toThrow("Failed to fetch");
  const own = new URL(endpoint).origin;
  for (const path of [
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-authorization-server",
    "/oauth/jwks.json",
  ])
    await expect(page.fetch(`${own}${path}`)).rejects.toThrow("Failed to fetch");
  expect(page.read).toEqual([]);
});
