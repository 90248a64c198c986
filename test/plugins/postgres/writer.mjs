// Writes to a store and says what was confirmed, until it is killed.
import { pino } from "pino";
import postgres from "propylon/plugins/postgres";
import { say } from "../../fixtures/process/say.mjs";

const [url, schema, from] = process.argv.slice(2);
const driver = await postgres.stores.postgres.open(url, {
  folder: process.cwd(),
  options: postgres.config.parse({ schema }),
  log: pino({ level: "silent" }),
});
for (let step = Number(from) + 1; ; step++) {
  const rev = await driver.put("counts", `key/${step % 50}`, String(step));
  const seq = await driver.append("steps", [`${step}a`, `${step}b`]);
  say(`${step} ${rev} ${seq}`);
}
