import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import pino from "pino";
import { definePlugin } from "propylon";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import access from "../../../plugins/access/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import oauth from "../../../plugins/oauth/index.ts";
import oauthResource from "../../../plugins/oauth-resource/index.ts";
import { ScriptedIssuer } from "../../fixtures/issuer.ts";
import { RealProvider, SECRET } from "../../fixtures/oidc-provider.ts";
import { Program } from "./attempt.ts";

const PAGE = readFileSync(
  fileURLToPath(new URL("../../../docs/guide/single-sign-on.md", import.meta.url)),
  "utf8",
);

type Json = Record<string, unknown>;

interface PageConfig {
  readonly plugins: { readonly oauth: { readonly provider: Json; readonly roles: Json } };
  readonly access?: readonly object[];
}

/** The config that the page shows for a provider. */
function configOf(provider: string): PageConfig {
  const section = PAGE.split(`\n## ${provider}\n`)[1]!.split("\n## ")[0]!;
  return parse(/<!-- run -->\n\n```yaml\n([^]*?)```/.exec(section)![1]!) as PageConfig;
}

const files = definePlugin({
  name: "files",
  setup(gateway) {
    for (const tool of ["read", "delete_file"])
      gateway.tool(tool, { description: `It runs ${tool}.`, run: () => `${tool} ran` });
  },
});

interface Rig {
  readonly issuer: string;
  readonly provider?: Json;
  readonly config: PageConfig;
}

/** A gateway as the page configures it; the provider is one of this machine. */
async function setup({ issuer, provider = {}, config }: Rig) {
  const lines: Json[] = [];
  const log = pino(
    { level: "info" },
    { write: (text) => void lines.push(JSON.parse(text) as Json) },
  );
  const own = { issuer, clientId: "gateway", clientSecret: SECRET };
  const { url } = await setupGateway({
    plugins: [
      files,
      access,
      oauthResource,
      [
        oauth,
        {
          ...config.plugins.oauth,
          provider: { ...config.plugins.oauth.provider, ...own, ...provider },
        },
      ],
    ],
    config: { auth: { maxFailures: 0 }, ...(config.access && { access: config.access }) } as never,
    log,
    client: false,
  });
  const refusal = (): Json => lines.findLast(({ msg }) => msg === "a login was refused")!;
  return { url, endpoint: `${url}/mcp`, refusal };
}

/** The same at the real provider. */
async function setupReal(name: string, { redirect = "/oauth/callback", provider = {} } = {}) {
  const real = await RealProvider.start();
  const rig = await setup({ issuer: real.url, provider, config: configOf(name) });
  await real.serve(`${rig.url}${redirect}`);
  return { ...rig, accounts: real.accounts };
}

/** Logs somebody in, with an official client. @returns the tools of the list, and what a call of each says */
async function toolsOf(url: string, name: string): Promise<Json> {
  const { access_token: token } = await new Program(url).tokens({ name });
  const client = new Client({ name: "test", version: "1" });
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }),
  );
  onTestFinished(() => client.close());
  const { tools } = await client.listTools();
  const call = (tool: string): Promise<string> =>
    client.callTool({ name: tool }).then(
      ({ content }) => (content as [{ text: string }])[0].text,
      (error: Error) => error.message,
    );
  return {
    listed: tools.map((tool) => tool.name).toSorted(),
    read: await call("read"),
    delete_file: await call("delete_file"),
  };
}

/** What a person reads who is refused. */
async function refusedWith(url: string, name = "ada"): Promise<string> {
  const program = new Program(url);
  await program.register();
  const shown = await program.login({ name }).then(
    () => "a code",
    (error: Error) => error.message,
  );
  return shown.replaceAll("&#39;", "'");
}

const NOBODY = "The person may not use this gateway, or not with these rights.";
const INVALID = "The answer of the login provider is not valid.";

describe("a person gets roles and rights from the claims of a real provider", () => {
  it("Keycloak: roles in a nested claim, and groups in a list", async () => {
    const { url, accounts } = await setupReal("Keycloak");
    accounts["ada"] = { groups: ["dev", "/staff"], realm_access: { roles: ["offline_access"] } };
    accounts["boss"] = { groups: [], realm_access: { roles: ["other", "gateway-operator"] } };
    accounts["eve"] = { groups: ["/staff/guests"], realm_access: { roles: ["operator"] } };
    // A claim of that name that is not in another one is not the realm's.
    accounts["mallory"] = { roles: ["gateway-operator"], realm_access: "gateway-operator" };

    const ada = await toolsOf(url, "ada");
    expect(ada).toMatchObject({ listed: ["read"], read: "read ran" });
    expect(ada["delete_file"]).not.toBe("delete_file ran");
    expect(await toolsOf(url, "boss")).toEqual({
      listed: ["delete_file", "read"],
      read: "read ran",
      delete_file: "delete_file ran",
    });
    for (const name of ["eve", "mallory"]) expect(await refusedWith(url, name)).toContain(NOBODY);
  });

  it("Google: people of a domain, and an address that the provider has verified", async () => {
    const issuer = await startScripted();
    const { url } = await setup({ issuer: issuer.url, config: configOf("Google") });
    const as = async (claims: Json): Promise<string> => {
      issuer.claims = { name: "Ada", ...claims };
      return refusedWith(url);
    };
    expect(await as({ hd: "example.org" })).toBe("a code");
    expect(await as({ hd: "example.com" })).toContain(NOBODY);
    expect(await as({ email: "ada@example.org", email_verified: true })).toBe("a code");
    for (const email_verified of [false, undefined, "true"])
      expect(await as({ email: "ada@example.org", email_verified })).toContain(NOBODY);
  });
});

