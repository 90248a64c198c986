import { afterAll, beforeAll, describe, it } from "vitest";
import { freePort, testStore } from "../../../core/testing/index.ts";
import { startPostgres } from "../../fixtures/postgres/postgres.mjs";
import type { PostgresServer } from "../../fixtures/postgres/types.ts";
import { freshSchema, hasPostgres, openDriver, requirePostgres } from "./kit.ts";

it("25: PostgreSQL is there", () => requirePostgres());

describe.runIf(hasPostgres)("on a real server", () => {
  const schema = freshSchema();
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres(await freePort());
  }, 60_000);
  afterAll(() => server.stop());

  testStore("postgres", { open: () => openDriver(server.url, schema) });
});
