import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { PASSWORD, type Received, type RunningIssuer, type Sent, startIssuer } from "./issuer.ts";

interface People extends RunningIssuer {
  /** Tokens of users, by their names. */
  readonly tokens: Readonly<Record<string, string>>;
  /** A request of a user, with a token of the user's that administrates. */
  readonly as: (user: string, method: string, path: string, body?: unknown) => Promise<Received>;
}

/** ada owns lib-a, mia manages it, ray reads it; otto owns lib-b. */
async function startPeople(): Promise<People> {
  const issuer = await startIssuer();
  const { admin } = issuer;
  const tokens: Record<string, string> = {};
  for (const id of ["ada", "mia", "ray", "otto"]) {
    await admin("POST", "/users", { body: { id } });
    const token = { user: id, name: "console", kind: "admin" };
    const { body } = await admin("POST", "/tokens", { body: token });
    tokens[id] = body.secret as string;
  }
  await admin("POST", "/libraries", { body: { uid: "lib-a", owner: "ada", workspace_id: "ws-1" } });
  await admin("POST", "/libraries", { body: { uid: "lib-b", owner: "otto" } });
  for (const [user, role] of [
    ["mia", "manager"],
    ["ray", "reader"],
  ])
    await admin("POST", "/memberships", { body: { user, library: "lib-a", role } });
  const as: People["as"] = (user, method, path, body) =>
    admin(method, path, { bearer: tokens[user]!, body });
  return { ...issuer, tokens, as };
}

const ROLES = (user: string, role: string): string =>
  `/memberships?user=${user}&library=lib-a&role=${role}`;
const grant = (user: string, role: string): object => ({ user, library: "lib-a", role });

