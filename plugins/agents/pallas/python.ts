/** What the decorator of a fast-agent agent says, as far as it is written out. */
export interface PythonAgent {
  readonly instruction: string | undefined;
  readonly servers: readonly string[];
  readonly model: string | undefined;
}

/** A decorator such as `@fast.agent(`. */
const DECORATOR = /@\w+\.(?:agent|custom|smart)\s*\(/;

const TEXT = String.raw`(?:"""([\s\S]*?)"""|'''([\s\S]*?)'''|"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)')`;

/** Reads literals off the source; what a program would have to run for is left out. */
export function readPython(source: string | undefined): PythonAgent | undefined {
  const start = source === undefined ? -1 : source.search(DECORATOR);
  if (source === undefined || start < 0) return undefined;
  const code = source.slice(start);
  const servers = /\bservers\s*=\s*\[([^\]]*)\]/.exec(code)?.[1] ?? "";
  return {
    instruction: textAfter(code, "instruction"),
    model: textAfter(code, "model"),
    servers: [...servers.matchAll(/["']([^"']+)["']/g)].map(([, name]) => name!),
  };
}

function textAfter(code: string, key: string): string | undefined {
  const found = new RegExp(String.raw`\b${key}\s*=\s*${TEXT}`).exec(code);
  const text = found?.slice(1).find((part) => part !== undefined);
  return text?.replaceAll(/\\(["'\\])/g, "$1").replaceAll(/^\n|\s+$/g, "");
}
