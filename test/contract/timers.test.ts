import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseSync } from "vite";
import { expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** The one place where a delay is clamped. */
const CLAMPED = "core/kit/timers.ts";
/** Which argument is the delay. */
const DELAY: Readonly<Record<string, number>> = {
  setTimeout: 1,
  setInterval: 1,
  "AbortSignal.timeout": 0,
};
const PROMISES = /import \{ setTimeout(?: as (\w+))? \} from "(?:node:)?timers\/promises"/;
/** Numbers and constants, which nobody configures, and what is no longer than one of them. */
const CONSTANT = "(?:[A-Z][A-Z0-9_]*(?:\\.\\w+)?|Math\\.random\\(\\)|[\\d_.*/+\\s])+";
const FIXED = new RegExp(
  `^(?:${CONSTANT}|Math\\.min\\(${CONSTANT},[^]*|Math\\.min\\([^]*,${CONSTANT}\\))$`,
);

it("issue 42: a time that is no constant of ours goes through the clamped timers", () => {
  const files = ["core", "plugins", "templates/src"].flatMap(sourcesIn);
  expect(files.length).toBeGreaterThan(300);
  const found = files.flatMap((path) =>
    openEnds(readFileSync(ROOT + path, "utf8")).map((delay) => `${path}: ${delay}`),
  );
  expect(found).toEqual([]);
});

it("issue 42: an unclamped timer is found under every name", () => {
  const calls = "setTimeout(f, ms); setInterval(f, 10); AbortSignal.timeout(at(1, [2]));";
  expect(openEnds(`${calls} globalThis.setInterval(f, LONG_MS * n)`)).toEqual(["ms", "at(1, [2])", "LONG_MS * n"]); // prettier-ignore
  const nap = 'import { setTimeout as nap } from "node:timers/promises";';
  expect(openEnds(`${nap} await nap(WAIT_MS * 2); await nap(wait, undefined, {});`)).toEqual(["wait"]); // prettier-ignore
});

function sourcesIn(folder: string): string[] {
  return readdirSync(ROOT + folder, { recursive: true, encoding: "utf8" })
    .map((path) => `${folder}/${path}`)
    .filter((path) => path.endsWith(".ts") && path !== CLAMPED);
}

/** The delays of timers that are not fixed. */
function openEnds(text: string): string[] {
  const alias = PROMISES.exec(text);
  const delays = { ...DELAY, ...(alias && { [alias[1] ?? "setTimeout"]: 0 }) };
  const found: string[] = [];
  visit(parseSync("a.ts", text).program, ({ callee, arguments: given }) => {
    const name = callee && text.slice(callee.start, callee.end).replace("globalThis.", "");
    const delay = given?.[delays[name ?? ""] ?? -1];
    const written = delay && text.slice(delay.start, delay.end);
    if (written !== undefined && !FIXED.test(written)) found.push(written);
  });
  return found;
}

interface Node {
  readonly start: number;
  readonly end: number;
  readonly callee?: Node;
  readonly arguments?: readonly Node[];
}

function visit(node: object, look: (node: Node) => void): void {
  look(node as Node);
  for (const part of Object.values(node) as unknown[])
    if (typeof part === "object" && part !== null) visit(part, look);
}
