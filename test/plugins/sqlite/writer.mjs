// Writes to a store and says what was confirmed, until it is killed.
import { pino } from "pino";
import sqlite from "propylon/plugins/sqlite";
import { say } from "../../fixtures/process/say.mjs";

const [folder, from] = process.argv.slice(2);
const driver = await sqlite.stores.sqlite.open("sqlite:gateway.db", {
  folder,
  options: sqlite.config.parse({}),
  log: pino({ level: "silent" }),
});
for (let step = Number(from) + 1; ; step++) {
  const rev = await driver.put("counts", `key/${step % 50}`, String(step));
  const seq = await driver.append("steps", [`${step}a`, `${step}b`]);
  if (step % 7 === 0) await driver.delete("counts", `key/${(step + 25) % 50}`);
  say(`${step} ${rev} ${seq}`);
  if (step % 16 === 0) await new Promise((resolve) => void setImmediate(resolve));
}
