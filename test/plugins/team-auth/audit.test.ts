import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  appendAudit,
  hashOf,
  type AuditAnchor,
  type AuditRow,
} from "../../../plugins/team-auth/audit/audit.ts";
import { verifyAudit } from "../../../plugins/team-auth/audit/audit-check.ts";
import { oldestFirst, pruneAudit, readEnds } from "../../../plugins/team-auth/audit/audit-rows.ts";
import { type Database, timestamp } from "../../../plugins/team-auth/tables/tables.ts";
import { PLACES } from "./places.ts";

const DAY = 86_400_000;

function append(db: Database, target: string, at = Date.now()): Promise<AuditAnchor> {
  const entry = { at: timestamp(at), actor: "key:ci", action: "team.rotate", target };
  return db
    .transaction()
    .execute((trx) => appendAudit(trx, { ...entry, correlation: "r-1", details: { grace: 0 } }));
}

async function fill(db: Database, count: number): Promise<AuditRow[]> {
  for (let each = 1; each <= count; each++) await append(db, `team:${each}`);
  return all(db);
}

async function all(db: Database, range = {}): Promise<AuditRow[]> {
  const rows: AuditRow[] = [];
  for await (const row of oldestFirst(db, range)) rows.push(row);
  return rows;
}

/** Puts rows in the place of those there are, as somebody with a database client does. */
async function rewrite(db: Database, rows: readonly AuditRow[]): Promise<void> {
  await db.deleteFrom("audit").execute();
  if (rows.length > 0)
    await db
      .insertInto("audit")
      .values([...rows])
      .execute();
}

/** At once, as one by one they take long. */
async function insertMany(db: Database, count: number): Promise<void> {
  let prev = "0".repeat(64);
  const rows = Array.from({ length: count }, (_, each) => {
    const what = { actor: "a", action: "b", target: `c:${each}`, details: null, correlation: null };
    const row = sealed({ seq: each + 1, at: timestamp(each), ...what, prev, hash: "" });
    prev = row.hash;
    return row;
  });
  for (let at = 0; at < count; at += 100)
    await db
      .insertInto("audit")
      .values(rows.slice(at, at + 100))
      .execute();
  await db
    .updateTable("audit_end")
    .set({ seq: count, hash: prev })
    .where("name", "=", "head")
    .execute();
}

const sealed = (row: AuditRow): AuditRow => ({ ...row, hash: hashOf(row) });

