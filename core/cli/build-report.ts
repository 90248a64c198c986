import { relative } from "node:path";
import { buildGateway, type BuildRequest } from "../build/build.ts";

/** Builds a gateway and tells what came out. */
export async function build(request: BuildRequest): Promise<void> {
  const started = performance.now();
  const { file, size, parts } = await buildGateway(request);
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  const path = relative(process.cwd(), file);
  const plugins = [...parts.plugins.keys()];
  console.log(`${path}: ${(size / 1024 / 1024).toFixed(2)} MiB in ${seconds} s.`);
  console.log(`Plugins: ${plugins.length === 0 ? "none" : plugins.join(", ")}.`);
  console.log(`Run it with: node ${path}`);
}
