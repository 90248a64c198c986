import { describe, expect, it } from "vitest";
import { taskSchema } from "../../../plugins/a2a/contract/index.ts";
import { expectPage, table } from "../../contract/page.ts";
import { messageOf, post, startScripted, type PostOptions } from "./kit.ts";

const LIMIT = 256 * 1024;

interface Case extends PostOptions {
  readonly name: string;
  readonly body: string | Uint8Array;
  /** What the page shows of the body. */
  readonly shown?: string;
}

const parts = (...list: readonly unknown[]): string => messageOf("", { parts: list });
const HELLO = messageOf("hello");

const TYPES: readonly Case[] = [
  ...[
    "application/json",
    "application/json; charset=utf-8",
    'APPLICATION/JSON;Charset="UTF-8"',
    " application/json ; charset=us-ascii",
    "application/json;",
    "application/json; charset=iso-8859-1",
    "application/json; charset=utf-16",
    "text/json",
    "text/plain",
    "application/jsonp",
    "application/problem+json",
    "application/a2a+json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application",
    "json",
    "",
  ].map((type) => ({ name: `\`${type}\``, type, body: HELLO })),
  { name: "no content type", type: undefined, body: HELLO },
  { name: "two content types", type: ["application/json", "application/json"], body: HELLO },
];

const BODIES: readonly Case[] = [
  { name: "nothing", body: "" },
  { name: "white space", body: " \n" },
  { name: "broken JSON", body: '{"message": {' },
  { name: "JSON with a comma too many", body: '{"message": {},}' },
  { name: "two values", body: "{}{}" },
  {
    name: "bytes that are no UTF-8",
    body: Uint8Array.of(0x22, 0xff, 0xfe, 0x22),
    shown: "22 ff fe 22",
  },
  { name: "a byte order mark before it", body: `\uFEFF${HELLO}` },
  { name: "an array", body: `[${HELLO}]` },
  { name: "a string", body: '"hello"' },
  { name: "null", body: "null" },
  {
    name: "nested too deeply",
    body: `{"message":${"[".repeat(100)}${"]".repeat(100)}}`,
    shown: '{"message":[[[…',
  },
  { name: "neither message nor jsonrpc", body: "{}" },
  { name: "a message that is null", body: '{"message": null}' },
  { name: "a message that is a string", body: '{"message": "hello"}' },
  { name: "a message that is a list", body: '{"message": []}' },
  { name: "no role", body: '{"message": {"parts": [{"text": "hello"}]}}' },
  { name: "an unknown role", body: messageOf("hello", { role: "system" }) },
  { name: "the role as A2A 1.0 has it", body: messageOf("hello", { role: "ROLE_USER" }) },
  { name: "parts that are no list", body: messageOf("", { parts: { text: "hello" } }) },
  { name: "a text that is no string", body: parts({ text: 5 }) },
  { name: "an id that is a number", body: messageOf("hello", { taskId: 5 }) },
  {
    name: "an id of 2,000 characters",
    body: messageOf("hello", { taskId: "x".repeat(2_000) }),
    shown: 'taskId "xxx…"',
  },
  {
    name: "a body above the limit",
    body: messageOf("x".repeat(LIMIT)),
    shown: `${LIMIT / 1024} KiB of text`,
  },
  {
    name: "one whose length is not told",
    body: messageOf("x".repeat(LIMIT)),
    isChunked: true,
    shown: "the same, chunked",
  },
];

