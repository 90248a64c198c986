// Writes to a store and says what was confirmed, until it is killed.
import { writeSync } from "node:fs";
import { pino } from "pino";
import postgres from "propylon/plugins/postgres";

const [url, schema, from] = process.argv.slice(2);
const driver = await postgres.stores.postgres(url, {
  folder: process.cwd(),
  options: postgres.config.parse({ schema }),
  log: pino({ level: "silent" }),
});
for (let step = Number(from) + 1; ; step++) {
  const rev = await driver.put("counts", `key/${step % 50}`, String(step));
  const seq = await driver.append("steps", [`${step}a`, `${step}b`]);
  // Waits where the reader is slow: process.stdout would keep the line in memory, and the kill would take it.
  writeSync(1, `${step} ${rev} ${seq}\n`);
}
