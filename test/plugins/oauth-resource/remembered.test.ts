import { describe, expect, it } from "vitest";
import { PATIENCE } from "../../fixtures/ci.ts";
import { createIssuerKey, now, ScriptedIssuer } from "../../fixtures/issuer.ts";
import { startClock } from "../../fixtures/clock.ts";
import { setupLogin } from "../oauth/kit.ts";
import { Program } from "../oauth/attempt.ts";
import { startIssuer } from "../team-auth/gateway-kit.ts";
import { ADMIN } from "../team-auth/kit.ts";
import oauthResource from "../../../plugins/oauth-resource/index.ts";
import { ask, setupRig, who } from "./kit.ts";

/** Asks three times: the second and the third find what the first left. */
async function statusesOf(url: string, token: string): Promise<readonly number[]> {
  const statuses = [];
  for (const _ of [1, 2, 3]) statuses.push((await ask(url, token)).status);
  return statuses;
}

describe("a token that was let in before", () => {
  it("opens nothing else than what it is for, whichever was asked for last", async () => {
    const { url, endpoint, sign } = await setupRig();
    const [call, both] = [await sign(), await sign({ aud: [url, endpoint] })];
    expect(await statusesOf(endpoint, call)).toEqual([200, 200, 200]);
    expect(await statusesOf(`${url}/who`, call)).toEqual([401, 401, 401]);
    expect(await statusesOf(endpoint, call)).toEqual([200, 200, 200]);
    for (const place of [endpoint, `${url}/who`, endpoint])
      expect((await ask(place, both)).status).toBe(200);
  });

  it("ends at its time, with the tolerance", async () => {
    const { endpoint, sign } = await setupRig();
    const exp = now() - 27;
    const token = await sign({ exp });
    expect(await statusesOf(endpoint, token)).toEqual([200, 200, 200]);
    const status = async () => (await ask(endpoint, token)).status;
    await expect.poll(status, { timeout: PATIENCE * 10_000 }).toBe(401);
    expect(Date.now() / 1_000).toBeGreaterThanOrEqual(exp + 30);
    expect(await statusesOf(endpoint, token)).toEqual([401, 401, 401]);
  });

  it("is refused as soon as its key is seen to be withdrawn, and one of a key that stays is not", async () => {
    const passTime = startClock();
    const { issuer, endpoint, sign } = await setupRig();
    const [first, second] = [issuer.keys[0]!, await createIssuerKey("second")];
    const old = await sign();
    expect(await statusesOf(endpoint, old)).toEqual([200, 200, 200]);
    issuer.keys = [second, first];
    passTime(31_000);
    const fresh = await sign();
    expect(await statusesOf(endpoint, fresh)).toEqual([200, 200, 200]);
    expect(await statusesOf(endpoint, old)).toEqual([200, 200, 200]);
    issuer.keys = [second];
    passTime(31_000);
    // Nobody knows its key: the gateway reads the set again.
    const stranger = await createIssuerKey("stranger");
    const forged = await issuer.sign({ aud: endpoint }, { kid: "x" }, stranger.privateKey);
    expect((await ask(endpoint, forged)).status).toBe(401);
    expect(await statusesOf(endpoint, old)).toEqual([401, 401, 401]);
    expect(await statusesOf(endpoint, fresh)).toEqual([200, 200, 200]);
  });

  it("is refused where a reload takes away its issuer, its audience or its scope", async () => {
    const [issuer, other] = [await ScriptedIssuer.start(), await ScriptedIssuer.start()];
    const issuers = { corp: { issuer: issuer.url } };
    const options = { issuers, audiences: ["api://a"], scopes: { "mcp:call": "caller" } };
    const { gateway, endpoint, sign } = await setupRig({ issuer, options });
    const token = await sign({ aud: "api://a" });
    const apply = (changed: object) =>
      gateway.apply({
        ...gateway.written,
        plugins: { who: {}, "oauth-resource": { ...options, ...changed } },
      });
    for (const [changed, status] of [
      [{ audiences: ["api://b"] }, 401],
      [{ scopes: { "mcp:other": "caller" } }, 403],
      [{ issuers: { corp: { issuer: other.url } } }, 401],
    ] as const) {
      expect(await statusesOf(endpoint, token)).toEqual([200, 200, 200]);
      await apply(changed);
      expect(await statusesOf(endpoint, token)).toEqual([status, status, status]);
      await apply({});
    }
  });

  it("names its person by the config in force, though the plugin stays as it is", async () => {
    const { gateway, url, sign } = await setupRig();
    const token = await sign({ aud: url });
    const refOf = async () => (await ask(`${url}/who`, token)).body.ref;
    expect([await refOf(), await refOf()]).toEqual(["user:ada", "user:ada"]);
    const jwt = { secret: "a secret of at least 32 characters", issuer: "own" };
    await gateway.apply({ ...gateway.written, auth: { ...gateway.written.auth, jwt } });
    expect([await refOf(), await refOf()]).toEqual(["user:corp:ada", "user:corp:ada"]);
  });

  it("is refused once its login was taken back", async () => {
    const { url, endpoint } = await setupLogin();
    const program = new Program(url);
    const { access_token: token, refresh_token: refresh } = await program.tokens();
    expect(await statusesOf(endpoint, token!)).toEqual([200, 200, 200]);
    await program.post("/oauth/revoke", { token: refresh!, client_id: program.id });
    expect(await statusesOf(endpoint, token!)).toEqual([401, 401, 401]);
  });

  it("is refused once the user of its person is switched off, and let in when that is over", async () => {
    const corp = await ScriptedIssuer.start();
    const { url, issuer } = await startIssuer({}, {}, [
      who,
      [oauthResource, { issuers: { corp: { issuer: corp.url } } }],
    ]);
    const { users } = issuer.directory;
    await users.create(ADMIN, { id: "corp:ada" });
    const token = await corp.sign({ aud: url });
    const page = `${url}/who`;
    expect(await statusesOf(page, token)).toEqual([200, 200, 200]);
    await users.update(ADMIN, "corp:ada", { active: false });
    expect(await statusesOf(page, token)).toEqual([401, 401, 401]);
    await users.update(ADMIN, "corp:ada", { active: true });
    expect(await statusesOf(page, token)).toEqual([200, 200, 200]);
  });
});