describe("the administration of team-auth", () => {
  it("T029, T030, T031: keeps who owns, manages and reads a library, each once", async () => {
    const { admin } = await startPeople();
    await admin("POST", "/memberships", { body: grant("ray", "reader") });
    const { body } = await admin("GET", "/memberships?library=lib-a");
    expect(
      body.memberships.map(({ user, role }: Record<string, string>) => `${user} ${role}`),
    ).toEqual(["ada owner", "mia manager", "ray reader"]);
    expect(body.memberships[0].created_at).toMatch(/^\d{4}-/);
    const wrong = await admin("POST", "/memberships", { body: grant("ray", "boss") });
    expect(wrong.status).toBe(422);
  });

  it("T032: an owner renames, grants, revokes, hands over and deletes", async () => {
    const { as } = await startPeople();
    expect((await as("ada", "PATCH", "/libraries/lib-a", { name: "Docs" })).body.name).toBe("Docs");
    expect((await as("ada", "POST", "/memberships", grant("otto", "owner"))).status).toBe(200);
    expect((await as("ada", "DELETE", ROLES("ada", "owner"))).status).toBe(200);
    expect((await as("ada", "PATCH", "/libraries/lib-a", { name: "Mine" })).status).toBe(404);
    expect((await as("otto", "DELETE", ROLES("otto", "owner"))).status).toBe(422);
    expect((await as("otto", "DELETE", "/libraries/lib-a")).status).toBe(200);
  });

  it("T033, T034: a manager grants readers and nobody else, deletes nothing and removes no owner", async () => {
    const { as } = await startPeople();
    expect((await as("mia", "POST", "/memberships", grant("otto", "reader"))).status).toBe(200);
    expect((await as("mia", "DELETE", ROLES("otto", "reader"))).status).toBe(200);
    for (const role of ["manager", "owner"])
      expect((await as("mia", "POST", "/memberships", grant("otto", role))).status).toBe(403);
    expect((await as("mia", "DELETE", ROLES("ada", "owner"))).status).toBe(403);
    expect((await as("mia", "DELETE", "/libraries/lib-a")).status).toBe(403);
    expect((await as("mia", "PATCH", "/libraries/lib-a", { name: "x" })).status).toBe(403);
  });

  it("T036: a reader grants nothing, and who has no part in a library does not learn that it is there", async () => {
    const { as } = await startPeople();
    expect((await as("ray", "POST", "/memberships", grant("otto", "reader"))).status).toBe(403);
    expect((await as("ray", "GET", "/memberships?library=lib-a")).status).toBe(403);
    const foreign = await as("otto", "POST", "/memberships", grant("otto", "reader"));
    const nobodys = await as("otto", "POST", "/memberships", {
      ...grant("otto", "reader"),
      library: "lib-x",
    });
    expect([foreign.status, nobodys.status]).toEqual([404, 404]);
    expect(foreign.body).toEqual(nobodys.body);
  });

  it("T037, T040, T143: offers and lends to a token what its user owns or manages, and nothing else", async () => {
    const { admin, as } = await startPeople();
    const scopable = async (user: string): Promise<string[]> => {
      const { body } = await admin("GET", `/libraries?scopable=${user}`);
      return (body.libraries as { uid: string }[]).map(({ uid }) => uid);
    };
    expect(await scopable("ada")).toEqual(["lib-a"]);
    expect(await scopable("mia")).toEqual(["lib-a"]);
    expect(await scopable("ray")).toEqual([]);
    for (const user of ["ada", "mia", "ray"]) {
      const body = { user, name: "search", libraries: ["lib-a"] };
      const wanted = user === "ray" ? 403 : 201;
      expect((await admin("POST", "/tokens", { body })).status).toBe(wanted);
      expect((await as(user, "POST", "/tokens", body)).status).toBe(wanted);
    }
    const foreign = { user: "ada", name: "x", libraries: ["lib-a", "lib-b"] };
    expect((await admin("POST", "/tokens", { body: foreign })).status).toBe(403);
    expect((await as("mia", "GET", "/libraries?scopable=ada")).status).toBe(403);
    expect((await as("mia", "GET", "/libraries")).body.libraries).toHaveLength(1);
  });

  it("T144: shows a token once", async () => {
    const { admin, tokens, lines } = await startPeople();
    const secret = tokens["ada"]!;
    expect(secret).toMatch(/^ppt_\w{8}_\w{43}_\w{6}$/);
    const shown = await Promise.all(
      ["/tokens", "/users", "/audit", "/memberships"].map((path) => admin("GET", path)),
    );
    expect(JSON.stringify([shown.map(({ body }) => body as unknown), lines])).not.toContain(
      secret.slice(13),
    );
  });

  it("T176: two tokens of one user see what each was made for", async () => {
    const { admin } = await startPeople();
    await admin("POST", "/memberships", {
      body: { user: "ada", library: "lib-b", role: "manager" },
    });
    const made = await Promise.all(
      ["lib-a", "lib-b"].map((library) =>
        admin("POST", "/tokens", { body: { user: "ada", name: library, libraries: [library] } }),
      ),
    );
    expect(made.map(({ body }) => body.token.libraries as unknown)).toEqual([["lib-a"], ["lib-b"]]);
    const { id } = made[0]!.body.token as { id: string };
    const changed = await admin("PATCH", `/tokens/${id}`, {
      body: { libraries: ["lib-b", "lib-a", "lib-b"] },
    });
    expect(changed.body.libraries).toEqual(["lib-b", "lib-a"]);
  });

  it("is closed to everybody else: teams, other users' affairs, callers without a token of these tables", async () => {
    const { admin, as } = await startPeople();
    const team = await admin("POST", "/teams", { body: { id: randomUUID(), name: "Kottos" } });
    const outsiders: Sent[] = [
      { bearer: null },
      { bearer: "ppl_x" },
      { bearer: team.body.jwt as string },
    ];
    for (const sent of outsiders)
      for (const path of [
        "/users",
        "/tokens",
        "/teams",
        "/keys",
        "/accounts",
        "/audit",
        "/libraries",
      ]) {
        const { status } = await admin("GET", path, sent);
        expect([path, status >= 401 && status <= 403]).toEqual([path, true]);
      }
    for (const path of ["/users", "/teams", "/keys", "/accounts", "/audit", "/tokens?user=mia"])
      expect([path, (await as("ada", "GET", path)).status]).toEqual([path, 403]);
    const { body } = await as("mia", "GET", "/tokens");
    const mine = (body.tokens as { id: string; user: string }[]).map(({ user }) => user);
    expect(mine).toEqual(["mia"]);
    const [{ id }] = body.tokens as [{ id: string }];
    for (const [method, path] of [
      ["GET", ""],
      ["DELETE", ""],
      ["POST", "/replace"],
    ])
      expect((await as("ada", method!, `/tokens/${id}${path}`)).status).toBe(404);
  });
});

