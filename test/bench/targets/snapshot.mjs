/** Loads who may see what from the tables of a gateway, and says how long that takes and what it holds. */
import { withIssuer } from "../../fixtures/issuer.mjs";

const { createGateway } = await import("propylon");
const { Loader } = await import("../../../dist/modules/plugins/team-auth/bearer/loader.js");
const resolvePlugin = async (name) => (await import(`propylon/plugins/${name}`)).default;
const config = { ...JSON.parse(process.argv[2]), log: { level: "error" } };
const { issuer } = await withIssuer(() => createGateway(config, { resolvePlugin }));

async function measure() {
  // The secrets of keys are not opened: there are few.
  const loader = new Loader(issuer.directory.db, { open: (text) => text });
  gc();
  const before = process.memoryUsage().heapUsed;
  const begin = performance.now();
  const snapshot = await loader.load();
  const ms = performance.now() - begin;
  gc();
  const bytes = process.memoryUsage().heapUsed - before;
  return { ms, bytes, teams: snapshot.teams.size };
}

process.on("message", () => void measure().then((result) => process.send({ result })));
process.send({ port: 1 });
