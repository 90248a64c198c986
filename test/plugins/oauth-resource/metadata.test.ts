import { collectWarnings } from "../../../core/gateway/management/warnings.ts";
import { request } from "node:http";
import { describe, expect, it } from "vitest";
import type { GatewayConfigInput } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import oauthResource from "../../../plugins/oauth-resource/index.ts";
import { ScriptedIssuer } from "../../fixtures/issuer.ts";
import { namedUrl } from "../../../plugins/oauth-resource/issuer/metadata.ts";
import { ask, setupRig, who } from "./kit.ts";

const WELL_KNOWN = "/.well-known/oauth-protected-resource";
const TWO = {
  endpoints: { mcp: { path: "/mcp" }, keys: { path: "/keys" } },
} as const;

describe("the metadata of an endpoint (RFC 9728)", () => {
  it("name its URL, its issuers and its scopes, for everyone", async () => {
    const { url, endpoint, issuer } = await setupRig({
      options: { scopes: { "mcp:call": "caller", "mcp:operate": "operator" } },
    });
    const rest = {
      authorization_servers: [issuer.url],
      scopes_supported: ["mcp:call", "mcp:operate"],
      bearer_methods_supported: ["header"],
    };
    const of = async (path: string) => (await ask(`${url}${WELL_KNOWN}${path}`)).body;
    expect(await of("/mcp")).toEqual({ resource: endpoint, ...rest });
    expect(await of("")).toEqual({ resource: url, ...rest });
    for (const path of ["/other", "/mcp/x", "/MCP", "/mcp%2f..", "//evil.example/mcp"])
      expect((await ask(`${url}${WELL_KNOWN}${path}`)).status).toBe(404);
  });

  it("stand in the challenge, before a body is read", async () => {
    const { url, endpoint } = await setupRig({ options: { scopes: { "mcp:call": "caller" } } });
    const told = await ask(endpoint, undefined, { method: "POST", body: "no JSON at all" });
    expect(told.status).toBe(401);
    expect(told.challenge).toBe(
      `Bearer resource_metadata="${url}${WELL_KNOWN}/mcp", scope="mcp:call"`,
    );
    for (const method of ["GET", "DELETE"])
      expect((await ask(endpoint, undefined, { method })).status).toBe(401);
    expect((await ask(`${url}/who`)).challenge).toBe(
      `Bearer resource_metadata="${url}${WELL_KNOWN}", scope="mcp:call"`,
    );
    const wrong = await ask(endpoint, "x");
    expect(wrong.challenge).toContain('error="invalid_token"');
  });

  it("are not there for one that takes keys only, and then not for the whole either", async () => {
    const { url, issuer } = await setupRig({ options: { endpoints: { mcp: {} } }, config: TWO });
    expect((await ask(`${url}${WELL_KNOWN}/mcp`)).status).toBe(200);
    for (const path of ["/keys", ""])
      expect((await ask(`${url}${WELL_KNOWN}${path}`)).status).toBe(404);
    for (const aud of [`${url}/keys`, `${url}/mcp`, url]) {
      const told = await ask(`${url}/keys`, await issuer.sign({ aud }));
      expect([told.status, told.challenge]).toEqual([401, 'Bearer realm="propylon"']);
    }
    expect((await ask(`${url}/mcp`, await issuer.sign({ aud: `${url}/mcp` }))).status).toBe(200);
    expect((await ask(`${url}/who`)).challenge).toBe('Bearer realm="propylon"');
  });

  it("are those of the config behind a proxy, whatever a Host header says", async () => {
    const { url, issuer } = await setupRig({
      config: {
        publicUrl: "https://tools.example.org/gw/",
        listeners: { main: { port: 0, allowedHosts: ["*"] } },
      },
    });
    const resource = "https://tools.example.org/gw/mcp";
    for (const path of ["/mcp", "/gw/mcp"]) {
      const answer = await get(`${url}${WELL_KNOWN}${path}`, "evil.example");
      expect(JSON.parse(answer.body)).toMatchObject({ resource });
    }
    const refused = await get(`${url}/mcp`, "evil.example");
    expect([refused.status, refused.challenge]).toEqual([
      401,
      `Bearer resource_metadata="https://tools.example.org/gw${WELL_KNOWN}/mcp"`,
    ]);
    const statusOf = async (aud: string) =>
      (await ask(`${url}/mcp`, await issuer.sign({ aud }))).status;
    expect(await statusOf(resource)).toBe(200);
    for (const aud of [`${url}/mcp`, "https://evil.example/mcp", "https://tools.example.org/mcp"])
      expect(await statusOf(aud)).toBe(401);
  });

  it("may have a URL of their own", async () => {
    const resource = "https://research.example.org/mcp";
    const { url, issuer } = await setupRig({ options: { endpoints: { mcp: { resource } } } });
    expect((await ask(`${url}${WELL_KNOWN}/mcp`)).body.resource).toBe(resource);
    expect((await ask(`${url}/mcp`, await issuer.sign({ aud: resource }))).status).toBe(200);
    expect((await ask(`${url}/mcp`, await issuer.sign({ aud: `${url}/mcp` }))).status).toBe(401);
  });

  it("of an endpoint at the root are those of the whole", async () => {
    const { url, issuer } = await setupRig({ config: { endpoints: { mcp: { path: "/" } } } });
    expect((await ask(`${url}${WELL_KNOWN}`)).body.resource).toBe(url);
    const told = await ask(`${url}/`, await issuer.sign({ aud: `${url}/` }), { method: "POST" });
    expect(told.status).not.toBe(401);
  });
});

