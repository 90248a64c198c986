/**
 * Builds a gateway as a user of a bundler would, with the public plugin of the package:
 *
 *   node bundle.mjs rolldown|vite|esbuild CONFIG OUTPUT_FOLDER [--watch]
 *
 * With --watch it goes on and writes a line to standard output after every build.
 */
import { join } from "node:path";
import propylon from "propylon/unplugin";

const SERVER = "virtual:gateway/server";

/** What stands in the guide (docs/guide/build.md), by bundler. */
const BUNDLERS = {
  async rolldown(config, folder, watches) {
    const { build, watch } = await import("rolldown");
    const options = {
      input: SERVER,
      platform: "node",
      plugins: [propylon.rolldown({ config })],
      output: { file: join(folder, "server.mjs"), codeSplitting: false },
    };
    if (!watches) return build(options);
    return watch(options).on("event", tell);
  },
  async vite(config, folder, watches) {
    const { build } = await import("vite");
    const built = await build({
      configFile: false,
      logLevel: "error",
      plugins: [propylon.vite({ config })],
      ssr: { noExternal: true, target: "node" },
      build: {
        ssr: true,
        outDir: folder,
        emptyOutDir: false,
        rolldownOptions: {
          input: SERVER,
          output: { entryFileNames: "server.mjs", codeSplitting: false },
        },
        ...(watches && { watch: {} }),
      },
    });
    if (watches) built.on("event", tell);
  },
  async esbuild(config, folder) {
    const { build } = await import("esbuild-wasm");
    await build({
      entryPoints: [SERVER],
      plugins: [propylon.esbuild({ config })],
      bundle: true,
      platform: "node",
      format: "esm",
      outfile: join(folder, "server.mjs"),
      // Packages that are CommonJS require Node's own modules.
      banner: {
        js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
      },
      logLevel: "silent",
    });
  },
};

async function tell(event) {
  if (event.code === "ERROR") process.stdout.write(`failed: ${event.error.message}\n`);
  if (event.code === "END") process.stdout.write("built\n");
  await event.result?.close();
}

const [bundler, config, folder, flag] = process.argv.slice(2);
try {
  await BUNDLERS[bundler](config, folder, flag === "--watch");
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
