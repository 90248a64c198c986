#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { checkDirectory, nameOf, writeProject } from "./directory.ts";
import { Failure } from "./failure.ts";
import { callingManager, initGit, runManager } from "./finish.ts";
import { HELP, readFlags, type Flags } from "./flags.ts";
import { makeProject, type ProjectFile } from "./project.ts";
import { ask, defaultAnswers, type Answers } from "./questions.ts";
import { importServers } from "./servers.ts";

/** Folder of this package: the templates lie in it. */
const ROOT = fileURLToPath(new URL("..", import.meta.url));

const { version } = JSON.parse(readFileSync(`${ROOT}/package.json`, "utf8")) as { version: string };

async function main(words: readonly string[]): Promise<void> {
  const flags = readFlags(words);
  if (flags.help) return void process.stdout.write(HELP);
  if (flags.version) return void process.stdout.write(`${version}\n`);
  const isAsking = !flags.yes && !flags.json && process.stdin.isTTY && process.stdout.isTTY;
  if (isAsking) hintAgents();
  const answers = isAsking ? await ask(flags) : defaultAnswers(flags);
  const directory = resolve(answers.directory);
  const files = plan(directory, answers, flags);
  if (flags.dryRun) return tellPlan(directory, files, flags);
  writeProject(directory, files);
  const manager = flags.manager ?? callingManager();
  if (answers.install) await runManager(directory, manager, ["install"]);
  // After the installation, so that the lock file is in it.
  const isGit = flags.git === false ? false : initGit(directory);
  tellResult({ directory, files, answers, manager, isGit, json: flags.json });
  if (answers.start) await runManager(directory, manager, ["start"]);
}

function plan(directory: string, answers: Answers, flags: Flags): readonly ProjectFile[] {
  const { template, extras } = answers;
  const name = nameOf(directory);
  checkDirectory(directory, flags.overwrite);
  const imported = importServers(answers.imports.map((file) => resolve(file)));
  const propylon = flags.propylon ?? `^${version}`;
  const { production } = flags;
  return makeProject(ROOT, { name, template, extras, production, imported, propylon });
}

/** Programs that write code run a command better than they answer questions. */
function hintAgents(): void {
  const marks = ["CLAUDECODE", "CODEX_SANDBOX", "CURSOR_AGENT", "GEMINI_CLI", "AI_AGENT"];
  if (marks.some((mark) => process.env[mark]))
    console.error(
      "To create in one go, run: create-gateway <directory> --yes --template <template>",
    );
}

function tellPlan(directory: string, files: readonly ProjectFile[], { json }: Flags): void {
  const paths = files.map(({ path }) => path);
  console.log(json ? JSON.stringify({ directory, files: paths }) : paths.join("\n"));
}

interface Result {
  readonly directory: string;
  readonly files: readonly ProjectFile[];
  readonly answers: Answers;
  readonly manager: string;
  readonly isGit: boolean;
  readonly json: boolean;
}

function tellResult({ directory, files, answers, manager, isGit, json }: Result): void {
  const { template, install, start } = answers;
  if (json) {
    const paths = files.map(({ path }) => path);
    console.log(JSON.stringify({ directory, template: template.name, files: paths, install }));
    return;
  }
  const here = relative(process.cwd(), directory);
  const run = template.name === "plugin" ? `${manager} test` : `${manager} start`;
  const steps = [
    ...(here === "" ? [] : [`cd ${here}`]),
    ...(install ? [] : [`${manager} install`]),
    ...(start ? [] : [run]),
  ];
  console.log(
    `\n${template.name}: ${files.length} files in ${here === "" ? "this folder" : here}.`,
  );
  if (!isGit) console.log("It is no git repository.");
  if (steps.length > 0) console.log(`\nNext:\n${steps.map((step) => `  ${step}`).join("\n")}`);
  if (start) console.log("\nStarting it; Ctrl-C ends it.\n");
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  console.error(error.message);
  process.exitCode = error.code;
}
