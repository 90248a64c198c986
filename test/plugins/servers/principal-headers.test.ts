import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { createPrincipal } from "propylon/kit";
import { expect, it, onTestFinished } from "vitest";
import { createGateway } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import { ServerCredentials } from "../../../plugins/servers/http/personal.ts";

/** A server of the modern era that says which headers came. */
async function setupServer() {
  const server = createServer((req, res) => {
    let body = "";
    req.on("data", (chunk) => (body += chunk));
    req.on("end", () => {
      const { id, method } = JSON.parse(body) as { id?: string; method: string };
      const text = JSON.stringify([req.headers["x-user"], req.headers["x-team"]]);
      const results: Record<string, object> = {
        "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
        "tools/list": { tools: [{ name: "headers", inputSchema: { type: "object" } }] },
        "tools/call": { content: [{ type: "text", text }] },
      };
      res.writeHead(200, { "content-type": "application/json" });
      res.end(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] ?? {} }));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

const headers = { "X-User": "{principal.ref}", "X-Team": "team {principal.claims.team}" };

it("a server is told of each caller by headers, and nobody is taken for another", async () => {
  const { gateway } = await setupGateway({
    config: { servers: { tickets: { url: await setupServer(), headers } } },
    client: false,
  });
  await expect.poll(() => gateway.servers.get("tickets")!.status.state).toBe("ready");
  const ask = async (id: string, claims?: Record<string, unknown>): Promise<unknown> => {
    const principal = {
      id,
      kind: "user",
      roles: new Set(["caller"] as const),
      ...(claims && { claims }),
    } as const;
    const { result } = await gateway.call({
      server: "tickets",
      name: "headers",
      args: {},
      principal,
    });
    return JSON.parse((result!["content"] as { text: string }[])[0]!.text);
  };
  const people = ["ann", "bob", "ann", "cem"];
  const told = await Promise.all(people.map((id, at) => ask(id, { team: `t${at % 3}` })));
  expect(told).toEqual(people.map((id, at) => [`user:${id}`, `team t${at % 3}`]));
  await expect(ask("ann")).rejects.toMatchObject({
    code: "forbidden",
    message: 'Server "tickets" needs to know the claims.team of the caller, which is not known.',
  });
  await expect(ask("ann", { team: "a\r\nauthorization: x" })).rejects.toMatchObject({
    code: "forbidden",
  });
});

it("no value of a principal makes another header", () => {
  const config = { url: "https://x.example", headers } as never;
  const credentials = new ServerCredentials("tickets", config, () => undefined);
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.string({ unit: "binary" }), (id, team) => {
      const principal = createPrincipal({ id, kind: "user", roles: new Set(), claims: { team } });
      const sent = (): string => Object.values(credentials.of(principal).headers).join("");
      const told = (error: { code?: string }): string => `refused: ${error.code}`;
      const attempt = (): string => {
        try {
          return sent();
        } catch (error) {
          return told(error as { code?: string });
        }
      };
      expect(attempt()).not.toMatch(/[\r\n\0]|refused: (?!forbidden)/);
    }),
  );
});

it.each([
  ["a place that is not known", { headers: { "X-User": "{principal.password}" } }],
  ["a login beside a header Authorization", { auth: "oauth", headers: { authorization: "x" } }],
  ["a login over SSE", { auth: "oauth", transport: "sse" }],
  [
    "a machine for each person",
    { auth: { type: "oauth", grant: "client_credentials", per: "principal", client: { id: "x" } } },
  ],
  ["a machine without a client id", { auth: { type: "oauth", grant: "client_credentials" } }],
  ["a secret of nobody", { auth: { type: "oauth", client: { secret: "x" } } }],
  [
    "a secret and a key",
    { auth: { type: "oauth", client: { id: "x", secret: "x", privateKey: "y" } } },
  ],
  ["an unknown kind of login", { auth: { type: "saml" } }],
])("an entry with %s is refused with its place", async (_what, entry) => {
  const server = { url: "https://x.example/mcp", ...entry } as never;
  await expect(createGateway({ servers: { tickets: server } })).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining("servers.tickets"),
  });
});