describe("the page quotes what a person sees and what the log says", () => {
  it("a redirect URI that differs: a page of the provider", async () => {
    const { url } = await setupReal("Keycloak", { redirect: "/oauth/callback/" });
    const shown = await refusedWith(url);
    expect(shown).toContain("redirect_uri");
    expect(shown).not.toContain(`${url}/oauth/callback?`);
    expect(PAGE).toContain("(`redirect_uri`)");
  });

  it("a scope that the provider does not know", async () => {
    const { url, refusal } = await setupReal("Keycloak", {
      provider: { scopes: ["openid", "nonsense"] },
    });
    // oidc-provider ignores unknown scopes; then nothing is known of the person.
    const shown = await refusedWith(url);
    expect(shown).toContain(NOBODY);
    expectQuoted(NOBODY);
    expect(refusal()).toMatchObject({ expected: ["groups", "realm_access.roles"] });
    expect(refusal()["got"]).toContain("sub");
  });

  it("a provider that refuses", async () => {
    const { url, refusal, issuer } = await setupScripted();
    issuer.error = { error: "invalid_scope", error_description: "unknown scope" };
    const told = "The login provider did not let the person in.";
    expect(await refusedWith(url)).toContain(told);
    expectQuoted(told);
    expect(refusal()).toMatchObject({ error: "invalid_scope" });
  });

  it("groups that Entra leaves out", async () => {
    const { url, refusal, issuer } = await setupScripted();
    issuer.claims = {
      _claim_names: { groups: "src1" },
      _claim_sources: { src1: { endpoint: "https://graph.example/groups" } },
    };
    const told = "The login provider left out groups, because the person is in too many of them.";
    expect(await refusedWith(url)).toContain(told);
    expectQuoted(told);
    expect(refusal()["got"]).toContain("_claim_names");
    // Another claim that is elsewhere is not the reason.
    issuer.claims = { _claim_names: { photos: "src1" } };
    expect(await refusedWith(url)).toContain(NOBODY);
  });

  it("clocks that differ", async () => {
    const { url, refusal, issuer } = await setupScripted();
    const now = Math.floor(Date.now() / 1_000);
    issuer.claims = { groups: ["staff"], iat: now - 400, exp: now - 60 };
    expect(await refusedWith(url)).toContain(INVALID);
    expectQuoted(INVALID);
    expect(refusal()["why"]).toContain("exp");
    issuer.claims = { groups: ["staff"], iat: now - 400, exp: now - 5 };
    expect(await refusedWith(url)).toBe("a code");
  });

  it("a client secret that is wrong", async () => {
    const { url, refusal } = await setupReal("Keycloak", {
      provider: { clientSecret: "another secret than the provider's" },
    });
    expect(await refusedWith(url)).toContain(INVALID);
    expect(refusal()).toMatchObject({ error: "invalid_client" });
  });

  it("a provider that is away", async () => {
    const issuer = await startScripted();
    const { url } = await setup({ issuer: `${issuer.url}/elsewhere`, config: configOf("Okta") });
    const shown = await refusedWith(url);
    expect(shown).toContain("Nobody can log in at the moment");
    expectQuoted(/Nobody can log in at the moment[^<"]*\./.exec(shown)![0]);
  });

  it("an address that nobody verified", async () => {
    const { url, issuer } = await setupScripted({ subject: "email" });
    issuer.claims = { groups: ["staff"], email: "ada@example.org" };
    const told =
      "The login provider does not say who this is: the claim email is missing, or not verified.";
    expect(await refusedWith(url)).toContain(told);
    expectQuoted(told);
  });
});

function expectQuoted(sentence: string): void {
  expect(PAGE).toContain(`"${sentence}"`);
}

/** A provider that says of a person what a test wants. */
interface Scripted {
  readonly url: string;
  claims: Json;
  /** What it answers in place of a code. */
  error?: Record<string, string>;
}

async function startScripted(): Promise<Scripted> {
  const issuer = await ScriptedIssuer.start();
  issuer.clients.set("gateway", SECRET);
  const scripted: Scripted = { url: issuer.url, claims: {} };
  issuer.prank = (req, res) => {
    if (scripted.error && req.url?.startsWith("/authorize?")) {
      const asked = new URL(req.url, issuer.url).searchParams;
      const target = new URL(asked.get("redirect_uri")!);
      const answer = { ...scripted.error, state: asked.get("state")! };
      for (const [name, value] of Object.entries(answer)) target.searchParams.set(name, value);
      res.writeHead(302, { location: target.href }).end();
      return true;
    }
    if (req.url !== "/token") return false;
    void idTokenOf(issuer, scripted.claims).then((id_token) => {
      const body = { access_token: "at", token_type: "Bearer", expires_in: 300, id_token };
      res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
    return true;
  };
  return scripted;
}

async function idTokenOf(issuer: ScriptedIssuer, claims: Json): Promise<string> {
  const { nonce } = issuer.visitsTo("/authorize").at(-1)!.fields;
  const iat = Math.floor(Date.now() / 1_000);
  return issuer.sign({ iss: issuer.url, aud: "gateway", iat, nonce, ...claims }, { typ: "JWT" });
}

/** The gateway of Keycloak's section in front of such a provider. */
async function setupScripted(provider: Json = {}) {
  const issuer = await startScripted();
  const rig = await setup({ issuer: issuer.url, provider, config: configOf("Keycloak") });
  return { ...rig, issuer };
}
