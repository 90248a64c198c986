import { randomUUID } from "node:crypto";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { describe, expect, it } from "vitest";
import {
  makeAccounts,
  type Received,
  type RunningIssuer,
  type Sent,
  startIssuer,
} from "./issuer.ts";

const TEAMS = "/mcp_server/api/teams";
const HELLO = {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "test", version: "1" },
};
const ACCOUNT = "daedalus-service";

interface Console extends RunningIssuer {
  readonly ask: (method: string, path: string, sent?: Sent) => Promise<Received>;
  /** Makes a team, and gives its token. */
  readonly make: (id: string, name?: string) => Promise<string>;
  /** Status of a request with a token that every principal may make. */
  readonly use: (jwt: string) => Promise<Received>;
}

async function startConsole(options: Record<string, unknown> = {}): Promise<Console> {
  const issuer = await startIssuer(options);
  await makeAccounts(issuer, ACCOUNT);
  const ask: Console["ask"] = (method, path, sent) =>
    issuer.send(method, TEAMS + path, { account: ACCOUNT, ...sent });
  const make = async (id: string, name = "Kottos"): Promise<string> =>
    ((await ask("POST", "/", { body: { id, name } })).body as { jwt: string }).jwt;
  const use = (jwt: string): Promise<Received> =>
    issuer.send("POST", "/mcp", {
      bearer: jwt,
      body: { jsonrpc: "2.0", id: 1, method: "initialize", params: HELLO },
      headers: { accept: "application/json, text/event-stream" },
    });
  return { ...issuer, ask, make, use };
}

