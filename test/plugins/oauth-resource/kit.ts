import { expect } from "vitest";
import { definePlugin, type GatewayConfigInput } from "../../../core/index.ts";
import { setupGateway, type PluginEntry } from "../../../core/testing/index.ts";
import oauthResource from "../../../plugins/oauth-resource/index.ts";
import { ScriptedIssuer } from "../../fixtures/issuer.ts";

/** Says who calls, and lets operators do something. */
export const who = definePlugin({
  name: "who",
  setup(gateway) {
    gateway.tool("who", {
      description: "Says who calls.",
      run: (_args, { principal }) => principal.ref,
    });
    const page = { mutates: false } as const;
    gateway.route("GET", "/who", { ...page, access: "principal" }, ({ context }) => ({
      ref: context.principal.ref,
    }));
    gateway.route("GET", "/open", { ...page, access: "public" }, ({ context }) => ({
      ref: context.principal.ref,
    }));
    gateway.route("GET", "/operate", { ...page, access: "operator" }, () => ({ ok: true }));
  },
});

export interface RigOptions {
  readonly options?: Record<string, unknown>;
  readonly config?: GatewayConfigInput;
  readonly issuer?: ScriptedIssuer;
  /** More options of that issuer. */
  readonly corp?: object;
  readonly plugins?: readonly PluginEntry[];
  /** Whether it fetches the issuer's keys at its start; default true. */
  readonly isAsked?: boolean;
}

/** A gateway that people of a scripted issuer log in to. */
export async function setupRig({
  options = {},
  config = {},
  isAsked = true,
  plugins = [],
  corp = {},
  ...rest
}: RigOptions = {}) {
  const issuer = rest.issuer ?? (await ScriptedIssuer.start());
  const { gateway, url } = await setupGateway({
    plugins: [
      who,
      [oauthResource, { issuers: { corp: { issuer: issuer.url, ...corp } }, ...options }],
      ...plugins,
    ],
    // Tests try more wrong tokens in a second than a gateway takes in a minute.
    config: { ...config, auth: { maxFailures: 0, ...config.auth } },
    client: false,
  });
  const endpoint = `${url}/mcp`;
  // What it asks for at its start is there.
  await expect.poll(() => issuer.visitsTo("/jwks").length).toBe(isAsked ? 1 : 0);
  /** A token for the endpoint, unless the claims say otherwise. */
  const sign = (claims: Record<string, unknown> = {}): Promise<string> =>
    issuer.sign({ aud: endpoint, ...claims });
  return { gateway, issuer, url, endpoint, sign };
}

const INITIALIZE = {
  method: "POST",
  body: JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    },
  }),
} as const;

/** Opens a session of the legacy era; returns its id. */
export async function openSession(endpoint: string, token: string): Promise<string> {
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const response = await fetch(endpoint, { ...INITIALIZE, headers });
  await response.text();
  return response.headers.get("mcp-session-id")!;
}

/** What comes of a request with a token. */
export interface Told {
  readonly status: number;
  readonly challenge: string | null;
  readonly body: {
    readonly ref?: string;
    readonly resource?: string;
    readonly error: { readonly message: string; readonly data: { readonly code: string } };
  };
}

/** Opens a session at an endpoint, or gets another path. */
export async function ask(url: string, token?: string, init: RequestInit = {}): Promise<Told> {
  const isEndpoint = /^\/(?:mcp|keys)$/.test(new URL(url).pathname) && init.method === undefined;
  const response = await fetch(url, {
    ...(isEndpoint && INITIALIZE),
    ...init,
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(init.headers as object),
    },
  });
  const text = await response.text();
  return {
    status: response.status,
    challenge: response.headers.get("www-authenticate"),
    body: (text.startsWith("{") ? JSON.parse(text) : {}) as Told["body"],
  };
}
