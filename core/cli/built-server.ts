import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { code } from "virtual:gateway/plugins";
import { tellFailure } from "./exit.ts";
import type { ServeFlags } from "./flags.ts";
import { keyOf } from "./serving.ts";
import { start } from "./start.ts";
import { CONFIG_NAMES } from "../file/file-names.ts";
import { GatewayError } from "../kit/errors.ts";
import { setConfigFolder } from "../build/sealed/folder.ts";

/**
 * Runs the gateway that a build holds; {@link USAGE} says how it is called. The config is read when it
 * starts: the one given, that of `GATEWAY_CONFIG`, the one in the current folder, or the one beside the build.
 *
 * @param words command line without node and the file
 * @param entry `import.meta.url` of the build
 */
export async function serve(words: readonly string[], entry: string): Promise<void> {
  try {
    const { positionals, values } = readWords(words);
    if (values.help) return void process.stdout.write(`Usage: ${USAGE}\n`);
    const file = findFile(positionals[0], dirname(fileURLToPath(entry)));
    setConfigFolder(dirname(file));
    await start({ file, ...flagsOf(values) });
  } catch (error) {
    process.exitCode = tellFailure(error);
  }
}

const OPTIONS = {
  port: { type: "string" },
  host: { type: "string" },
  "read-only": { type: "boolean" },
  insecure: { type: "boolean" },
  help: { type: "boolean" },
} as const;

const USAGE =
  "node server.mjs [config] [--port NUMBER] [--host ADDRESS] [--read-only] [--insecure]";

function readWords(words: readonly string[]) {
  try {
    const read = parseArgs({ args: [...words], options: OPTIONS, allowPositionals: true });
    if (read.positionals.length <= 1) return read;
  } catch (cause) {
    throw usage(cause);
  }
  throw usage();
}

function usage(cause?: unknown): GatewayError {
  return new GatewayError("invalid", "That is not how a build is started.", {
    hint: `Write ${USAGE}.`,
    cause,
  });
}

function flagsOf(values: ReturnType<typeof readWords>["values"]): ServeFlags {
  const { port, host, insecure } = values;
  if (port !== undefined && !/^\d{1,5}$/.test(port)) throw usage();
  const apiKey = keyOf(process.env);
  return {
    ...(apiKey !== undefined && { apiKey }),
    ...(port !== undefined && { port: Number(port) }),
    ...(host !== undefined && { host }),
    ...(insecure && { insecure }),
    ...(values["read-only"] && { readOnly: true }),
  };
}

/** @param beside folder of the build */
function findFile(given: string | undefined, beside: string): string {
  const wanted = given ?? process.env["GATEWAY_CONFIG"];
  if (wanted !== undefined && wanted !== "") return resolve(wanted);
  const folders = [process.cwd(), beside];
  const files = folders.flatMap((folder) => CONFIG_NAMES.map((name) => join(folder, name)));
  const found = files.find((file) => existsSync(file)) ?? configInside(beside);
  if (found !== undefined) return found;
  throw new GatewayError("no_config", `There is no ${CONFIG_NAMES[0]} here or beside the build.`, {
    hint: "Give its path, or set GATEWAY_CONFIG.",
  });
}

/** A config that is code is part of the build. */
function configInside(folder: string): string | undefined {
  const name = CONFIG_NAMES.find((each) => Object.hasOwn(code, each));
  return name === undefined ? undefined : join(folder, name);
}
