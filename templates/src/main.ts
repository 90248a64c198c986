#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { checkDirectory, findReplaced, writeProject } from "./directory.ts";
import { Failure } from "./failure.ts";
import { callingManager, initGit, runManager, scriptWords } from "./finish.ts";
import { HELP, readFlags, type Flags } from "./flags.ts";
import { exitCodeOf, Interruption } from "./interruption.ts";
import { nameOf } from "./name.ts";
import { makeProject, type Project } from "./project.ts";
import { ask, defaultAnswers, type Answers } from "./questions.ts";
import { readSource } from "./source.ts";
import { resultJson, tellPlan, tellResult, type Result } from "./report.ts";

/** Folder of this package: the templates lie in it. */
const ROOT = fileURLToPath(new URL("..", import.meta.url));

const NOTHING = "Cancelled. Nothing was written.";

async function main(words: readonly string[], interruption: Interruption): Promise<void> {
  const flags = readFlags(words);
  if (flags.help) return void process.stdout.write(HELP);
  if (flags.version) return console.log(ownVersion());
  if (flags.directory !== undefined) checkPlace(flags.directory, flags);
  const answers = isAsked(flags) ? await ask(flags) : defaultAnswers(flags);
  checkFit(answers, flags);
  const directory = resolve(answers.directory);
  const name = checkPlace(directory, flags);
  const project = plan(directory, name, answers, flags);
  if (flags.dryRun)
    return tellPlan(directory, project, findReplaced(directory, project.files), flags.json);
  interruption.hold();
  const undo = writeProject(directory, project.files);
  const signal = await interruption.signal();
  if (signal === undefined)
    return finish({ directory, name, project, answers, flags, interruption });
  undo();
  throw new Failure(NOTHING, exitCodeOf(signal));
}

function ownVersion(): string {
  const { version } = JSON.parse(readFileSync(`${ROOT}/package.json`, "utf8")) as {
    version: string;
  };
  return version;
}

/** Some build servers have a terminal, but nobody in front of it. */
function isAsked({ yes, json }: Flags): boolean {
  const { CI = "", TERM } = process.env;
  if (yes || json || !process.stdin.isTTY || !process.stdout.isTTY) return false;
  if (!["", "0", "false"].includes(CI) || TERM === "dumb") return false;
  hintPrograms();
  return true;
}

/** Programs that write code run a command better than they answer questions. */
function hintPrograms(): void {
  const marks = ["AI_AGENT", "CLAUDECODE", "CLAUDE_CODE", "CODEX_SANDBOX", "CODEX_THREAD_ID"];
  const others = ["CURSOR_AGENT", "GEMINI_CLI", "OPENCODE", "AUGMENT_AGENT"];
  if ([...marks, ...others].some((mark) => process.env[mark]))
    console.error(
      "To create in one go, run: create-gateway <directory> --yes --template <template>",
    );
}

function checkPlace(directory: string, flags: Flags): string {
  const name = nameOf(directory, flags.name);
  checkDirectory(resolve(directory), flags.overwrite);
  return name;
}

/** A plugin is a package: what is for gateways would be left out without a word. A database is not for this program to start. */
function checkFit({ template, imports, extras, start }: Answers, flags: Flags): void {
  const store = extras.find((extra) => extra === "postgres" || extra === "cluster");
  if (start && store !== undefined)
    throw new Failure(
      `--start cannot start the database of --with ${store}. Leave it out; the steps are printed.`,
    );
  if (extras.includes("workers")) checkWorkers(template.name, extras);
  if (template.name === "a2a-runtime" && extras.includes("cluster"))
    throw new Failure(
      "--with cluster is not for a2a-runtime: its queue shares the work, and deploy/kubernetes.yaml says how. Use --with kubernetes,postgres.",
    );
  if (template.name !== "plugin") return;
  const wrong = [
    imports.length > 0 ? "--import" : undefined,
    flags.with && flags.with.length > 0 ? "--with" : undefined,
    flags.production ? "--production" : undefined,
    start ? "--start" : undefined,
  ].find((flag) => flag !== undefined);
  if (wrong !== undefined)
    throw new Failure(`${wrong} is for gateways, not for plugins. Leave it out.`);
}