const MESSAGES: readonly Case[] = [
  { name: "both ids", body: messageOf("hello", { taskId: "t-1" }) },
  { name: "only a messageId", body: messageOf("hello", { messageId: "m-2" }) },
  { name: "only a taskId", body: messageOf("hello", { messageId: undefined, taskId: "t-3" }) },
  { name: "ids that are null or empty", body: messageOf("hello", { messageId: "", taskId: null }) },
  { name: "no id at all", body: messageOf("hello", { messageId: undefined }) },
  {
    name: "unknown members",
    body: JSON.stringify({
      ...(JSON.parse(messageOf("hello", { messageId: "m-4", colour: "red" })) as object),
      extra: [1],
    }),
  },
  { name: "no parts", body: messageOf("", { messageId: "m-5", parts: [] }) },
  { name: "parts missing", body: messageOf("", { messageId: "m-6", parts: undefined }) },
  { name: "an empty text", body: messageOf("", { messageId: "m-7" }) },
  { name: "a part with nothing in it", body: messageOf("", { messageId: "m-8", parts: [{}] }) },
  {
    name: "only data, for a skill that takes them",
    body: messageOf("", { messageId: "m-9", parts: [{ data: { a: 1 } }] }),
  },
  {
    name: "a text of 100,000 characters",
    body: messageOf(`count ${"é".repeat(99_994)}`, { messageId: "m-10" }),
    shown: "count ééé…",
  },
  {
    name: "a skill that is not there",
    body: messageOf("hello", { messageId: "m-11", metadata: { skill: "other" } }),
  },
  { name: "a task that fails", body: messageOf("fail", { messageId: "m-12" }) },
  { name: "a task that is rejected", body: messageOf("reject", { messageId: "m-13" }) },
  { name: "a task that asks", body: messageOf("ask", { messageId: "m-14" }) },
  { name: "the same message again", body: messageOf("ask", { messageId: "m-14" }) },
  {
    name: "another message to a task that ended",
    body: messageOf("again", { messageId: "m-15", taskId: "t-1" }),
  },
];

const shorten = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length - 1)}…` : text;

/** What an answer says, without what is different every time. */
function wordsOf(text: string): string {
  const value = JSON.parse(text) as Record<string, never>;
  const { error, id, status, artifacts } = value as {
    error?: { code: string; message: string };
    id?: string;
    status?: { state: string; message?: { parts: { text: string }[] } };
    artifacts?: { parts: { text: string }[] }[];
  };
  // Where broken JSON breaks is told in the words of the engine.
  if (error) return `\`${error.code}\`: ${error.message.replace(/JSON( at|:) .*/, "JSON.")}`;
  const said = status?.message ?? artifacts?.[0];
  return `\`${status?.state}\`, id \`${id?.replace(/^anonymous-.*/, "anonymous-…")}\`: ${shorten(said?.parts[0]?.text ?? "", 70)}`;
}

async function ask(url: string, one: Case): Promise<readonly string[]> {
  const { status, text } = await post(url, one.body, one);
  if (status === 200) taskSchema.parse(JSON.parse(text));
  const shown = one.shown ?? String(one.body);
  return [
    one.name,
    `\`${shorten(shown.replaceAll("\n", "\\n"), 90)}\``,
    String(status),
    wordsOf(text),
  ];
}

describe("acceptance 4: status codes", () => {
  it("R026, R027, R028, C42: every kind of request gets the answer that the page says", async () => {
    const { url } = await startScripted({ config: { limits: { body: LIMIT } } });
    const rows = async (cases: readonly Case[]): Promise<string[][]> => {
      const all: string[][] = [];
      for (const one of cases) all.push([...(await ask(url, one))]);
      return all;
    };
    const types = await rows(TYPES);
    const bodies = await rows(BODIES);
    const messages = await rows(MESSAGES);
    const codes = (list: string[][]): string[] => [...new Set(list.map(([, , code]) => code!))];
    expect(codes(types).toSorted()).toEqual(["200", "415"]);
    expect(codes(bodies).toSorted()).toEqual(["200", "400", "413"]);
    expect(codes(messages).toSorted()).toEqual(["200", "409"]);
    expectPage(
      "runtime-contract.md",
      `${[
        "# Answers of `POST /` in contract v1",
        "<!-- Written by test/plugins/a2a-contract/codes.test.ts; change the code, then run it with UPDATE_DOCS=1. -->",
        `Every row was asked of a running runtime whose \`limits.body\` is ${LIMIT / 1024} KiB; its skill says back what it is told, and takes data. While the gateway starts or shuts down every request gets 503. See [the plugin's page](../plugins/a2a.md#runtime-contract-v1).`,
        "## Content types",
        table(
          ["content type", "status", "answer"],
          types.map(([name, , ...rest]) => [name!, ...rest]),
        ),
        "## Bodies",
        table(["what is sent", "body", "status", "answer"], bodies),
        "## Messages",
        table(["what is sent", "body", "status", "answer"], messages),
      ].join("\n\n")}\n`,
    );
  });
});
