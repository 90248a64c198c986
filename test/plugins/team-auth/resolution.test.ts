import { createHash } from "node:crypto";
import { join } from "node:path";
import { decodeJwt, decodeProtectedHeader, SignJWT, UnsecuredJWT } from "jose";
import { sql } from "kysely";
import { pino } from "pino";
import { createPrincipal, digestOf } from "propylon/kit";
import { describe, expect, it, vi } from "vitest";
import { testPlugin } from "../../../core/testing/index.ts";
import { CLOCK_TOLERANCE_S } from "../../../plugins/keys/index.ts";
import { createKey } from "../../../plugins/keys/key.ts";
import teamAuth, { Libraries } from "../../../plugins/team-auth/index.ts";
import { Accounts } from "../../../plugins/access/index.ts";
import { REASONS } from "../../../plugins/team-auth/refusals.ts";
import sqlite from "../../../plugins/sqlite/index.ts";
import { definePlugin, type Principal } from "../../../core/index.ts";
import { PATIENCE } from "../../fixtures/ci.ts";
import { makeFolder } from "../../kit/folder.ts";
import { ADMIN, KOTTOS } from "./kit.ts";
import {
  createForge,
  fileStore,
  populate,
  reader,
  SECRET_KEY,
  startIssuer,
  turnClaims,
} from "./gateway-kit.ts";

const INVALID = "401 Invalid MCP token.";

