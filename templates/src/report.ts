import { relative } from "node:path";
import { scriptWords } from "./finish.ts";
import type { Project } from "./project.ts";

/** What became of an order. */
export interface Result {
  /** Absolute path. */
  readonly directory: string;
  readonly name: string;
  readonly template: string;
  readonly project: Project;
  readonly manager: string;
  readonly isInstalled: boolean;
  /** Whether it is going to be started. */
  readonly isStarting: boolean;
  /** Whether it is in a git repository; `undefined` when nobody wants one. */
  readonly isGit: boolean | undefined;
}

/** Says what was made, and what comes next. */
export function tellResult(result: Result): void {
  const { directory, template, project, isGit, isStarting } = result;
  const place = relative(process.cwd(), directory) || "this folder";
  console.log(`\n${template}: ${project.files.length} files in ${place}.`);
  if (project.imported.length > 0) console.log(`Imported: ${project.imported.join(", ")}.`);
  for (const note of project.notes) console.log(`  ${note}`);
  if (project.blanks.length > 0)
    console.log(`Still to be filled in, in .env: ${project.blanks.join(", ")}.`);
  if (isGit === false) console.log("It is not a git repository, since git init failed.");
  const steps = stepsOf(result);
  if (steps.length > 0 && !isStarting)
    console.log(`\nNext:\n${steps.map((step) => `  ${step}`).join("\n")}`);
  console.log(
    isStarting ? "\nStarting it; press Ctrl-C to stop.\n" : "\nREADME.md has the next steps.",
  );
}

/** The same for programs. */
export function resultJson(result: Result, error?: string): string {
  const { directory, name, template, project, manager, isInstalled, isGit } = result;
  return JSON.stringify({
    directory,
    name,
    template,
    files: project.files.map(({ path }) => path),
    imported: project.imported,
    fillIn: project.blanks,
    notes: project.notes,
    manager,
    installed: isInstalled,
    git: isGit ?? false,
    next: stepsOf(result),
    ...(error !== undefined && { error }),
  });
}

/** Says what would be written. */
export function tellPlan(
  directory: string,
  project: Project,
  replaced: readonly string[],
  json: boolean,
): void {
  const paths = project.files.map(({ path }) => path);
  if (json)
    return console.log(JSON.stringify({ directory, files: paths, replaced, notes: project.notes }));
  for (const path of paths)
    console.log(
      !replaced.includes(path) ? path : `${path} (${path === ".env" ? "added to" : "replaced"})`,
    );
  for (const note of project.notes) console.error(note);
}

/** Commands that can be copied, one a line. */
function stepsOf({
  directory,
  template,
  project,
  manager,
  isInstalled,
  isStarting,
}: Result): string[] {
  const here = relative(process.cwd(), directory);
  const script = scriptWords(manager, template === "plugin" ? "test" : "start");
  return [
    ...(here === "" ? [] : [`cd ${shellWord(here)}`]),
    ...(isInstalled ? [] : [`${manager} install`]),
    ...project.services.map((name) => `docker compose up --detach --wait ${name}`),
    ...(isStarting ? [] : [`${manager} ${script.join(" ")}`]),
  ];
}

/** A path as a shell reads it: PowerShell and sh both take single quotes. */
function shellWord(path: string): string {
  const word = path.startsWith("-") ? `./${path}` : path;
  if (/^[\w./\\:@+=,-]+$/.test(word)) return word;
  const quoted = process.platform === "win32" ? "''" : String.raw`'\''`;
  return `'${word.replaceAll("'", quoted)}'`;
}
