import { createHash, randomBytes } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { maskGatewayConfig } from "../../../core/config/shown.ts";
import { freePort, setupGateway } from "../../../core/testing/index.ts";
import payloads, { type PayloadStore } from "../../../plugins/payloads/index.ts";
import postgres from "../../../plugins/postgres/index.ts";
import { KeptStore } from "../../fixtures/kept-store.ts";
import { startPostgres } from "../../fixtures/postgres/postgres.mjs";
import type { PostgresServer } from "../../fixtures/postgres/types.ts";
import { KEYS, type S3Server } from "../../fixtures/s3/server.ts";
import { until } from "../../kit/until.ts";
import { freshSchema, hasPostgres, requirePostgres } from "../postgres/kit.ts";
import { bucketOf, startS3 } from "./bucket-kit.ts";
import { get, holder } from "./kit.ts";

/** Payloads that two gateways exchange; 1,000 of up to 50 MB in the campaign. */
const COUNT = Number(process.env["PAYLOADS"] ?? 30);
const LARGEST = Number(process.env["PAYLOAD_BYTES"] ?? 1024 * 1024);

const ANNA = { owner: "anonymous", mimeType: "text/markdown" };
const GZIP = { "accept-encoding": "gzip" };
const LARGE = randomBytes(200_000).toString("hex");

let database: PostgresServer | undefined;
beforeAll(async () => {
  if (hasPostgres) database = await startPostgres(await freePort());
});
afterAll(() => database?.stop());

/** A gateway of a store that several share. */
async function startOne(
  kept: KeptStore,
  options: Record<string, unknown> = {},
  config: object = {},
) {
  const { plugin, store } = holder();
  const { url, gateway } = await setupGateway({
    plugins: [kept.plugin, [payloads, options], plugin],
    config: { store: "kept", ...config },
    client: false,
  });
  return { gateway, store: store(), at: (id: string) => `${url}/api/agents/${id}/payload` };
}

const shared = (): KeptStore => new KeptStore({ shared: true });

async function textOf(store: PayloadStore, id: string): Promise<string | undefined> {
  const gzip = await store.gzip(id);
  return gzip && gunzipSync(gzip).toString();
}

const valuesIn = (kept: KeptStore, name: string) =>
  kept.driver.list(`payloads/${name}`, { prefix: "", limit: 100 });

describe.runIf(hasPostgres).each([
  ["one bucket", true],
  ["no bucket", false],
] as const)("two gateways on one PostgreSQL and %s", (_name, hasBucket) => {
  it(`${COUNT} payloads of 1 KiB to ${LARGEST} bytes, written at one, are read at the other at once`, async () => {
    requirePostgres();
    const s3 = await startS3();
    const schema = freshSchema();
    const start = async () => {
      const { plugin, store } = holder();
      const options = { ...(hasBucket && { bucket: bucketOf(s3) }), maxTotalSize: "16GiB" };
      const { url } = await setupGateway({
        plugins: [[postgres, { schema }], [payloads, options], plugin],
        // One client reads eight of the largest at once, all of which are written before it comes to any.
        config: { store: database!.url, limits: { unread: "1GiB", unreadTotal: "2GiB" } },
        client: false,
      });
      return { store: store(), at: (id: string) => `${url}/api/agents/${id}/payload` };
    };
    const [a, b] = [await start(), await start()];
    const wrong: string[] = [];
    let bytes = 0;
    const exchange = async (number: number): Promise<void> => {
      const size = Math.round(1024 * (LARGEST / 1024) ** (number / Math.max(1, COUNT - 1)));
      const content = randomBytes(size);
      bytes += size;
      await a.store.put(`p${number}`, content, { ...ANNA, ttl: 3_600_000 });
      const { status, body } = await get(b.at(`p${number}`), GZIP);
      const isSame = status === 200 && gunzipSync(body).equals(content);
      if (!isSame) wrong.push(`${number}: ${status} ${body.subarray(0, 300).toString()}`);
    };
    const began = performance.now();
    const numbers = Array.from({ length: COUNT }, (_, number) => number);
    const work = async (): Promise<void> => {
      for (let next = numbers.pop(); next !== undefined; next = numbers.pop()) await exchange(next);
    };
    await Promise.all(Array.from({ length: 8 }, work));
    const seconds = (performance.now() - began) / 1_000;
    expect(wrong).toEqual([]);
    expect(s3.refused).toEqual([]);
    expect(s3.objects.size).toBeGreaterThanOrEqual(hasBucket ? COUNT / 3 : 0);
    expect(s3.objects.size).toBeLessThan(hasBucket ? COUNT : 1);
    if (process.env["PAYLOADS"])
      process.stderr.write(
        `${COUNT} payloads, ${bytes} bytes, ${s3.objects.size} objects, ${seconds} s\n`,
      );
  }, 1_800_000);
});

