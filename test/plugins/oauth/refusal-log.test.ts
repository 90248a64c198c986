import pino from "pino";
import { describe, expect, it } from "vitest";
import { setupGateway } from "../../../core/testing/index.ts";
import oauth from "../../../plugins/oauth/index.ts";
import oauthResource from "../../../plugins/oauth-resource/index.ts";
import { ScriptedIssuer } from "../../fixtures/issuer.ts";
import { RealProvider, SECRET } from "../../fixtures/oidc-provider.ts";
import { ask, who } from "../oauth-resource/kit.ts";
import { Program } from "./attempt.ts";

type Line = Readonly<Record<string, unknown>>;

async function setupLogged(options: object = {}) {
  const lines: Line[] = [];
  const log = pino(
    { level: "info" },
    { write: (text: string) => void lines.push(JSON.parse(text) as Line) },
  );
  const provider = await RealProvider.start();
  const issuer = await ScriptedIssuer.start();
  const client = { issuer: provider.url, clientId: "gateway", clientSecret: SECRET };
  const { gateway, url } = await setupGateway({
    plugins: [
      who,
      [oauthResource, { issuers: { corp: { issuer: issuer.url } } }],
      [oauth, { provider: client, roles: { caller: "everyone" }, ...options }],
    ],
    config: { auth: { maxFailures: 0 } },
    log,
    client: false,
  });
  await provider.serve(`${url}/oauth/callback`);
  const linesOf = (msg: string): Line[] => lines.filter((line) => line["msg"] === msg);
  return { gateway, url, provider, issuer, lines, linesOf, endpoint: `${url}/mcp` };
}

describe("bugs-rest 14: the log says of a refused token", () => {
  it("for whom it should be, and for whom it is", async () => {
    const { endpoint, issuer, linesOf } = await setupLogged();
    await ask(endpoint, await issuer.sign({ aud: "https://other.example" }));
    expect(linesOf("a token was refused")).toEqual([
      expect.objectContaining({
        reason: "audience",
        issuer: "corp",
        expected: endpoint,
        got: ["https://other.example"],
      }),
    ]);
  });

  it("that nobody knows its issuer, and which ones are known", async () => {
    const { endpoint, issuer, url, linesOf } = await setupLogged();
    await ask(endpoint, await issuer.sign({ aud: endpoint, iss: `${issuer.url}/` }));
    expect(linesOf("a token was refused")).toEqual([
      expect.objectContaining({
        reason: "issuer",
        expected: [issuer.url, url],
        got: `${issuer.url}/`,
      }),
    ]);
  });

  it("why it is not valid, and nothing of the token", async () => {
    const { endpoint, issuer, lines, linesOf } = await setupLogged();
    const token = await issuer.sign({ aud: endpoint, nbf: 9_999_999_999 });
    await ask(endpoint, token);
    expect(linesOf("a token was refused")[0]).toMatchObject({
      reason: "invalid",
      why: expect.stringContaining("nbf"),
    });
    expect(JSON.stringify(lines)).not.toContain(token.slice(-30));
  });

  it("ten times of a kind at once, whoever floods it", async () => {
    const { endpoint, issuer, linesOf } = await setupLogged();
    for (let at = 0; at < 40; at++)
      await ask(endpoint, await issuer.sign({ aud: endpoint, iss: `https://${at}.evil.example` }));
    await ask(endpoint, await issuer.sign({ aud: "https://other.example" }));
    const reasons = linesOf("a token was refused").map(({ reason }) => reason);
    expect(reasons.filter((reason) => reason === "issuer").length).toBeLessThanOrEqual(11);
    expect(reasons).toContain("audience");
  });
});

describe("bugs-rest 14: the log says of a refused login", () => {
  it("which claims the rules name, and which came", async () => {
    const { url, provider, linesOf } = await setupLogged({
      roles: { caller: { groups: ["staff"] } },
    });
    provider.accounts["ada"] = { group: ["staff"] };
    const program = new Program(url);
    await program.register();
    await expect(program.login()).rejects.toThrow("The person may not use this gateway");
    const [line] = linesOf("a login was refused");
    expect(line).toMatchObject({ code: "access_denied", expected: ["groups"] });
    expect(line!["got"]).toContain("sub");
  });

  it("which resource was asked for, and which there are", async () => {
    const { url, endpoint, linesOf } = await setupLogged();
    const program = new Program(url);
    await program.register();
    await expect(program.login({}, { resource: "https://x.example" })).rejects.toThrow("resource");
    expect(linesOf("a login was refused")).toEqual([
      expect.objectContaining({
        code: "invalid_target",
        expected: [endpoint, url],
        got: "https://x.example",
      }),
    ]);
  });

  it("which address was named, and which was asked for", async () => {
    const { url, linesOf } = await setupLogged();
    const program = new Program(url);
    await program.register({ redirect_uris: ["https://app.example/cb"] });
    await fetch(program.start({ redirect_uri: "https://app.example/cb/" }));
    expect(linesOf("a login was refused")).toEqual([
      expect.objectContaining({
        code: "invalid_request",
        expected: ["https://app.example/cb"],
        got: "https://app.example/cb/",
      }),
    ]);
  });
});
