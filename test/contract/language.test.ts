import { readdirSync, readFileSync } from "node:fs";
import { parseSync } from "rolldown/utils";
import { expect, it } from "vitest";

/** Forms that are no idiomatic English, with what to write. A form is looked for in prose, not in code and quotations. */
const FORMS: readonly (readonly [form: RegExp, instead: string])[] = [
  [/(?<!\bthere )\b(?:is|are|was|were) none\b(?! of)/i, "an unknown ..., is not a ..."],
  [/(?<!\bthere )\b(?:is|are|was|were) no (?!longer\b|more\b)/i, "is not a ..."],
  [/\bwhat (?:is|are|has) no\b/i, "the noun: an invalid ..."],
  [/\bno (?:valid )?JSON\b(?!-)/, "invalid JSON"],
  [/\bwho(?:m)?ever\b/i, "the noun: the client, the caller"],
  [/\bwho is in\b/i, "the noun"],
  [/\bwhat is (?:yours|theirs|ours|mine)\b/i, "your own ..."],
  [/\bwhich \w+ there (?:is|are)\b/i, "the ..."],
  [/\bwish(?:es|ed)?\b/i, "want"],
  [/\btak(?:e|es|en|ing)\b[^.;:\n]{0,40}\baway\b/i, "remove"],
  [/\bkeeps? (?:nothing|nobody)\b/i, "does not stop ..."],
  [/\b(?:broken|breaks?|breaking) off\b/i, "cancelled, interrupted"],
  [/\bthat is all\b/i, "say what comes next"],
  [/\bis meant\b/i, "say who allows it"],
  [/\blast words\b/i, "standard error"],
  [/\bis no more\b(?! than)/i, "was removed"],
  [/\b(?:speaks?|understands?|knows?) no (?!longer\b|more\b)/i, "does not ..."],
  [/\b(?:shall|anew|be it)\b/i, "does, again, whether it is"],
  [/\b(?:for|as) ever\b/i, "forever, still"],
  [/\bwhat becomes of\b/i, "what happens to"],
  [/\bnothing else is said\b/i, "by default"],
  [/\bwho (?:we|you) are\b/i, "the credentials"],
  [/(?:^|[.;:] )Most (?:that|requests|tokens|characters|agents|tool calls)\b/, "Maximum ..."],
];

/** Words in one sentence, inline code left out. */
const LONGEST_SENTENCE = 45;
/** Words in a sentence of a page, on average. Above about twenty a text counts as hard to read. */
const AVERAGE_SENTENCE = 18;
/** An average of fewer sentences says nothing. */
const FEW_SENTENCES = 10;

/** Pages in the words of something else. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "docs/reference/plugin-api.md": "written from the comments of the sources",
  "docs/reference/requirements.md": "quotes the requirements as they were given",
  "docs/reference/runtime-contract.md": "quotes answers of a runtime",
};

/** Sources whose texts people read: errors, hints, logs, options, questions of the scaffolder. */
const MESSAGE_FOLDERS = ["core", "plugins", "templates/src"];

/** Sources whose comments are held to the forms. Sentences of any length: a comment is read beside its code. */
const COMMENT_FOLDERS = MESSAGE_FOLDERS;

const PAGES = [
  "README.md",
  ...readdirSync("docs", { recursive: true, encoding: "utf8" })
    .map((name) => `docs/${name.replaceAll("\\", "/")}`)
    .filter((name) => name.endsWith(".md") && !name.startsWith("docs/.vitepress/")),
].filter((page) => !(page in EXCEPTIONS));

it.each(PAGES)("%s: plain English, in sentences of a length that can be read", (page) => {
  const text = readFileSync(page, "utf8");
  expect(formsIn(text)).toEqual([]);
  const lengths = sentencesOf(text).map(countWords);
  expect(sentencesOf(text).filter((each) => countWords(each) > LONGEST_SENTENCE)).toEqual([]);
  const mean = lengths.length < FEW_SENTENCES ? 0 : average(lengths);
  expect(mean).toBeLessThanOrEqual(AVERAGE_SENTENCE);
});

it.each(MESSAGE_FOLDERS)("messages of %s: plain English", (folder) => {
  const texts = messagesIn(folder);
  expect(texts.length).toBeGreaterThan(20);
  const found = texts.flatMap((text) => formsIn(text).map((form) => `${form} (${text})`));
  expect(found).toEqual([]);
});

