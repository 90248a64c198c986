// A gateway with team-auth as a process of its own, whose tables are changed by messages of its parent.
import { pino } from "pino";
import { withIssuer } from "../../fixtures/issuer.mjs";

const { createGateway, definePlugin } = await import("propylon");
const { default: postgres } = await import("propylon/plugins/postgres");
const { default: teamAuth, Libraries } = await import("propylon/plugins/team-auth");

const { store, schema, secretKey, skew = 0 } = JSON.parse(process.argv[2]);
const { now } = Date;
/** The clock of this machine is wrong by so much. */
globalThis.Date = class extends Date {
  static now = () => now() + skew;
  constructor(...args) {
    super(...(args.length === 0 ? [now() + skew] : args));
  }
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
const log = pino({ level: process.env.CAMPAIGN_LOG ?? "silent" }, process.stderr);
const { gateway, issuer } = await withIssuer(() =>
  createGateway(
    { store, plugins, auth: { maxFailures: 0 }, listeners: { main: { port: 0 } } },
    { plugins: { "team-auth": teamAuth, postgres, reader }, log },
  ),
);
await gateway.listen();

async function change({ id, table, method, args }) {
  const begin = performance.now();
  try {
    const answer = await issuer.directory[table][method](...args);
    process.send({ id, value: answer?.value ?? answer, took: performance.now() - begin });
  } catch ({ message }) {
    process.send({ id, error: message });
  }
}

process.once("SIGTERM", () => void gateway.close().then(() => process.disconnect()));
process.on("message", (message) => void change(message));
process.send({ url: gateway.addresses.get("main").url });
