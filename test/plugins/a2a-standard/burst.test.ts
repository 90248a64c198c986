import { expect, it } from "vitest";
import { makeFolder } from "../../kit/folder.ts";
import { startRuntime } from "../a2a/kit.ts";
import { all, BINDINGS, connect, say, sending, text } from "./kit.ts";

const CHUNK = "x".repeat(64 * 1024);
const COUNT = 64;

const CODE = `
const chunk = "x".repeat(${CHUNK.length});
export default { run: ({ write }) => { for (let at = 0; at < ${COUNT}; at++) write(chunk); } };
`;

it.each(BINDINGS)(
  "a skill that writes 4 MiB in one tick reaches a client that reads, over %s",
  async (binding) => {
    const cwd = makeFolder({ "skill.mjs": CODE });
    const { url } = await startRuntime({
      cwd,
      skills: [{ id: "burst", function: "./skill.mjs", description: "For tests." }],
      options: { workDir: cwd },
    });
    const client = await connect(url, binding);
    const events = await all(
      client.sendMessageStream(sending(say("burst", { parts: [text("go")] }))),
    );
    const pieces = events.flatMap(({ payload }) =>
      payload?.$case === "artifactUpdate" ? (payload.value.artifact?.parts ?? []) : [],
    );
    const length = pieces.reduce(
      (sum, { content }) => sum + (content?.$case === "text" ? content.value.length : 0),
      0,
    );
    expect(length).toBe(COUNT * CHUNK.length);
  },
);
