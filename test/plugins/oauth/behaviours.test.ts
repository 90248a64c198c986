import { describe, expect, it } from "vitest";
import { ask, setupRig } from "../oauth-resource/kit.ts";
import { Program } from "./attempt.ts";
import { REDIRECT, setupLogin, type LoginRig } from "./kit.ts";

const SCOPES = { scopes: { "mcp:call": "caller" } };

async function setupProgram(rig: LoginRig = {}, metadata?: object): Promise<Program> {
  const program = new Program((await setupLogin(rig)).url);
  await program.register(metadata);
  return program;
}

const basicOf = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString("base64")}`;

describe("what programs of the field do at the authorization server", () => {
  it("a program that asks for offline_access gets its refresh token, and no scope of that name", async () => {
    const program = await setupProgram({ resource: SCOPES });
    const tokens = await program.tokens({}, { scope: "openid offline_access mcp:call" });
    expect(tokens).toMatchObject({ scope: "mcp:call", refresh_token: expect.any(String) });
  });

  it("a program that asks for no scope gets those of a caller", async () => {
    const program = await setupProgram({ resource: SCOPES });
    expect((await program.tokens()).scope).toBe("mcp:call");
  });

  it("eight refreshes at once get one successor, and the login goes on", async () => {
    const program = await setupProgram();
    const { refresh_token: token } = await program.tokens();
    const all = await Promise.all(Array.from({ length: 8 }, () => program.refresh(token!)));
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]));
    const successors = new Set(all.map(({ body }) => body.refresh_token));
    expect(successors.size).toBe(1);
    expect((await program.refresh([...successors][0]!)).status).toBe(200);
  });

  it.each(["http://localhost/callback", "http://localhost:1/callback"])(
    "a program that registers %s listens at any port",
    async (named) => {
      const program = await setupProgram({}, { redirect_uris: [named] });
      const code = (await program.login({}, { redirect_uri: REDIRECT })).get("code")!;
      expect((await program.redeem(code)).status).toBe(200);
    },
  );

  it("state and iss come back with the code", async () => {
    const program = await setupProgram();
    const state = `a+b/c=&"%20`;
    const answer = await program.login({}, { state });
    expect([answer.get("state"), answer.get("iss")]).toEqual([state, program.url]);
  });

  it("prompt=consent brings the page, though the person allowed the program before", async () => {
    const redirects = ["https://app.example/callback"];
    const { url } = await setupLogin({ options: { clients: { own: { name: "Own", redirects } } } });
    const program = new Program(url);
    program.id = "own";
    let pages = 0;
    const how = { onConsent: () => void pages++ };
    const fields = { redirect_uri: redirects[0] };
    await program.login(how, fields);
    await program.login(how, fields);
    expect(pages).toBe(1);
    await program.login(how, { ...fields, prompt: "login consent" });
    expect(pages).toBe(2);
  });

  it("a secret comes by form or by Basic, and not in two ways", async () => {
    const program = new Program((await setupLogin()).url);
    const { body } = await program.register({
      redirect_uris: [REDIRECT],
      token_endpoint_auth_method: "client_secret_basic",
    });
    const secret = String(body["client_secret"]);
    const headers = { authorization: basicOf(program.id, secret) };
    const { refresh_token: token } = (
      await program.redeem((await program.login()).get("code")!, { client_secret: secret })
    ).body;
    const fields = { grant_type: "refresh_token", refresh_token: token };
    const twice = { ...fields, client_secret: secret };
    expect((await program.post("/oauth/token", twice, headers)).status).toBe(401);
    const basic = await program.post("/oauth/token", fields, headers);
    expect(basic.status).toBe(200);
    const named = { ...fields, refresh_token: basic.body.refresh_token, client_id: program.id };
    expect((await program.post("/oauth/token", named, headers)).status).toBe(200);
    const wrong = { authorization: basicOf(program.id, "wrong") };
    const refused = await program.post("/oauth/token", fields, wrong);
    expect(refused).toMatchObject({ status: 401, body: { error: "invalid_client" } });
    expect(refused.headers.get("www-authenticate")).toMatch(/^Basic /);
  });

  it("a token request without a verifier is refused, and its answers are never cached", async () => {
    const program = await setupProgram();
    const code = (await program.login()).get("code")!;
    const without = await program.redeem(code, { code_verifier: undefined });
    expect(without).toMatchObject({ status: 400, body: { error: "invalid_request" } });
    const answer = await program.redeem(code);
    for (const { headers } of [without, answer]) {
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("pragma")).toBe("no-cache");
    }
  });

  it("a program may leave out the redirect_uri at the token endpoint, as OAuth 2.1 does", async () => {
    const program = await setupProgram();
    const code = (await program.login()).get("code")!;
    expect((await program.redeem(code, { redirect_uri: undefined })).status).toBe(200);
  });

  it("JSON in place of a form is refused with a sentence", async () => {
    const { url } = await setupProgram();
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${url}/oauth/token`, { method: "POST", body: "{}", headers });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: "invalid_request",
      error_description: expect.stringContaining("application/x-www-form-urlencoded"),
    });
  });

  it("taking back a token that is none is answered with 200", async () => {
    const program = await setupProgram();
    const fields = { token: "nothing", client_id: program.id };
    expect(await program.post("/oauth/revoke", fields)).toMatchObject({ status: 200, body: {} });
  });

  it.each(["", "/mcp"])(
    "the metadata are there for older programs with %j behind",
    async (path) => {
      const { url } = await setupProgram();
      const response = await fetch(`${url}/.well-known/oauth-authorization-server${path}`);
      expect(await response.json()).toMatchObject({
        issuer: url,
        code_challenge_methods_supported: ["S256"],
        authorization_response_iss_parameter_supported: true,
      });
    },
  );
});

describe("what programs of the field do at the resource", () => {
  it.each(["Bearer", "bearer", "BEARER"])("the scheme may be written %s", async (scheme) => {
    const { url, sign } = await setupRig();
    const authorization = `${scheme} ${await sign({ aud: url })}`;
    expect((await fetch(`${url}/who`, { headers: { authorization } })).status).toBe(200);
  });

  it("a token in the query is none (RFC 6750 section 2.3)", async () => {
    const { url, sign } = await setupRig();
    expect((await ask(`${url}/who?access_token=${await sign({ aud: url })}`)).status).toBe(401);
  });

  it("a token with 21 KB of groups is refused with the limit that it meets", async () => {
    const { url, sign } = await setupRig();
    const groups = Array.from({ length: 700 }, (_, at) => `group-with-a-long-name-${at}`);
    const authorization = `Bearer ${await sign({ aud: url, groups })}`;
    const response = await fetch(`${url}/who`, { headers: { authorization } });
    expect(response.status).toBe(431);
    expect(await response.text()).toContain("limits.header");
  });

  it("a token with 9 KB of groups is taken", async () => {
    const { url, sign } = await setupRig();
    const groups = Array.from({ length: 220 }, (_, at) => `group-with-a-long-name-${at}`);
    expect((await ask(`${url}/who`, await sign({ aud: url, groups }))).status).toBe(200);
  });

  it("scopes are a text or a list, in scope or scp", async () => {
    const { endpoint, sign } = await setupRig({ options: SCOPES });
    const all = [
      { scope: "openid mcp:call" },
      { scope: ["openid", "mcp:call"] },
      { scp: "mcp:call" },
      { scp: ["mcp:call"] },
    ];
    for (const claims of all) expect((await ask(endpoint, await sign(claims))).status).toBe(200);
  });
});