describe("gateways of one store and one bucket", () => {
  const startTwo = async (
    s3: S3Server,
    options: Record<string, unknown> = {},
    config: object = {},
  ) => {
    const kept = shared();
    const all = { bucket: bucketOf(s3), ...options };
    return { kept, a: await startOne(kept, all, config), b: await startOne(kept, all, config) };
  };

  it("small payloads are in the store, larger ones in the bucket, the index is known to both", async () => {
    const s3 = await startS3();
    const { kept, a, b } = await startTwo(s3);
    await a.store.put("small", "the work", ANNA);
    await a.store.put("large", LARGE, ANNA);
    expect([s3.objects.size, (await valuesIn(kept, "bytes")).length]).toEqual([1, 1]);
    expect([...s3.objects.keys()][0]).toMatch(/^propylon\/[\da-f]{64}\.gz$/);
    for (const id of ["small", "large"]) {
      expect(await b.store.find(id)).toEqual(a.store.info(id));
      await until(() => b.store.info(id));
    }
    expect(await textOf(b.store, "large")).toBe(LARGE);
    await b.store.append("large", "end", ANNA);
    await until(() => a.store.info("large")!.size === LARGE.length + 3);
    expect(await textOf(a.store, "large")).toBe(`${LARGE}end`);
    await b.store.delete("large");
    await until(() => a.store.info("large") === undefined);
    expect(await textOf(a.store, "large")).toBeUndefined();
    expect([s3.objects.size, s3.refused]).toEqual([0, []]);
    expect(await valuesIn(kept, "works")).toEqual([]);
  });

  it("nothing is lost where both append to one payload at once", async () => {
    const s3 = await startS3();
    const { kept, a, b } = await startTwo(s3);
    await a.store.put("log", randomBytes(100_000), ANNA);
    await b.store.find("log");
    await Promise.all(
      [a, b].flatMap(({ store }) => [1, 2].map(() => store.append("log", "x".repeat(10), ANNA))),
    );
    const whole = await a.store.gzip("log");
    expect(gunzipSync(whole!).subarray(100_000).toString()).toBe("x".repeat(40));
    await until(
      async () => s3.objects.size === 1 && (await valuesIn(kept, "works")).length === 0,
      20_000,
    );
  });

  it("nothing is lost where a change is heard while an append is compressed", async () => {
    const { a, b } = await startTwo(await startS3());
    await a.store.put("log", "", ANNA);
    await b.store.find("log");
    const slow = a.store.append("log", randomBytes(8_000_000), ANNA);
    await b.store.append("log", "quick", ANNA);
    await slow;
    expect(gunzipSync((await a.store.gzip("log"))!)).toHaveLength(8_000_005);
  });

  it("a wrong owner gets the answer of a missing one, at both", async () => {
    const s3 = await startS3();
    const keys = { anna: "anna-key-0123456789", bob: "bob-key-0123456789" };
    const hashed = Object.fromEntries(
      Object.entries(keys).map(([name, key]) => [
        name,
        { role: "caller", hash: `sha256:${createHash("sha256").update(key).digest("hex")}` },
      ]),
    );
    const bucket = bucketOf(s3, { presignedTtl: "30s" });
    const { a, b } = await startTwo(s3, { bucket }, { auth: { keys: hashed } });
    await a.store.put("large", LARGE, { owner: "key:anna" });
    for (const { at } of [a, b]) {
      const as = (key: string) => ({ ...GZIP, authorization: `Bearer ${key}` });
      const [wrong, missing] = await Promise.all(
        ["large", "none"].map((id) => get(at(id), as(keys.bob))),
      );
      expect([wrong!.status, wrong!.headers["location"]]).toEqual([404, undefined]);
      const errorOf = ({ body }: { body: Buffer }) => JSON.parse(body.toString()).error;
      expect({ ...errorOf(wrong!), traceId: "", requestId: "" }).toEqual({
        ...errorOf(missing!),
        traceId: "",
        requestId: "",
      });
      expect((await get(at("large"), as(keys.anna))).status).toBe(307);
    }
    expect(s3.seen.filter(({ method }) => method === "GET")).toEqual([]);
  });

  it("the end of its time removes index and bytes", async () => {
    const s3 = await startS3();
    const { kept, a, b } = await startTwo(s3);
    await a.store.put("short", LARGE, { ...ANNA, ttl: 2_000 });
    expect(s3.objects.size).toBe(1);
    await until(async () => (await valuesIn(kept, "index")).length === 0);
    await until(() => s3.objects.size === 0);
    await until(async () => (await valuesIn(kept, "works")).length === 0);
    expect(await b.store.find("short")).toBeUndefined();
    expect((await get(b.at("short"), GZIP)).status).toBe(404);
  });

  it("owners are sent to the bucket only where that is asked for, for one gzip member", async () => {
    const s3 = await startS3();
    const { a, b } = await startTwo(s3, { bucket: bucketOf(s3, { presignedTtl: "30s" }) });
    await a.store.put("small", "the work", ANNA);
    await a.store.put("large", LARGE, ANNA);
    expect((await get(b.at("small"), GZIP)).status).toBe(200);
    expect((await get(b.at("large"), {})).status).toBe(406);
    for (const method of ["GET", "HEAD"] as const) {
      const { status, headers } = await get(b.at("large"), GZIP, method);
      expect([status, headers["cache-control"]]).toEqual([307, "no-store"]);
      const location = new URL(String(headers["location"]));
      expect(location.searchParams.get("X-Amz-Expires")).toBe("30");
      expect(location.href).not.toContain(KEYS.secretAccessKey);
      expect((await fetch(location, { method })).status).toBe(200);
    }
    expect(await (await fetch(b.at("large"))).text()).toBe(LARGE);
    await a.store.append("large", "end", ANNA);
    await until(() => b.store.info("large")!.size === LARGE.length + 3);
    expect(gunzipSync((await get(b.at("large"), GZIP)).body).toString()).toBe(`${LARGE}end`);
    expect((await get(b.at("large"), GZIP)).status).toBe(307);
    const brief = await a.store.put("brief", LARGE, { ...ANNA, ttl: 5_000 });
    expect(brief.expiresAt).toBeDefined();
    const { headers } = await get(a.at("brief"), GZIP);
    const expires = new URL(String(headers["location"])).searchParams.get("X-Amz-Expires");
    expect(Number(expires)).toBeLessThanOrEqual(5);
  });
});

