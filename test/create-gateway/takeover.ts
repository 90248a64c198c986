import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseEnv } from "node:util";
import { loadConfig, type LoadedConfig } from "../../core/file/load.ts";
import { writeProject } from "../../templates/src/directory.ts";
import { makeProject, type Project } from "../../templates/src/project.ts";
import { readSource } from "../../templates/src/source.ts";
import { findTemplate } from "../../templates/src/template.ts";
import { makeFolder } from "../kit/folder.ts";
import { ROOT } from "./creator.ts";

const TEMPLATES = join(ROOT, "templates");

/** A project with servers of another program. */
export interface Taken {
  readonly project: Project;
  readonly loaded: LoadedConfig;
  /** What it says about its servers. */
  readonly yaml: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Makes a project from a file of another program, and loads it as a gateway would in a bare environment. */
export async function takeOver(file: string, text: string, folder = makeFolder()): Promise<Taken> {
  const source = join(folder, file);
  mkdirSync(dirname(source), { recursive: true });
  writeFileSync(source, text);
  const directory = join(folder, "gw");
  // What an earlier .env says would stay.
  rmSync(join(directory, ".env"), { force: true });
  const project = makeProject(TEMPLATES, {
    directory,
    name: "gw",
    template: findTemplate("minimal")!,
    extras: [],
    production: false,
    imports: [source],
    propylon: readSource(undefined, "^0.1.0"),
  });
  const read = ["gateway.yaml", ".env", "plugins/hello.ts"];
  const files = project.files.filter(({ path }) => read.includes(path));
  writeProject(directory, files);
  const environment = { HOME: "/home/ada", PATH: "/usr/bin" };
  const loaded = await loadConfig(join(directory, "gateway.yaml"), { environment });
  const textOf = (path: string): string =>
    files.find((each) => each.path === path)!.content.toString();
  return { project, loaded, yaml: textOf("gateway.yaml"), env: parseEnv(textOf(".env")) };
}
