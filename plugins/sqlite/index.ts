import { definePlugin } from "propylon";
import { openDriver } from "./driver.ts";
import { optionsSchema } from "./options.ts";

/** Keeps the gateway's state in a SQLite file: for one gateway, which finds everything again after a restart. */
export default definePlugin({
  name: "sqlite",
  config: optionsSchema,
  stores: { sqlite: { open: openDriver, abilities: ["tables"] } },
  // libsql is native code, which no bundle holds: a build imports it where it runs.
  needs: () => ({ packages: [] }),
  setup() {},
});
