/**
 * node test/bench/choices.mjs [histogram] [ring] [puller] [references] [issuer] [kv]
 *
 * Figures of decisions 0036 to 0039, 0094 and 0095: what is our own against the library that could stand in its place, in turns in one run.
 * Needs dist; `puller` and `kv` need nats-server, and `references` a package that comes with a development dependency.
 */
import { histogram } from "./choices/histogram.mjs";
import { issuer } from "./choices/issuer.mjs";
import { kv } from "./choices/kv.mjs";
import { puller } from "./choices/puller.mjs";
import { references } from "./choices/references.mjs";
import { ring } from "./choices/ring.mjs";

const CHOICES = { histogram, ring, puller, references, issuer, kv };
const wanted = process.argv.slice(2);

for (const [name, measure] of Object.entries(CHOICES)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  process.stdout.write(`${name}\n`);
  for (const line of await measure()) process.stdout.write(`  ${line}\n`);
}
