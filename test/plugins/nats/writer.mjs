// @ts-check
/** Writes values and entries as fast as it can, and says what was confirmed, until it is killed. */
import pino from "pino";
import nats from "propylon/plugins/nats";

const [url = "", start = "0"] = process.argv.slice(2);
const say = (/** @type {object} */ words) => process.send?.(words);

const host = {
  folder: process.cwd(),
  options: nats.config?.parse({}),
  log: pino({ level: "silent" }),
};
const driver = await nats.stores?.["nats"]?.open(url, host);
if (!driver) throw new Error("The plugin brings no store.");

/** Every third value does not fit a message. */
const textOf = (/** @type {number} */ step) => `${step} `.repeat(step % 3 === 0 ? 300_000 : 1);

for (let step = Number(start); ; step++) {
  say({ about: step });
  await driver.put("b", `key${step % 5}`, textOf(step));
  await driver.append("log", [`${step}`, `${step}'`]);
  say({ done: step });
}
