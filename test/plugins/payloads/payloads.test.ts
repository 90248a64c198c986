import { randomBytes } from "node:crypto";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { setupGateway, testPlugin } from "../../../core/testing/index.ts";
import payloads from "../../../plugins/payloads/index.ts";
import { acceptsGzip } from "../../../plugins/payloads/routes.ts";
import { MemoryStorage } from "../../../plugins/payloads/storage.ts";
import { Store } from "../../../plugins/payloads/store.ts";
import { longestTurn } from "../../fixtures/turns.ts";
import { makeFolder } from "../../kit/folder.ts";
import { get, holder } from "./kit.ts";

testPlugin(payloads, { config: {}, changed: { maxSize: "1MiB" } });

const OWNER = { owner: "anonymous" };
const GZIP = { "accept-encoding": "gzip" };

async function start(options: Record<string, unknown> = {}, config = {}) {
  const { plugin, store } = holder();
  const { url, gateway, client } = await setupGateway({
    plugins: [[payloads, options], plugin],
    config,
    client: false,
  });
  return {
    url,
    gateway,
    client,
    store: store(),
    at: (id: string) => `${url}/api/agents/${id}/payload`,
  };
}

describe("GET /api/agents/:id/payload", () => {
  it("A038, A039: returns the gzip bytes with Content-Encoding: gzip", async () => {
    const { store, at } = await start();
    await store.put("a1", "the work", OWNER);
    const { status, headers, body } = await get(at("a1"), GZIP);
    expect(status).toBe(200);
    expect(headers["content-encoding"]).toBe("gzip");
    expect(headers["content-type"]).toBe("text/plain; charset=utf-8");
    expect(headers["vary"]).toBe("Accept-Encoding");
    expect(headers["content-length"]).toBe(String(body.length));
    expect(gunzipSync(body).toString()).toBe("the work");
  });

  it("is read by an ordinary fetch", async () => {
    const { store, at } = await start();
    await store.put("a1", "the work", OWNER);
    expect(await (await fetch(at("a1"))).text()).toBe("the work");
  });

  it.each([
    [undefined, 406],
    ["", 406],
    ["gzip", 200],
    ["GZIP", 200],
    ["x-gzip", 200],
    ["*", 200],
    ["deflate, gzip;q=0.5", 200],
    ["gzip;q=0", 406],
    ["gzip;q=0.000, *", 406],
    ["*;q=0", 406],
    ["identity", 406],
    ["br, deflate", 406],
    ["gzip;q=nonsense", 406],
    ["*;q=0, gzip", 200],
    ["gzip ; q=1", 200],
  ])("A042, A058: Accept-Encoding %s -> %i", async (header, status) => {
    const { store, at } = await start();
    await store.put("a1", "x", OWNER);
    const answer = await get(at("a1"), header === undefined ? {} : { "accept-encoding": header });
    expect(answer.status).toBe(status);
    expect(answer.headers["vary"]).toBe("Accept-Encoding");
    const { ok, error } = status === 406 ? JSON.parse(answer.body.toString()) : {};
    expect([ok, error?.code]).toEqual(
      status === 406 ? [false, "not_acceptable"] : [undefined, undefined],
    );
  });

  it("A040, A041, A057: nothing there is 404, before 406 is asked", async () => {
    const { at } = await start();
    for (const headers of [undefined, GZIP]) {
      const { status, body } = await get(at("nobody"), headers);
      expect(status).toBe(404);
      expect(JSON.parse(body.toString()).error.hint).toMatch(/restarted/);
    }
    expect((await get(at("%E0%A4%A"), GZIP)).status).toBe(400);
  });

  it("answers HEAD without a body, and an ETag with 304", async () => {
    const { store, at } = await start();
    await store.put("a1", "the work", OWNER);
    const head = await get(at("a1"), GZIP, "HEAD");
    expect([head.status, head.body.length]).toEqual([200, 0]);
    const etag = String(head.headers["etag"]);
    expect((await get(at("a1"), { ...GZIP, "if-none-match": `W/${etag}` })).status).toBe(304);
    await store.put("a1", "other work", OWNER);
    expect((await get(at("a1"), { ...GZIP, "if-none-match": etag })).status).toBe(200);
  });

  it("A018, C16: counts UTF-8 bytes, and an empty text is a payload of 0 bytes", async () => {
    const { store, at } = await start();
    expect(await store.put("a1", "häß 🚀", OWNER)).toMatchObject({ size: 10 });
    expect(await store.put("a2", "", OWNER)).toMatchObject({ size: 0 });
    const { status, body } = await get(at("a2"), GZIP);
    expect([status, gunzipSync(body).length]).toEqual([200, 0]);
  });

  it("A052: text shrinks at least fivefold", async () => {
    const { store } = await start();
    const text = Array.from(
      { length: 2_000 },
      (_, line) =>
        `line ${line}: the agent looked at file ${line % 37} and found nothing of interest`,
    ).join("\n");
    const { size, stored } = await store.put("a1", text, OWNER);
    expect(size / stored).toBeGreaterThan(5);
  });

  it("A046: 50 MB are compressed while the event loop turns", async () => {
    const { store, at } = await start();
    const text = randomBytes(1_000_000).toString("base64").repeat(38);
    let size: number | undefined;
    const longest = await longestTurn(async () => ({ size } = await store.put("big", text, OWNER)));
    expect(size).toBe(text.length);
    // Compressing 50 MB takes more than a second; on the loop that second would be the longest delay.
    expect(longest).toBeLessThan(800);
    const { body } = await get(at("big"), GZIP);
    expect(gunzipSync(body).length).toBe(text.length);
  });

  it("A054: what is appended is one payload for every client", async () => {
    const { store, at } = await start();
    await store.put("a1", "one ", OWNER);
    await store.append("a1", "two ", OWNER);
    await Promise.all([store.append("a1", "three ", OWNER), store.append("a1", "four", OWNER)]);
    expect(store.info("a1")!.size).toBe(18);
    const { body } = await get(at("a1"), GZIP);
    expect(gunzipSync(body).toString()).toBe("one two three four");
    // A second member's header would stop clients that read only the first.
    expect(body.indexOf(Buffer.from([0x1f, 0x8b, 0x08]), 1)).toBe(-1);
  });

  it("refuses what is above a limit, with both numbers, and keeps what was there", async () => {
    const { store } = await start({ maxSize: 10, maxTotalSize: 60 });
    await store.put("a1", "12345", OWNER);
    await expect(store.put("a1", "12345678901", OWNER)).rejects.toMatchObject({
      code: "too_large",
      data: { size: 11, limit: 10 },
    });
    await expect(store.append("a1", "678901", OWNER)).rejects.toMatchObject({ code: "too_large" });
    await store.put("a2", "12345", OWNER);
    await expect(store.put("a3", "12345", OWNER)).rejects.toMatchObject({
      code: "too_large",
      data: { limit: 60 },
    });
    expect(gunzipSync((await store.gzip("a1"))!).toString()).toBe("12345");
  });

  it("keeps no more payloads than are allowed, however small they are", async () => {
    const { store } = await start({ maxPayloads: 2 });
    await store.put("a1", "", OWNER);
    await store.put("a2", "", OWNER);
    await expect(store.put("a3", "", OWNER)).rejects.toMatchObject({
      code: "too_large",
      data: { limit: 2 },
    });
    await store.append("a2", "more", OWNER);
    await store.delete("a1");
    await store.put("a3", "", OWNER);
  });

  it("A019, C15: the URL is below the public one", async () => {
    const { store } = await start({}, { publicUrl: "http://localhost:8101" });
    expect(store.url("a1")).toBe("http://localhost:8101/api/agents/a1/payload");
  });

  it("survives a reload of the plugin", async () => {
    const { store, gateway, at } = await start();
    await store.put("a1", "the work", OWNER);
    await gateway.apply({ ...gateway.written, plugins: { payloads: { maxSize: 5 }, holder: {} } });
    expect((await get(at("a1"), GZIP)).status).toBe(200);
  });

  it("with keys, is there for its owner and for those who run the gateway", async () => {
    const { store, at } = await start({}, { auth: { apiKey: "0123456789abcdef" } });
    await store.put("mine", "x", { owner: "api-key" });
    expect((await get(at("mine"), GZIP)).status).toBe(401);
    expect(
      (await get(at("mine"), { ...GZIP, authorization: "Bearer 0123456789abcdef" })).status,
    ).toBe(200);
  });
});