describe("a bucket that fails", () => {
  it("confirms nothing, loses nothing, and is cleaned up when it is back", async () => {
    const s3 = await startS3();
    const kept = shared();
    const bucket = bucketOf(s3, { maxAttempts: 1 });
    const { store, at, gateway } = await startOne(kept, { bucket });
    await store.put("a", LARGE, ANNA);
    s3.fault = () => ({ status: 503 });
    await expect(store.put("a", `${LARGE}2`, ANNA)).rejects.toMatchObject({ code: "unavailable" });
    expect(store.info("a")!.size).toBe(LARGE.length);
    await store.put("small", "the work", ANNA);
    expect((await get(at("small"), GZIP)).status).toBe(200);
    const away = await get(at("a"), GZIP);
    expect([away.status, JSON.parse(away.body.toString()).error.code]).toEqual([
      503,
      "unavailable",
    ]);
    // It is confirmed once the index does not name it; the object goes later.
    expect(await store.delete("a")).toBe(true);
    expect(s3.objects.size).toBe(1);
    s3.fault = () => undefined;
    await until(() => s3.objects.size === 0, 30_000);
    await until(async () => (await valuesIn(kept, "works")).length === 0);
    const metrics = await (await gateway.manage()).metrics();
    expect(metrics).toMatch(/payloads_bucket_failures_total\{operation="put",reason="busy"\} 1\n/);
    expect(metrics).toMatch(/payloads_bucket_failures_total\{operation="get",reason="busy"\} 1\n/);
  });

  it("what a dead gateway left there goes with the next start", async () => {
    const s3 = await startS3();
    const kept = shared();
    const bucket = bucketOf(s3, { maxAttempts: 1 });
    const first = await startOne(kept, { bucket });
    s3.fault = (method) => (method === "DELETE" ? { status: 503 } : undefined);
    await first.store.put("a", LARGE, ANNA);
    await first.store.delete("a");
    await first.gateway.close();
    expect(s3.objects.size).toBe(1);
    s3.fault = () => undefined;
    await startOne(kept, { bucket });
    await until(() => s3.objects.size === 0);
    expect(await valuesIn(kept, "works")).toEqual([]);
  });

  it("an object that somebody else removed is no payload any more", async () => {
    const s3 = await startS3();
    const { store, at } = await startOne(shared(), { bucket: bucketOf(s3) });
    await store.put("a", LARGE, ANNA);
    s3.objects.clear();
    expect((await get(at("a"), GZIP)).status).toBe(404);
    expect(await store.slice("a", 0, 10)).toBeUndefined();
    await store.put("a", LARGE, ANNA);
    expect(await textOf(store, "a")).toBe(LARGE);
  });

  it("one that somebody else replaced is not given out", async () => {
    const s3 = await startS3();
    const { store, at } = await startOne(shared(), { bucket: bucketOf(s3, { maxAttempts: 1 }) });
    await store.put("a", LARGE, ANNA);
    const [key] = s3.objects.keys();
    s3.objects.set(key!, gzipSync("something else"));
    expect((await get(at("a"), GZIP)).status).toBe(503);
  });
});

describe("the config of a bucket", () => {
  it("needs a store that outlives the process", async () => {
    const s3 = await startS3();
    const plugins = [[payloads, { bucket: bucketOf(s3) }]] as const;
    await expect(setupGateway({ plugins, client: false })).rejects.toMatchObject({
      message: expect.stringContaining("needs a store that outlives the process") as string,
    });
  });

  it("is shown without its credentials, and changes with a reload", async () => {
    const [before, after] = [await startS3(), await startS3()];
    const kept = shared();
    const { gateway, store } = await startOne(kept, { bucket: bucketOf(before) });
    const shown = JSON.stringify([gateway.describe(), maskGatewayConfig(gateway.config)]);
    expect(shown).toContain("examplebucket");
    for (const secret of Object.values(KEYS)) expect(shown).not.toContain(secret);
    await store.put("a", LARGE, ANNA);
    const plugins = { kept: {}, holder: {}, payloads: { bucket: bucketOf(after) } };
    await gateway.apply({ ...gateway.written, plugins });
    await store.put("b", LARGE, ANNA);
    expect([before.objects.size, after.objects.size]).toEqual([1, 1]);
  });
});
