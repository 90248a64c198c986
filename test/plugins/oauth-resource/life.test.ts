import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { setupGateway } from "../../../core/testing/index.ts";
import oauthResource from "../../../plugins/oauth-resource/index.ts";
import { PATIENCE } from "../../fixtures/ci.ts";
import { now, ScriptedIssuer } from "../../fixtures/issuer.ts";
import { ask, openSession, setupRig, who } from "./kit.ts";

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

/** Opens the stream of a legacy session; resolves with what came on it once it has ended. */
async function openStream(endpoint: string, token: string) {
  const headers = { ...bearer(token).headers, "mcp-protocol-version": "2025-11-25" };
  const session = await openSession(endpoint, token);
  const response = await fetch(endpoint, {
    headers: { ...headers, accept: "text/event-stream", "mcp-session-id": session },
  });
  return { status: response.status, text: response.text() };
}

/** Opens a subscription of the stateless era. */
async function openListen(endpoint: string, token: string) {
  const response = await fetch(endpoint, {
    method: "POST",
    headers: {
      ...bearer(token).headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "subscriptions/listen",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 9,
      method: "subscriptions/listen",
      params: {
        notifications: { toolsListChanged: true },
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    }),
  });
  return { status: response.status, text: response.text() };
}

describe.each([
  ["of a legacy session", openStream],
  ["of the stateless era", openListen],
])("a stream %s", (_what, open) => {
  it("ends with its token, 30 s after its exp", async () => {
    const { endpoint, sign } = await setupRig();
    const exp = now() - 27;
    const stream = await open(endpoint, await sign({ exp }));
    expect(stream.status).toBe(200);
    expect(await stream.text).toContain("expired");
    const late = Date.now() / 1_000 - (exp + 30);
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThan(PATIENCE);
  });

  it("ends where a reload takes away what let it in, and stays where it does not", async () => {
    const { gateway, endpoint, issuer, sign } = await setupRig({
      options: { scopes: { a: "caller", b: "caller" } },
    });
    const [lost, kept] = [
      await open(endpoint, await sign({ scope: "a" })),
      await open(endpoint, await sign({ scope: "b", sub: "eve" })),
    ];
    let hasEnded = false;
    void kept.text.then(() => (hasEnded = true)).catch(() => {});
    const options = { issuers: { corp: { issuer: issuer.url } }, scopes: { b: "caller" } };
    await gateway.apply({ ...gateway.written, plugins: { who: {}, "oauth-resource": options } });
    expect(await lost.text).toContain("does not count any more");
    expect((await ask(endpoint, await sign({ scope: "a" }))).status).toBe(403);
    expect((await ask(endpoint, await sign({ scope: "b" }))).status).toBe(200);
    expect(hasEnded).toBe(false);
    const other = await ScriptedIssuer.start();
    const moved = { ...options, issuers: { corp: { issuer: other.url } } };
    await gateway.apply({ ...gateway.written, plugins: { who: {}, "oauth-resource": moved } });
    expect(await kept.text).toContain("does not count any more");
  });
});

it("neither a token nor a secret is in the log, the metrics or an answer", async () => {
  const lines: string[] = [];
  const issuer = await ScriptedIssuer.start();
  const opaque = await ScriptedIssuer.start();
  const clientSecret = "canary-of-the-gateway";
  const log = pino({ level: "trace" }, { write: (line: string) => void lines.push(line) });
  const { gateway, url } = await setupGateway({
    plugins: [
      who,
      [
        oauthResource,
        {
          issuers: {
            corp: { issuer: issuer.url },
            other: { issuer: opaque.url, introspection: { clientId: "gateway", clientSecret } },
          },
        },
      ],
    ],
    log,
    client: false,
  });
  const endpoint = `${url}/mcp`;
  opaque.prank = (req, res) => {
    if (req.url !== "/introspect") return false;
    res.writeHead(401).end(JSON.stringify({ error: clientSecret }));
    return true;
  };
  const tokens = [
    await issuer.sign({ aud: endpoint }),
    await issuer.sign({ aud: "other" }),
    await issuer.sign({ aud: endpoint, exp: 1 }),
    await issuer.sign({ aud: endpoint }, { kid: "x" }),
    "opaque-canary-token",
  ];
  const told: string[] = [];
  for (const token of tokens) told.push(JSON.stringify(await ask(endpoint, token)));
  const page = await (await gateway.manage()).metrics();
  expect(page).toContain('oauth_tokens_refused_total{reason="audience"} 1');
  expect(page).toContain('oauth_tokens_refused_total{reason="expired"} 1');
  expect(page).toContain('oauth_tokens_refused_total{reason="invalid"} 1');
  expect(page).toContain('oauth_tokens_refused_total{reason="unchecked"} 1');
  const all = [...lines, ...told, page, JSON.stringify(gateway.describe())].join("\n");
  const outages = lines.filter((line) => line.includes("tokens of an issuer cannot be checked"));
  expect(outages.map((line) => (JSON.parse(line) as { reason: string }).reason)).toEqual([
    "The issuer cannot be used: a question about a token was answered with HTTP 401.",
  ]);
  for (const secret of [clientSecret, ...tokens.map((token) => token.slice(-30))])
    expect(all).not.toContain(secret);
});