describe("the interface for consoles", () => {
  it("T103: is for service accounts and admins, by Basic, and for nobody else", async () => {
    const { ask, make, send } = await startConsole();
    const id = randomUUID();
    const jwt = await make(id);
    const routes = [
      ["POST", "/", { id: randomUUID(), name: "x" }],
      ["GET", `/${id}/`],
      ["PUT", `/${id}/workspaces/`, { workspace_ids: [] }],
      ["POST", `/${id}/rotate/`],
      ["DELETE", `/${id}/`],
    ] as const;
    for (const [method, path, body] of routes) {
      const without = await send(method, TEAMS + path, { bearer: null, body });
      expect([method, without.status]).toEqual([method, 401]);
      expect(without.headers.get("www-authenticate")).toBeTruthy();
      const wrong = { headers: { authorization: `Basic ${btoa(`${ACCOUNT}:wrong`)}` }, body };
      expect((await send(method, TEAMS + path, wrong)).status).toBe(401);
      expect((await send(method, TEAMS + path, { bearer: jwt, body })).status).toBe(403);
    }
    expect((await ask("GET", `/${id}/`)).body).toMatchObject({ active: true, workspace_ids: [] });
  });

  it.each(["", "/"])(
    "T102, C40: answers with %j at the end of every path, and redirects nowhere",
    async (end) => {
      const { ask } = await startConsole();
      const id = randomUUID();
      const body = { id, name: "Kottos" };
      expect((await ask("POST", end, { body })).status).toBe(201);
      expect((await ask("GET", `/${id}${end}`)).status).toBe(200);
      const workspaces = { workspace_ids: ["w"] };
      expect((await ask("PUT", `/${id}/workspaces${end}`, { body: workspaces })).status).toBe(200);
      expect((await ask("POST", `/${id}/rotate${end}`)).status).toBe(200);
      expect((await ask("DELETE", `/${id}${end}`)).status).toBe(204);
    },
  );

  it("T104, T105, T106, T164: makes a team and shows its token once", async () => {
    const { ask, send, use, lines } = await startConsole();
    const id = randomUUID();
    const made = await ask("POST", "/", { body: { id, name: "Kottos" } });
    expect(made.status).toBe(201);
    expect(Object.keys(made.body)).toEqual(["id", "name", "jwt"]);
    expect(made.body).toMatchObject({ id, name: "Kottos" });
    expect(made.headers.get("cache-control")).toBe("no-store");
    const { jwt } = made.body as { jwt: string };
    expect(decodeJwt(jwt)).toMatchObject({ iss: "mnemosyne", typ: "team", sub: `team:${id}` });
    const { iat = 0, exp = 0 } = decodeJwt(jwt);
    expect(new Date(exp * 1_000).getFullYear() - new Date(iat * 1_000).getFullYear()).toBe(10);
    expect(decodeProtectedHeader(jwt).alg).toBe("HS256");
    expect((await use(jwt)).status).toBe(200);
    for (const path of [`${TEAMS}/${id}`, `/_meta/team-auth/teams/${id}`, "/_meta/team-auth/audit"])
      expect(JSON.stringify((await send("GET", path)).body)).not.toContain(jwt.slice(-20));
    expect(JSON.stringify(lines)).not.toContain(jwt.slice(-20));
  });

  it("T107, T108, C35, C36: answers for a team that is there with what it is, and without a token", async () => {
    const { ask, make, use } = await startConsole();
    const id = randomUUID();
    const jwt = await make(id, "Kottos");
    const again = await ask("POST", "/", { body: { id: id.toUpperCase(), name: "Other" } });
    expect([again.status, again.body]).toEqual([200, { id, name: "Kottos", active: true }]);
    expect((await use(jwt)).status).toBe(200);
    await ask("DELETE", `/${id}/`);
    const deleted = await ask("POST", "/", { body: { id, name: "Kottos" } });
    expect([deleted.status, deleted.body]).toEqual([200, { id, name: "Kottos", active: false }]);
    expect((await use(jwt)).status).toBe(401);
    const rotated = await ask("POST", `/${id}/rotate/`);
    expect(rotated.status).toBe(200);
    expect((await use(rotated.body.jwt)).body).toMatchObject({
      error: { message: "Token has been deactivated." },
    });
  });

  it("T109, T110: switches a team off and keeps it; its token is refused with the next request", async () => {
    const { ask, make, use } = await startConsole();
    const id = randomUUID();
    const jwt = await make(id);
    expect((await use(jwt)).status).toBe(200);
    expect((await ask("DELETE", `/${id}/`)).status).toBe(204);
    const refused = await use(jwt);
    expect(refused.status).toBe(401);
    expect(refused.body.error.message).toBe("Token has been deactivated.");
    expect((await ask("GET", `/${id}/`)).body).toMatchObject({ id, active: false });
    expect((await ask("DELETE", `/${id}/`)).status).toBe(204);
  });

  it("T111, T112, T113, T114: replaces the workspaces, whether they exist or not", async () => {
    const { ask, make } = await startConsole();
    const id = randomUUID();
    await make(id);
    const put = (...ids: string[]): Promise<Received> =>
      ask("PUT", `/${id}/workspaces/`, { body: { workspace_ids: ids } });
    for (const ids of [["b", "a"], ["b", "a"], ["c"], []]) {
      const answer = await put(...ids);
      expect([answer.status, answer.body]).toEqual([200, { workspace_ids: ids }]);
      const { body } = await ask("GET", `/${id}/`);
      expect(body.workspace_ids).toEqual(ids.toSorted());
    }
    expect((await put("x", "x")).body).toEqual({ workspace_ids: ["x"] });
  });

  it("T115, T116, T117: a new token takes the place of the one before at once", async () => {
    const { ask, make, use } = await startConsole();
    const id = randomUUID();
    const old = await make(id);
    const rotated = await ask("POST", `/${id}/rotate/`);
    expect([rotated.status, Object.keys(rotated.body)]).toEqual([200, ["jwt"]]);
    expect((await use(old)).body.error.message).toBe("Invalid MCP token.");
    expect((await use(rotated.body.jwt)).status).toBe(200);
    expect(decodeJwt(rotated.body.jwt).jti).not.toBe(decodeJwt(old).jti);
  });

  it("T118, T119: shows a team without its token", async () => {
    const { ask, make } = await startConsole();
    const id = randomUUID();
    const jwt = await make(id);
    expect((await ask("GET", `/${id}/`)).body).toEqual({
      id,
      name: "Kottos",
      active: true,
      active_jti: decodeJwt(jwt).jti,
      workspace_ids: [],
    });
  });

  it("answers for what is not there, and for what it cannot read, before it changes anything", async () => {
    const { ask } = await startConsole();
    const id = randomUUID();
    const wrong: readonly [string, string, unknown, number][] = [
      ["GET", `/${id}/`, undefined, 404],
      ["DELETE", `/${id}/`, undefined, 404],
      ["POST", `/${id}/rotate/`, undefined, 404],
      ["PUT", `/${id}/workspaces/`, { workspace_ids: [] }, 404],
      ["GET", "/not-a-uuid/", undefined, 404],
      ["GET", "/%ff/", undefined, 400],
      ["POST", "/", { id: "x", name: "y" }, 422],
      ["POST", "/", { id, name: "" }, 422],
      ["POST", "/", { id, name: "n".repeat(201) }, 422],
      ["POST", "/", { id, name: "a\nb" }, 422],
      ["POST", "/", { id, name: "y", jwt: "z" }, 422],
      ["POST", "/", [], 422],
      ["PUT", `/${id}/workspaces/`, { workspace_ids: ["w".repeat(65)] }, 422],
      ["PUT", `/${id}/workspaces/`, { workspace_ids: Array.from({ length: 1_001 }, String) }, 422],
      ["PUT", `/${id}/workspaces/`, { workspace_ids: "w" }, 422],
      ["PATCH", `/${id}/`, {}, 405],
    ];
    for (const [method, path, body, status] of wrong)
      expect([method, path, (await ask(method, path, { body })).status]).toEqual([
        method,
        path,
        status,
      ]);
    expect((await ask("GET", `/${id}/`)).status).toBe(404);
  });

  it("T174: writes a line for all that happens to a team, with the id of the console's request", async () => {
    const { ask, lines, admin } = await startConsole();
    const id = randomUUID();
    const headers = { "x-request-id": "console-7.1" };
    const body = { id, name: "Kottos" };
    await ask("POST", "/", { body, headers });
    await ask("PUT", `/${id}/workspaces/`, { body: { workspace_ids: ["w"] }, headers });
    await ask("POST", `/${id}/rotate/`, { headers });
    await ask("DELETE", `/${id}/`, { headers: { "x-request-id": "bad\tid" } });
    const told = lines.filter(({ msg }) => String(msg).startsWith("pallas_team_"));
    expect(told.map(({ msg }) => msg)).toEqual([
      "pallas_team_provisioned",
      "pallas_team_workspaces_updated",
      "pallas_team_rotated",
      "pallas_team_deleted",
    ]);
    expect(told.map(({ correlation }) => correlation).slice(0, 3)).toEqual(
      Array(3).fill("console-7.1"),
    );
    expect(told[3]!["correlation"]).toMatch(/^[\da-f-]{36}$/);
    for (const line of told) expect(line).toMatchObject({ team: id, actor: `service:${ACCOUNT}` });
    const { body: audit } = await admin("GET", "/audit");
    const rows = (audit as string)
      .trim()
      .split("\n")
      .map((row) => JSON.parse(row) as Record<string, unknown>);
    const ofTeam = rows.filter(({ target }) => target === `team:${id}`);
    expect(ofTeam.map(({ action, correlation }) => [action, correlation]).slice(0, 3)).toEqual([
      ["team.create", "console-7.1"],
      ["team.workspaces", "console-7.1"],
      ["team.rotate", "console-7.1"],
    ]);
  });
});

