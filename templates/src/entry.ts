import { isAbsolute, join, relative } from "node:path";
import { findSecrets } from "./secrets.ts";
import type { Places, Variables } from "./variables.ts";

/** A server as another program's file describes it. */
export type Foreign = Readonly<Record<string, unknown>>;

/** A server as gateway.yaml describes it. */
export interface Entry {
  command?: string;
  args?: readonly string[];
  env?: Readonly<Record<string, string>>;
  cwd?: string;
  url?: string;
  transport?: "sse";
  headers?: Readonly<Record<string, string>>;
  enabled?: false;
  tools?: Readonly<Record<string, readonly string[]>>;
}

/** Why a server cannot be taken over. */
export class Unusable extends Error {
  override readonly name = "Unusable";
}

/** Where a server comes from and goes to. */
export interface Move extends Places {
  readonly server: string;
  readonly variables: Variables;
  /** Folder of the new gateway. */
  readonly directory: string;
}

/** Keys that say something to a gateway. What else there is, clients keep for themselves. */
export const KNOWN: ReadonlySet<string> = new Set(
  "command args env cwd url serverUrl httpUrl headers type transport disabled enabled disabledTools disabled_tools excludeTools includeTools".split(
    " ",
  ),
);

/** Transports as clients spell them, in lower case without `-` and `_`. */
const STDIO = ["", "stdio"];
const HTTP = ["", "http", "https", "streamablehttp", "sse"];

/**
 * Translates a server: what is secret becomes a variable, relative paths start from the new folder.
 *
 * @throws {Unusable} when no gateway can run it
 */
export function translateEntry(foreign: Foreign, move: Move): Entry {
  const url = textAt(foreign, "url") ?? textAt(foreign, "serverUrl") ?? textAt(foreign, "httpUrl");
  const command = textAt(foreign, "command");
  const type = textAt(foreign, "type") ?? textAt(foreign, "transport") ?? "";
  const transport = type.toLowerCase().replaceAll(/[-_]/g, "");
  const common = commonOf(foreign);
  if (command !== undefined && STDIO.includes(transport))
    return { ...processEntry(command, foreign, move), ...common };
  if (url !== undefined && HTTP.includes(transport))
    return { ...httpEntry(url, transport === "sse", foreign, move), ...common };
  if (command === undefined && url === undefined)
    throw new Unusable("it has neither a command nor a url");
  throw new Unusable(
    `its type is ${JSON.stringify(type)}, and a gateway knows stdio with a command, http and sse with a url`,
  );
}

function processEntry(line: string, foreign: Foreign, move: Move): Entry {
  const [command, ...words] = splitCommand(line);
  const args = [...words, ...listAt(foreign, "args")];
  const own = textAt(foreign, "cwd");
  const cwd = own === undefined ? folderFor([command, ...args], move) : rebase(own, move);
  const env = hideAll(foreign, "env", move);
  return {
    command: filled(translate(command, move), move),
    ...(args.length > 0 && {
      args: args.map((text, index) => hideParts(text, args[index - 1], move)),
    }),
    ...(env && { env }),
    ...(cwd !== undefined && { cwd }),
  };
}

/** Some clients run `npx -y foo` as a command; a gateway takes a program and its arguments. A path may hold blanks. */
function splitCommand(line: string): readonly [string, ...string[]] {
  const [program = "", ...words] = line.trim().split(/\s+/);
  return words.length > 0 && /^[\w@.+-]+$/.test(program) ? [program, ...words] : [line];
}

function httpEntry(url: string, isSse: boolean, foreign: Foreign, move: Move): Entry {
  const text = hideParts(url, undefined, move);
  const candidates = ["fill-in", "1", "https://fill-in.invalid"];
  if (!isUrl(text, move)) {
    const fits = candidates.find((value) => isUrl(text, move, value));
    if (fits === undefined) throw new Unusable("its url is not valid");
    move.variables.suggest(text, fits);
  }
  const headers = hideAll(foreign, "headers", move);
  return {
    url: text,
    ...(isSse && { transport: "sse" as const }),
    ...(headers && { headers }),
  };
}

