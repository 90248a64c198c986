import { appendFileSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The campaign copies this file to `plugins/`, beside the plugins with their mutants. It is asked in every process, built or not. */
const root = fileURLToPath(import.meta.url).replace(/\/(?:dist|plugins)\/.*/s, "");
const reached = new Set<number>();
const [mutant, log] = read();

function read(): readonly [mutant: number, log: string] {
  try {
    const [id, ...rest] = readFileSync(`${root}/.mutant`, "utf8").split(" ");
    return [Number(id), rest.join(" ")];
  } catch {
    return [-1, ""];
  }
}

/** Whether a mutant is on. */
export function on(id: number): boolean {
  if (log !== "" && !reached.has(id)) {
    reached.add(id);
    appendFileSync(log, `${id}\n`);
  }
  return id === mutant;
}
