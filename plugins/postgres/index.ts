import { definePlugin } from "propylon";
import { openPostgres } from "./driver.ts";
import { optionsSchema } from "./options.ts";

/** Keeps the state of gateways in a PostgreSQL database: `store: postgres://...`. */
export default definePlugin({
  name: "postgres",
  config: optionsSchema,
  stores: { postgres: openPostgres, postgresql: openPostgres },
  storeAbilities: ["tables"],
  packages: () => ["pg"],
  setup() {},
});
