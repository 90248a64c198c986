import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { expectText } from "./page.ts";
import { tourOf } from "./tour.ts";

const PAGE = "docs/one-call.md";
/** A path, the name of a function, and that function as it stands in the file. */
const QUOTE = /^(\[`(.+\.ts)`\]\(\.\.\/\2\), `(.+)`:\n\n```ts\n)[^]*?(?=^```$)/gm;

const found = [...readFileSync(PAGE, "utf8").matchAll(QUOTE)];
const functions = found.map(([, , path, name]) => ({ path: path!, name: name! }));

it("quotes twelve functions word for word, and no other code (UPDATE_DOCS=1 quotes them again)", () => {
  expectText(PAGE, (page) =>
    page.replaceAll(
      QUOTE,
      (_, head: string, path: string, name: string) => `${head}${quoted(path, name).code}\n`,
    ),
  );
  expect(new Set(functions.map(({ path, name }) => `${path} ${name}`)).size).toBe(12);
  expect(readFileSync(PAGE, "utf8").match(/^```\w/gm)).toHaveLength(12);
});

it("a call that runs passes each of them, in this order", async () => {
  const { passed } = await tourOf();
  const order = functions.map(({ path, name }) => {
    const { first, last } = quoted(path, name);
    const at = passed.findIndex(({ file, line }) => file === path && line >= first && line <= last);
    return { path, name, at };
  });
  expect(order.filter(({ at }) => at === -1)).toEqual([]);
  expect(order).toEqual(order.toSorted((a, b) => a.at - b.at));
});

it("finds a function by its name, as far as its last brace", () => {
  const { code, first, last } = quoted("core/gateway/generation.ts", "call");
  expect(code).toMatch(/^call\(call: Call\): Promise<Answer> \{\n {2}this[^]*\n\}$/);
  expect(last - first + 1).toBe(code.split("\n").length);
  expect(() => quoted("core/gateway/generation.ts", "calls2")).toThrow("calls2");
});

/** A function or method as it stands in a file, without the indentation of its class, and its lines. */
function quoted(path: string, name: string) {
  const text = readFileSync(path, "utf8");
  const form = String.raw`^( *)(?:\w+ )*${name}\([^;]*?\{\n[^]*?^\1\}$`;
  const match = new RegExp(form, "m").exec(text);
  if (!match) throw new Error(`${path} has no function ${name}.`);
  const lines = match[0].split("\n");
  const indent = match[1]!.length;
  const first = text.slice(0, match.index).split("\n").length;
  const code = lines.map((line) => line.slice(indent)).join("\n");
  return { code, first, last: first + lines.length - 1 };
}
