import { randomUUID } from "node:crypto";
import { demand, Deviation, shown, Unobservable, type Check } from "../check.ts";
import type { Json, KitClient } from "./client.ts";
import { FIXTURE_NAME } from "./fixture/offer.ts";
import { fixtureTool, offered, firstText, type McpScene } from "./scene.ts";

const WATCHED = "relay://watched";

/** The rows of the relay matrix: what must come through exactly when the fixture is behind the endpoint. */
export const RELAY: readonly Check<McpScene>[] = [
  {
    id: "tools/call",
    title: "a result comes through whole",
    async run({ client }) {
      const nonce = randomUUID();
      const result = await call(client, "relay_echo", { nonce });
      demandSame(firstText(result), nonce);
      demandSame((result["structuredContent"] as Json | undefined)?.["nonce"], nonce);
      const { content } = await call(client, "relay_mixed", {});
      demandSame((content as Json[]).map(({ type }) => type).join(), "text,image,resource");
    },
  },
  {
    id: "errors/result",
    title: "an error that a tool reports stays the tool's",
    async run({ client }) {
      const nonce = randomUUID();
      const result = await call(client, "relay_fail", { nonce });
      demandSame(result["isError"], true);
      demandSame(firstText(result), `failed ${nonce}`);
    },
  },
  {
    id: "progress",
    title: "progress comes through, in order",
    async run({ fresh }) {
      const [client, nonce] = [await fresh(), randomUUID()];
      await call(client, "relay_work", { nonce }, { progress: true });
      demandSame(reported(client).join(), "1,2,3");
      demandSame(new Set(client.heard.about("progress")).size, 1);
    },
  },
  {
    id: "progress/none",
    title: "no progress is sent to a client that asked for none",
    async run({ fresh }) {
      const client = await fresh();
      await call(client, "relay_work", { nonce: randomUUID() });
      demandSame(reported(client).join(), "");
    },
  },
  {
    id: "progress/increasing",
    title: "progress always increases, even of a server that repeats itself",
    async run({ fresh }) {
      const client = await fresh();
      if (client.server === FIXTURE_NAME)
        throw new Unobservable("This is the fixture itself, which repeats itself on purpose.");
      await call(client, "relay_stutter", {}, { progress: true });
      const values = reported(client);
      demand(values.length > 0, "There was no progress.");
      const falling = values.find((value, index) => index > 0 && value <= values[index - 1]!);
      demand(falling === undefined, `The values were ${values.join(", ")}.`);
    },
  },
  {
    id: "cancel",
    title: "a cancel ends the work at the server",
    async run({ fresh }) {
      const [client, nonce, abort] = [await fresh(), randomUUID(), new AbortController()];
      const wait = await fixtureTool(client, "relay_wait");
      const ended = client.call(wait, { nonce }, { signal: abort.signal }).then(
        () => "answered",
        () => "cancelled",
      );
      await call(client, "relay_observed", { nonce, state: "started" });
      abort.abort();
      demandSame(await ended, "cancelled");
      await call(client, "relay_observed", { nonce, state: "cancelled" });
    },
  },
  {
    id: "logging",
    title: "log messages come through",
    async run({ fresh }) {
      const [client, nonce] = [await fresh(), randomUUID()];
      offered(client, "logging");
      await call(client, "relay_work", { nonce });
      demandSame(client.heard.about("log").filter((about) => about === nonce).length, 3);
    },
  },
  {
    id: "sampling",
    title: "the client's model is asked, and its answer comes back",
    run: ({ fresh }) => demandAsked(fresh, "relay_sample", "the model says"),
  },
  {
    id: "elicitation",
    title: "the client's user is asked, and the answer comes back",
    run: ({ fresh }) => demandAsked(fresh, "relay_elicit", "the user says"),
  },
  {
    id: "list_changed",
    title: "changes of the lists are told, and the lists differ then",
    async run({ fresh }) {
      const client = await fresh();
      await demandChange(client, "tools");
      offered(client, "prompts");
      await demandChange(client, "prompts");
    },
  },
  {
    id: "resources/read",
    title: "texts, bytes and templated resources come through whole",
    async run({ client }) {
      demandSame((await contentOf(client, "relay://text"))["text"], "A text that never changes.");
      const { blob, mimeType } = await contentOf(client, "relay://binary");
      demand(
        typeof blob === "string" && blob.startsWith("iVBOR"),
        `The bytes were ${shown(blob)}.`,
      );
      demandSame(mimeType, "image/png");
      demandSame(
        firstText({ content: (await client.read("relay://item/7"))["contents"] }),
        "Item 7.",
      );
    },
  },
  {
    id: "resources/subscribe",
    title: "updates are told of the resources that were asked for, and of no others",
    async run({ fresh }) {
      const client = await fresh();
      await fixtureResource(client, WATCHED);
      await client.listen([WATCHED]);
      await call(client, "relay_touch", { uri: "relay://text" });
      await call(client, "relay_touch", { uri: WATCHED });
      await client.heard.until("updated", WATCHED);
      demandSame([...new Set(client.heard.about("updated"))].join(), WATCHED);
    },
  },
  {
    id: "prompts/get",
    title: "a prompt comes through with its arguments",
    async run({ client }) {
      const { messages } = await client.prompt(await fixturePrompt(client), { city: "Paris" });
      const [first] = messages as readonly { readonly content: { readonly text?: string } }[];
      demandSame(first?.content.text, "What is known of Paris?");
    },
  },
  {
    id: "completion",
    title: "an argument of a prompt is completed",
    async run({ client }) {
      offered(client, "completions");
      const { completion } = await client.complete(await fixturePrompt(client), "city", "par");
      demandSame((completion as { values: string[] }).values.join(), "paris,park,party");
    },
  },
];

