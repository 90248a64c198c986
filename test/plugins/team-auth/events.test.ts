import { digestOf } from "propylon/kit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createKey } from "../../../plugins/keys/key.ts";
import { freePort } from "../../../core/testing/index.ts";
import events from "../../../plugins/events/index.ts";
import postgres from "../../../plugins/postgres/index.ts";
import { startPostgres } from "../../fixtures/postgres/postgres.mjs";
import type { PostgresServer } from "../../fixtures/postgres/types.ts";
import { readSse, type Reader } from "../events/readers.ts";
import { freshSchema, hasPostgres, requirePostgres } from "../postgres/kit.ts";
import { populate, startIssuer } from "./gateway-kit.ts";
import { ADMIN, KOTTOS } from "./kit.ts";

let server: PostgresServer | undefined;
beforeAll(async () => {
  if (hasPostgres) server = await startPostgres(await freePort());
});
afterAll(() => server?.stop());

const ROLES = ["viewer", "operator", "admin"] as const;
const KEYS = Object.fromEntries(ROLES.map((role) => [role, createKey(role)]));
const auth = {
  keys: Object.fromEntries(
    ROLES.map((role) => [role, { role, hash: `sha256:${digestOf(KEYS[role]!)}` as const }]),
  ),
};
const follow = (url: string, role: string): Promise<Reader> =>
  readSse(url, { headers: { authorization: `Bearer ${KEYS[role]}` } });

/** What was done, as the audit names it. */
const actionsOf = (reader: Reader, kind: string) =>
  reader.told(kind).map(({ action }) => action as string);

/** Waits until the last row of `populate` is told. */
async function toldOfAll(reader: Reader): Promise<void> {
  await expect.poll(() => actionsOf(reader, "audit").at(-1)).toBe("token.create");
}

it("who may read the audit hears of each row, admins of teams, and nobody else of either", async () => {
  const { url, issuer } = await startIssuer({}, { auth }, [events]);
  const early = await follow(url, "admin");
  const { jwt, opaque } = await populate(issuer);
  await toldOfAll(early);
  const readers = await Promise.all(ROLES.map((role) => follow(url, role)));
  const { teams, tokens } = issuer.directory;
  await teams.rotate(ADMIN, KOTTOS);
  await teams.setWorkspaces(ADMIN, KOTTOS, ["ws-2"]);
  const made = await tokens.create(ADMIN, { user: "ada", name: "desk", libraries: ["lib-a"] });
  const [viewer, operator, admin] = readers as [Reader, Reader, Reader];
  for (const reader of [operator, admin])
    await expect
      .poll(() => actionsOf(reader, "audit"))
      .toEqual(["team.rotate", "team.workspaces", "token.create"]);
  expect(actionsOf(admin, "team")).toEqual(["team.rotate", "team.workspaces"]);
  expect(admin.told("team")[0]).toEqual({
    at: expect.any(String),
    seq: expect.any(Number),
    team: KOTTOS,
    action: "team.rotate",
  });
  expect(operator.told("team")).toEqual([]);
  expect(operator.told("audit")[2]).toEqual({
    at: expect.any(String),
    seq: expect.any(Number),
    actor: ADMIN.actor,
    action: "token.create",
    target: `token:${made.value.token.id}`,
  });
  expect([...viewer.told("audit"), ...viewer.told("team")]).toEqual([]);
  const all = JSON.stringify(readers.map((reader) => reader.events));
  for (const secret of [jwt, opaque, made.value.secret]) expect(all).not.toContain(secret);
});

it("a change at one gateway is told at each of the database, every row once and in order", async () => {
  requirePostgres();
  const more = [events, [postgres, { schema: freshSchema() }]] as const;
  const config = { store: server!.url, auth };
  const first = await startIssuer({}, config, more);
  const second = await startIssuer({}, config, more);
  const early = [await follow(first.url, "admin"), await follow(second.url, "admin")];
  await populate(first.issuer);
  for (const reader of early) await toldOfAll(reader);
  const readers = [await follow(first.url, "admin"), await follow(second.url, "admin")];
  for (let round = 0; round < 10; round++)
    await (round % 2 ? first : second).issuer.directory.users.create(ADMIN, { id: `u${round}` });
  const wanted = Array.from({ length: 10 }, (_, round) => `user:u${round}`);
  for (const reader of readers) {
    await expect.poll(() => reader.told("audit").map(({ target }) => target)).toEqual(wanted);
    const rows = reader.told("audit").map(({ seq }) => seq as number);
    expect(rows).toEqual(wanted.map((_, index) => rows[0]! + index));
  }
});