/** Whether a text is a URL once its variables are filled in; `blank` stands for those that are empty. */
function isUrl(text: string, { variables }: Move, blank = ""): boolean {
  const full = text
    .replaceAll(
      /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g,
      (_, name: string, fallback?: string) =>
        (variables.values.get(name) ?? variables.real(name)) || fallback || blank,
    )
    .replaceAll("$$", "$");
  return /^https?:\/\/[^/?#]/i.test(full) && URL.canParse(full);
}

function filled(text: string, { variables }: Move): string {
  variables.suggest(text, "fill-in");
  return text;
}

/** What every kind of server has. */
function commonOf(foreign: Foreign): Entry {
  const isOff = foreign["disabled"] === true || foreign["enabled"] === false;
  const [exclude] = ["disabledTools", "disabled_tools", "excludeTools"]
    .map((key) => listAt(foreign, key))
    .filter((names) => names.length > 0);
  const include = listAt(foreign, "includeTools");
  const tools = { ...(include.length > 0 && { include }), ...(exclude && { exclude }) };
  return {
    ...(isOff && { enabled: false as const }),
    ...(Object.keys(tools).length > 0 && { tools }),
  };
}

/** In `env` and `headers` whatever stands literally is a secret until proven otherwise. */
function hideAll(foreign: Foreign, key: string, move: Move): Entry["env"] {
  const values = foreign[key] ?? undefined;
  if (values === undefined) return undefined;
  if (!isMap(values)) throw new Unusable(`its ${key} is not a map`);
  const entries = Object.entries(values)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => [name, hideValue(name, scalar(value, `${key}.${name}`), move)]);
  return Object.fromEntries(entries) as Record<string, string>;
}

function hideValue(name: string, value: string, move: Move): string {
  if (value === "" || value.includes("${")) return translate(value, move);
  return move.variables.hide(wishFor(name, move.server), value);
}

/** `github` and `GITHUB_TOKEN` give `GITHUB_TOKEN`, not `GITHUB_GITHUB_TOKEN`. */
function wishFor(name: string, server: string): string {
  const plain = (text: string): string => text.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_");
  return plain(name).startsWith(plain(server)) ? name : `${server}_${name}`;
}

function hideParts(text: string, before: string | undefined, move: Move): string {
  let done = 0;
  let result = "";
  for (const { start, end, name } of findSecrets(text, before)) {
    const value = text.slice(start, end);
    if (value.includes("${") || insideVariable(text, start)) continue;
    result += translate(text.slice(done, start), move);
    result += move.variables.hide(wishFor(name, move.server), value);
    done = end;
  }
  return result + translate(text.slice(done), move);
}

function insideVariable(text: string, index: number): boolean {
  const open = text.lastIndexOf("${", index);
  return open !== -1 && !text.slice(open, index).includes("}");
}

function translate(text: string, move: Move): string {
  return move.variables.translate(text, move.server, move);
}

/** Clients start servers in the folder of their file; a gateway does in its own. */
function folderFor(words: readonly string[], { workspace, directory }: Move): string | undefined {
  const isRelative = words.some((word) => /^\.{1,2}(?:[\\/]|$)/.test(word));
  return isRelative && workspace !== directory ? pathFrom(directory, workspace) : undefined;
}

function rebase(cwd: string, move: Move): string {
  if (isAbsolute(cwd) || /^[~$]/.test(cwd)) return translate(cwd, move);
  return translate(pathFrom(move.directory, join(move.workspace, cwd)), move);
}

function pathFrom(directory: string, path: string): string {
  return relative(directory, path).replaceAll("\\", "/") || ".";
}

function textAt(foreign: Foreign, key: string): string | undefined {
  const value = foreign[key];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string") throw new Unusable(`its ${key} is not a text`);
  return value;
}

function listAt(foreign: Foreign, key: string): readonly string[] {
  const value = foreign[key] ?? [];
  if (!Array.isArray(value)) throw new Unusable(`its ${key} is not a list`);
  return value.map((item) => scalar(item, key));
}

function scalar(value: unknown, key: string): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw new Unusable(`its ${key} is not a text`);
}

/** Whether a value is a map rather than a list or nothing. */
export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
