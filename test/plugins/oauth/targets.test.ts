import { describe, expect, it } from "vitest";
import { ask } from "../oauth-resource/kit.ts";
import { Program } from "./attempt.ts";
import { setupLogin, type LoginRig } from "./kit.ts";

const SCOPES = { resource: { scopes: { "mcp:call": "caller" } } };
const SEVERAL = { config: { endpoints: { mcp: { path: "/mcp" }, other: { path: "/other" } } } };

async function setupProgram(rig: LoginRig = SCOPES): Promise<Program> {
  const program = new Program((await setupLogin(rig)).url);
  await program.register();
  return program;
}

interface Asked {
  readonly login: string | undefined;
  readonly token?: string | undefined;
}

/** From the login to a call at the endpoint, as a program that names resources in its own way. */
async function enter(program: Program, { login, token = login }: Asked): Promise<string> {
  const code = (await program.login({}, { resource: login })).get("code")!;
  const first = await program.redeem(code, { resource: token });
  expect(first.body.error_description).toBeUndefined();
  const next = await program.refresh(first.body.refresh_token!, { resource: token });
  for (const { body } of [first, next])
    expect((await ask(program.endpoint, body.access_token)).status).toBe(200);
  return next.body.access_token!;
}

describe("bugs-rest 7: a program gets in that names as resource", () => {
  it.each<readonly [string, (url: string) => Asked]>([
    ["nothing anywhere", () => ({ login: undefined })],
    ["the origin", (url) => ({ login: url })],
    ["the origin with a slash", (url) => ({ login: `${url}/` })],
    ["the endpoint", (url) => ({ login: `${url}/mcp` })],
    ["the endpoint with a slash", (url) => ({ login: `${url}/mcp/` })],
    ["the endpoint, and later the origin", (url) => ({ login: `${url}/mcp`, token: url })],
    ["the origin, and later the endpoint", (url) => ({ login: url, token: `${url}/mcp/` })],
    ["nothing, and later the origin", (url) => ({ login: undefined, token: `${url}/` })],
  ])("%s", async (_, askedOf) => {
    const program = await setupProgram();
    expect(await enter(program, askedOf(program.url))).toMatch(/^ey/);
  });

  it("the origin, and its token opens the rest of the gateway as well", async () => {
    const program = await setupProgram();
    const token = await enter(program, { login: program.url });
    expect((await ask(`${program.url}/who`, token)).status).toBe(200);
  });

  it("the origin, where another endpoint takes keys only", async () => {
    const program = await setupProgram({ ...SEVERAL, resource: { endpoints: { mcp: {} } } });
    const token = await enter(program, { login: program.url });
    const other = await ask(`${program.url}/other`, token, { method: "POST", body: "{}" });
    expect(other.status).toBe(401);
    expect((await ask(`${program.url}/who`, token)).status).toBe(401);
  });
});

describe("a program does not get in that names as resource", () => {
  it.each([
    ["nothing, where there are several endpoints", SEVERAL, () => undefined],
    ["dot segments", SCOPES, (url: string) => `${url}/x/../mcp`],
    ["encoded dot segments", SCOPES, (url: string) => `${url}/x/%2e%2e/mcp`],
    ["a backslash", SCOPES, (url: string) => `${url}\\mcp`],
    ["another path", SCOPES, (url: string) => `${url}/other`],
    ["two slashes", SCOPES, (url: string) => `${url}/mcp//`],
    ["a query", SCOPES, (url: string) => `${url}/mcp?x`],
    ["a fragment", SCOPES, (url: string) => `${url}/mcp#x`],
    ["another host", SCOPES, () => "https://evil.example"],
  ])("%s", async (_, rig, askedOf) => {
    const program = await setupProgram(rig);
    await expect(program.login({}, { resource: askedOf(program.url) })).rejects.toThrow(
      "The parameter resource must be the URL of an endpoint of this gateway.",
    );
  });

  it("the origin, where there are several endpoints: its token is for the rest alone", async () => {
    const program = await setupProgram(SEVERAL);
    const code = (await program.login({}, { resource: program.url })).get("code")!;
    const wrong = await program.redeem(code, { resource: `${program.url}/mcp` });
    expect(wrong.body.error).toBe("invalid_target");
    const again = (await program.login({}, { resource: program.url })).get("code")!;
    const { body } = await program.redeem(again, { resource: program.url });
    expect((await ask(`${program.url}/who`, body.access_token)).status).toBe(200);
    expect((await ask(program.endpoint, body.access_token)).status).toBe(401);
  });
});
