import { createInterface, type Interface } from "node:readline/promises";
import { stripVTControlCharacters } from "node:util";
import type { Json } from "propylon";
import { isObject, parseJson, writeJson } from "propylon/kit";
import { DEEPEST } from "propylon/internal";
import { type AskPerson, type CallQuestion, problemOf } from "./answers.ts";
import type { PersonAnswer } from "./person.ts";

/** Characters of one text of a server that are printed. */
const MAX_SHOWN = 4_000;
/** Fields of a form that are asked for one by one. */
const MAX_FIELDS = 100;

/** A line of the person; rejects when the input ends or the question is withdrawn. */
type Prompt = (words: string) => Promise<string>;

/** Asks the person at the terminal, on standard error, so that standard output has the answer of the tool alone. */
export const askTerminal: AskPerson = async (question, signal) => {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const end = new AbortController();
  const stop = (): void => end.abort();
  signal?.addEventListener("abort", stop, { once: true });
  // The input ended: Ctrl+D.
  lines.once("close", stop);
  lines.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  try {
    return await converse(question, promptOf(lines, end.signal));
  } catch (error) {
    if (!end.signal.aborted) throw error;
    process.stderr.write(signal?.aborted ? "\nThe server withdrew its question.\n" : "\n");
    return { action: "cancel" };
  } finally {
    signal?.removeEventListener("abort", stop);
    lines.close();
  }
};

function promptOf(lines: Interface, signal: AbortSignal): Prompt {
  return async (words) => (await lines.question(words, { signal })).trim();
}

async function converse(question: CallQuestion, prompt: Prompt): Promise<PersonAnswer> {
  process.stderr.write(`\nThe server asks: ${introductionOf(question)}\n`);
  const word = await prompt("Answer it? [Y]es, [d]ecline, [c]ancel: ");
  if (/^(?:d|n)/i.test(word)) return { action: "decline" };
  if (/^c/i.test(word)) return { action: "cancel" };
  if (question.kind === "page") return { action: "accept" };
  if (question.kind === "model") return { action: "accept", text: await textFor(prompt) };
  return { action: "accept", content: await fieldsFor(question.schema, prompt) };
}

function introductionOf({ kind, params }: CallQuestion): string {
  if (kind === "page") return `${shown(params["message"])}\nOpen ${shown(params["url"])} first.`;
  if (kind === "form") return shown(params["message"]);
  return `Answer as a model would.\n${shown(writeJson(params["messages"] ?? [], 2))}`;
}

async function textFor(prompt: Prompt): Promise<string> {
  for (;;) {
    const text = await prompt("Answer of the model: ");
    if (text !== "") return text;
  }
}

async function fieldsFor(schema: Json, prompt: Prompt): Promise<Json> {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
  const content: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(properties).slice(0, MAX_FIELDS)) {
    const value = await valueFor(name, isObject(field) ? field : {}, required.has(name), prompt);
    if (value !== undefined) content[name] = value;
  }
  return content;
}

/** Asks until the value fits; an empty line takes the default, or leaves out what is optional. */
async function valueFor(
  name: string,
  field: Json,
  isRequired: boolean,
  prompt: Prompt,
): Promise<unknown> {
  const words = wordsFor(name, field, isRequired);
  for (;;) {
    const line = await prompt(words);
    const value = line === "" ? field["default"] : readField(line, field);
    if (value === undefined && !isRequired) return undefined;
    const given = value === undefined ? {} : { [name]: value };
    const problem = problemOf(
      { type: "object", properties: { [name]: field }, ...(isRequired && { required: [name] }) },
      given,
    );
    if (problem === undefined) return value;
    process.stderr.write(`  ${shown(problem)}\n`);
  }
}

function wordsFor(name: string, field: Json, isRequired: boolean): string {
  const choices = choicesOf(field);
  const details = [
    typeof field["description"] === "string" && field["description"],
    choices && choices.map(String).join(", "),
    field["default"] !== undefined && `default ${writeJson(field["default"])}`,
    !isRequired && "optional",
  ].filter((part) => typeof part === "string");
  return `  ${shown(name)}${details.length === 0 ? "" : ` (${shown(details.join("; "))})`}: `;
}

function choicesOf(field: Json): readonly unknown[] | undefined {
  if (Array.isArray(field["enum"])) return field["enum"];
  if (field["type"] === "boolean") return [true, false];
  const ways = field["oneOf"];
  return Array.isArray(ways) ? ways.filter(isObject).map((way) => way["const"]) : undefined;
}

/** Text as it was typed; anything else as JSON, and a list also as words between commas. */
function readField(line: string, { type }: Json): unknown {
  if (type === "string" || type === undefined) return line;
  try {
    return parseJson(Buffer.from(line), DEEPEST);
  } catch {
    return type === "array" ? line.split(",").map((word) => word.trim()) : line;
  }
}

/** Text of a stranger: without what moves the cursor, paints, rings, or turns the direction of what is read. */
function shown(value: unknown): string {
  const text = typeof value === "string" ? value : "";
  return stripVTControlCharacters(text)
    .replace(/(?!\n)[\p{Cc}\p{Cf}]/gu, "")
    .slice(0, MAX_SHOWN);
}
