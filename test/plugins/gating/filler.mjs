// Switches off so many tools that the file outgrows what the process may write; prints how that ended. Started by state.test.ts.
import { createJiti } from "jiti";

const [module, file] = process.argv.slice(2);
const jiti = createJiti(import.meta.url, {
  fsCache: false,
  alias: JSON.parse(process.env.ALIAS),
});
const { FlagStore } = await jiti.import(module);
const { StateFile } = await jiti.import(module.replace("flag-store", "file"));
const store = new FlagStore({ log: { warn() {} }, relist() {}, changed() {} });
await store.open(new StateFile(file));
const flags = Array.from({ length: 2_000 }, (_, index) => ({
  server: "a",
  tool: `tool-${index}`,
  enabled: false,
}));
const code = await store.set(flags, "x").then(
  () => "fine",
  (error) => error.code,
);
process.stdout.write(JSON.stringify({ code, flags: store.flags.size }));