describe("restart", () => {
  it("A051: loses what is in memory", async () => {
    const first = await start();
    await first.store.put("a1", "x", OWNER);
    await first.gateway.close();
    const second = await start();
    expect((await get(second.at("a1"), GZIP)).status).toBe(404);
  });

  it("keeps what is in a folder, and sweeps what a crash left there", async () => {
    const folder = makeFolder();
    const first = await start({ store: folder });
    await first.store.put("../a1", "kept", OWNER);
    await first.gateway.close();
    await writeFile(
      join(folder, `${"a".repeat(64)}.gz.0b6ee6a5-3a52-4d3c-a5dd-57e6a7e6a6a1.tmp`),
      "half",
    );
    await writeFile(join(folder, "notes.txt"), "somebody else's");
    const second = await start({ store: folder });
    const { body } = await get(second.at("..%2Fa1"), GZIP);
    expect(gunzipSync(body).toString()).toBe("kept");
    const names = await readdir(folder);
    expect(names.filter((name) => name.endsWith(".tmp"))).toEqual([]);
    expect(names).toContain("notes.txt");
  });
});

describe("Store", () => {
  it("forgets a payload when its time is over", async () => {
    const store = new Store(new MemoryStorage());
    store.configure({ maxSize: 100, maxTotalSize: 1_000, maxPayloads: 10, urlOf: (id) => id });
    await store.put("a", "x", { ...OWNER, ttl: 1 });
    await expect.poll(() => store.info("a")).toBeUndefined();
    await expect.poll(() => store.usage).toEqual({ count: 0, bytes: 0 });
    await store.close();
  });

  it("reads any span of what was put and appended", async () => {
    const store = new Store(new MemoryStorage());
    store.configure({ maxSize: 1e6, maxTotalSize: 1e6, maxPayloads: 10, urlOf: (id) => id });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 50 }), { minLength: 1, maxLength: 5 }),
        fc.nat(200),
        fc.nat(200),
        async (pieces, from, length) => {
          await store.delete("x");
          for (const piece of pieces) await store.append("x", piece, OWNER);
          const whole = Buffer.concat(pieces);
          expect(Buffer.from((await store.slice("x", from, from + length))!)).toEqual(
            whole.subarray(from, from + length),
          );
          expect(gunzipSync((await store.gzip("x"))!)).toEqual(whole);
        },
      ),
      { numRuns: 50 },
    );
    expect(store.usage.count).toBe(1);
    await store.delete("x");
    expect(store.usage).toEqual({ count: 0, bytes: 0 });
  });
});

it("never takes what names neither gzip nor * for consent", () => {
  const other = fc.string().filter((header) => !/gzip|\*/i.test(header));
  expect(() => fc.assert(fc.property(other, (header) => !acceptsGzip(header)))).not.toThrow();
});
