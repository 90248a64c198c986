// A gateway with team-auth as a process of its own, whose tables are changed by messages of its parent.
import { createGateway, definePlugin } from "propylon";
import { pino } from "pino";
import postgres from "propylon/plugins/postgres";
import teamAuth, { Libraries } from "propylon/plugins/team-auth";
import { Issuer } from "../../../dist/plugins/team-auth/issuer.js";

const { store, schema, secretKey } = JSON.parse(process.argv[2]);
let issuer;
const { open } = Issuer.prototype;
Issuer.prototype.open = function openAndTell() {
  issuer = this;
  return open.call(this);
};
const reader = definePlugin({
  name: "reader",
  inject: { libraries: Libraries },
  setup(gateway) {
    const { libraries } = gateway.services;
    gateway.route("GET", "/sees", { access: "caller", mutates: false }, (event) =>
      libraries.of(event.context.principal),
    );
  },
});
const plugins = { "team-auth": { secretKeys: [secretKey] }, postgres: { schema }, reader: {} };
const gateway = await createGateway(
  { store, plugins, listeners: { main: { port: 0 } } },
  {
    plugins: { "team-auth": teamAuth, postgres, reader },
    log: pino({ level: process.env.CAMPAIGN_LOG ?? "silent" }, process.stderr),
  },
);
await gateway.listen();

process.on("message", async ({ id, table, method, args }) => {
  const begin = performance.now();
  try {
    const answer = await issuer.directory[table][method](...args);
    const value = answer?.value ?? answer;
    process.send({ id, value, took: performance.now() - begin });
  } catch ({ message }) {
    process.send({ id, error: message });
  }
});
process.send({ url: gateway.addresses.get("main").url });
