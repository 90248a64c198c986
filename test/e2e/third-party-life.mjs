// Started in the folder of a gateway, by plain Node as an application that brings its own: puts a plugin package in and takes it
// out, and tells what that left. It ends by itself or not at all: a handle left open keeps it alive.
import { createFileGateway } from "propylon";
import { writeFile } from "node:fs/promises";

const [bare, named] = process.argv.slice(2);
const handles = () =>
  process
    .getActiveResourcesInfo()
    .filter((kind) => !/^(?:Close|FS)Req/.test(kind))
    .toSorted();
const save = async (text) => {
  await writeFile("gateway.yaml", text);
  return (await gateway.manage()).reload();
};

await writeFile("gateway.yaml", bare);
const gateway = await createFileGateway("gateway.yaml");
await gateway.listen();
const before = handles();
const { plugins: arrival } = await save(named);
const during = handles();
const { plugins: leaving } = await save(bare);
const routes = gateway.describe().routes.filter(({ plugin }) => plugin === "notes");
const metrics = await (await gateway.manage()).metrics();
const report = {
  before,
  during,
  after: handles(),
  added: arrival.added,
  removed: leaving.removed,
  routes,
  servers: [...gateway.servers.keys()],
  hasMetric: metrics.includes("notes_kept"),
};
await gateway.close();
process.stdout.write(JSON.stringify(report));
