import { mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import type { OutputAsset, OutputChunk, Plugin, RolldownOptions } from "rolldown";
import { GatewayError } from "../kit/errors.ts";
import { findParts, type BuildParts } from "./build-parts.ts";

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
  readonly parts: BuildParts;
}

/** What a bundler made. */
type Output = readonly (OutputChunk | OutputAsset)[];

const FILE = "server.mjs";

/**
 * Builds a gateway to one file that runs without `node_modules`, with the config beside it. A build that fails changes nothing:
 * what was built before is still there, and whole.
 *
 * @throws {GatewayError} whatever is wrong with the config; `not_found` when rolldown, unplugin or a package that a plugin needs
 * is not installed; `invalid` when something cannot be bundled
 */
export async function buildGateway(request: BuildRequest): Promise<BuildResult> {
  // First, because a wrong config is worth telling before a missing bundler.
  const parts = await findParts(request.config);
  const output = await bundle(parts, request);
  const files = output.map((item) => ({
    name: item.fileName,
    content: item.type === "chunk" ? item.code : item.source,
  }));
  if (!parts.isCode)
    files.push({ name: basename(parts.config), content: await readFile(parts.config) });
  const out = resolve(request.out ?? ".output");
  await write(out, files);
  const file = join(out, FILE);
  return { file, size: (await stat(file)).size, parts };
}

async function bundle({ config }: BuildParts, request: BuildRequest): Promise<Output> {
  const { rolldown, plugin } = await loadBundler(config);
  const build = await rolldown({
    input: "virtual:gateway/server",
    platform: "node",
    plugins: [plugin],
    onLog: refuseUnresolved,
  });
  try {
    const { output } = await build.generate({
      format: "esm",
      entryFileNames: FILE,
      codeSplitting: false,
      minify: !request.readable,
      sourcemap: request.sourcemap === true,
      comments: { legal: false },
    });
    return output;
  } catch (cause) {
    throw new GatewayError("invalid", `The build failed: ${firstLines(cause)}`, {
      hint: "Correct what it names and build again.",
      cause,
    });
  } finally {
    await build.close();
  }
}

/** Elsewhere only a warning; but one file without node_modules cannot import anything. */
const refuseUnresolved: NonNullable<RolldownOptions["onLog"]> = (_level, { code, message }) => {
  if (code === "UNRESOLVED_IMPORT") throw new Error(message);
};

async function loadBundler(config: string) {
  try {
    const [{ rolldown }, { default: propylon }] = await Promise.all([
      import("rolldown"),
      import("./unplugin.ts"),
    ]);
    return { rolldown, plugin: propylon.rolldown({ config }) as Plugin };
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    throw new GatewayError("not_found", "A build needs the packages rolldown and unplugin.", {
      hint: "Install them: npm install -D rolldown unplugin.",
      cause,
    });
  }
}

/** Each file is replaced in one step: a gateway that starts meanwhile gets the old or the new one. */
async function write(
  folder: string,
  files: readonly { readonly name: string; readonly content: string | Uint8Array }[],
): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
    for (const { name, content } of files) {
      const unfinished = join(folder, `${name}.${process.pid}.tmp`);
      await writeFile(unfinished, content);
      await rename(unfinished, join(folder, name));
    }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new GatewayError("io_error", `The build cannot be written (${code ?? "unknown"}).`, {
      hint: "Check the folder, or give another: --out FOLDER.",
      cause,
    });
  }
}

function firstLines(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  // Rolldown's first line counts the errors; the second names the first one.
  return message.split("\n").slice(0, 3).join(" ").trim();
}
