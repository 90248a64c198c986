import { demand, Deviation, shown, Unobservable, type Check } from "../check.ts";
import { parsed } from "../runtime/exchange.ts";
import type { Json, KitClient, ListName } from "./client.ts";
import { fixtureTool, offered, type McpScene } from "./scene.ts";

/** What any MCP endpoint has to do with what it offers, whatever is behind it. */
export const LISTS: readonly Check<McpScene>[] = [
  {
    id: "tools/list",
    title: "every tool has a name of its own and a schema of an object",
    async run({ client }) {
      const tools = await listed(client, "tools");
      demandUnique(tools, "name");
      for (const { name, inputSchema } of tools)
        demand(
          (inputSchema as Json | undefined)?.["type"] === "object",
          `The inputSchema of ${shown(name)} is ${shown(inputSchema)}.`,
        );
    },
  },
  {
    id: "pagination",
    title: "every page of a list is reached",
    async run({ client }) {
      // The fixture shows four tools a page, and its last one is this.
      await fixtureTool(client, "relay_echo");
      await fixtureTool(client, "relay_change");
    },
  },
  {
    id: "resources/list",
    title: "every resource has a URI of its own and can be read",
    async run({ client }) {
      const resources = await listed(client, "resources");
      demandUnique(resources, "uri");
      for (const { uri } of resources.slice(0, 5)) {
        const { contents } = await client.read(String(uri));
        demand(Array.isArray(contents), `Reading ${shown(uri)} gave ${shown(contents)}.`);
      }
    },
  },
  {
    id: "resources/templates/list",
    title: "every template has a uriTemplate of its own",
    run: async ({ client }) =>
      demandUnique(await listed(client, "resourceTemplates"), "uriTemplate"),
  },
  {
    id: "prompts/list",
    title: "every prompt has a name of its own",
    run: async ({ client }) => demandUnique(await listed(client, "prompts"), "name"),
  },
  {
    id: "errors/tool",
    title: "a tool that is not there is an error",
    async run({ client }) {
      offered(client, "tools");
      const outcome = await settled(client.call("propylon_no_such_tool", {}));
      demand(
        "error" in outcome || outcome.value["isError"] === true,
        "It was answered as a success.",
      );
    },
  },
  {
    id: "errors/resource",
    title: "a resource that is not there is an error",
    async run({ client }) {
      offered(client, "resources");
      demandRefused(await settled(client.read("propylon://no-such-resource")));
    },
  },
  {
    id: "errors/prompt",
    title: "a prompt that is not there is an error",
    async run({ client }) {
      offered(client, "prompts");
      demandRefused(await settled(client.prompt("propylon_no_such_prompt", {})));
    },
  },
  {
    id: "errors/method",
    title: "a method that is not there is the error -32601",
    async run({ client }) {
      const outcome = await settled(client.unknown());
      demandRefused(outcome);
      const code = "error" in outcome ? codeOf(outcome.error) : undefined;
      demand(code === -32_601, `The code of the error was ${shown(code)}.`);
    },
  },
];

const CAPABILITY: Readonly<Record<ListName, string>> = {
  tools: "tools",
  resources: "resources",
  resourceTemplates: "resources",
  prompts: "prompts",
};

async function listed(client: KitClient, name: ListName): Promise<readonly Json[]> {
  offered(client, CAPABILITY[name]);
  const items = await client.list(name);
  if (items.length === 0) throw new Unobservable("The list is empty.");
  return items;
}

function demandUnique(items: readonly Json[], member: string): void {
  const names = items.map((item) => item[member]);
  for (const name of names)
    demand(typeof name === "string" && name !== "", `One has the ${member} ${shown(name)}.`);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  demand(twice === undefined, `The ${member} ${shown(twice)} is there twice.`);
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown };

function settled<T>(request: Promise<T>): Promise<Outcome<T>> {
  return request.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
}

function demandRefused(outcome: Outcome<unknown>): void {
  if ("value" in outcome) throw new Deviation(`It was answered with ${shown(outcome.value)}.`);
}

/** The code of a JSON-RPC error; SDK 2 keeps the body of a 404, which the modern era answers here, as text. */
function codeOf(error: unknown): unknown {
  const { code, data } = error as { code?: unknown; data?: { text?: string } };
  if (typeof code === "number" || data?.text === undefined) return code;
  return (parsed(data.text) as { error?: { code?: unknown } } | undefined)?.error?.code;
}
