import { definePlugin, type Json } from "propylon";
import { setupGateway } from "propylon/testing";
import { expect, it } from "vitest";
import { MAIN, propylon } from "../../core/cli/propylon.ts";
import { openTerminal } from "../../create-gateway/terminal.ts";
import { makeFolder } from "../../kit/folder.ts";

const FORM = {
  message: "Who are \u001B[2Jyou?",
  requestedSchema: {
    type: "object",
    properties: {
      name: { type: "string", minLength: 2 },
      age: { type: "integer", default: 30 },
      note: { type: "string" },
    },
    required: ["name"],
  },
};
const SAMPLE = {
  messages: [{ role: "user", content: { type: "text", text: "Say hello." } }],
  maxTokens: 10,
};
const VISIT = {
  mode: "url",
  message: "Sign in.",
  url: "https://example.com/a",
  elicitationId: "e",
};

/** A tool that asks what it is told to ask, one after the other, and says what was answered. */
const asker = definePlugin({
  name: "asker",
  setup(gateway) {
    const questions: readonly (readonly [name: string, method: string, params: Json])[] = [
      ["form", "elicitation/create", FORM],
      ["visit", "elicitation/create", VISIT],
      ["sample", "sampling/createMessage", SAMPLE],
    ];
    for (const [name, method, params] of questions)
      gateway.tool(name, {
        description: "Asks.",
        run: async (_, { peer }) =>
          JSON.stringify(
            await peer.ask(method, params).catch((error: Error) => `failed: ${error.message}`),
          ),
      });
  },
});

async function startAsker(): Promise<string> {
  const { url } = await setupGateway({ plugins: [asker], client: false });
  return `${url}/mcp`;
}

it("7: call answers what a tool asks with --answer, checks it, and declines where it is told to", async () => {
  const target = await startAsker();
  const run = async (tool: string, ...answers: string[]) => {
    const flags = answers.flatMap((answer) => ["--answer", answer]);
    const { stdout, stderr } = await propylon(["call", tool, "--target", target, ...flags]);
    return { answered: JSON.parse(stdout) as unknown, stderr };
  };
  const content = { name: "Ada", age: 3 };
  expect((await run("form", JSON.stringify(content))).answered).toEqual({
    action: "accept",
    content,
  });
  expect((await run("form", "decline")).answered).toEqual({ action: "decline" });
  const short = await run("form", '{"name": "A"}');
  expect(short.answered).toEqual({ action: "cancel" });
  expect(short.stderr).toMatch(/The answer does not fit\. name: /);
  expect((await run("visit", "accept")).answered).toEqual({ action: "accept" });
  expect((await run("sample", "Hello.")).answered).toMatchObject({
    role: "assistant",
    content: { type: "text", text: "Hello." },
  });
  const refused = await propylon(["call", "sample", "--target", target, "--answer", "decline"]);
  expect(refused).toMatchObject({
    stdout: "",
    stderr: expect.stringContaining("refused to answer"),
  });
  expect(refused.code).not.toBe(0);
  // Without a terminal and without answers nobody is asked, and the tool is told so.
  const nobody = await propylon(["call", "form", "--target", target]);
  expect(`${nobody.stdout}${nobody.stderr}`).toContain("does not offer elicitation/create");
});

it("7: call asks a person at a terminal, field by field, and again where it does not fit", async () => {
  const target = await startAsker();
  const open = (tool: string) =>
    openTerminal({ program: MAIN }, makeFolder(), ["call", tool, "--target", target]);
  const form = open("form");
  await form.see("The server asks: Who are you?");
  await form.see("Answer it?");
  form.press("\r");
  await form.see("name");
  form.press("A\r");
  await form.see("name: ");
  await form.see("name: ");
  form.press("Ada\r");
  await form.see("age (default 30; optional): ");
  form.press("\r");
  await form.see("note (optional): ");
  form.press("\r");
  await form.see('{"action":"accept","content":{"name":"Ada","age":30}}');
  expect(await form.ended).toBe(0);

  const declined = open("form");
  await declined.see("Answer it?");
  declined.press("d\r");
  await declined.see('{"action":"decline"}');

  const visit = open("visit");
  await visit.see("Open https://example.com/a first.");
  await visit.see("Answer it?");
  // The input ends: nobody answers.
  visit.press("\u0004");
  await visit.see('{"action":"cancel"}');
  expect(await visit.ended).toBe(0);

  const sample = open("sample");
  await sample.see("Say hello.");
  await sample.see("Answer it?");
  sample.press("y\r");
  await sample.see("Answer of the model: ");
  sample.press("Hello.\r");
  await sample.see('"text":"Hello."');
});
