import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const PAGE = readFileSync("docs/guide/troubleshooting.md", "utf8");
const MESSAGES = [...PAGE.matchAll(/^```text\n([^]*?)^```/gm)].flatMap(([, block]) =>
  block!.trim().split("\n"),
);

/** Text that a template must have beside its values: one without would be every message. */
const LEAST_TEXT = 14;

const PATTERNS = ["core", "plugins"].flatMap(sourcesOf).flatMap(patternsOf);

it("has messages to look for", () => {
  expect(MESSAGES.length).toBeGreaterThan(25);
  expect(new Set(MESSAGES).size).toBe(MESSAGES.length);
});

it.each(MESSAGES)("the gateway says: %s", (message) => {
  expect(PATTERNS.some((pattern) => pattern.test(message))).toBe(true);
});

it("knows a message that the gateway does not say", () => {
  const wrong = "The listener is on fire, which nobody noticed.";
  expect(PATTERNS.some((pattern) => pattern.test(wrong))).toBe(false);
});

it("every message is followed by what to do", () => {
  const bare = PAGE.split(/^```text\n[^]*?^```$/gm).slice(1);
  expect(bare.filter((text) => /^\s*(?:#|$)/.test(text))).toEqual([]);
});

function sourcesOf(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(`${folder}/${name}`, "utf8"));
}

/** Strings and templates of a source, each as a pattern in which a value may be anything. */
function patternsOf(source: string): RegExp[] {
  const texts = [...source.matchAll(/"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g)].map(
    ([, text, template]) => text ?? template!,
  );
  const parts = texts.map((text) => text.split(/\$\{[^{}]*\}/));
  return parts
    .filter((each) => each.join("").length >= LEAST_TEXT)
    .map((each) => new RegExp(`^${each.map(escaped).join(".+")}$`));
}

function escaped(text: string): string {
  return text.replaceAll(/\\(["`])/g, "$1").replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
