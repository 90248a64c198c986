import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { testPlugin, testStore } from "propylon/testing";
import { afterAll } from "vitest";
import { openDriver } from "../../../plugins/sqlite/driver.ts";
import sqlite from "../../../plugins/sqlite/index.ts";
import { optionsSchema } from "../../../plugins/sqlite/options.ts";

const folder = mkdtempSync(join(tmpdir(), "propylon-sqlite-"));
afterAll(() => rmSync(folder, { recursive: true }));

const options = optionsSchema.parse({});
const log = pino({ level: "silent" });

testPlugin(sqlite, { changed: { synchronous: "full" } });
testStore("sqlite", {
  open: () => openDriver("sqlite:./gateway.db", { folder, options, log }),
  steps: Number(process.env["STORE_STEPS"] ?? 800),
});
