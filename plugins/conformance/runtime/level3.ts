import { randomBytes, randomUUID } from "node:crypto";
import { agentCardSchema, type Task } from "propylon/contract";
import { atLevel, Deviation, demand, shown, Unobservable } from "../check.ts";
import { readTask, taskIn, wordsOf } from "./answer.ts";
import { parsed, typeOf } from "./exchange.ts";
import type { Scene } from "./scene.ts";
import { readEventStream } from "./stream.ts";

/** What a runtime with real-time output and conversations does. */
export const LEVEL_3 = atLevel<Scene>(3, [
  {
    id: "R074",
    title: "the card says capabilities.streaming: true",
    async run({ card }) {
      const { data } = agentCardSchema.shape.capabilities.safeParse(
        (parsed((await card()).text) as { readonly capabilities?: unknown } | undefined)
          ?.capabilities,
      );
      demand(data?.streaming === true, `capabilities was ${shown(data)}.`);
    },
  },
  {
    id: "R073",
    title: "POST / with Accept: text/event-stream streams working, the artifact and completed",
    run: demandStream,
  },
  { id: "R076", title: "a context is remembered over tasks, and only there", run: demandMemory },
  { id: "R075", title: "a compaction of the context is told in metadata", run: demandCompaction },
]);

async function demandStream({ subject, options }: Scene): Promise<void> {
  const reply = await subject.send(
    { text: options.probes.message },
    { accept: "text/event-stream" },
  );
  demand(reply.status === 200, `Expected 200, got ${reply.status}: ${shown(reply.text)}`);
  const type = typeOf(reply);
  demand(type === "text/event-stream", `Expected text/event-stream, got ${type}.`);
  const events = readEventStream(reply.text);
  const states = events.flatMap(({ task, statusUpdate }) => {
    const status = statusUpdate?.status ?? task?.status;
    return status ? [status.state] : [];
  });
  const path = states.join(", ");
  demand(states.includes("working"), `Expected the state working on the way, got ${path}.`);
  demand(states.at(-1) === "completed", `Expected completed at the end, got ${path}.`);
  const artifacts = events.filter(({ artifactUpdate }) => artifactUpdate);
  demand(artifacts.length > 0, "There was no TaskArtifactUpdateEvent.");
}

async function demandMemory({ subject, options }: Scene): Promise<void> {
  const { remember, recall } = options.probes;
  const word = `zq${randomBytes(5).toString("hex")}`;
  const contextId = `conformance-${randomUUID()}`;
  const say = async (template: string, context: string): Promise<Task> => {
    const text = template.replaceAll("{word}", word);
    return readTask(await subject.send({ text, contextId: context }));
  };
  await say(remember, contextId);
  const told = wordsOf(await say(recall, contextId));
  demand(told.includes(word), `Told to remember ${word}, it answered: ${shown(told)}`);
  const elsewhere = wordsOf(await say(recall, `conformance-${randomUUID()}`));
  demand(!elsewhere.includes(word), "The word of one context was known in another.");
}

async function demandCompaction({ subject, options }: Scene): Promise<void> {
  const { rounds, characters } = options.filling;
  const contextId = `conformance-${randomUUID()}`;
  const filler = "Nothing of this matters. ".repeat(Math.ceil(characters / 25));
  for (let round = 1; round <= rounds; round++) {
    const text = `${options.probes.message}\n${filler.slice(0, characters)}`;
    const reply = await subject.send({ text, contextId });
    if (reply.status !== 200)
      throw new Deviation(`Message ${round} was answered with ${reply.status}.`);
    if (tellsCompaction(taskIn(reply))) return;
  }
  throw new Unobservable(
    `No metadata told of a compaction within ${rounds} messages of ${characters} characters. Give more with --rounds and --characters, or lower the runtime's limit.`,
  );
}

/** The contract names no key, so any that speaks of compaction counts, at any depth, with a value that says something. */
function tellsCompaction({ metadata, status, artifacts = [] }: Task): boolean {
  const places = [metadata, status.message?.metadata, ...artifacts.map((one) => one.metadata)];
  return places.some((place) => hasKey(place, /compact/i));
}

function hasKey(value: unknown, name: RegExp): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(
    ([key, inner]) => (name.test(key) && isTelling(inner)) || hasKey(inner, name),
  );
}

/** `compacted: false` and `compactions: 0` say that nothing was compacted. */
function isTelling(value: unknown): boolean {
  return value !== false && value !== 0 && value !== null && value !== "";
}