describe("the four levers", () => {
  it("T166, T167, T168, T169: each says what it ended, and is in force when it answers", async () => {
    const { admin, send } = await startIssuer();
    const id = randomUUID();
    const made = await admin("POST", "/teams", { body: { id, name: "Kottos" } });
    let { jwt } = made.body as { jwt: string };
    const open = async (): Promise<string> => {
      const hello = await send("POST", "/mcp", {
        bearer: jwt,
        body: { jsonrpc: "2.0", id: 1, method: "initialize", params: HELLO },
        headers: { accept: "application/json, text/event-stream" },
      });
      return String(hello.status);
    };
    expect(await open()).toBe("200");
    const paused = await admin("PUT", `/teams/${id}/workspaces`, { body: { workspace_ids: [] } });
    expect(paused.body.ended).toEqual({ sessions: 0, streams: 0, calls: 0 });
    expect(await open()).toBe("200");
    const rotated = await admin("POST", `/teams/${id}/rotate`);
    expect(rotated.body.ended.sessions).toBe(2);
    expect(await open()).toBe("401");
    ({ jwt } = rotated.body as { jwt: string });
    expect(await open()).toBe("200");
    const deleted = await admin("DELETE", `/teams/${id}`);
    expect(deleted.body.ended.sessions).toBe(1);
    expect(await open()).toBe("401");
    expect((await admin("POST", `/teams/${id}/reactivate`)).body.active).toBe(true);
    expect(await open()).toBe("200");
    const [{ kid }] = (await admin("GET", "/keys")).body.keys as [{ kid: string }];
    const retired = await admin("POST", `/keys/${kid}/retire`);
    expect(retired.body).toMatchObject({ state: "retired", ended: { sessions: 1 } });
    expect(await open()).toBe("401");
    const again = await admin("POST", `/teams/${id}/rotate`);
    ({ jwt } = again.body as { jwt: string });
    expect(await open()).toBe("200");
  });
});

it("a token that is replaced with a grace counts until that is over, and not beyond the next one", async () => {
  const { admin, send } = await startIssuer();
  const path = `/teams/${randomUUID()}`;
  const made = await admin("POST", "/teams", { body: { id: path.slice(7), name: "Kottos" } });
  const use = async ({ body }: Received): Promise<number> => {
    const hello = { jsonrpc: "2.0", id: 1, method: "initialize", params: HELLO };
    const headers = { accept: "application/json, text/event-stream" };
    return (await send("POST", "/mcp", { bearer: body.jwt as string, body: hello, headers }))
      .status;
  };
  const rotate = (grace?: string): Promise<Received> =>
    admin("POST", `${path}/rotate`, { body: { grace } });
  const second = await rotate("1h");
  expect(second.body.ended.sessions).toBe(0);
  expect([await use(made), await use(second)]).toEqual([200, 200]);
  const third = await rotate("800ms");
  expect([await use(made), await use(second), await use(third)]).toEqual([401, 200, 200]);
  await expect.poll(() => use(second)).toBe(401);
  expect(await use(third)).toBe(200);
  expect(await use(await rotate())).toBe(200);
  expect(await use(third)).toBe(401);
  for (const grace of ["25h", "soon", "-1s"]) expect((await rotate(grace)).status).toBe(422);
});

const HELLO = {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "test", version: "1" },
};

