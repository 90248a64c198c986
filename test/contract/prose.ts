import { readdirSync, readFileSync } from "node:fs";
import { parseSync } from "rolldown/utils";

/** A page without what is no prose: blocks of code, inline code and addresses. */
export function proseOf(page: string): string {
  return page
    .replaceAll(/^```[^]*?^```/gm, "")
    .replaceAll(/`[^`\n]*`/g, "``")
    .replaceAll(/\]\([^)\n]*\)/g, "]");
}

/** Sentences of a page. Tables, headings and pictures have none. */
export function sentencesOf(page: string): string[] {
  return paragraphsOf(page)
    .flatMap((paragraph) => paragraph.split(/(?<=[.!?:;])\s+/))
    .filter((sentence) => countWords(sentence) > 0);
}

function paragraphsOf(page: string): string[] {
  return proseOf(page)
    .split(/\n\n|\n(?=- |\d+\. )/)
    .filter((paragraph) => !/^\s*[|#<]/.test(paragraph))
    .map((paragraph) => paragraph.replaceAll("\n", " "));
}

/** Words of a sentence; numbers and signs are none. */
export function countWords(sentence: string): number {
  return wordsOf(sentence).length;
}

function wordsOf(sentence: string): string[] {
  return sentence.split(/\s+/).filter((word) => /\p{L}/u.test(word));
}

/** The Flesch-Kincaid grade of a page: the years at school that its sentences ask for. */
export function gradeOf(page: string): number {
  const sentences = paragraphsOf(page)
    .flatMap((paragraph) => paragraph.split(/(?<=[.!?])\s+/))
    .map(wordsOf)
    .filter(({ length }) => length > 0);
  const words = sentences.flat();
  const syllables = words.reduce((sum, word) => sum + countSyllables(word), 0);
  return 0.39 * (words.length / sentences.length) + 11.8 * (syllables / words.length) - 15.59;
}

/** Syllables of an English word, by its groups of vowels. The e of most endings is silent: "closed", "rules", "gate", but not "table". */
export function countSyllables(word: string): number {
  const letters = word.toLowerCase().replaceAll(/[^a-z]/g, "");
  const spoken = letters
    .replace(/(?<=[aeiouy].*[^aeiouytd])ed$/, "")
    .replace(/(?<=[aeiouy].*[^aeiouysxzcgh])(?<![^aeiouy]l)es$/, "")
    .replace(/(?<=[aeiouy].*[^aeiouy])(?<![^aeiouy]l)e$/, "");
  return Math.max(1, spoken.match(/[aeiouy]+/g)?.length ?? 0);
}

/** Sources below a folder. */
export function sourcesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => `${folder}/${name.replaceAll("\\", "/")}`)
    .filter((name) => /\.tsx?$/.test(name) && !name.includes("/node_modules/"));
}

/** Strings and templates of several words. Comments are left out, and the code that `propylon plugin new` writes. */
export function messagesIn(folder: string): string[] {
  return sourcesIn(folder)
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(name, "utf8").replaceAll(/^\s*(?:\/\*\*|\*|\/\/).*$/gm, ""))
    .flatMap((text) => [...text.matchAll(/"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g)])
    .map(([, text, template]) => text ?? template!)
    .filter((text) => text.includes(" ") && !text.startsWith("import "));
}

/** What a source of a web page may show: texts between tags, strings and templates. */
export function shownTextsIn(name: string, source: string): string[] {
  const texts: string[] = [];
  visit(parseSync(name, source).program, (node) => {
    if (node["type"] === "JSXElement" || node["type"] === "JSXFragment")
      texts.push((node["children"] as readonly Node[]).map(childText).join(""));
    if (node["type"] === "Literal" && typeof node["value"] === "string") texts.push(node["value"]);
    if (node["type"] === "TemplateLiteral")
      texts.push((node["quasis"] as readonly Quasi[]).map(({ value }) => value.cooked).join("…"));
  });
  return texts.map((text) => text.replaceAll(/\s+/g, " ").trim()).filter(hasLetters);
}

type Node = Readonly<Record<string, unknown>>;
type Quasi = Readonly<{ value: Readonly<{ cooked: string }> }>;

/** A sentence goes on around a value or a tag that stands in it. */
function childText(child: Node): string {
  return child["type"] === "JSXText" ? (child["value"] as string) : "…";
}

function hasLetters(text: string): boolean {
  return /\p{L}/u.test(text);
}

function visit(node: unknown, see: (node: Node) => void): void {
  if (Array.isArray(node)) for (const each of node) visit(each, see);
  else if (typeof node === "object" && node !== null) {
    see(node as Node);
    // What is imported is no text.
    if ((node as Node)["type"] === "ImportDeclaration") return;
    visit(Object.values(node), see);
  }
}

/** The comments of a source, a paragraph in one line. Line comments that follow each other are one. */
export function commentsIn(name: string, source: string): string[] {
  const { comments, errors } = parseSync(name, source);
  if (errors.length > 0) throw new Error(`${name} cannot be parsed.`);
  const texts: string[] = [];
  let lineEnd: number | undefined;
  for (const { type, value, start, end } of comments) {
    const follows = type === "Line" && lineEnd !== undefined;
    if (follows && source.slice(lineEnd, start).trim() === "")
      texts.push(`${texts.pop()}\n${value}`);
    else texts.push(value);
    lineEnd = type === "Line" ? end : undefined;
  }
  return texts.map(unwrapped);
}

function unwrapped(comment: string): string {
  const lines = comment.split("\n").map((line) => line.replace(/^\s*\*? ?/, "").trimEnd());
  const prose = lines.join("\n").replaceAll(/^```[^]*?^```/gm, "");
  return prose.replaceAll(/\n(?=[^\n@-])/g, " ").trim();
}