function checkWorkers(template: string, extras: Answers["extras"]): void {
  if (template === "a2a-runtime")
    throw new Failure(
      "--with workers is not for a2a-runtime: its queue shares the work. Start as many runtimes as there are cores.",
    );
  if (template === "team-console" && !extras.includes("postgres"))
    throw new Failure(
      "--with workers needs postgres for team-console: tables in a file belong to one process. Use --with workers,postgres.",
    );
  if (extras.includes("cluster"))
    throw new Failure(
      "--with workers is for one machine, --with cluster for several. Choose one; workers can be set in gateway.yaml later.",
    );
}

function plan(directory: string, name: string, answers: Answers, flags: Flags): Project {
  const { template, extras } = answers;
  const imports = answers.imports.map((file) => resolve(file));
  const propylon = readSource(flags.propylon, `^${ownVersion()}`);
  const { production } = flags;
  return makeProject(ROOT, { directory, name, template, extras, production, imports, propylon });
}

interface Work extends Pick<Result, "directory" | "name" | "project"> {
  readonly answers: Answers;
  readonly flags: Flags;
  readonly interruption: Interruption;
}

/** The project is complete by now: what goes wrong here takes nothing back. */
async function finish({ answers, flags, interruption, ...made }: Work): Promise<void> {
  const manager = flags.manager ?? callingManager();
  const { directory } = made;
  const failure = answers.install
    ? await attempt(() => runManager(directory, manager, ["install"], interruption))
    : undefined;
  const result = {
    ...made,
    template: answers.template.name,
    manager,
    isInstalled: answers.install && failure === undefined,
    isStarting: answers.start && failure === undefined,
    // After the installation, so that the lock file is in it.
    isGit: flags.git === false ? undefined : initGit(directory),
  };
  if (flags.json) console.log(resultJson(result, failure?.message));
  else tellResult(result);
  if (failure) throw new Told(`${failure.message} The project is complete.`, failure.code);
  if (!result.isStarting) return;
  const end = await attempt(() =>
    runManager(directory, manager, scriptWords(manager, "start"), interruption),
  );
  // Ctrl-C is how a gateway ends as intended.
  if (end && (await interruption.signal()) === undefined) throw new Told(end.message, end.code);
}

/** A failure that the JSON on standard output speaks of already, or that comes after it. */
class Told extends Failure {}

async function attempt(run: () => Promise<void>): Promise<Failure | undefined> {
  try {
    await run();
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

/** @param json whether standard output is for JSON only */
function tellFailure(error: unknown, json: boolean): void {
  const message = error instanceof Failure ? error.message : bugText(error);
  console.error(message);
  if (json && !(error instanceof Told)) console.log(JSON.stringify({ error: message }));
  process.exitCode = error instanceof Failure ? error.code : 1;
}

function bugText(error: unknown): string {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  if (process.env["DEBUG"]) return stack ?? message;
  return `This is a bug in create-gateway: ${message.split("\n")[0]}. Please report it, with what it prints when DEBUG=1 is set.`;
}

// The reader may have seen enough, e.g. head.
process.stdout.on("error", () => process.exit());
const words = process.argv.slice(2);
const interruption = new Interruption((signal) => {
  console.error(`\n${NOTHING}`);
  process.exit(exitCodeOf(signal));
});
let isDone = false;
// Ctrl-D ends a question without an answer, and nothing is left to do then.
process.on("beforeExit", () => {
  if (isDone) return;
  console.error(`\n${NOTHING}`);
  process.exit(130);
});
main(words, interruption)
  .catch((error: unknown) => tellFailure(error, words.includes("--json")))
  .finally(() => {
    isDone = true;
  });