describe("keys, accounts and the audit", () => {
  it("T171: a secret of 256 bits is sealed, and shown to admins on demand, which is written down", async () => {
    const { admin } = await startIssuer();
    const { body } = await admin("POST", "/keys", { body: {} });
    expect(JSON.stringify(body)).not.toMatch(/"secret"|[\da-f]{64}/);
    const revealed = await admin("POST", `/keys/${body.kid as string}/reveal`);
    expect(revealed.body.secret).toMatch(/^[\da-f]{64}$/);
    const { body: audit } = await admin("GET", "/audit");
    expect(audit).toContain("key.reveal");
    expect(audit).not.toContain(revealed.body.secret);
    const pair = await admin("POST", "/keys", { body: { alg: "EdDSA" } });
    expect((await admin("POST", `/keys/${pair.body.kid as string}/reveal`)).status).toBe(422);
  });

  it("a service account has a password that is nowhere, and can be switched off", async () => {
    const { admin, send } = await startIssuer();
    const made = await admin("POST", "/accounts", {
      body: { name: "console", password: PASSWORD },
    });
    expect([made.status, made.body.password]).toEqual([201, undefined]);
    const look = (): Promise<Received> =>
      send("GET", `/mcp_server/api/teams/${randomUUID()}`, { account: "console" });
    expect((await look()).status).toBe(404);
    await admin("PATCH", "/accounts/console", { body: { active: false } });
    expect((await look()).status).toBe(401);
    await admin("PATCH", "/accounts/console", { body: { active: true } });
    expect((await look()).status).toBe(404);
    const short = await admin("PATCH", "/accounts/console", { body: { password: "short" } });
    expect(short.status).toBe(422);
    await admin("PATCH", "/accounts/console", { body: { password: `${PASSWORD}!` } });
    expect((await look()).status).toBe(401);
  });

  it("every change is in the audit, whose chain can be checked against a row of before", async () => {
    const { admin } = await startPeople();
    const { body } = await admin("GET", "/audit");
    const rows = (body as string)
      .trim()
      .split("\n")
      .map((row) => JSON.parse(row) as { seq: number; hash: string });
    expect(rows).toHaveLength(12);
    const { seq, hash } = rows[5]!;
    const checked = await admin("GET", `/audit/verify?seq=${seq}&hash=${hash}`);
    expect(checked.body).toMatchObject({ ok: true, rows: 12, head: { seq: 12 } });
    const wrong = await admin("GET", `/audit/verify?seq=${seq}&hash=${"0".repeat(64)}`);
    expect(wrong.body).toEqual({ ok: false, seq, problem: "rewritten" });
    const some = await admin("GET", "/audit?after=10&limit=1");
    expect((some.body as string).trim().split("\n")).toHaveLength(1);
    const last = await admin("GET", "/audit?newest=2");
    const numbers = (last.body as string).trim().split("\n");
    expect(numbers.map((row) => (JSON.parse(row) as { seq: number }).seq)).toEqual([12, 11]);
    for (const query of [
      "limit=0",
      "after=-1",
      "since=yesterday",
      "x=1",
      "newest=0",
      "newest=1001",
      "newest=2&after=1",
    ])
      expect((await admin("GET", `/audit?${query}`)).status).toBe(422);
  });

  it("imported tokens of another system count by their hashes alone", async () => {
    const { admin, send } = await startPeople();
    const secret = "another-system-made-this-token";
    const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(secret));
    const hash = Buffer.from(bytes).toString("hex");
    const token = { user: "ray", name: "old", hash, libraries: ["lib-b"] };
    expect((await admin("POST", "/tokens/import", { body: { tokens: [token] } })).status).toBe(201);
    expect((await send("GET", "/_meta/team-auth/tokens", { bearer: secret })).status).toBe(200);
    expect((await admin("POST", "/tokens/import", { body: { tokens: [token] } })).status).toBe(409);
  });

  it("changes nothing while the gateway is read-only", async () => {
    const { admin, send } = await startIssuer({}, { config: { management: { readOnly: true } } });
    expect((await admin("POST", "/users", { body: { id: "ada" } })).status).toBe(403);
    const body = { id: randomUUID(), name: "Kottos" };
    expect((await send("POST", "/mcp_server/api/teams", { body })).status).toBe(403);
    expect((await admin("GET", "/users")).body.users).toEqual([]);
  });
});
