// node playground/team.mjs: three agents over a scripted model, real MCP servers for files and memory, and a registry on port 23030.
// MODEL_URL=http://127.0.0.1:11434/v1 MODEL=qwen3 node playground/team.mjs asks a model of your own instead.
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build, install, root } from "./ready.mjs";

install();
build();
if (process.env.MODEL_URL === undefined) {
  const { startModel } = await import("../test/fixtures/model/model.mjs");
  process.env.MODEL_URL = (await startModel()).url;
  console.log(
    "A scripted model answers: it calls the tools that a message names, and says what they answered.",
  );
}
const port = process.env.ORCHESTRATOR_PORT ?? 23033;
console.log(`Once the gateway is ready, ask the team in a second terminal:
  npx propylon call orchestrator --target http://127.0.0.1:${port}/mcp \\
    message="Let research read_graph and engineering list_allowed_directories."`);
// The memory server takes a relative path for one beside its own code, and npx runs in the folder of the workspace.
process.env.MEMORY_FILE ??= join(tmpdir(), "propylon-team-memory.jsonl");
process.env.FOLDER ??= join(root, "playground/team/files");
process.argv.splice(2, 0, "start", join(root, "playground/team/gateway.yaml"));
await import("../dist/plugins/cli.js");
