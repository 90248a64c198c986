import { describe, expect, it } from "vitest";
import { ScriptedIssuer } from "../../fixtures/issuer.ts";
import { SECRET, type RealProvider } from "../../fixtures/oidc-provider.ts";
import { Program } from "./attempt.ts";
import { setupLogin, visit } from "./kit.ts";

type Claims = Readonly<Record<string, unknown>>;

/** A gateway whose login provider answers with an ID token as a test says. */
async function setupScripted(change: (claims: Claims) => Claims, header: Claims = {}) {
  const issuer = await ScriptedIssuer.start();
  issuer.clients.set("gateway", SECRET);
  const answer = async (): Promise<object> => {
    const { nonce } = issuer.visitsTo("/authorize").at(-1)!.fields;
    const usual = { aud: "gateway", iat: Math.floor(Date.now() / 1_000), nonce, name: "Ada" };
    const token = await issuer.sign(change({ iss: issuer.url, ...usual }), { typ: "JWT" });
    const [head, ...rest] = token.split(".");
    const own = {
      ...(JSON.parse(Buffer.from(head!, "base64url").toString()) as object),
      ...header,
    };
    const id_token = [Buffer.from(JSON.stringify(own)).toString("base64url"), ...rest].join(".");
    return { access_token: "at", token_type: "Bearer", expires_in: 300, id_token };
  };
  issuer.prank = (req, res) => {
    if (req.url !== "/token") return false;
    void answer().then((body) => {
      res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
    return true;
  };
  const rig = await setupLogin({ provider: { url: issuer.url } as RealProvider });
  const program = new Program(rig.url);
  await program.register();
  return { ...rig, program, issuer };
}

/** Whether a login ended with a code for the program. */
async function isLoggedIn(program: Program): Promise<boolean> {
  const end = await visit(program.browser, program.start());
  return end instanceof URL && end.searchParams.has("code");
}

describe("at the login provider", () => {
  it("a person is sent with a challenge, a nonce and a state that no other login has", async () => {
    const { program, issuer } = await setupScripted((claims) => claims);
    expect(await isLoggedIn(program)).toBe(true);
    expect(await isLoggedIn(program)).toBe(true);
    const asked = issuer.visitsTo("/authorize").map(({ fields }) => fields);
    expect(asked).toHaveLength(2);
    for (const fields of asked)
      expect(fields).toMatchObject({ response_type: "code", code_challenge_method: "S256" });
    for (const name of ["state", "nonce", "code_challenge"])
      expect(new Set(asked.map((fields) => fields[name])).size).toBe(2);
    const redeemed = issuer.visitsTo("/token").map(({ fields }) => fields["code_verifier"]);
    expect(new Set(redeemed).size).toBe(2);
  });

  it.each<[string, (claims: Claims) => Claims, Claims?]>([
    ["with the nonce of another login", (claims) => ({ ...claims, nonce: "another" })],
    ["without a nonce", (claims) => ({ ...claims, nonce: undefined })],
    ["of another issuer", (claims) => ({ ...claims, iss: "https://evil.example" })],
    ["for another program", (claims) => ({ ...claims, aud: "another" })],
    [
      "for several, of which another one asked",
      (claims) => ({ ...claims, aud: ["gateway", "b"], azp: "b" }),
    ],
    ["that has expired", (claims) => ({ ...claims, exp: 1 })],
    ["without a subject", (claims) => ({ ...claims, sub: undefined })],
    ["without a signature", (claims) => claims, { alg: "none" }],
    ["signed with a shared secret", (claims) => claims, { alg: "HS256" }],
  ])("an ID token %s lets nobody in", async (_what, change, header) => {
    const { program, issuer } = await setupScripted(change, header);
    expect(await isLoggedIn(program)).toBe(false);
    expect(issuer.visitsTo("/token")).toHaveLength(1);
  });

  it.each<[string, (answer: URLSearchParams) => void]>([
    ["names another issuer", (answer) => answer.set("iss", "https://evil.example")],
    ["has another state", (answer) => answer.set("state", "another")],
    ["has no state", (answer) => answer.delete("state")],
    ["has two codes", (answer) => answer.append("code", "another")],
  ])("an answer that %s is not redeemed", async (_what, change) => {
    const { program, issuer } = await setupScripted((claims) => claims);
    let answer = "";
    const { origin } = new URL(program.url);
    // Up to the provider's redirect, as a browser goes.
    const asked = await fetch(program.start(), { redirect: "manual" });
    const cookie = asked.headers
      .getSetCookie()
      .map((each) => each.split(";")[0])
      .join("; ");
    const sent = await fetch(asked.headers.get("location")!, { redirect: "manual" });
    answer = sent.headers.get("location")!;
    expect(answer.startsWith(`${origin}/oauth/callback?`)).toBe(true);
    const bent = new URL(answer);
    change(bent.searchParams);
    const ended = await fetch(bent, { redirect: "manual", headers: { cookie } });
    expect(ended.headers.get("location") ?? "").not.toMatch(/[?&]code=/);
    expect(await ended.text()).not.toContain("<form");
    expect(issuer.visitsTo("/token")).toEqual([]);
  });
});
