// Switches tools off and on without pause until it is killed; says what it is about to write, and that it has. Started by kill.long.test.ts.
import { createJiti } from "jiti";

const [module, file] = process.argv.slice(2);
const jiti = createJiti(import.meta.url, {
  fsCache: `${file}.cache`,
  alias: JSON.parse(process.env.ALIAS),
});
const { FlagStore } = await jiti.import(module);
const { StateFile } = await jiti.import(module.replace("flag-store", "file"));
const store = new FlagStore({ log: { warn() {} }, relist() {}, changed() {} });
await store.open(new StateFile(file));
process.send("ready");
process.once("message", () => void run());

async function run() {
  for (let count = 0; ; count++) {
    const flags = [
      { server: "a", tool: `t${count % 7}`, enabled: count % 2 === 0 },
      { server: `s${count % 3}`, enabled: count % 5 !== 0 },
    ];
    process.send({ about: flags });
    await store.set(flags, "campaign");
    process.send({ done: true });
  }
}
