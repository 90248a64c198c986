import {
  type Artifact,
  type Part,
  type StreamResponse,
  type TaskArtifactUpdateEvent,
} from "@a2a-js/sdk";
import {
  InMemoryTaskStore,
  ResultManager,
  ServerCallContext,
  type AgentExecutionEvent,
} from "@a2a-js/sdk/server";
import { describe, expect, it, onTestFinished } from "vitest";
import agents from "../../../plugins/agents/index.ts";
import { startModel } from "../../fixtures/model/model.mjs";
import { makeFolder } from "../../kit/folder.ts";
import { startRuntime, type TestRuntime } from "../a2a/kit.ts";
import { all, BINDINGS, connect, say, sending, text } from "./kit.ts";

const PIECES = ["Hello ", "from ", "the skill"];
const WHOLE = PIECES.join("");

const CODE = `
const pieces = ${JSON.stringify(PIECES)};
const MODES = {
  write: ({ write }) => pieces.forEach((piece) => write(piece)),
  chunks({ artifact }) {
    for (const [at, text] of pieces.entries())
      artifact({ artifactId: "own", parts: [{ text }], append: true, lastChunk: at === pieces.length - 1 });
  },
  both({ artifact, write }) {
    artifact({ artifactId: "file", parts: [{ url: "https://example.com/a.png", mediaType: "image/png" }], lastChunk: true });
    pieces.forEach((piece) => write(piece));
  },
};
export default { run: (task) => MODES[task.text](task) };
`;

/** A runtime with a skill of each kind that writes its answer in pieces. */
async function start(): Promise<TestRuntime> {
  const model = await startModel({ script: () => ({ text: WHOLE }) });
  onTestFinished(() => model.close());
  const cwd = makeFolder({ "skill.mjs": CODE });
  const program = `
    const pieces = ${JSON.stringify(PIECES)};
    const next = () => {
      if (pieces.length > 0) process.stdout.write(pieces.shift(), () => setImmediate(next));
    };
    next();`;
  return startRuntime({
    cwd,
    skills: [
      { id: "agent", agent: "worker" },
      { id: "command", command: [process.execPath, "-e", program] },
      { id: "function", function: "./skill.mjs", description: "For tests." },
    ],
    options: { workDir: cwd },
    plugins: [
      [
        agents,
        {
          providers: { scripted: { type: "openai-compatible", baseUrl: model.url } },
          model: "scripted/scripted",
          agents: { worker: { description: "Works.", servers: [] } },
        },
      ],
    ],
  });
}

const textOf = (parts: readonly Part[]): string =>
  parts.map(({ content }) => (content?.$case === "text" ? content.value : "")).join("");

const updatesIn = (events: readonly StreamResponse[]): TaskArtifactUpdateEvent[] =>
  events.flatMap(({ payload }) => (payload?.$case === "artifactUpdate" ? [payload.value] : []));

/** What google-adk's RemoteA2aAgent keeps: every other update is a partial event, which no session stores. */
const keptByAdk = (events: readonly StreamResponse[]): string =>
  updatesIn(events)
    .filter(({ lastChunk }) => lastChunk)
    .map(({ artifact }) => textOf(artifact!.parts))
    .join("");

/** The artifacts as the official SDK puts them together. */
async function foldedBySdk(events: readonly StreamResponse[]): Promise<readonly Artifact[]> {
  const manager = new ResultManager(new InMemoryTaskStore(), new ServerCallContext({}));
  for (const { payload } of events)
    if (payload !== undefined && payload.$case !== "message")
      await manager.processEvent({
        kind: payload.$case,
        data: payload.value,
      } as AgentExecutionEvent);
  return manager.getCurrentTask()?.artifacts ?? [];
}

/** The events of a message, and the artifacts of its task when it is read behind them. */
async function ask(
  { url }: TestRuntime,
  skill: string,
  words: string,
  binding: (typeof BINDINGS)[number] = "JSONRPC",
): Promise<{ events: StreamResponse[]; artifacts: readonly Artifact[] }> {
  const client = await connect(url, binding);
  const message = say("chunk", { metadata: { skill }, parts: [text(words)] });
  const events = await all(client.sendMessageStream(sending(message)));
  const { taskId: id } = updatesIn(events)[0]!;
  return { events, artifacts: (await client.getTask({ tenant: "", id })).artifacts };
}

const CASES = [
  { skill: "agent", words: "go" },
  { skill: "command", words: "go" },
  { skill: "function", words: "write" },
  { skill: "function", words: "chunks" },
  { skill: "function", words: "both" },
] as const;

describe.each(BINDINGS)("the last chunk of an artifact through %s", (binding) => {
  it.each(CASES)("has the whole text of a $skill skill ($words)", async ({ skill, words }) => {
    const { events, artifacts } = await ask(await start(), skill, words, binding);
    expect(keptByAdk(events)).toBe(WHOLE);
    expect(artifacts.map(({ parts }) => textOf(parts)).join("")).toBe(WHOLE);
    expect(await foldedBySdk(events)).toEqual(artifacts);
  });
});

describe("the updates of an artifact", () => {
  it("append to nothing that the client has not seen", async () => {
    const { events } = await ask(await start(), "function", "both");
    const firsts = new Map<string, boolean>();
    for (const { artifact, append } of updatesIn(events))
      if (!firsts.has(artifact!.artifactId)) firsts.set(artifact!.artifactId, append);
    expect([...firsts]).toEqual([
      ["file", false],
      ["result", false],
    ]);
  });
});
