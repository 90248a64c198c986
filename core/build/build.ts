import { copyFile, mkdir, rm, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import type { Plugin } from "rolldown";
import { GatewayError } from "../errors.ts";
import { findParts, type GatewayParts } from "./parts.ts";

/** How to build. */
export interface BuildRequest {
  /** Config; default: the one in this folder. */
  readonly config?: string | undefined;
  /** Folder to write; default `.output`. What is in it under the same names is replaced. */
  readonly out?: string | undefined;
  /** Leave names and spaces as they are. */
  readonly readable?: boolean | undefined;
  /** Write `server.mjs.map` too. */
  readonly sourcemap?: boolean | undefined;
}

/** What was built. */
export interface BuildResult {
  /** Absolute path of the one file. */
  readonly file: string;
  /** Bytes. */
  readonly size: number;
  readonly parts: GatewayParts;
}

/**
 * Builds a gateway to one file that runs without `node_modules`, with the config beside it.
 *
 * @throws {GatewayError} whatever is wrong with the config; `not_found` when rolldown or unplugin are not installed; `invalid`
 * when something cannot be bundled
 */
export async function buildGateway(request: BuildRequest): Promise<BuildResult> {
  // First, because a wrong config is worth telling before a missing bundler.
  const parts = await findParts(request.config);
  const { rolldown, plugin } = await loadBundler(parts.config);
  const out = resolve(request.out ?? ".output");
  const file = join(out, "server.mjs");
  await mkdir(out, { recursive: true });
  try {
    const bundle = await rolldown({
      input: "virtual:gateway/server",
      platform: "node",
      plugins: [plugin],
      onLog(_level, { code, message }) {
        // Elsewhere only a warning; but one file without node_modules cannot import anything.
        if (code === "UNRESOLVED_IMPORT") throw new Error(message);
      },
    });
    await bundle.write({
      file,
      format: "esm",
      codeSplitting: false,
      minify: !request.readable,
      sourcemap: request.sourcemap === true,
      comments: { legal: false },
    });
    await bundle.close();
  } catch (cause) {
    await rm(file, { force: true });
    throw new GatewayError("invalid", `The build failed: ${firstLine(cause)}`, {
      hint: "Correct what it names and build again.",
      cause,
    });
  }
  if (!parts.isCode) await copyFile(parts.config, join(out, basename(parts.config)));
  return { file, size: (await stat(file)).size, parts };
}

async function loadBundler(config: string) {
  try {
    const [{ rolldown }, { default: propylon }] = await Promise.all([
      import("rolldown"),
      import("./unplugin.ts"),
    ]);
    return { rolldown, plugin: propylon.rolldown({ config }) as Plugin };
  } catch (cause) {
    throw new GatewayError("not_found", "A build needs the packages rolldown and unplugin.", {
      hint: "Install them: npm install -D rolldown unplugin.",
      cause,
    });
  }
}

function firstLine(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  // Rolldown's first line counts the errors; the second names the first one.
  return message.split("\n").slice(0, 3).join(" ").trim();
}
