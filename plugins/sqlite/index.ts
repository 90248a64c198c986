import { definePlugin } from "propylon";
import { openDriver } from "./driver.ts";
import { hasOwnSqlite } from "./engine.ts";
import { optionsSchema } from "./options.ts";

/** Keeps the gateway's state in a SQLite file: for one gateway, which finds everything again after a restart. */
export default definePlugin({
  name: "sqlite",
  config: optionsSchema,
  stores: { sqlite: openDriver },
  packages: () => (hasOwnSqlite() ? [] : ["libsql"]),
  setup() {},
});