describe("what a bearer sees", () => {
  it("T007, T020, T021, T084, T085, T086: an opaque token sees its libraries, in its order", async () => {
    const { issuer, sees } = await startIssuer();
    const { opaque } = await populate(issuer);
    expect(await sees(opaque)).toEqual(["lib-d", "lib-a"]);
  });

  it("T023, T027, T048, T075, T083, T089, T090, T091: a team sees the libraries of its workspaces as they are now", async () => {
    const { issuer, sees } = await startIssuer();
    const { jwt } = await populate(issuer);
    const { teams, libraries } = issuer.directory;
    expect(await sees(jwt)).toEqual(["lib-a", "lib-b"]);
    await teams.setWorkspaces(ADMIN, KOTTOS, ["ws-2", "ws-none"]);
    expect(await sees(jwt)).toEqual(["lib-c"]);
    await libraries.create(ADMIN, { uid: "lib-n", workspaceId: "ws-none" });
    expect(await sees(jwt)).toEqual(["lib-c", "lib-n"]);
    await libraries.update(ADMIN, "lib-c", { workspaceId: null });
    expect(await sees(jwt)).toEqual(["lib-n"]);
    await libraries.remove(ADMIN, "lib-n");
    expect(await sees(jwt)).toEqual([]);
  });

  it("T028, T039, T087, T092, T101, T166: an empty set is let in and sees nothing", async () => {
    const { issuer, sees } = await startIssuer();
    const { jwt, opaque } = await populate(issuer);
    await issuer.directory.teams.setWorkspaces(ADMIN, KOTTOS, []);
    expect(await sees(jwt)).toEqual([]);
    const { id } = (await issuer.directory.tokens.list())[0]!;
    await issuer.directory.tokens.update(ADMIN, id, { libraries: [] });
    expect(await sees(opaque)).toEqual([]);
  });

  it("T022, T059, T060, T061, T065, T066, T082, T088: a per-turn token sees what stands in it, each once and in order", async () => {
    const { issuer, sees } = await startIssuer();
    const forge = await createForge(issuer, (await populate(issuer)).jwt);
    expect(await sees(await forge(turnClaims()))).toEqual(["lib-b", "lib-a"]);
    expect(await sees(await forge(turnClaims({ libs: [] })))).toEqual([]);
    const idOf = async (claims: object) => {
      const authorization = `Bearer ${await forge(turnClaims({ ...claims }))}`;
      const request = { method: "GET", path: "/sees", remoteAddress: "127.0.0.1" };
      return (await issuer.authenticate({ ...request, headers: { authorization } }))?.id;
    };
    const ids = [
      await idOf({ ws: "ws-1" }),
      await idOf({ ws: "ws-2" }),
      await idOf({ ws: undefined }),
    ];
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^daedalus-chat/);
  });

  it("T022: whatever the form of libs, it never means all of them", async () => {
    const { issuer, sees } = await startIssuer();
    const forge = await createForge(issuer, (await populate(issuer)).jwt);
    for (const libs of [
      undefined,
      null,
      "*",
      "lib-a",
      {},
      true,
      1,
      [1],
      [""],
      ["x".repeat(65)],
      [["lib-a"]],
    ])
      expect(await sees(await forge(turnClaims({ libs })))).toBe(INVALID);
  });

  it("T008, T025, T026: tools read one set, whoever calls; others' principals have none", async () => {
    const { issuer } = await startIssuer();
    const { service: libraries } = issuer;
    const stranger = createPrincipal({
      id: "x",
      kind: "user",
      roles: new Set(["admin"]),
      claims: { libraries: ["lib-a"], credential: { kind: "token", id: "y" } },
    });
    expect(libraries.of(stranger)).toEqual([]);
    expect(libraries.within(undefined, "lib-a")).toBe(false);
    expect(libraries.within([], "lib-a")).toBe(false);
    expect(libraries.within(["lib-a"], "lib-a")).toBe(true);
    expect(Libraries.id).toBe(Accounts.id);
  });

  it("T016: who goes on calling after its request ended sees what it may see then", async () => {
    const kept: Principal[] = [];
    const agent = definePlugin({
      name: "agent",
      setup: (gateway) =>
        gateway.route("GET", "/begin", { access: "caller", mutates: false }, ({ context }) => {
          kept.push(context.principal);
          return "begun";
        }),
    });
    const { issuer, gateway, url } = await startIssuer({}, {}, [agent]);
    const { jwt } = await populate(issuer);
    await fetch(`${url}/begin`, { headers: { authorization: `Bearer ${jwt}` } });
    const [principal] = kept;
    const call = async () =>
      (await gateway.call({ server: "reader", name: "sees", principal })).result?.[
        "structuredContent"
      ];
    expect(await call()).toEqual({ libraries: ["lib-a", "lib-b"] });
    await issuer.directory.teams.setWorkspaces(ADMIN, KOTTOS, ["ws-2"]);
    expect(await call()).toEqual({ libraries: ["lib-c"] });
    await issuer.directory.teams.rotate(ADMIN, KOTTOS);
    await expect(call()).rejects.toMatchObject({ code: "unauthorized" });
  });

  it("T176: two tokens of one user have sets of their own", async () => {
    const { issuer, sees } = await startIssuer();
    const { opaque } = await populate(issuer);
    const input = { user: "ada", name: "phone", libraries: ["lib-b"] };
    const { secret } = (await issuer.directory.tokens.create(ADMIN, input)).value;
    expect(await sees(secret)).toEqual(["lib-b"]);
    expect(await sees(opaque)).toEqual(["lib-d", "lib-a"]);
  });

  it("takes tokens of another system by their hashes, and keys of the config beside", async () => {
    const key = createKey("caller");
    const hash = `sha256:${digestOf(key)}`;
    const { issuer, sees } = await startIssuer(
      {},
      { auth: { keys: { bob: { role: "caller", hash } } } },
    );
    await populate(issuer);
    const old = createHash("sha256").update("old-secret").digest("hex");
    const foreign = { user: "ada", name: "old", hash: old, libraries: ["lib-c"] };
    await issuer.directory.tokens.import(ADMIN, [foreign]);
    expect(await sees("old-secret")).toEqual(["lib-c"]);
    expect(await sees(key)).toEqual([]);
  });
});

