import { pino } from "pino";
import { testPlugin, testStore } from "propylon/testing";
import { openDriver } from "../../../plugins/sqlite/driver.ts";
import sqlite from "../../../plugins/sqlite/index.ts";
import { optionsSchema } from "../../../plugins/sqlite/options.ts";
import { makeFolder } from "../../kit/folder.ts";

const folder = makeFolder();

const options = optionsSchema.parse({});
const log = pino({ level: "silent" });

testPlugin(sqlite, { changed: { synchronous: "full" } });
testStore("sqlite", {
  open: () => openDriver("sqlite:./gateway.db", { folder, options, log }),
  steps: Number(process.env["STORE_STEPS"] ?? 800),
});
