import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { Failure } from "./failure.ts";

/** Where other programs keep their servers, relative to a folder. */
const KNOWN = [".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", "claude_desktop_config.json"];

/** Servers taken over from the files of other programs. */
export interface Imported {
  /** The block for gateway.yaml, as text; `""` without servers. */
  readonly yaml: string;
  readonly names: readonly string[];
  /** Values that stood there literally, by the variable that takes their place: they belong into `.env`. */
  readonly secrets: ReadonlyMap<string, string>;
}

/** Files in a folder that have servers. */
export function findServerFiles(folder: string): readonly string[] {
  return KNOWN.filter((name) => existsSync(join(folder, name)));
}

/**
 * Reads `mcpServers` (VS Code: `servers`) of files, in order; of two servers of one name the first counts. What stands in `env`
 * and `headers` literally is a secret until proven otherwise, and becomes a variable.
 *
 * @throws {Failure} for a file that cannot be read or has no servers
 */
export function importServers(files: readonly string[]): Imported {
  const servers = new Map<string, Entry>();
  for (const file of files)
    for (const [name, entry] of Object.entries(readServers(file)))
      if (!servers.has(name)) servers.set(name, entry);
  const secrets = new Map<string, string>();
  const block = Object.fromEntries(
    [...servers].map(([name, entry]) => [name, hideSecrets(name, entry, secrets)]),
  );
  const yaml = servers.size === 0 ? "" : stringify({ mcpServers: block }, { lineWidth: 0 });
  return { yaml, names: [...servers.keys()], secrets };
}

type Entry = Readonly<Record<string, unknown>>;

function readServers(file: string): Readonly<Record<string, Entry>> {
  let value: unknown;
  try {
    value = JSON.parse(withoutComments(readFileSync(file, "utf8")));
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === "ENOENT";
    throw new Failure(`${file} ${missing ? "does not exist" : "is no JSON that can be read"}.`);
  }
  const { mcpServers, servers } = (value ?? {}) as Record<string, unknown>;
  const found = mcpServers ?? servers;
  if (typeof found !== "object" || found === null || Object.keys(found).length === 0)
    throw new Failure(`${file} has no mcpServers.`);
  return found as Record<string, Entry>;
}

/** VS Code's files may have comments and commas at the end; texts are left as they are. */
function withoutComments(text: string): string {
  return text
    .replaceAll(
      /("(?:[^"\\]|\\.)*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g,
      (_, literal?: string) => literal ?? "",
    )
    .replaceAll(/("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/g, (_, literal?: string) => literal ?? "");
}

function hideSecrets(name: string, entry: Entry, secrets: Map<string, string>): Entry {
  const hide = (values: unknown): unknown =>
    typeof values !== "object" || values === null
      ? values
      : Object.fromEntries(
          Object.entries(values).map(([key, value]) => [key, hideOne(name, key, value, secrets)]),
        );
  return {
    ...entry,
    ...(entry["env"] !== undefined && { env: hide(entry["env"]) }),
    ...(entry["headers"] !== undefined && { headers: hide(entry["headers"]) }),
  };
}

/** `${input:name}` is VS Code's question for a value; a gateway has nobody to ask. */
function hideOne(
  server: string,
  key: string,
  value: unknown,
  secrets: Map<string, string>,
): unknown {
  if (typeof value !== "string") return value;
  const asked = value.replaceAll(/\$\{input:([^}]+)\}/g, (_, input: string) => {
    const variable = variableName(input);
    secrets.set(variable, "");
    return `\${${variable}}`;
  });
  if (asked !== value || /\$\{[^}]+\}/.test(value)) return asked;
  const variable = variableName(`${server}_${key}`);
  secrets.set(variable, value);
  return `\${${variable}}`;
}

function variableName(text: string): string {
  const name = text.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_");
  return /^[0-9]/.test(name) ? `_${name}` : name;
}
