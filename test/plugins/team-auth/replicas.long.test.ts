import { digestOf } from "propylon/kit";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { sql } from "kysely";
import { freePort } from "../../../core/testing/index.ts";
import { createKey } from "../../../plugins/keys/key.ts";
import postgres from "../../../plugins/postgres/index.ts";
import { PATIENCE } from "../../fixtures/ci.ts";
import { startPostgres } from "../../fixtures/postgres/postgres.mjs";
import type { PostgresServer } from "../../fixtures/postgres/types.ts";
import { freshSchema, hasPostgres, requirePostgres, startServer } from "../postgres/kit.ts";
import {
  createForge,
  populate,
  startIssuer,
  turnClaims,
  type StartedIssuer,
} from "./gateway-kit.ts";
import { ADMIN, KOTTOS } from "./kit.ts";

let server: PostgresServer | undefined;
beforeAll(async () => {
  if (hasPostgres) server = await startPostgres(await freePort());
});
afterAll(() => server?.stop());

const INVALID = "401 Invalid MCP token.";

/** Gateways of one store. */
async function startAll(
  count: number,
  url = server!.url,
  auth = {},
): Promise<readonly [StartedIssuer, ...StartedIssuer[]]> {
  requirePostgres();
  const schema = freshSchema();
  const all: StartedIssuer[] = [];
  for (let left = count; left > 0; left--)
    all.push(await startIssuer({}, { store: url, auth }, [[postgres, { schema }]]));
  return all as [StartedIssuer, ...StartedIssuer[]];
}

describe("several gateways of one database", () => {
  it("T016, T165, T168: what is answered is in force on each of them", async () => {
    const [first, ...others] = await startAll(3);
    let { jwt } = await populate(first.issuer);
    const all = [first, ...others];
    for (const { sees } of all) expect(await sees(jwt)).toEqual(["lib-a", "lib-b"]);
    for (let round = 0; round < 12; round++) {
      const { directory } = all[round % 3]!.issuer;
      const before = jwt;
      ({ jwt } = (await directory.teams.rotate(ADMIN, KOTTOS)).value);
      const answers = await Promise.all(all.flatMap(({ sees }) => [sees(before), sees(jwt)]));
      expect(answers).toEqual([0, 1, 2].flatMap(() => [INVALID, ["lib-a", "lib-b"]]));
      const workspaces = round % 2 === 0 ? ["ws-2"] : ["ws-1"];
      await directory.teams.setWorkspaces(ADMIN, KOTTOS, workspaces);
      const narrowed = await Promise.all(all.map(({ sees }) => sees(jwt)));
      const seen = round % 2 === 0 ? ["lib-c"] : ["lib-a", "lib-b"];
      expect(narrowed).toEqual([seen, seen, seen]);
      if (round % 2 === 0) await directory.teams.setWorkspaces(ADMIN, KOTTOS, ["ws-1"]);
    }
  });

  it("T079: a per-turn token that two of them get at once counts once", async () => {
    const all = await startAll(2);
    const forge = await createForge(all[0].issuer, (await populate(all[0].issuer)).jwt);
    for (let round = 0; round < 10; round++) {
      const token = await forge(turnClaims());
      const answers = await Promise.all([...all, ...all].map(({ sees }) => sees(token)));
      expect(answers.filter((answer) => Array.isArray(answer))).toHaveLength(1);
      expect(answers.filter((answer) => answer === "401 Token replay detected.")).toHaveLength(3);
    }
  });

  it("clocks that differ by more than half a minute are told, and not before", async () => {
    const [{ issuer }] = await startAll(1);
    const now = Date.now.bind(Date);
    let ahead = 40_000;
    const clock = vi.spyOn(Date, "now").mockImplementation(() => now() + ahead);
    onTestFinished(() => clock.mockRestore());
    const message = "The clocks of the gateway and its database are 40 s apart.";
    await expect.poll(() => issuer.check()).toMatchObject({ message });
    ahead = 10_000;
    await expect.poll(() => issuer.check()).toBeUndefined();
  });

  it("one that was shut down holds nobody up", async () => {
    const [first, second] = await startAll(2);
    const { jwt } = await populate(first.issuer);
    await second!.gateway.close({ grace: 0 });
    const begin = performance.now();
    await first.issuer.directory.teams.rotate(ADMIN, KOTTOS);
    expect(performance.now() - begin).toBeLessThan(PATIENCE * 1_500);
    expect(await first.sees(jwt)).toBe(INVALID);
  });

  it("a change by hand is in force within a second on each of them, also with another search path", async () => {
    const [first, second] = await startAll(2);
    const { jwt, opaque } = await populate(first.issuer);
    const { db } = first.issuer.directory;
    await db.transaction().execute(async (trx) => {
      const [{ schema }] = (await sql`SELECT current_schema() AS schema`.execute(trx)).rows as [
        { schema: string },
      ];
      await sql`SET LOCAL search_path = public`.execute(trx);
      const table = (name: string) => sql.raw(`"${schema}"."team_auth__${name}"`);
      await sql`DELETE FROM ${table("team_workspace")}`.execute(trx);
      await sql`UPDATE ${table("token")} SET active = 0`.execute(trx);
    });
    for (const { sees } of [first, second!]) {
      await expect.poll(() => sees(jwt), { timeout: PATIENCE * 1_000 }).toEqual([]);
      expect(await sees(opaque)).toBe(INVALID);
    }
  });

  it("tables that are emptied by hand are read whole", async () => {
    const [first] = await startAll(1);
    const { jwt } = await populate(first.issuer);
    await sql`TRUNCATE ${sql.table("team_workspace")}`.execute(first.issuer.directory.db);
    await expect.poll(() => first.sees(jwt), { timeout: PATIENCE * 1_000 }).toEqual([]);
  });
});

describe("while the database is away", () => {
  it("nobody is let in by a memory older than the lease; keys of the config are", async () => {
    const away = await startServer();
    const key = createKey("caller");
    const keys = { bob: { role: "caller", hash: `sha256:${digestOf(key)}` } };
    const [first] = await startAll(1, away.url, { keys });
    const { jwt, opaque } = await populate(first.issuer);
    const forge = await createForge(first.issuer, jwt);
    expect(await first.sees(jwt)).toEqual(["lib-a", "lib-b"]);
    const begin = performance.now();
    await away.kill();
    await expect
      .poll(() => first.sees(jwt), { timeout: PATIENCE * 5_000 })
      .toMatch(/^503 It cannot be checked now/);
    expect(performance.now() - begin).toBeLessThan(PATIENCE * 3_500);
    expect(await first.sees(opaque)).toMatch(/^503/);
    expect(await first.sees(await forge(turnClaims()))).toMatch(/^503/);
    expect(await first.sees(key)).toEqual([]);
    const ready = await fetch(`${first.url}/readyz`);
    expect(ready.status).toBe(503);
    await away.start();
    await expect
      .poll(() => first.sees(jwt), { timeout: PATIENCE * 10_000 })
      .toEqual(["lib-a", "lib-b"]);
  });

  it("the same holds for a database that is there and gives no answer", async () => {
    const away = await startServer();
    const [first] = await startAll(1, away.url);
    const { jwt } = await populate(first.issuer);
    away.freeze();
    await expect.poll(() => first.sees(jwt), { timeout: PATIENCE * 5_000 }).toMatch(/^503/);
    away.thaw();
    await expect
      .poll(() => first.sees(jwt), { timeout: PATIENCE * 10_000 })
      .toEqual(["lib-a", "lib-b"]);
  });
});
