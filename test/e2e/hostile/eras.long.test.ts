import { afterAll, beforeAll, expect, it } from "vitest";
import type { Message } from "../speaker.ts";
import { openScene, type Scene } from "./scene.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
});
afterAll(async () => {
  await scene.close();
});

const INFO = '"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}';
const CONTENT = '"content":[{"type":"text","text":"%PAD:20% resultType"}]';
const LARGE = '"content":[{"type":"text","text":"%PAD:90000%"}]';

/** The good server speaks the modern era to us. */
async function callGood(words: readonly string[], meta?: Message): Promise<readonly Message[]> {
  const params = { name: "good__say", arguments: { words }, ...(meta && { _meta: meta }) };
  return (await scene.speaker.request("tools/call", params)).messages;
}

it.each([
  ["small", `{"resultType":"complete",${CONTENT},"_meta":{${INFO}}}`, {}],
  ["small with its own meta", `{"_meta":{${INFO},"own":1},${CONTENT},"resultType":"complete"}`, { _meta: { own: 1 } }],
  ["large", `{"resultType":"complete",${LARGE},"_meta":{${INFO}}}`, {}],
  ["large with its own meta", `{${LARGE},"_meta":{"own":1,${INFO}},"resultType":"complete","x":{"resultType":1}}`, { _meta: { own: 1 }, x: { resultType: 1 } }],
  ["large without content", `{"resultType":"complete"}`, {}],
])("issue 52: a legacy client sees nothing of the modern era: %s", async (_, result, more) => {
  const [answer] = await callGood([`{"jsonrpc":"2.0","id":%ID%,"result":${result}}`]);
  const { content, ...others } = answer!["result"] as Message;
  expect(others).toEqual(more);
  expect(Array.isArray(content)).toBe(result.includes("content"));
}); // prettier-ignore

it("issue 52: nor in progress and logs", async () => {
  const meta = `"_meta":{${INFO},"own":1}`;
  const messages = await callGood(
    [
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%TOKEN%,"progress":1,${meta}}}`,
      `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"x",${meta}}}`,
      `{"jsonrpc":"2.0","id":%ID%,"result":{${CONTENT}}}`,
    ],
    { progressToken: "mine" },
  );
  const told = messages.filter(({ method }) => method !== undefined);
  expect(told.map(({ params }) => (params as Message)["_meta"])).toEqual([{ own: 1 }, { own: 1 }]);
});