describe.each(PLACES)("the audit in %s", (_name, isHere, createPlace) => {
  it.runIf(isHere)(
    "is a chain of hashes, of which each covers its row and the one before",
    async () => {
      const db = await (await createPlace())();
      const rows = await fill(db, 3);
      expect(rows.map(({ seq }) => seq)).toEqual([1, 2, 3]);
      expect(rows[0]).toMatchObject({
        actor: "key:ci",
        action: "team.rotate",
        target: "team:1",
        details: '{"grace":0}',
        correlation: "r-1",
        prev: "0".repeat(64),
      });
      expect(rows.map(({ prev }) => prev).slice(1)).toEqual(
        rows.map(({ hash }) => hash).slice(0, -1),
      );
      expect(rows.map(hashOf)).toEqual(rows.map(({ hash }) => hash));
      expect(await verifyAudit(db)).toEqual({
        ok: true,
        rows: 3,
        head: { seq: 3, hash: rows[2]!.hash },
      });
    },
  );

  it.runIf(isHere)(
    "has every row of writers at once, and none of what was undone",
    async () => {
      const open = await createPlace();
      const all3 = await Promise.all([open(), open(), open()]);
      const writes = all3.flatMap((db, gateway) =>
        Array.from({ length: 20 }, async (_, each) => {
          if (each % 5 > 0) return append(db, `team:${gateway}-${each}`);
          const undone = db.transaction().execute(async (trx) => {
            await appendAudit(trx, { at: timestamp(), actor: "a", action: "b", target: "undone" });
            throw new Error("The change failed.");
          });
          return expect(undone).rejects.toThrow("The change failed.");
        }),
      );
      await Promise.all(writes);
      const rows = await all(all3[0]);
      expect(rows).toHaveLength(48);
      expect(new Set(rows.map(({ target }) => target)).size).toBe(48);
      expect(rows.some(({ target }) => target === "undone")).toBe(false);
      expect(await verifyAudit(all3[1])).toMatchObject({ ok: true, rows: 48 });
    },
    60_000,
  );

  it.runIf(isHere)("names the first row that was changed, deleted, moved or added", async () => {
    const db = await (await createPlace())();
    const rows = await fill(db, 8);
    const change = (seq: number, to: Partial<AuditRow>, seal = (row: AuditRow) => row) =>
      rows.map((row) => (row.seq === seq ? seal({ ...row, ...to }) : row));
    const cases: readonly [rows: readonly AuditRow[], seq: number, problem: string][] = [
      [change(4, { actor: "key:other" }), 4, "changed"],
      [change(4, { details: null }), 4, "changed"],
      [change(4, { at: timestamp(0) }, sealed), 4, "changed"],
      [change(4, { prev: rows[0]!.hash }, sealed), 4, "changed"],
      [change(8, { target: "team:9" }, sealed), 8, "changed"],
      [change(1, { correlation: "r-2" }), 1, "changed"],
      [change(1, { prev: rows[3]!.hash }, sealed), 1, "changed"],
      [rows.filter(({ seq }) => seq !== 4), 4, "missing"],
      [rows.filter(({ seq }) => seq > 3), 1, "missing"],
      [rows.filter(({ seq }) => seq < 6), 6, "cut off"],
      [[], 1, "cut off"],
      [
        rows.map((row) => ({ ...row, seq: row.seq === 3 ? 5 : row.seq === 5 ? 3 : row.seq })),
        3,
        "changed",
      ],
      [[...rows, sealed({ ...rows[0]!, seq: 9, prev: rows[7]!.hash })], 9, "added"],
      [change(7, { actor: "x" }).filter(({ seq }) => seq !== 2), 2, "missing"],
    ];
    for (const [others, seq, problem] of cases) {
      await rewrite(db, others);
      expect(await verifyAudit(db)).toEqual({ ok: false, seq, problem });
    }
    await rewrite(db, rows);
    expect(await verifyAudit(db)).toMatchObject({ ok: true, rows: 8 });
  });

  it.runIf(isHere)("made anew as a whole is told by a row that somebody wrote down", async () => {
    const db = await (await createPlace())();
    const rows = await fill(db, 6);
    const known = { seq: 4, hash: rows[3]!.hash };
    expect(await verifyAudit(db, known)).toMatchObject({ ok: true });
    await db.deleteFrom("audit").execute();
    await db
      .updateTable("audit_end")
      .set({ seq: 0, hash: "0".repeat(64) })
      .execute();
    await fill(db, 3);
    expect(await verifyAudit(db)).toMatchObject({ ok: true });
    expect(await verifyAudit(db, known)).toEqual({ ok: false, seq: 4, problem: "cut off" });
    await fill(db, 3);
    await append(db, "team:other");
    expect(await verifyAudit(db, known)).toMatchObject({ ok: false, seq: 4, problem: "rewritten" });
  });

  it.runIf(isHere)("has no end where somebody removed the row that says it", async () => {
    const db = await (await createPlace())();
    await fill(db, 2);
    expect(await readEnds(db)).toMatchObject({ head: { seq: 2 }, base: { seq: 0 }, last: 2 });
    await db.deleteFrom("audit_end").where("name", "=", "base").execute();
    const { head, base } = await readEnds(db);
    expect([head.seq, base]).toEqual([2, { seq: 0, hash: "" }]);
  });

  it.runIf(isHere)("stays verifiable after old rows went, and says that they went", async () => {
    const db = await (await createPlace())();
    const now = Date.now();
    const ages = [95, 93, 10, 92, 5];
    for (const age of ages) await append(db, `age:${age}`, now - age * DAY);
    const [, second] = await all(db);
    expect(await pruneAudit(db, 90 * DAY)).toBe(2);
    const rows = await all(db);
    expect(rows.map(({ seq, action }) => `${seq} ${action}`)).toEqual([
      "3 team.rotate",
      "4 team.rotate",
      "5 team.rotate",
      "6 audit.prune",
    ]);
    expect(rows.at(-1)).toMatchObject({ target: "audit:2", actor: "retention" });
    expect(await verifyAudit(db)).toMatchObject({ ok: true, rows: 4 });
    expect(await verifyAudit(db, second)).toMatchObject({ ok: true });
    await expect(verifyAudit(db, { seq: 1, hash: "" })).rejects.toMatchObject({
      code: "not_found",
    });
    expect(await pruneAudit(db, 90 * DAY)).toBe(0);
    await rewrite(db, rows.slice(1));
    expect(await verifyAudit(db)).toEqual({ ok: false, seq: 3, problem: "missing" });
    await rewrite(db, rows);
    expect(await pruneAudit(db, 0, now + DAY)).toBe(4);
    expect(await verifyAudit(db)).toMatchObject({ ok: true, rows: 1 });
  });

  it.runIf(isHere)("is read in pages, in part or as a whole", async () => {
    const db = await (await createPlace())();
    await insertMany(db, 2_100);
    expect(await verifyAudit(db)).toMatchObject({ ok: true, rows: 2_100 });
    expect(await all(db)).toHaveLength(2_100);
    const some = await all(db, { after: 1_050, limit: 3 });
    expect(some.map(({ seq }) => seq)).toEqual([1_051, 1_052, 1_053]);
    expect(await all(db, { since: timestamp(2_099) })).toHaveLength(1);
    expect(await all(db, { limit: 1_500 })).toHaveLength(1_500);
  });
});

it("tells any row from any other by its hash", () => {
  const text = fc.oneof(fc.constantFrom("", "a", '","', "null", "a\u0000"), fc.string());
  const row = fc.record({
    seq: fc.nat(3),
    at: text,
    actor: text,
    action: text,
    target: text,
    details: fc.option(text),
    correlation: fc.option(text),
    prev: text,
  });
  fc.assert(
    fc.property(row, row, (left, right) => {
      const isSame = JSON.stringify(left) === JSON.stringify(right);
      expect(hashOf(left) === hashOf(right)).toBe(isSame);
    }),
  );
});