describe("the start tells", () => {
  const warningsOf = async (
    options: object,
    config: GatewayConfigInput,
  ): Promise<readonly string[]> => {
    const issuer = await ScriptedIssuer.start();
    const { gateway } = await setupGateway({
      plugins: [who, [oauthResource, { issuers: { corp: { issuer: issuer.url } }, ...options }]],
      config,
      client: false,
    });
    return collectWarnings(gateway).map(({ message }) => message);
  };

  it("of an endpoint that is not there, and of a path that two have", async () => {
    expect(await warningsOf({ endpoints: { mpc: {} } }, {})).toEqual([
      'oauth-resource: endpoints names "mpc", which is not an endpoint.',
    ]);
    const twice = {
      listeners: { main: { port: 0 }, inside: { port: 0 } },
      endpoints: { a: { path: "/mcp" }, b: { path: "/mcp", listener: "inside" } },
    };
    expect(await warningsOf({}, twice)).toEqual([
      "oauth-resource: /mcp is the path of two endpoints: it takes keys only.",
    ]);
  });

  it("of an address that only this machine has", async () => {
    const open = { listeners: { main: { port: 0, host: "0.0.0.0" } } };
    expect(await warningsOf({}, open)).toEqual([expect.stringContaining("publicUrl is not set")]);
    const named = { ...open, publicUrl: "https://tools.example.org" };
    expect(await warningsOf({}, named)).toEqual([]);
  });

  it("of tokens that auth.jwt takes before", async () => {
    const issuer = await ScriptedIssuer.start();
    const jwt = { secret: "a secret of at least 32 characters", issuer: issuer.url, audience: "x" };
    const options = { issuers: { corp: { issuer: issuer.url } } };
    expect(await warningsOf(options, { auth: { jwt } })).toEqual([
      "oauth-resource: auth.jwt takes the tokens of one of its issuers before it does.",
    ]);
  });
});

/** Node's own client: fetch sets Host itself. */
function get(
  url: string,
  host: string,
): Promise<{ status: number; challenge: string | undefined; body: string }> {
  return new Promise((resolve, reject) => {
    const req = request(url, { headers: { host } }, (res) => {
      let body = "";
      res.on("data", (chunk) => (body += String(chunk)));
      res.on("end", () =>
        resolve({ status: res.statusCode!, challenge: res.headers["www-authenticate"], body }),
      );
    });
    req.on("error", reject).end();
  });
}

it.each([undefined, null, 7, "", "not a URL", ["https://corp.example/keys"]])(
  "an issuer whose metadata name %j as an address cannot be used",
  (jwks_uri) => {
    expect(() => namedUrl({ jwks_uri }, "jwks_uri")).toThrow(
      expect.objectContaining({ code: "upstream_error" }),
    );
  },
);