it.each(COMMENT_FOLDERS)("comments of %s: plain English", (folder) => {
  const sources = sourcesIn(folder);
  const found = sources.flatMap((source) =>
    commentsIn(source, readFileSync(source, "utf8")).flatMap((comment) =>
      formsIn(comment).map((form) => `${source}: ${form} (${comment})`),
    ),
  );
  expect(sources.length).toBeGreaterThan(5);
  expect(found).toEqual([]);
});

it("reads comments: not strings, not code in backticks, and what a line break tears apart", () => {
  const source = [
    "/**",
    " * Answers whoever asks.",
    " * @example",
    " * ```ts",
    " * anew();",
    " * ```",
    " */",
    'export const address = "https://host // shall";',
    "// It waits until the client is",
    "// none of these, see `whoever`.",
    "const text = `/* anew */`;",
  ].join("\n");
  const comments = commentsIn("a.ts", source);
  expect(comments).toHaveLength(2);
  expect(comments.map(formsIn)).toEqual([["whoever: write the noun: the client, the caller"], []]);
  expect(formsIn(commentsIn("a.ts", "// A body is\n// no object.")[0]!)).toHaveLength(1);
  expect(commentsIn("a.tsx", "const a = <b>{/* anew */}// shall</b>;")).toEqual(["anew"]);
});

it("knows the forms, and lets code and quotations be", () => {
  expect(formsIn("It serves whoever asks.")).toEqual([
    "whoever: write the noun: the client, the caller",
  ]);
  expect(formsIn("A body that is no JSON.")).toHaveLength(2);
  expect(formsIn("There is no such tool. It is no longer there.")).toEqual([]);
  expect(formsIn('`whoever` is a name, and so is "whoever".\n```ts\nwhoever();\n```\n')).toEqual(
    [],
  );
});

it("measures sentences, not tables, headings and code", () => {
  const page =
    "# A heading\n\nOne two three. Four `five six` seven.\n\n| a | table |\n\n- an item\n";
  expect(sentencesOf(page).map(countWords)).toEqual([3, 2, 2]);
});

it("has no exception for a page that is gone", () => {
  expect(Object.keys(EXCEPTIONS).filter((page) => readFileSync(page).length === 0)).toEqual([]);
});

function formsIn(page: string): string[] {
  const text = proseOf(page).replaceAll(/"[^"\n]*"/g, '""');
  return FORMS.flatMap(([form, instead]) => {
    const found = form.exec(text);
    return found ? [`${found[0]}: write ${instead}`] : [];
  });
}

/** Strings and templates of several words. Comments are left out, and the code that `propylon plugin new` writes. */
function messagesIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const sources = names
    .filter((name) => name.endsWith(".ts"))
    .map((name) => {
      const text = readFileSync(`${folder}/${name}`, "utf8");
      return text.replaceAll(/^\s*(?:\/\*\*|\*|\/\/).*$/gm, "");
    });
  return sources
    .flatMap((text) => [...text.matchAll(/"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g)])
    .map(([, text, template]) => text ?? template!)
    .filter((text) => text.includes(" ") && !text.startsWith("import "));
}

function sourcesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => `${folder}/${name.replaceAll("\\", "/")}`)
    .filter((name) => /\.tsx?$/.test(name) && !name.includes("/node_modules/"));
}

/** The comments of a source, a paragraph in one line. Line comments that follow each other are one. */
function commentsIn(name: string, source: string): string[] {
  const { comments, errors } = parseSync(name, source);
  expect(errors).toEqual([]);
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

function proseOf(page: string): string {
  return page
    .replaceAll(/^```[^]*?^```/gm, "")
    .replaceAll(/`[^`\n]*`/g, "``")
    .replaceAll(/\]\([^)\n]*\)/g, "]");
}

function sentencesOf(page: string): string[] {
  return proseOf(page)
    .split(/\n\n|\n(?=- |\d+\. )/)
    .filter((paragraph) => !/^\s*[|#<]/.test(paragraph))
    .flatMap((paragraph) => paragraph.replaceAll("\n", " ").split(/(?<=[.!?:;])\s+/))
    .filter((sentence) => countWords(sentence) > 0);
}

function countWords(sentence: string): number {
  return sentence.split(/\s+/).filter((word) => /\p{L}/u.test(word)).length;
}

function average(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0) / numbers.length;
}
