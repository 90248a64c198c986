import { collectWarnings } from "../../../core/gateway/management/warnings.ts";
import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { definePlugin, type GatewayConfigInput } from "../../../core/index.ts";
import { Authenticators } from "propylon/kit";
import { setupGateway, type PluginEntry } from "../../../core/testing/index.ts";
import access from "../../../plugins/access/index.ts";
import sqlite from "../../../plugins/sqlite/index.ts";
import teamAuth from "../../../plugins/team-auth/index.ts";
import { ScriptedIssuer } from "../../fixtures/issuer.ts";
import { setupLogin } from "../oauth/kit.ts";
import { Program } from "../oauth/attempt.ts";
import { fileStore } from "../team-auth/gateway-kit.ts";
import { ask, openSession, setupRig, who } from "./kit.ts";

const SECRET = "a secret of at least 32 characters";

/** A token for auth.jwt, whose signer may put anything into `sub`. */
function sign(sub: string, iss = "own"): Promise<string> {
  return new SignJWT({ sub, iss, role: "caller" })
    .setProtectedHeader({ alg: "HS256" })
    .setExpirationTime("1m")
    .sign(new TextEncoder().encode(SECRET));
}

const jwt = { secret: SECRET, issuer: "own" };

/** Lets people of a directory in, under plain names. */
const directory = definePlugin({
  name: "directory",
  setup: (gateway) =>
    gateway.add(Authenticators, {
      name: "directory",
      authenticate: ({ headers: { authorization } }) =>
        authorization === "Bearer the-token-of-ada"
          ? { id: "ada", kind: "user", roles: new Set(["caller"]) }
          : undefined,
    }),
});

async function refOf(url: string, token: string): Promise<string | number> {
  const { status, body } = await ask(`${url}/who`, token);
  return body.ref ?? status;
}

describe("attacks S2-2: the signer of auth.jwt names nobody but people of its own", () => {
  it("beside an issuer of oauth-resource, whatever sub it writes", async () => {
    const rig = await setupRig({ config: { auth: { jwt } } });
    const victim = await rig.sign({ aud: rig.url, sub: "ada" });
    expect(await refOf(rig.url, victim)).toBe("user:corp:ada");
    for (const sub of ["ada", "corp:ada", "jwt:ada", "jwt:corp:ada"])
      expect(await refOf(rig.url, await sign(sub))).toBe(`user:jwt:${sub}`);
  });

  it("beside one whose people keep their plain names, and these cannot look like its own", async () => {
    const issuer = await ScriptedIssuer.start();
    const { url } = await setupRig({
      issuer,
      config: { auth: { jwt } },
      options: { issuers: { corp: { issuer: issuer.url, qualify: false } } },
    });
    expect(await refOf(url, await issuer.sign({ aud: url, sub: "ada" }))).toBe("user:ada");
    expect(await refOf(url, await sign("ada"))).toBe("user:jwt:ada");
    expect(await refOf(url, await issuer.sign({ aud: url, sub: "jwt:ada" }))).toBe(401);
  });

  it("beside the gateway's own authorization server", async () => {
    const { url } = await setupLogin({ config: { auth: { jwt } } });
    const program = new Program(url);
    await program.register();
    const code = (await program.login({}, { resource: url })).get("code")!;
    const { body } = await program.redeem(code, { resource: url });
    const person = String(await refOf(url, body.access_token!));
    expect(person).toMatch(/^user:login:/);
    expect(await refOf(url, await sign(person.slice("user:".length)))).toBe(
      person.replace("user:", "user:jwt:"),
    );
  });

  it("beside users of team-auth", async () => {
    const { url } = await setupGateway({
      plugins: [who, sqlite, [teamAuth, { secretKeys: ["k".repeat(32)] }]],
      config: { store: fileStore(), auth: { jwt } },
      client: false,
    });
    expect(await refOf(url, await sign("ada"))).toBe("user:jwt:ada");
  });

  it("beside people of any other plugin", async () => {
    const { url } = await setupGateway({
      plugins: [who, directory],
      config: { auth: { jwt } },
      client: false,
    });
    expect(await refOf(url, "the-token-of-ada")).toBe("user:ada");
    expect(await refOf(url, await sign("ada"))).toBe("user:jwt:ada");
  });
});

describe("the people of auth.jwt", () => {
  it("keep their plain names where nobody else names people, keys or no keys", async () => {
    const config: GatewayConfigInput = { auth: { jwt, apiKey: "the-key-of-this-gateway" } };
    const { url } = await setupGateway({ plugins: [who], config, client: false });
    expect(await refOf(url, await sign("ada"))).toBe("user:ada");
  });

  it("may have their full names from the start", async () => {
    const config: GatewayConfigInput = { auth: { jwt: { ...jwt, qualify: true } } };
    const { url } = await setupGateway({ plugins: [who], config, client: false });
    expect(await refOf(url, await sign("ada"))).toBe("user:jwt:ada");
  });

  it("cannot keep their plain names beside others: the gateway does not start", async () => {
    const config: GatewayConfigInput = { auth: { jwt: { ...jwt, qualify: false } } };
    const { url } = await setupGateway({ plugins: [who], config, client: false });
    expect(await refOf(url, await sign("ada"))).toBe("user:ada");
    await expect(
      setupGateway({ plugins: [who, directory], config, client: false }),
    ).rejects.toThrow("auth.jwt has qualify: false beside directory");
  });

  it("are not kept out by a rule with a plain name, which the start tells", async () => {
    const warningsOf = async (names: string[]): Promise<string[]> => {
      const { gateway } = await setupGateway({
        plugins: [access, directory],
        config: { auth: { jwt }, access: [{ deny: "*", for: { user: names } }, { allow: "*" }] },
        client: false,
      });
      return collectWarnings(gateway).map(({ message }) => message);
    };
    const words =
      'access: a rule keeps out the user "ada"; by a token of auth.jwt this person is "jwt:ada".';
    expect(await warningsOf(["ada"])).toContain(words);
    expect(await warningsOf(["ada", "jwt:ada"])).not.toContain(words);
  });

  it("lose what they opened under a plain name, when a reload gives them full ones", async () => {
    const config = { listeners: { main: { port: 0 } }, plugins: { who: {} } };
    const { gateway, url } = await setupGateway({
      plugins: [who],
      config: { ...config, auth: { jwt } },
      client: false,
    });
    const token = await sign("ada");
    const session = await openSession(`${url}/mcp`, token);
    await gateway.apply({ ...config, auth: { jwt: { ...jwt, qualify: true } } });
    const { status } = await ask(`${url}/mcp`, token, {
      method: "POST",
      headers: { "mcp-session-id": session },
      body: JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/list" }),
    });
    expect(status).toBe(404);
    expect(await refOf(url, token)).toBe("user:jwt:ada");
  });

  it("have a name that no issuer can take", async () => {
    const issuer = await ScriptedIssuer.start();
    const options = { issuers: { jwt: { issuer: issuer.url } } };
    await expect(setupRig({ issuer, options })).rejects.toThrow("jwt");
    await expect(setupLogin({ options: { name: "jwt" } })).rejects.toThrow("jwt");
  });
});

describe("the people of one issuer of oauth-resource", () => {
  it("have their full names beside people of any other plugin", async () => {
    const plugins: PluginEntry[] = [directory];
    const { url, sign: signOf } = await setupRig({ plugins });
    expect(await refOf(url, "the-token-of-ada")).toBe("user:ada");
    expect(await refOf(url, await signOf({ aud: url, sub: "ada" }))).toBe("user:corp:ada");
  });
});