describe("refusals", () => {
  it("T093, T099: what nobody knows, and what has another signature, is an invalid token", async () => {
    const { issuer, sees } = await startIssuer();
    const { jwt, opaque } = await populate(issuer);
    const wrong = new SignJWT(decodeJwt(jwt)).setProtectedHeader({
      alg: "HS256",
      kid: decodeProtectedHeader(jwt).kid!,
    });
    const bearers = [
      "nobody-knows-it",
      opaque.slice(0, -1),
      `${opaque}x`,
      `${jwt}x`,
      await wrong.sign(new Uint8Array(32)),
      new UnsecuredJWT(decodeJwt(jwt)).encode(),
      await new SignJWT({}).setProtectedHeader({ alg: "HS256" }).sign(new Uint8Array(32)),
      "a.b.c",
      "..",
      `${jwt.split(".")[0]}..`,
    ];
    for (const bearer of bearers) expect(await sees(bearer)).toBe(INVALID);
  });

  it("T094: a token has expired 30 s after its end", async () => {
    const { issuer, sees } = await startIssuer();
    const forge = await createForge(issuer, (await populate(issuer)).jwt);
    const now = Math.floor(Date.now() / 1_000);
    const at = (exp: number) => forge(turnClaims({ iat: now - 500, exp }));
    expect(await sees(await at(now - 20))).toEqual(["lib-b", "lib-a"]);
    expect(await sees(await at(now - 31))).toBe("401 Token has expired.");
  });

  it("T024, T076, T095, T160: two issuers are accepted, each for its kind, and per-turn tokens can be switched off", async () => {
    const { issuer, sees } = await startIssuer();
    const { jwt } = await populate(issuer);
    const forge = await createForge(issuer, jwt);
    for (const iss of ["evil", undefined, 7, ["daedalus"]])
      expect(await sees(await forge(turnClaims({ iss })))).toBe("401 Invalid token issuer.");
    expect(await sees(await forge(turnClaims({ iss: "mnemosyne" })))).toBe(INVALID);
    expect(await sees(await forge({ ...decodeJwt(jwt), iss: "daedalus" }))).toBe(INVALID);
    const off = await startIssuer({ perTurn: { enabled: false } });
    const left = await populate(off.issuer);
    const forgeThere = await createForge(off.issuer, left.jwt);
    expect(await off.sees(await forgeThere(turnClaims()))).toBe("401 Invalid token issuer.");
    expect(await off.sees(left.jwt)).toEqual(["lib-a", "lib-b"]);
    expect(await off.sees(left.opaque)).toEqual(["lib-d", "lib-a"]);
  });

  it("T062, T063, T064, T077, T163: required claims are required, and a turn lasts ten minutes", async () => {
    const { issuer, sees } = await startIssuer();
    const { jwt } = await populate(issuer);
    const forge = await createForge(issuer, jwt);
    const { iat, exp } = turnClaims() as { iat: number; exp: number };
    const wrong = [
      { sub: undefined },
      { sub: "" },
      { jti: undefined },
      { jti: "x".repeat(201) },
      { iat: undefined },
      { iat: iat + 3_600 },
      { exp: undefined },
      { exp: `${exp}` },
      { iat, exp: exp + 1 },
      { typ: "other" },
      { ws: 7 },
      { nbf: iat + 3_600 },
    ];
    for (const claims of wrong) expect(await sees(await forge(turnClaims(claims)))).toBe(INVALID);
    for (const sub of ["team:", KOTTOS, "team:x", `team:${KOTTOS}x`, 7, undefined])
      expect(await sees(await forge({ ...decodeJwt(jwt), sub }))).toBe(INVALID);
  });

  it("T060, T069: aud is looked at when it is enforced", async () => {
    const { issuer, sees } = await startIssuer({ enforceAudience: true });
    const { jwt } = await populate(issuer);
    const forge = await createForge(issuer, jwt);
    expect(await sees(jwt)).toEqual(["lib-a", "lib-b"]);
    expect(await sees(await forge(turnClaims()))).toBe("401 Invalid token audience.");
    const aud = ["other", "mnemosyne"];
    expect(await sees(await forge(turnClaims({ aud })))).toEqual(["lib-b", "lib-a"]);
  });

  it("T044, T081, T096, T097, T098, T110, T116, T167, T168: a team that is gone, off or rotated", async () => {
    const { issuer, sees } = await startIssuer();
    const { jwt } = await populate(issuer);
    const forge = await createForge(issuer, jwt);
    const { teams } = issuer.directory;
    const other = "a3f10000-0000-4000-8000-00000000000b";
    expect(await sees(await forge({ ...decodeJwt(jwt), sub: `team:${other}` }))).toBe(INVALID);
    const { value } = await teams.rotate(ADMIN, KOTTOS);
    expect(await sees(jwt)).toBe(INVALID);
    expect(await sees(value.jwt)).toEqual(["lib-a", "lib-b"]);
    await teams.deactivate(ADMIN, KOTTOS);
    expect(await sees(value.jwt)).toBe("401 Token has been deactivated.");
    expect(await sees(jwt)).toBe("401 Token has been deactivated.");
    await teams.reactivate(ADMIN, KOTTOS);
    expect(await sees(value.jwt)).toEqual(["lib-a", "lib-b"]);
  });

  it("T085, T100, T162: a token that is off or ended, and one of a user who is off", async () => {
    const { issuer, sees } = await startIssuer();
    const { opaque } = await populate(issuer);
    const { tokens, users } = issuer.directory;
    const { id } = (await tokens.list())[0]!;
    await users.update(ADMIN, "ada", { active: false });
    expect(await sees(opaque)).toBe("401 User account is disabled.");
    await users.update(ADMIN, "ada", { active: true });
    await tokens.update(ADMIN, id, { expiresAt: new Date(Date.now() - 1).toISOString() });
    expect(await sees(opaque)).toBe(INVALID);
    await tokens.update(ADMIN, id, { expiresAt: new Date(Date.now() + 60_000).toISOString() });
    expect(await sees(opaque)).toEqual(["lib-d", "lib-a"]);
    await tokens.revoke(ADMIN, id);
    expect(await sees(opaque)).toBe(INVALID);
  });

  it("T085: what is open on a token ends with it, so its principal has its end", async () => {
    const until = definePlugin({
      name: "until",
      setup: (gateway) =>
        gateway.route("GET", "/until", { access: "caller", mutates: false }, ({ context }) => ({
          until: context.principal.expiresAt ?? null,
        })),
    });
    const { issuer, url } = await startIssuer({}, {}, [until]);
    const { jwt, opaque } = await populate(issuer);
    const untilOf = async (bearer: string): Promise<unknown> => {
      const reply = await fetch(`${url}/until`, { headers: { authorization: `Bearer ${bearer}` } });
      return ((await reply.json()) as { until: unknown }).until;
    };
    expect(await untilOf(opaque)).toBeNull();
    const { tokens } = issuer.directory;
    const end = Math.floor(Date.now() / 1_000) * 1_000 + 60_000;
    await tokens.update(ADMIN, (await tokens.list())[0]!.id, {
      expiresAt: new Date(end).toISOString(),
    });
    expect(await untilOf(opaque)).toBe(end);
    expect(await untilOf(jwt)).toBe((decodeJwt(jwt).exp! + CLOCK_TOLERANCE_S) * 1_000);
    const turn = turnClaims();
    const forge = await createForge(issuer, jwt);
    expect(await untilOf(await forge(turn))).toBe(
      ((turn["exp"] as number) + CLOCK_TOLERANCE_S) * 1_000,
    );
  });

  it("T085: a token counts until the very millisecond of its end", async () => {
    const { issuer, sees } = await startIssuer();
    const { opaque } = await populate(issuer);
    const { tokens } = issuer.directory;
    const end = Math.floor(Date.now() / 1_000) * 1_000 + 60_000;
    const expiresAt = new Date(end).toISOString();
    await tokens.update(ADMIN, (await tokens.list())[0]!.id, { expiresAt });
    const seenAt = async (now: number): Promise<unknown> => {
      const clock = vi.spyOn(Date, "now").mockReturnValue(now);
      try {
        return await sees(opaque);
      } finally {
        clock.mockRestore();
      }
    };
    expect(await seenAt(end - 1)).toEqual(["lib-d", "lib-a"]);
    expect(await seenAt(end)).toBe(INVALID);
  });

  it("T050, T165, T169: retiring a key ends every token that it signed", async () => {
    const { issuer, sees } = await startIssuer();
    const { jwt } = await populate(issuer);
    const { keys, teams } = issuer.directory;
    await keys.create(ADMIN);
    expect(await sees(jwt)).toEqual(["lib-a", "lib-b"]);
    await keys.retire(ADMIN, decodeProtectedHeader(jwt).kid!);
    expect(await sees(jwt)).toBe(INVALID);
    const { value } = await teams.rotate(ADMIN, KOTTOS);
    expect(await sees(value.jwt)).toEqual(["lib-a", "lib-b"]);
  });

  it("T078, T079, T080, T161: a per-turn token counts once, a team token always", async () => {
    const { issuer, sees } = await startIssuer();
    const { jwt } = await populate(issuer);
    const forge = await createForge(issuer, jwt);
    const claims = turnClaims();
    const token = await forge(claims);
    expect(await sees(token)).toEqual(["lib-b", "lib-a"]);
    expect(await sees(token)).toBe("401 Token replay detected.");
    expect(await sees(await forge({ ...claims, libs: [] }))).toBe("401 Token replay detected.");
    for (let times = 0; times < 3; times++) expect(await sees(jwt)).toEqual(["lib-a", "lib-b"]);
    const rows = await issuer.directory.db.selectFrom("replay").selectAll().execute();
    const until = new Date(((claims["exp"] as number) + 30) * 1_000).toISOString();
    expect(rows).toEqual([{ jti: claims["jti"], expires_at: until }]);
  });

  it("T173: each refusal is counted by its reason, from zero, and answered with a challenge", async () => {
    const { issuer, sees, gateway, url } = await startIssuer();
    const { jwt } = await populate(issuer);
    const zero = await (await gateway.manage()).metrics();
    for (const reason of REASONS)
      expect(zero).toContain(`mcp_auth_failures_total{reason="${reason}"} 0`);
    await sees("nobody-knows-it");
    await sees(`${jwt}x`);
    await issuer.directory.teams.rotate(ADMIN, KOTTOS);
    await sees(jwt);
    const page = await (await gateway.manage()).metrics();
    expect(page).toContain('mcp_auth_failures_total{reason="unknown_token"} 1');
    expect(page).toContain('mcp_auth_failures_total{reason="bad_signature"} 1');
    expect(page).toContain('mcp_auth_failures_total{reason="stale_jti"} 1');
    const reply = await fetch(`${url}/sees`, { headers: { authorization: `Bearer ${jwt}` } });
    expect(reply.headers.get("www-authenticate")).toMatch(/^Bearer/);
  });

  it("T175: each resolution is logged with its kind and number, and without the token", async () => {
    const lines: string[] = [];
    const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
    const { setupGateway } = await import("../../../core/testing/index.ts");
    const { Issuer } = await import("../../../plugins/team-auth/bearer/issuer.ts");
    const open = vi.spyOn(Issuer.prototype, "open");
    const options = { secretKeys: [SECRET_KEY], resolutionLog: "info" };
    const { url } = await setupGateway({
      plugins: [[teamAuth, options], reader, sqlite],
      config: { store: fileStore() },
      client: false,
      log,
    });
    const { jwt } = await populate(open.mock.contexts[0] as InstanceType<typeof Issuer>);
    open.mockRestore();
    await fetch(`${url}/sees`, { headers: { authorization: `Bearer ${jwt}` } });
    const resolved = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(resolved).toContainEqual(
      expect.objectContaining({ msg: "resolved", principal: "team", libraries: 2 }),
    );
    expect(lines.join("")).not.toContain(jwt.slice(-20));
  });
});

