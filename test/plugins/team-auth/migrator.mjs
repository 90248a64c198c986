// Starts a gateway with team-auth on a store, and is killed meanwhile.
import { createGateway } from "propylon";
import teamAuth from "propylon/plugins/team-auth";
import { pino } from "pino";

const [store, schema] = process.argv.slice(2);
const plugins = {
  "team-auth": { secretKeys: ["a key of this test that seals secrets"] },
  ...(schema && { postgres: { schema } }),
};
const gateway = await createGateway(
  { store, plugins, listeners: { main: { port: 0 } } },
  { plugins: { "team-auth": teamAuth }, log: pino({ level: "silent" }) },
);
process.stdout.write("begins\n");
await gateway.listen();
process.stdout.write("ends\n");
