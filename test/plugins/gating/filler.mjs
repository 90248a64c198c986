// Switches off so many tools that the file outgrows what the process may write; prints how that ended. Started by state.test.ts.
import { createJiti } from "jiti";

const [module, file] = process.argv.slice(2);
const { Ledger } = await createJiti(import.meta.url, {
  fsCache: false,
  alias: JSON.parse(process.env.ALIAS),
}).import(module);
const ledger = new Ledger({ log: { warn() {} }, relist() {}, changed() {} });
await ledger.open(file);
const flags = Array.from({ length: 2_000 }, (_, index) => ({
  server: "a",
  tool: `tool-${index}`,
  enabled: false,
}));
const code = await ledger.set(flags, "x").then(
  () => "fine",
  (error) => error.code,
);
process.stdout.write(JSON.stringify({ code, flags: ledger.flags.size }));