describe("changes by hand", () => {
  it("are in force within a second, in SQLite", async () => {
    const { issuer, sees } = await startIssuer();
    const { jwt, opaque } = await populate(issuer);
    const { db } = issuer.directory;
    await sql`DELETE FROM ${sql.table("team_workspace")}`.execute(db);
    await sql`UPDATE ${sql.table("user")} SET active = 0`.execute(db);
    await expect.poll(() => sees(jwt), { timeout: PATIENCE * 1_000 }).toEqual([]);
    expect(await sees(opaque)).toBe("401 User account is disabled.");
  });

  it("of a restored backup are read whole", async () => {
    const { issuer, sees } = await startIssuer();
    const { jwt } = await populate(issuer);
    const { db } = issuer.directory;
    await sql`UPDATE ${sql.table("team")} SET active_jti = NULL`.execute(db);
    await sql`DELETE FROM ${sql.table("change")}`.execute(db);
    await sql`UPDATE ${sql.table("meta")} SET value = 2 WHERE name = 'epoch'`.execute(db);
    await expect.poll(() => sees(jwt), { timeout: PATIENCE * 1_000 }).toBe(INVALID);
  });
});

it("publishes the public keys, and signs with them when told to", async () => {
  const { issuer, sees, url } = await startIssuer({ signing: { algorithm: "EdDSA" } });
  const { jwt } = await populate(issuer);
  const { alg, kid } = decodeProtectedHeader(jwt);
  expect(alg).toBe("EdDSA");
  const { keys } = (await (await fetch(`${url}/.well-known/jwks.json`)).json()) as {
    keys: object[];
  };
  expect(keys).toEqual([expect.objectContaining({ kid, kty: "OKP", crv: "Ed25519", use: "sig" })]);
  expect(keys[0]).not.toHaveProperty("d");
  expect(await sees(jwt)).toEqual(["lib-a", "lib-b"]);
  const confused = new SignJWT(decodeJwt(jwt)).setProtectedHeader({ alg: "HS256", kid: kid! });
  const publicKey = new TextEncoder().encode(JSON.stringify(keys[0]));
  expect(await sees(await confused.sign(publicKey))).toBe(INVALID);
});

const folder = makeFolder();

testPlugin(teamAuth, {
  config: { secretKeys: [SECRET_KEY] },
  changed: { secretKeys: [SECRET_KEY], resolutionLog: "info" },
  with: [sqlite],
  gateway: { store: `sqlite:${join(folder, "gateway.db")}` },
});
