import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Imported } from "./servers.ts";
import type { Extra, Template } from "./template.ts";

/** What a project is made from. */
export interface Order {
  readonly name: string;
  readonly template: Template;
  readonly extras: readonly Extra[];
  readonly production: boolean;
  readonly imported: Imported;
  /** What package.json asks for as `propylon`. */
  readonly propylon: string;
}

/** A file to write. */
export interface ProjectFile {
  /** Relative to the directory, with `/`. */
  readonly path: string;
  readonly content: Buffer;
  readonly mode: number;
}

/** Name that every template has, to be replaced by that of the project. */
const NAME = "my-gateway";

/** Files that belong to an extra. */
const EXTRA_FILES: Readonly<Record<Extra, (path: string) => boolean>> = {
  docker: (path) => path === "Dockerfile" || path === ".dockerignore",
  compose: (path) => path === "compose.yaml",
  kubernetes: (path) => path.startsWith("deploy/"),
};

/** The files of a project, all in memory: nothing is written unless everything can be. */
export function makeProject(root: string, order: Order): readonly ProjectFile[] {
  // What gateways share is no use to a package; a template's own file takes the place of the shared one.
  const folders = order.template.name === "plugin" ? ["plugin"] : ["shared", order.template.name];
  const files = new Map(
    folders.flatMap((folder) =>
      readTree(join(root, folder)).map((file) => [file.path, file] as const),
    ),
  );
  const kept = [...files.values()].filter(({ path }) => isWanted(path, order));
  const made = kept.map((file) => ({ ...file, content: Buffer.from(fill(file, order)) }));
  return [...made, ...environment(made, order)].toSorted((left, right) =>
    left.path < right.path ? -1 : 1,
  );
}

function isWanted(path: string, { extras }: Order): boolean {
  return (Object.keys(EXTRA_FILES) as Extra[]).every(
    (extra) => extras.includes(extra) || !EXTRA_FILES[extra](path),
  );
}

/** npm neither packs .gitignore nor .npmrc, so files that begin with a dot begin with an underscore in the templates. */
function readTree(folder: string, prefix = ""): readonly ProjectFile[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const from = join(folder, entry.name);
    const path = `${prefix}${entry.name.replace(/^_/, ".")}`;
    if (entry.name === "node_modules") return [];
    if (entry.isDirectory()) return readTree(from, `${path}/`);
    const mode = statSync(from).mode & 0o111 ? 0o755 : 0o644;
    return [{ path, content: readFileSync(from), mode }];
  });
}

function fill({ path, content }: ProjectFile, order: Order): string {
  const text = content.toString("utf8").replaceAll(NAME, order.name);
  if (path === "package.json") return fillManifest(text, order);
  if (path === "gateway.yaml") return fillConfig(text, order);
  if (path === ".env.example") return fillExample(text, order);
  return text;
}

function fillManifest(text: string, { propylon }: Order): string {
  return text.replaceAll(
    /("propylon": )"[^"]*"/g,
    (_, key: string) => `${key}${JSON.stringify(propylon)}`,
  );
}

/** Every template lets its config be changed while it runs, by exactly this line. */
const MUTABLE = "management: { mutations: true }";

function fillConfig(text: string, { production, imported }: Order): string {
  const config = production ? text.replace(MUTABLE, "management: { readOnly: true }") : text;
  if (imported.yaml === "") return config;
  return `${config.trimEnd()}\n\n# Taken over; what was secret is in .env now.\n${imported.yaml}`;
}

function fillExample(text: string, { imported }: Order): string {
  const names = [...imported.secrets.keys()].map((name) => `${name}=\n`);
  if (names.length === 0) return text;
  return `${text.trimEnd()}\n\n# Of the servers that were taken over.\n${names.join("")}`;
}

/** `.env`: the example with generated keys and what was taken over. Only its owner may read it. */
function environment(
  files: readonly { readonly path: string; readonly content: Buffer }[],
  { template, imported }: Order,
): readonly ProjectFile[] {
  const example = files.find(({ path }) => path === ".env.example");
  if (!example) return [];
  const values = new Map([
    ...template.secrets.map((name) => [name, randomBytes(24).toString("base64url")] as const),
    ...imported.secrets,
  ]);
  const text = example.content
    .toString("utf8")
    .replaceAll(/^([A-Z0-9_]+)=(.*)$/gm, (line, name: string) => {
      const value = values.get(name);
      return value === undefined ? line : `${name}=${quote(value)}`;
    });
  return [{ path: ".env", content: Buffer.from(text), mode: 0o600 }];
}

/** As `util.parseEnv` reads it back. */
function quote(value: string): string {
  if (/^[\w./:@+=-]*$/.test(value)) return value;
  const mark = ["'", '"', "`"].find((each) => !value.includes(each)) ?? "'";
  return `${mark}${value}${mark}`;
}