async function call(
  client: KitClient,
  name: string,
  args: Json,
  options: { readonly progress?: boolean } = {},
): Promise<Json> {
  return client.call(await fixtureTool(client, name), args, options);
}

function demandSame(got: unknown, wanted: unknown): void {
  demand(got === wanted, `Expected ${shown(wanted)}, got ${shown(got)}.`);
}

/** The progress values that a client heard, in order. */
function reported(client: KitClient): readonly number[] {
  return client.heard.events
    .filter(({ kind }) => kind === "progress")
    .map(({ params }) => Number(params["progress"]));
}

async function demandAsked(fresh: McpScene["fresh"], tool: string, answer: string): Promise<void> {
  const [client, nonce] = [await fresh(), randomUUID()];
  demandSame(firstText(await call(client, tool, { nonce })), answer);
  demandSame(client.heard.about("asked").join(), nonce);
}

async function demandChange(client: KitClient, list: "tools" | "prompts"): Promise<void> {
  const before = (await client.list(list)).length;
  await client.listen([]);
  await call(client, "relay_change", { list });
  await client.heard.until("changed", list);
  const after = (await client.list(list)).length;
  if (Math.abs(after - before) !== 1)
    throw new Deviation(`There were ${before} ${list} before the change, and ${after} after it.`);
}

async function contentOf(client: KitClient, uri: string): Promise<Json> {
  await fixtureResource(client, uri);
  const { contents } = await client.read(uri);
  return (contents as readonly Json[])[0] ?? {};
}

async function fixtureResource(client: KitClient, uri: string): Promise<void> {
  offered(client, "resources");
  const resources = await client.list("resources");
  if (!resources.some((resource) => resource["uri"] === uri))
    throw new Unobservable(`There is no ${uri} of the fixture.`);
}

async function fixturePrompt(client: KitClient): Promise<string> {
  offered(client, "prompts");
  const names = (await client.list("prompts")).map(({ name }) => String(name));
  const found = names.find((name) => name.endsWith("relay_prompt"));
  if (found === undefined) throw new Unobservable("There is no relay_prompt of the fixture.");
  return found;
}
