import { createHash, randomBytes } from "node:crypto";
import type { Browser } from "../../fixtures/browser.ts";
import { newBrowser, REDIRECT, visit, type Visit } from "./kit.ts";

/** What the token endpoint answers. */
export interface TokenAnswer {
  readonly status: number;
  readonly body: {
    readonly access_token?: string;
    readonly refresh_token?: string;
    readonly expires_in?: number;
    readonly scope?: string;
    readonly error?: string;
    readonly error_description?: string;
  };
  readonly headers: Headers;
}

type Fields = Readonly<Record<string, string | undefined>>;

/** A program that speaks OAuth by hand, so that it can do everything wrong. */
export class Program {
  readonly url: string;
  readonly verifier = randomBytes(32).toString("base64url");
  browser: Browser = newBrowser();
  id = "";

  constructor(url: string) {
    this.url = url;
  }

  get endpoint(): string {
    return `${this.url}/mcp`;
  }

  /** Registers, with whatever metadata. */
  async register(
    metadata: object = { redirect_uris: [REDIRECT] },
  ): Promise<{ status: number; body: Record<string, unknown> }> {
    const response = await fetch(`${this.url}/oauth/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(metadata),
    });
    const body = (await response.json()) as Record<string, unknown>;
    if (response.status === 201) this.id = String(body["client_id"]);
    return { status: response.status, body };
  }

  /** The URL that it opens in the person's browser. */
  start(fields: Fields = {}): URL {
    const url = new URL(`${this.url}/oauth/authorize`);
    const all: Fields = {
      client_id: this.id,
      redirect_uri: REDIRECT,
      response_type: "code",
      state: "the state",
      code_challenge: createHash("sha256").update(this.verifier).digest("base64url"),
      code_challenge_method: "S256",
      resource: this.endpoint,
      ...fields,
    };
    for (const [name, value] of Object.entries(all))
      if (value !== undefined) url.searchParams.set(name, value);
    return url;
  }

  /** Has a person log in. @returns the parameters that come back */
  async login(how: Visit = {}, fields: Fields = {}): Promise<URLSearchParams> {
    const end = await visit(this.browser, this.start(fields), how);
    if (end instanceof URL) return end.searchParams;
    throw new Error(`${end.status} ${end.url}: ${end.text}`);
  }

  /** Posts a form. */
  async post(
    path: string,
    fields: Fields,
    headers: Record<string, string> = {},
  ): Promise<TokenAnswer> {
    const given = Object.entries(fields).filter(
      (pair): pair is [string, string] => pair[1] !== undefined,
    );
    const response = await fetch(`${this.url}${path}`, {
      method: "POST",
      body: new URLSearchParams(given),
      headers,
    });
    const text = await response.text();
    return {
      status: response.status,
      body: (text.startsWith("{") ? JSON.parse(text) : {}) as TokenAnswer["body"],
      headers: response.headers,
    };
  }

  redeem(code: string, fields: Fields = {}): Promise<TokenAnswer> {
    return this.post("/oauth/token", {
      grant_type: "authorization_code",
      code,
      client_id: this.id,
      redirect_uri: REDIRECT,
      code_verifier: this.verifier,
      resource: this.endpoint,
      ...fields,
    });
  }

  refresh(token: string, fields: Fields = {}): Promise<TokenAnswer> {
    return this.post("/oauth/token", {
      grant_type: "refresh_token",
      refresh_token: token,
      client_id: this.id,
      ...fields,
    });
  }

  /** From nothing to tokens. */
  async tokens(how: Visit = {}, fields: Fields = {}): Promise<TokenAnswer["body"]> {
    if (this.id === "") await this.register();
    const answer = await this.login(how, fields);
    return (await this.redeem(answer.get("code")!)).body;
  }
}