describe("an Idempotency-Key", () => {
  it("keeps the status of the first answer and never shows its token again", async () => {
    const { ask, use } = await startConsole();
    const id = randomUUID();
    const sent = { body: { id, name: "Kottos" }, headers: { "idempotency-key": "k-1" } };
    const first = await ask("POST", "/", sent);
    const second = await ask("POST", "/", sent);
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body).toEqual({ id, name: "Kottos", active: true });
    const rotate = { headers: { "idempotency-key": "k-2" } };
    const rotated = await ask("POST", `/${id}/rotate`, rotate);
    const again = await ask("POST", `/${id}/rotate/`, rotate);
    expect([rotated.status, again.status]).toEqual([200, 200]);
    expect(again.body).not.toHaveProperty("jwt");
    expect((await use(rotated.body.jwt)).status).toBe(200);
  });

  it("belongs to one request of one account: others are refused or begin again", async () => {
    const { ask, send } = await startConsole();
    const [id, other] = [randomUUID(), randomUUID()];
    const headers = { "idempotency-key": "k-1" };
    await ask("POST", "/", { body: { id, name: "Kottos" }, headers });
    expect((await ask("POST", "/", { body: { id: other, name: "Kottos" }, headers })).status).toBe(
      422,
    );
    const byAdmin = await send("POST", TEAMS, { body: { id: other, name: "Kottos" }, headers });
    expect([byAdmin.status, typeof byAdmin.body.jwt]).toEqual([201, "string"]);
    for (const key of ["", "k".repeat(256)])
      expect(
        (await ask("POST", "/", { body: { id, name: "x" }, headers: { "idempotency-key": key } }))
          .status,
      ).toBe(422);
    const longest = { "idempotency-key": "k".repeat(255) };
    const made = { id: randomUUID(), name: "y" };
    expect((await ask("POST", "/", { body: made, headers: longest })).status).toBe(201);
  });

  it("of a request that failed is free again", async () => {
    const { ask, make } = await startConsole();
    const id = randomUUID();
    const headers = { "idempotency-key": "k-1" };
    expect((await ask("POST", `/${id}/rotate/`, { headers })).status).toBe(404);
    await make(id);
    expect((await ask("POST", `/${id}/rotate/`, { headers })).body).toHaveProperty("jwt");
  });
});

