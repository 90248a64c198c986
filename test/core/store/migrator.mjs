// Brings the tables of a plugin from version 1 to 3, and is killed meanwhile.
import { createGateway, definePlugin } from "propylon";
import { Database } from "propylon/store";
import { pino } from "pino";
import { migrations } from "./migrations.mjs";

const [store, schema] = process.argv.slice(2);
const notes = definePlugin({
  name: "my-notes",
  inject: { openDatabase: Database },
  setup(gateway) {
    gateway.onStart(async () => {
      process.stdout.write("begins\n");
      await gateway.services.openDatabase(migrations);
      process.stdout.write("ends\n");
    });
  },
});
const plugins = { "my-notes": {}, ...(schema && { postgres: { schema } }) };
const gateway = await createGateway(
  { store, plugins, listeners: { main: { port: 0 } } },
  { plugins: { "my-notes": notes }, log: pino({ level: "silent" }) },
);
await gateway.listen();
