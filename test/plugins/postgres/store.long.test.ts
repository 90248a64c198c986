import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort, testPlugin, testStore } from "../../../core/testing/index.ts";
import postgres from "../../../plugins/postgres/index.ts";
import { postgresFolder, startPostgres } from "../../fixtures/postgres/postgres.mjs";
import type { PostgresServer } from "../../fixtures/postgres/types.ts";
import { freshSchema, hasPostgres, openDriver, requirePostgres } from "./kit.ts";

testPlugin(postgres, { changed: { schema: "other" } });

it("PostgreSQL is there", () => {
  requirePostgres();
  expect(postgresFolder()).toBeDefined();
});

describe.runIf(hasPostgres)("on a real server", () => {
  const schema = freshSchema();
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres(await freePort());
  });
  afterAll(() => server.stop());

  testStore("postgres", {
    open: () => openDriver(server.url, schema),
    steps: Number(process.env["STORE_STEPS"] ?? 800),
  });
});
