import { randomBytes } from "node:crypto";
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { definePlugin } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import payloads, { type PayloadStore } from "../../../plugins/payloads/index.ts";
import { KeptStore } from "../../fixtures/kept-store.ts";
import { makeFolder } from "../../kit/folder.ts";
import { until } from "../../kit/until.ts";
import { holder } from "./kit.ts";

const ANNA = { owner: "key:anna", mimeType: "text/markdown" };
const LARGE = randomBytes(600_000).toString("hex");

async function start(kept: KeptStore | undefined, options: Record<string, unknown> = {}) {
  const { plugin, store } = holder();
  const { gateway } = await setupGateway({
    plugins: [...(kept ? [kept.plugin] : []), [payloads, options], plugin],
    config: kept ? { store: "kept" } : {},
    client: false,
  });
  return { gateway, store: store() };
}

async function textOf(store: PayloadStore, id: string): Promise<string | undefined> {
  const gzip = await store.gzip(id);
  return gzip && gunzipSync(gzip).toString();
}

const valuesIn = (kept: KeptStore, bucket: string) =>
  kept.driver.list(`payloads/${bucket}`, { prefix: "", limit: 100 });

const filesIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name.endsWith(".gz"));

describe("payloads in a durable store", () => {
  it("are there after a restart, small and large, with owner, type, end and size", async () => {
    const kept = new KeptStore();
    const first = await start(kept);
    await first.store.put("small", "the work", { ...ANNA, ttl: 3_600_000 });
    await first.store.put("large", LARGE, ANNA);
    await first.store.append("large", "end", ANNA);
    await first.store.put("gone", LARGE, ANNA);
    await first.store.delete("gone");
    const before = ["small", "large"].map((id) => first.store.info(id));
    await first.gateway.close();
    const second = await start(kept, { maxTotalSize: 800_000 });
    expect(["small", "large"].map((id) => second.store.info(id))).toEqual(before);
    expect(await textOf(second.store, "small")).toBe("the work");
    expect(await textOf(second.store, "large")).toBe(`${LARGE}end`);
    expect(Buffer.from((await second.store.slice("large", 10, 20))!).toString()).toBe(
      LARGE.slice(10, 20),
    );
    expect(second.store.info("gone")).toBeUndefined();
    await expect(second.store.put("more", LARGE, ANNA)).rejects.toMatchObject({
      code: "too_large",
      message: expect.stringContaining("All payloads together") as string,
    });
  });

  it("one whose time is over goes, with its bytes", async () => {
    const kept = new KeptStore();
    const first = await start(kept);
    await first.store.put("short", "the work", { ...ANNA, ttl: 1 });
    await first.gateway.close();
    const second = await start(kept);
    expect(second.store.info("short")).toBeUndefined();
    await until(async () => (await valuesIn(kept, "index")).length === 0);
    await until(async () => (await valuesIn(kept, "bytes")).length === 0);
  });

  it("with a folder, large ones are files, and the two agree after a crash", async () => {
    const kept = new KeptStore();
    const folder = makeFolder();
    const first = await start(kept, { store: folder });
    await first.store.put("small", "the work", ANNA);
    await first.store.put("large", LARGE, ANNA);
    await first.store.put("lost", LARGE, ANNA);
    expect(await filesIn(folder)).toHaveLength(2);
    expect(await valuesIn(kept, "bytes")).toHaveLength(1);
    const [file] = await lostFile(kept);
    await first.gateway.close();
    await rm(join(folder, file!));
    await writeFile(join(folder, `${"a".repeat(64)}.gz`), "nobody's");
    await writeFile(join(folder, "notes.txt"), "somebody else's");
    const second = await start(kept, { store: folder });
    expect(await textOf(second.store, "large")).toBe(LARGE);
    expect(await textOf(second.store, "small")).toBe("the work");
    expect(second.store.info("lost")).toBeUndefined();
    expect(await filesIn(folder)).toHaveLength(1);
    expect(await readdir(folder)).toContain("notes.txt");
  });

  it("what a folder had before there was a store is taken over", async () => {
    const kept = new KeptStore();
    const folder = makeFolder();
    const first = await start(undefined, { store: folder });
    await first.store.put("small", "the work", ANNA);
    await first.store.put("large", LARGE, ANNA);
    const before = ["small", "large"].map((id) => first.store.info(id));
    await first.gateway.close();
    const second = await start(kept, { store: folder });
    expect(["small", "large"].map((id) => second.store.info(id))).toEqual(before);
    expect(await textOf(second.store, "large")).toBe(LARGE);
    expect(await filesIn(folder)).toHaveLength(1);
    expect((await readdir(folder)).filter((name) => name.endsWith(".json"))).toEqual([]);
    await second.gateway.close();
    const third = await start(kept, { store: folder });
    expect(await textOf(third.store, "small")).toBe("the work");
  });

  it("while the store is away nothing is confirmed and nothing lost; what was half written is cleaned", async () => {
    const kept = new KeptStore();
    const first = await start(kept);
    await first.store.put("a", "one", ANNA);
    for (const writes of [0, 1, 2, 3]) {
      kept.writesLeft = writes;
      await expect(first.store.put("a", LARGE, ANNA)).rejects.toMatchObject({
        code: "unavailable",
      });
      kept.writesLeft = Infinity;
      kept.isAway = false;
      await until(() => textOf(first.store, "a").catch(() => undefined));
      expect(first.store.info("a")).toMatchObject({ size: 3 });
    }
    const second = await start(kept);
    expect(await textOf(second.store, "a")).toBe("one");
    expect(await valuesIn(kept, "bytes")).toHaveLength(1);
    expect(await valuesIn(kept, "works")).toEqual([]);
  });
});

describe("large results while the store is away", () => {
  it("are sent whole: no call fails for it", async () => {
    const kept = new KeptStore();
    const text = "x".repeat(5_000);
    const talker = definePlugin({
      name: "talker",
      setup: (gateway) => void gateway.tool("talk", { description: "Talks.", run: () => text }),
    });
    const { gateway } = await setupGateway({
      plugins: [kept.plugin, talker, [payloads, { results: { above: 1_000 } }]],
      config: { store: "kept" },
      client: false,
    });
    const talk = async (): Promise<string> => {
      const { result } = await gateway.call({ server: "talker", name: "talk" });
      return JSON.stringify(result);
    };
    expect(await talk()).toContain("was stored");
    kept.isAway = true;
    expect(await talk()).toContain(text);
  });
});

async function lostFile(kept: KeptStore): Promise<string[]> {
  const { fileNameOf } = await import("../../../plugins/payloads/storage.ts");
  const entries = (await valuesIn(kept, "index")).map(
    ({ value }) => JSON.parse(value.slice(2)) as { id: string; token: string },
  );
  return entries.filter(({ id }) => id === "lost").map(({ token }) => fileNameOf(token, "gz"));
}
