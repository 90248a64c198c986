import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  commentsIn,
  countSyllables,
  countWords,
  gradeOf,
  messagesIn,
  proseOf,
  sentencesOf,
  shownTextsIn,
  sourcesIn,
} from "./prose.ts";

type Form = readonly [form: RegExp, instead: string];

/** Forms that are no idiomatic English, with what to write. A form is looked for in prose, not in code and quotations. */
const FORMS: readonly Form[] = [
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

/** Forms that a translator writes. They are in no text but {@link RECORDS}. */
const TRANSLATED: readonly Form[] = [
  [/\bby (?:itself|themselves)\b/i, "automatically, on its own"],
  [/\bof one (?:store|installation)\b/i, "that share a store, of the same store"],
  [/\b(?:\w+s?|those|that|is|are) of before\b/i, "earlier, previous"],
  [/\bthe ones? before\b/i, "the previous one"],
  [/\bsaid no\b/i, "refused"],
  [/(?<!\bthere )\bis another one\b/i, "is different, has changed"],
  [/\b(?:is|are) in no\b/i, "is not in any ..., is not listed"],
  [/\bbut for\b/i, "except for, except"],
  [/\b(?:every|each) face\b/i, "every interface"],
  [/\bis data of\b/i, "belongs to"],
  [/\bmay hear\b/, "can receive, can learn"],
  [/\bhas every right\b/i, "has full access"],
  [/\b(?:is|has|have|are) to outlive\b/i, "must survive"],
  [/(?:^|[.;:] )No [a-z]+ may\b/, "never let ..."],
  [/\bas (?:it|they) stands? here\b/i, "verbatim"],
  [/\bthe same is (?:at|in|on)\b/i, "you can do the same ..."],
  [/\b(?:question|option|setting) is a \w+ as well\b/i, "every ... has a ..."],
  [/\bnothing is asked(?! (?:twice|of))\b/i, "nothing is prompted"],
  [/\bnone of (?:them|these) (?:has|have)\b/i, "say what is missing"],
  [/\bexceptions are\b/i, "except, is not ..."],
  [/\bgive it a key\b/i, "set a key"],
  [/\bneed not know anything\b/i, "needs no ..."],
  [/\bhowever many \w+ come\b/i, "regardless of how many"],
  [/\btakes? the rights of\b/i, "revokes, signs out"],
  [/\bread again only when\b/i, "is imported again only if"],
  [/\bin trouble\b/i, "failing"],
  [/\b(?:tools?|skills?) on offer\b/i, "tools"],
  [/\bon offer\b/i, "available, or leave it out"],
  [/\bcomes? along with\b/i, "is included in"],
  [/\b(?:is|are) not part of the gateway\b/i, "name what does it: your own ..."],
  [/\bsays? who may\b/i, "decides who may ..."],
  [/\b(?:is|are) there by default\b/i, "is on by default, comes with ..."],
  [/\bthe other way round, \w+/i, "say in full what happens: to the contrary, in turn"],
  [/\b(?:is|are) good for\b/i, "use it to ..., lasts for ..."],
  [/\bwhat stands behind\b/i, "the server behind ..., the reason"],
  [/\bsteps? by step:/i, "name the steps"],
  [/\bNone is remembered\b/i, "No recent ..."],
];

/** Labels of the web interface and of panels that say less than the usual word. */
const LABELS: readonly Form[] = [
  [/^No \w+ fits\b/, "No matching ..."],
  [/^None is\b/, "No recent ..."],
  [/^It takes none\b/, "No arguments"],
  [/^every \w+$/, "All ..."],
  [/^Forget all\b/, "Clear history"],
  [/^as the (?:system|gateway)\b/, "System, default"],
  [/^Everywhere$/, "Sign out everywhere"],
  [/^(?:Is|What it is)$/, "Value, Description"],
  [/^You: /, "Allowed"],
  [/\bits whole name\b/, "Filter by ..."],
  [/: done\./, "name what was done"],
  [/\bhow each said\b/, "the noun"],
  [/^Read again$/, "Refresh"],
];

/** Subjects that leave a reader to guess the noun. Pages for newcomers have none; elsewhere they get fewer, and never more. */
const CLEFTS: readonly Form[] = [
  [
    /(?<!\b(?:the|only|each|every|any|no|another|this|that|last|first|next|new|old|right|wrong) )\bones? that\b/i,
    "the noun: a task that ...",
  ],
  [
    /(?:^|[.;:] |\| )What (?!to\b)[^.?!\n|:]{3,60}? (?:is|are|was|were|has|goes|stays|stands|comes)\b(?![^.\n]*\?)/m,
    "the noun, and what happens to it",
  ],
];

/** How many clefts there may be. Lower a bound when you rewrite a text, and raise none. */
const CLEFTS_LEFT = { pages: 30, messages: 20, comments: 880 };

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

/** What was written once about a day: decisions, findings, measurements. */
const RECORDS = /^docs\/(?:decisions\/|reliability\.md|benchmarks\.md)/;

/** The pages that a newcomer meets first, and how many words each has at most, counted as `wc -w` does. */
const NEWCOMER: Readonly<Record<string, number>> = {
  "README.md": 960,
  "docs/guide/start.md": 900,
  "docs/guide/config.md": 1_300,
  "docs/guide/connect.md": 1_000,
  "docs/guide/web-interface.md": 850,
  "docs/guide/access.md": 1_700,
  "docs/guide/write-a-plugin.md": 2_800,
  "docs/guide/deploy.md": 900,
  "docs/guide/troubleshooting.md": 1_400,
  "docs/guide/compare.md": 700,
};
const NEWCOMER_WORDS = 12_000;

/**
 * The Flesch-Kincaid grade that a page may have. README, start, config and compare had 4.8 to 6.2 when they were rewritten; a page of
 * reference needs longer words.
 */
const GRADE = 7.5;
/** Of {@link RECORDS}, which nobody rewrites. */
const RECORD_GRADE = 10.8;

/** Pages that are harder. Lower a bound when you rewrite one, and raise none. */
const HARDER: Readonly<Record<string, number>> = {
  "docs/plugins/mcp.md": 7.7,
  "docs/plugins/rest.md": 7.8,
  "docs/reference/compatibility.md": 8.7,
};

/** Sources whose texts people read: errors, hints, logs, options, questions of the scaffolder. */
const MESSAGE_FOLDERS = ["core", "plugins", "templates/src"];

/** Sources whose comments are held to the forms. Sentences of any length: a comment is read beside its code. */
const COMMENT_FOLDERS = MESSAGE_FOLDERS;

/** Sources of what browsers show. */
const SHOWN_FOLDERS = ["plugins/ui/web", "plugins/console/web"];

const PAGES = [
  "README.md",
  ...readdirSync("docs", { recursive: true, encoding: "utf8" })
    .map((name) => `docs/${name.replaceAll("\\", "/")}`)
    .filter((name) => name.endsWith(".md") && !name.startsWith("docs/.vitepress/")),
].filter((page) => !(page in EXCEPTIONS));

it.each(PAGES)("%s: plain English, in sentences of a length that can be read", (page) => {
  const text = readFileSync(page, "utf8");
  expect(formsIn(text, RECORDS.test(page) ? FORMS : [...FORMS, ...TRANSLATED])).toEqual([]);
  const lengths = sentencesOf(text).map(countWords);
  expect(sentencesOf(text).filter((each) => countWords(each) > LONGEST_SENTENCE)).toEqual([]);
  const mean = lengths.length < FEW_SENTENCES ? 0 : average(lengths);
  expect(mean).toBeLessThanOrEqual(AVERAGE_SENTENCE);
});

it.each(PAGES)("43: %s: a grade that a reader of a second language can read", (page) => {
  const text = readFileSync(page, "utf8");
  const bound = RECORDS.test(page) ? RECORD_GRADE : (HARDER[page] ?? GRADE);
  const grade = sentencesOf(text).length < FEW_SENTENCES ? 0 : gradeOf(text);
  expect(grade).toBeLessThanOrEqual(bound);
});

it.each(MESSAGE_FOLDERS)("messages of %s: plain English", (folder) => {
  const texts = messagesIn(folder);
  expect(texts.length).toBeGreaterThan(20);
  expect(texts.flatMap((text) => placed(text, text))).toEqual([]);
});

it.each(COMMENT_FOLDERS)("comments of %s: plain English", (folder) => {
  const sources = sourcesIn(folder);
  const found = sources.flatMap((source) =>
    commentsIn(source, readFileSync(source, "utf8")).flatMap((comment) => placed(source, comment)),
  );
  expect(sources.length).toBeGreaterThan(5);
  expect(found).toEqual([]);
});

it.each(SHOWN_FOLDERS)("43: texts that %s shows: plain English", (folder) => {
  const sources = sourcesIn(folder);
  const shown = sources.flatMap((source) =>
    shownTextsIn(source, readFileSync(source, "utf8")).map((text) => [source, text] as const),
  );
  expect(shown.length).toBeGreaterThan(20);
  const forms = [...FORMS, ...TRANSLATED, ...LABELS];
  expect(shown.flatMap(([source, text]) => placed(source, text, forms))).toEqual([]);
});

it("43: labels of panels: the usual words", () => {
  const panels = sourcesIn("plugins").filter((name) => /panels?\.ts$/.test(name));
  const texts = panels.flatMap((name) => shownTextsIn(name, readFileSync(name, "utf8")));
  expect(texts.length).toBeGreaterThan(100);
  expect(texts.flatMap((text) => placed(text, text, LABELS))).toEqual([]);
});

describe("43: the pages that a newcomer meets first", () => {
  const pages = Object.entries(NEWCOMER).filter(([page]) => existsSync(page));
  const wordsOf = (page: string): number => readFileSync(page, "utf8").trim().split(/\s+/).length;

  it.each(pages)("%s has at most %i words", (page, most) => {
    expect(wordsOf(page)).toBeLessThanOrEqual(most);
  });

  it("have 12,000 words together", () => {
    const words = pages.map(([page]) => wordsOf(page));
    expect(words.length).toBeGreaterThan(8);
    expect(words.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(NEWCOMER_WORDS);
  });
});

describe("43: clefts get fewer", () => {
  const isForNewcomers = (page: string): boolean =>
    page in NEWCOMER || /^docs\/(?:learn|recipes)\//.test(page);

  it.each(PAGES.filter(isForNewcomers))("%s has none", (page) => {
    expect(formsIn(readFileSync(page, "utf8"), CLEFTS)).toEqual([]);
  });

  it("in pages, messages and comments", () => {
    const pages = PAGES.filter((page) => !RECORDS.test(page) && !isForNewcomers(page));
    const comments = COMMENT_FOLDERS.flatMap(sourcesIn).flatMap((source) =>
      commentsIn(source, readFileSync(source, "utf8")),
    );
    const left = {
      pages: countForms(pages.map((page) => readFileSync(page, "utf8"))),
      messages: countForms(MESSAGE_FOLDERS.flatMap(messagesIn)),
      comments: countForms(comments),
    };
    expect(left.pages).toBeLessThanOrEqual(CLEFTS_LEFT.pages);
    expect(left.messages).toBeLessThanOrEqual(CLEFTS_LEFT.messages);
    expect(left.comments).toBeLessThanOrEqual(CLEFTS_LEFT.comments);
  });

  it("counts each of them", () => {
    expect(
      countForms(["One that ran has failed. What is off is hidden.\nThe one that asks."]),
    ).toBe(2);
  });
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
  expect(comments.map((comment) => formsIn(comment))).toEqual([
    ["whoever: write the noun: the client, the caller"],
    [],
  ]);
  expect(formsIn(commentsIn("a.ts", "// A body is\n// no object.")[0]!)).toHaveLength(1);
  expect(commentsIn("a.tsx", "const a = <b>{/* anew */}// shall</b>;")).toEqual(["anew"]);
});

it("reads what a page shows: texts around values and tags, attributes, strings and templates", () => {
  const source = [
    'import { a } from "./whoever.ts";',
    'const b = <p title="as the system">No call <i>fits</i> {a}.</p>;',
    "const c = `${a}: done.`;",
  ].join("\n");
  const texts = shownTextsIn("a.tsx", source);
  expect(texts).toEqual(["No call … ….", "as the system", "fits", "…: done."]);
  expect(texts.flatMap((text) => formsIn(text, LABELS))).toHaveLength(2);
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

it("43: knows the sentences that a newcomer stumbled over", () => {
  const stumbled = [
    "With two plugins, the same is at an address in a browser",
    "Commands as they stand here",
    "Every question is a flag as well, and without a terminal nothing is asked",
    "To open it, give it a key",
    "Exceptions are names which clients see anyway",
    "What it registers is data of the plugin's scope and goes with it",
    "What it registers is refused, but for tools",
    "A kind that each of them emits by itself",
    "The one before also gets the calls",
    "What is off is in no list, on every face",
    "A state file of before is taken over",
    "A client that does has every right",
    "A runtime may hear of it",
    "No agent may have a file server",
    "A key that leaves the config takes the rights of open pages",
    "The provider need not know anything of MCP",
  ];
  expect(stumbled.filter((text) => formsIn(text, TRANSLATED).length === 0)).toEqual([]);
});

it("43: measures a grade by known texts, and syllables by known words", () => {
  const known = {
    simple: 2,
    tables: 2,
    rules: 1,
    closed: 1,
    needed: 2,
    changes: 2,
    agents: 2,
    the: 1,
  };
  const counted = Object.keys(known).map((word) => [word, countSyllables(word)]);
  expect(Object.fromEntries(counted)).toEqual(known);
  // 10 words and 10 syllables in one sentence: 0.39 * 10 + 11.8 * 1 - 15.59.
  expect(gradeOf("The cat sat on the mat and saw a dog.")).toBeCloseTo(0.11);
  const hard =
    "Notwithstanding considerable organisational interdependencies, administrators necessarily parameterise authorisation.";
  expect(gradeOf(hard)).toBeGreaterThan(RECORD_GRADE);
});

it("measures sentences, not tables, headings and code", () => {
  const page =
    "# A heading\n\nOne two three. Four `five six` seven.\n\n| a | table |\n\n- an item\n";
  expect(sentencesOf(page).map(countWords)).toEqual([3, 2, 2]);
});

it("has no exception for a page that is gone", () => {
  expect(Object.keys(EXCEPTIONS).filter((page) => readFileSync(page).length === 0)).toEqual([]);
});

/** Forms in a text, each with the text and where it stands. */
function placed(
  place: string,
  text: string,
  forms: readonly Form[] = [...FORMS, ...TRANSLATED],
): string[] {
  return formsIn(text, forms).map((form) => `${place}: ${form} (${text})`);
}

function formsIn(page: string, forms: readonly Form[] = FORMS): string[] {
  const text = proseOf(page).replaceAll(/"[^"\n]*"/g, '""');
  return forms.flatMap(([form, instead]) => {
    const found = form.exec(text);
    return found ? [`${found[0]}: write ${instead}`] : [];
  });
}

function countForms(texts: readonly string[]): number {
  const all = CLEFTS.map(([form]) => new RegExp(form.source, `${form.flags}g`));
  return texts
    .map(proseOf)
    .flatMap((text) => all.map((form) => text.match(form)?.length ?? 0))
    .reduce((sum, each) => sum + each, 0);
}

function average(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0) / numbers.length;
}
