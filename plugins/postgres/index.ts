import { definePlugin } from "propylon";
import type { StoreKind } from "propylon/store";
import { openPostgres } from "./driver.ts";
import { optionsSchema } from "./options.ts";

const STORE: StoreKind = { open: openPostgres, abilities: ["tables"] };

/** Keeps the state of gateways in a PostgreSQL database: `store: postgres://...`. */
export default definePlugin({
  name: "postgres",
  config: optionsSchema,
  stores: { postgres: STORE, postgresql: STORE },
  needs: () => ({ packages: ["pg"] }),
  setup() {},
});
