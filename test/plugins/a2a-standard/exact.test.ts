import { expect, it } from "vitest";
import { makeFolder } from "../../kit/folder.ts";
import { startRuntime } from "../a2a/kit.ts";

const NUMBERS = ["9007199254740993", "18446744073709551615", "1e400", "0.10000000000000000555"];

/** Answers with the data of the message. */
const SKILL = `export default {
  description: "Echoes.",
  run: ({ message }) => [{ data: message.parts[0].data }],
};`;

/** The body of a request as text: a parser would change the very thing that is looked at. */
async function post(url: string, body: string): Promise<string> {
  const headers = { "a2a-version": "1.0", "content-type": "application/json" };
  return (await fetch(url, { method: "POST", headers, body })).text();
}

async function start(): Promise<string> {
  const { url } = await startRuntime({
    cwd: makeFolder({ "skill.mjs": SKILL }),
    skills: [{ id: "echo", description: "Echoes.", function: "./skill.mjs" }],
  });
  return url;
}

const messageOf = (id: string, number: string): string =>
  `{"messageId":"${id}","role":"ROLE_USER","parts":[{"data":{"n":${number},"list":[${number}]}}]}`;

it.each(NUMBERS)("line 9: %s in the data of a message comes back on every binding", async (n) => {
  const url = await start();
  const kept = `{"n":${n},"list":[${n}]}`;
  for (const method of ["SendMessage", "SendStreamingMessage"]) {
    const params = `{"message":${messageOf(method, n)}}`;
    const body = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`;
    expect(await post(url, body)).toContain(kept);
  }
  for (const verb of ["send", "stream"])
    expect(await post(`${url}/message:${verb}`, `{"message":${messageOf(verb, n)}}`)).toContain(
      kept,
    );
});

it.each(["1764338400000000001", "-9223372036854775808"])(
  "line 9: the id %s of a request is that of its answers",
  async (id) => {
    const url = await start();
    const ask = (method: string, params: string): Promise<string> =>
      post(url, `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`);
    const answers = [
      await ask("SendMessage", `{"message":${messageOf("one", "1")}}`),
      await ask("SendStreamingMessage", `{"message":${messageOf("two", "1")}}`),
      await ask("GetTask", `{"id":"none"}`),
      await ask("GetTask", "[]"),
      await ask("NoSuch", "{}"),
    ];
    for (const answer of answers) {
      const ids = [...answer.matchAll(/"id":(-?\d+)/g)].map(([, found]) => found);
      expect([ids.length > 0, ids.every((found) => found === id), answer]).toEqual([
        true,
        true,
        answer,
      ]);
    }
  },
);
