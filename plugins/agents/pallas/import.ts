import { readFile } from "node:fs/promises";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { GatewayError } from "propylon";
import { importPallas } from "./pallas.ts";

/** Where editors find the schema, as in the configs of create-gateway. */
const SCHEMA_LINE = "# yaml-language-server: $schema=./node_modules/propylon/gateway.schema.json";

/**
 * Prints a gateway config made from the files of another program, and on stderr what is still to be done.
 * @throws {GatewayError} `invalid` for another program, or files that cannot be used
 */
export async function importConfig(from: string, folder: string): Promise<void> {
  if (from !== "pallas")
    throw new GatewayError("invalid", `There is no import from "${from}".`, {
      hint: "There is: pallas. The mcpServers of clients need no import; paste them into the config.",
    });
  const { config, notes } = importPallas({
    agents: await readYaml(folder, "agents.yaml"),
    config: await readYaml(folder, "fastagent.config.yaml"),
    secrets: existsSync(join(folder, "fastagent.secrets.yaml"))
      ? await readYaml(folder, "fastagent.secrets.yaml")
      : {},
    source: (module) => readModule(folder, module),
  });
  console.log(`${SCHEMA_LINE}\n${stringify(config, { lineWidth: 0 }).trimEnd()}`);
  for (const note of notes) console.error(note);
}

async function readYaml(folder: string, name: string): Promise<unknown> {
  try {
    return parse(await readFile(join(folder, name), "utf8")) as unknown;
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    const words = isMissing
      ? `There is no ${name} in this folder.`
      : `The file ${name} cannot be read as YAML.`;
    throw new GatewayError("invalid", words, {
      hint: "Give the folder of a Pallas deployment.",
      cause,
    });
  }
}

/** Source of a Python module of the deployment, e.g. `agents.research`; invalid names lead nowhere. */
function readModule(folder: string, module: string): string | undefined {
  if (!/^\w+(?:\.\w+)*$/.test(module)) return undefined;
  const file = `${join(folder, ...module.split("."))}.py`;
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}