describe("T178, C39: with teams.ownership", () => {
  it("another account's team answers as one that is not there, whatever is asked of it", async () => {
    const issuer = await startIssuer({ teams: { ownership: true } });
    await makeAccounts(issuer, "a", "b");
    const id = randomUUID();
    const ask = (
      account: string,
      method: string,
      path: string,
      body?: unknown,
    ): Promise<Received> => issuer.send(method, TEAMS + path, { account, body });
    expect((await ask("a", "POST", "/", { id, name: "Kottos" })).status).toBe(201);
    const missing = randomUUID();
    const asked = [
      ["GET", "/"],
      ["DELETE", "/"],
      ["POST", "/rotate/"],
      ["PUT", "/workspaces/", { workspace_ids: ["w"] }],
    ] as const;
    for (const [method, path, body] of asked) {
      const foreign = await ask("b", method, `/${id}${path}`, body);
      const nobodys = await ask("b", method, `/${missing}${path}`, body);
      expect(foreign.status).toBe(404);
      expect(foreign.body).toEqual(nobodys.body);
    }
    expect((await ask("b", "POST", "/", { id, name: "Mine" })).status).toBe(409);
    expect((await ask("a", "GET", `/${id}/`)).body).toMatchObject({
      name: "Kottos",
      workspace_ids: [],
    });
    expect((await issuer.send("GET", `${TEAMS}/${id}`)).status).toBe(200);
  });

  it("off, every account may change every team", async () => {
    const issuer = await startIssuer();
    await makeAccounts(issuer, "a", "b");
    const id = randomUUID();
    await issuer.send("POST", TEAMS, { account: "a", body: { id, name: "Kottos" } });
    expect((await issuer.send("GET", `${TEAMS}/${id}`, { account: "b" })).status).toBe(200);
  });
});

it("mcp_server cannot be the name of a server, which would answer in place of the console's interface", async () => {
  const servers = { mcp_server: { command: "node" } };
  await expect(startIssuer({}, { config: { servers } })).rejects.toThrow(/mcp_server.*reserved/);
});
