import { constants } from "node:fs";
import { writeJson } from "propylon/kit";
import { access, stat } from "node:fs/promises";
import { basename } from "node:path";
import { GatewayError, type Call } from "propylon";
import type { Part } from "propylon/contract";
import { environment, type SkillOptions } from "../options.ts";
import type { Work } from "../tasks/task/work.ts";
import type { AgentExecutor } from "./skill-tools.ts";
import { runProgram, type ProgramEnd } from "./process.ts";

/** Shortest value that is taken for a secret, in characters. */
const SECRET = 8;

/** A skill that is a program: the message is its input, what it writes is the artifact. */
export function commandExecutor(options: SkillOptions, workDir: string): AgentExecutor {
  const argv = options.command!;
  return {
    description: `Runs ${basename(argv[0]!)}.`,
    async run(work, call) {
      const exit = await runProgram({
        name: options.id,
        argv,
        env: environmentOf(work, call, options.env, workDir),
        cwd: workDir,
        input: inputOf(work.message.parts),
        secrets: secretsOf(options.env),
        most: options.maxOutput,
        signal: call.signal,
        onText: (text) => work.artifact({ parts: [{ text }], append: work.hasWritten }),
      });
      if (exit.code !== 0) throw failed(argv[0]!, exit);
    },
  };
}

/** The variables of a program: those named for it, and what it is about. */
function environmentOf(
  { taskId, contextId }: Work,
  { meta }: Call,
  names: readonly string[],
  workDir: string,
): Readonly<Record<string, string>> {
  const traceparent = meta?.["traceparent"];
  const allowed = ["GITHUB_TOKEN", ...names].flatMap((name) => {
    const value = environment[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    ...Object.fromEntries(allowed),
    WORK_DIR: workDir,
    TASK_ID: withoutControls(taskId),
    CONTEXT_ID: withoutControls(contextId),
    ...(typeof traceparent === "string" && { TRACEPARENT: traceparent }),
  };
}

/** A client chooses its ids: a NUL would fail the start, and a line break end a line of a script or a log. */
function withoutControls(id: string): string {
  return id.replaceAll(/\p{Cc}/gu, encodeURIComponent);
}

/**
 * Texts as they are and data as JSON, one per line.
 *
 * @throws {GatewayError} `invalid` for files
 */
function inputOf(parts: readonly Part[]): string {
  if (parts.some(({ raw, url }) => raw !== undefined || url !== undefined))
    throw new GatewayError("invalid", "This skill takes text and data, and no files.");
  return parts.map(({ text, data }) => text ?? writeJson(data)).join("\n");
}

/** What was given to a program by name; shorter values are words such as `true`. */
function secretsOf(names: readonly string[]): Readonly<Record<string, string>> {
  const given = ["GITHUB_TOKEN", ...names].map((name) => [name, environment[name] ?? ""] as const);
  return Object.fromEntries(given.filter(([, value]) => value.length >= SECRET));
}

/** Why a program failed, from its standard error. */
function failed(program: string, { code, signal, complaint }: ProgramEnd): GatewayError {
  const how = signal === null ? `exited with ${code}` : `was ended by ${signal}`;
  return new GatewayError(
    "upstream_error",
    `${basename(program)} ${how}${complaint === "" ? "." : `:\n${complaint}`}`,
  );
}

/**
 * Whether programs can work in the folder.
 *
 * @throws {GatewayError} `io_error`
 */
export async function checkWorkDir(folder: string): Promise<void> {
  const reason = await findFault(folder);
  if (reason === undefined) return;
  throw new GatewayError("io_error", `The work directory ${folder} ${reason}.`, {
    hint: "Make it, or set WORK_DIR or plugins.a2a.workDir to a folder that can be written to.",
    data: { path: "plugins.a2a.workDir" },
  });
}

async function findFault(folder: string): Promise<string | undefined> {
  try {
    if (!(await stat(folder)).isDirectory()) return "is not a folder";
    await access(folder, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" ? "does not exist" : `cannot be written to (${code})`;
  }
}
