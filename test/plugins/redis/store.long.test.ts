import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort, testPlugin, testStore } from "../../../core/testing/index.ts";
import redis from "../../../plugins/redis/index.ts";
import { requireProgram } from "../../fixtures/programs.ts";
import { startRedis } from "../../fixtures/redis/redis.mjs";
import type { RedisServer } from "../../fixtures/redis/types.ts";
import { freshPrefix, hasRedis, openDriver } from "./kit.ts";

testPlugin(redis, { changed: { prefix: "other" } });

it("redis-server is there", () => {
  requireProgram("redis-server");
  expect(hasRedis).toBe(true);
});

describe.runIf(hasRedis)("on a real server", () => {
  const prefix = freshPrefix();
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis(await freePort());
  });
  afterAll(() => server.stop());

  testStore("redis", {
    open: () => openDriver(server.url, prefix),
    steps: Number(process.env["STORE_STEPS"] ?? 800),
  });
});
