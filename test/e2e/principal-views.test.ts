import { type Listed, Filters, Lists, digestOf } from "propylon/kit";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { createKey } from "../../plugins/keys/key.ts";
import { definePlugin, type Principal, type Role } from "../../core/index.ts";
import { connectClient, connectModernClient, setupGateway } from "../../core/testing/index.ts";
import gating from "../../plugins/gating/index.ts";
import openapi from "../../plugins/openapi/index.ts";

const KEYS = { ann: createKey("operator"), bob: createKey("caller"), eve: createKey("caller") };
type Person = keyof typeof KEYS;
const PEOPLE = Object.keys(KEYS) as Person[];
const AUTH = {
  keys: Object.fromEntries(
    PEOPLE.map((id) => [
      id,
      {
        role: id === "ann" ? ("operator" as const) : ("caller" as const),
        hash: `sha256:${digestOf(KEYS[id])}`,
      },
    ]),
  ),
};

const bearer = (who: Person) => ({ authorization: `Bearer ${KEYS[who]}` });
const TOOLS = ["add", "sub", "mul"] as const;
const URIS = ["x://a", "x://b"] as const;
const PROMPTS = ["greet", "leave"] as const;

/** Two servers with something of every kind. */
const house = (name: string) =>
  definePlugin({
    name,
    setup(gateway) {
      for (const tool of TOOLS)
        gateway.tool(`${name}_${tool}`, { description: tool, run: () => `${name} ${tool}` });
      const resources = URIS.map((uri) =>
        gateway.resource(uri, { uri: `${uri}/${name}`, read: () => ({ text: uri }) }),
      );
      gateway.resource("t", {
        uriTemplate: `t://${name}/{id}`,
        read: ({ id }) => ({ text: id! }),
        complete: () => ["one", "two"],
      });
      for (const prompt of PROMPTS)
        gateway.prompt(`${name}_${prompt}`, {
          arguments: [{ name: "who" }],
          get: () => ({ role: "user", content: { type: "text", text: prompt } }),
          complete: () => ["one", "two"],
        });
      gateway.route("POST", `/touch-${name}`, { access: "public", mutates: false }, () => {
        for (const resource of resources) resource.updated();
        return "ok";
      });
    },
  });

const keyOf = ({ server, kind, name }: Listed): string => `${server} ${kind} ${name}`;

/** What is hidden from whom; the filters know nobody else. */
interface Rules {
  readonly hidden: Map<string, Set<string>>;
  asked: number;
  relist: () => void;
}

const guards = (rules: Rules, name = "guards") =>
  definePlugin({
    name,
    inject: { lists: Lists },
    setup(gateway) {
      gateway.add(Filters, {
        shows(item, { id }) {
          rules.asked++;
          return !rules.hidden.get(id)!.has(keyOf(item)) && !rules.hidden.get(id)!.has(item.server);
        },
        viewOf: ({ id }: Principal) => [...rules.hidden.get(id)!].toSorted().join("|"),
      });
      rules.relist = () => gateway.services.lists.changed();
    },
  });
const noRules = (): Rules => ({
  hidden: new Map(PEOPLE.map((id) => [id, new Set<string>()])),
  asked: 0,
  relist: () => {},
});

async function start() {
  const rules = noRules();
  const { gateway, url } = await setupGateway({
    plugins: [house("one"), house("two"), guards(rules), openapi],
    config: { auth: AUTH },
    client: false,
  });
  const at = gateway.endpoints[0]!.url;
  const connect = {
    legacy: (who: Person) => connectClient(at, { headers: bearer(who) }),
    modern: (who: Person) => connectModernClient(at, { headers: bearer(who) }),
  };
  const post = async (who: Person, path: string, body = "{}") => {
    const headers = { ...bearer(who), "content-type": "application/json" };
    const response = await fetch(url + path, { method: "POST", headers, body });
    return { status: response.status, text: await response.text() };
  };
  return { gateway, url, at, rules, connect, post };
}
type Client = Awaited<ReturnType<typeof connectClient>>;
/** Everything that somebody's lists name, as filters know it. */
async function listed(client: Client): Promise<string[]> {
  const { tools } = await client.listTools();
  const { resources } = await client.listResources();
  const { resourceTemplates } = await client.listResourceTemplates();
  const { prompts } = await client.listPrompts();
  const ownerOf = (name: string): string => (name.includes("one") ? "one" : "two");
  return [
    ...tools.map(({ name }) => ({ kind: "tool" as const, name })),
    ...resources.map(({ uri }) => ({ kind: "resource" as const, name: uri })),
    ...resourceTemplates.map(({ uriTemplate }) => ({
      kind: "resourceTemplate" as const,
      name: uriTemplate,
    })),
    ...prompts.map(({ name }) => ({ kind: "prompt" as const, name })),
  ]
    .map((item) => keyOf({ ...item, server: ownerOf(item.name) }))
    .toSorted();
}

/** What becomes of a use of something: what it answers, with its name taken out. */
async function use(client: Client, item: string): Promise<string> {
  const [, kind, name] = item.split(" ") as [string, Listed["kind"], string];
  const uses: Record<Listed["kind"], () => Promise<unknown>> = {
    tool: () => client.callTool({ name }),
    prompt: () => client.getPrompt({ name }),
    resource: () => client.readResource({ uri: name }),
    resourceTemplate: () =>
      client.complete({
        ref: { type: "ref/resource", uri: name },
        argument: { name: "id", value: "" },
      }),
  };
  const clean = (text: string): string => text.replaceAll(name, "NAME");
  return uses[kind]().then(
    () => "works",
    (error: Error & { code?: number; data?: unknown }) =>
      clean(`${error.code} ${error.message} ${JSON.stringify(error.data)}`),
  );
}

const ALL = ["one", "two"].flatMap((server) => [
  ...TOOLS.map((tool) => `${server} tool ${server}_${tool}`),
  ...URIS.map((uri) => `${server} resource ${uri}/${server}`),
  `${server} resourceTemplate t://${server}/{id}`,
  ...PROMPTS.map((prompt) => `${server} prompt ${server}_${prompt}`),
]);
const UNKNOWN: Record<string, string> = {
  tool: "one tool nobody",
  prompt: "one prompt nobody",
  resource: "one resource x://nobody",
  resourceTemplate: "one resourceTemplate t://nobody/{id}",
};

describe.each(["legacy", "modern"] as const)("for a client of the %s era", (era) => {
  it("what is listed is what works, and all else is as if nobody had it, for everyone", async () => {
    const { rules, connect } = await start();
    const clients = {} as Record<Person, Client>;
    for (const who of PEOPLE) clients[who] = (await connect[era](who)) as unknown as Client;
    const unknown = new Map<string, string>();
    for (const [kind, item] of Object.entries(UNKNOWN))
      unknown.set(kind, await use(clients.ann, item));
    await fc.assert(
      fc.asyncProperty(
        fc.record({ ann: fc.subarray(ALL), bob: fc.subarray(ALL), eve: fc.subarray(ALL) }),
        fc.boolean(),
        async (hidden, relists) => {
          for (const who of PEOPLE) rules.hidden.set(who, new Set(hidden[who]));
          if (relists) rules.relist();
          for (const who of PEOPLE) {
            const shown = ALL.filter((item) => !hidden[who].includes(item)).toSorted();
            expect(await listed(clients[who])).toEqual(shown);
            const used = await Promise.all(ALL.map((item) => use(clients[who], item)));
            expect(used).toEqual(
              ALL.map((item) =>
                hidden[who].includes(item) ? unknown.get(item.split(" ")[1]!) : "works",
              ),
            );
          }
        },
      ),
      { numRuns: 8 },
    );
    for (const client of Object.values(clients)) await client.close();
  });

  it("a right that is taken away is gone with the next call, whatever was cached", async () => {
    const { rules, connect } = await start();
    const bob = (await connect[era]("bob")) as unknown as Client;
    expect(await use(bob, "one tool one_add")).toBe("works");
    rules.hidden.get("bob")!.add("one tool one_add");
    expect(await use(bob, "one tool one_add")).toContain("Unknown tool");
    rules.hidden.get("bob")!.clear();
    expect(await use(bob, "one tool one_add")).toBe("works");
    await bob.close();
  });
});

it("the view of somebody is the intersection of what the filters show", async () => {
  const rules = [noRules(), noRules()];
  const { gateway } = await setupGateway({
    plugins: [house("one"), house("two"), ...rules.map((each, i) => guards(each, `guards-${i}`))],
    config: { auth: AUTH },
    client: false,
  });
  const client = await connectClient(gateway.endpoints[0]!.url, { headers: bearer("bob") });
  await fc.assert(
    fc.asyncProperty(fc.subarray(ALL), fc.subarray(ALL), async (first, second) => {
      rules[0]!.hidden.set("bob", new Set(first));
      rules[1]!.hidden.set("bob", new Set(second));
      const shown = ALL.filter((item) => !first.includes(item) && !second.includes(item));
      expect(await listed(client)).toEqual(shown.toSorted());
    }),
    { numRuns: 20 },
  );
  await client.close();
});

describe("over HTTP", () => {
  const clean = (text: string, name: string): string => text.replaceAll(name, "NAME");

  it("a hidden tool is answered as an unknown one, on the short way and on the long one", async () => {
    const { rules, post } = await start();
    rules.hidden.get("bob")!.add("one tool one_add");
    const ways = [
      (name: string, body?: string) => post("bob", `/one/${name}`, body),
      (name: string, body?: string) => post("bob", `/one/${name}?x=1`, body),
      (name: string) => post("bob", "/one/invoke", JSON.stringify({ tool: name })),
    ];
    for (const way of ways) {
      expect((await way("one_sub")).status).toBe(200);
      for (const body of ["{}", "no json", '{"a":1}']) {
        const [hidden, unknown] = [await way("one_add", body), await way("nobody", body)];
        expect(hidden.status).toBeGreaterThanOrEqual(400);
        expect({ ...hidden, text: clean(hidden.text, "one_add") }).toEqual({
          ...unknown,
          text: clean(unknown.text, "nobody"),
        });
      }
    }
    expect((await post("eve", "/one/one_add")).status).toBe(200);
  });

  it("a server of which nothing is shown is as if it were not there", async () => {
    const { rules, post, url } = await start();
    rules.hidden.get("bob")!.add("one");
    for (const [path, body] of [
      ["NAME/one_add", "{}"],
      ["NAME/one_add", "no json"],
      ["NAME/invoke", '{"tool":"one_add"}'],
    ]) {
      const hidden = await post("bob", `/${path!.replace("NAME", "one")}`, body);
      const unknown = await post("bob", `/${path!.replace("NAME", "none")}`, body);
      expect(clean(hidden.text, '\\"one\\"')).toBe(clean(unknown.text, '\\"none\\"'));
      expect(hidden.status).toBe(404);
    }
    const get = (who: Person, path: string) => fetch(url + path, { headers: bearer(who) });
    expect((await get("bob", "/one/openapi.json")).status).toBe(404);
    expect((await get("eve", "/one/openapi.json")).status).toBe(200);
  });

  it("documents and their ETags are those of whoever asks", async () => {
    const { rules, url } = await start();
    rules.hidden.get("bob")!.add("one tool one_add").add("two");
    const get = async (who: Person, headers = {}) => {
      const response = await fetch(`${url}/openapi.json`, {
        headers: { ...bearer(who), ...headers },
      });
      const text = await response.text();
      return { status: response.status, etag: response.headers.get("etag")!, text };
    };
    const [ann, bob, eve] = [await get("ann"), await get("bob"), await get("eve")];
    expect(ann).toEqual(eve);
    expect(bob.etag).not.toBe(ann.etag);
    expect(bob.text).not.toMatch(/one_add|two/);
    expect(ann.text).toMatch(/one_add/);
    // A form of somebody else's is not confirmed, and one's own is, whoever asked in between.
    expect((await get("bob", { "if-none-match": ann.etag })).status).toBe(200);
    expect((await get("bob", { "if-none-match": bob.etag })).status).toBe(304);
    expect((await get("ann", { "if-none-match": ann.etag })).status).toBe(304);
  });
});

it("only clients whose lists differ are told", async () => {
  const { rules, connect } = await start();
  const told: string[] = [];
  for (const who of ["bob", "eve"] as const) {
    const client = await connect.legacy(who);
    onTestFinished(() => client.close());
    client.fallbackNotificationHandler = (notification) => {
      told.push(`${who} ${notification.method}`);
      return Promise.resolve();
    };
    await listed(client);
  }
  rules.hidden.get("bob")!.add("one tool one_add");
  rules.relist();
  await expect.poll(() => told).toEqual(["bob notifications/tools/list_changed"]);
  rules.hidden.get("bob")!.add("one prompt one_greet");
  rules.hidden.get("eve")!.add(`one resource ${URIS[0]}/one`);
  rules.relist();
  await expect
    .poll(() => told.slice(1).toSorted())
    .toEqual([
      "bob notifications/prompts/list_changed",
      "eve notifications/resources/list_changed",
    ]);
});

it("updates of a resource end with the right to see it, whether or not anybody was told", async () => {
  const { rules, connect, url } = await start();
  const bob = await connect.legacy("bob");
  const eve = await connect.legacy("eve");
  onTestFinished(async () => void (await Promise.all([bob.close(), eve.close()])));
  const heard: string[] = [];
  for (const [who, client] of [
    ["bob", bob],
    ["eve", eve],
  ] as const)
    client.fallbackNotificationHandler = ({ method, params }) => {
      if (method === "notifications/resources/updated")
        heard.push(`${who} ${String(params?.["uri"])}`);
      return Promise.resolve();
    };
  const [first, second] = URIS.map((uri) => `${uri}/one`) as [string, string];
  rules.hidden.get("bob")!.add(`one resource ${second}`);
  await expect(bob.subscribeResource({ uri: second })).rejects.toThrow("Resource not found");
  await bob.subscribeResource({ uri: first });
  for (const uri of [first, second]) await eve.subscribeResource({ uri });
  const touch = () => fetch(`${url}/touch-one`, { method: "POST" });
  await touch();
  await expect
    .poll(() => heard.toSorted())
    .toEqual([`bob ${first}`, `eve ${first}`, `eve ${second}`]);
  rules.hidden.get("bob")!.add(`one resource ${first}`);
  heard.length = 0;
  await touch();
  await expect.poll(() => heard.toSorted()).toEqual([`eve ${first}`, `eve ${second}`]);
  // And come back with it.
  rules.hidden.get("bob")!.clear();
  rules.relist();
  heard.length = 0;
  await expect
    .poll(async () => {
      await touch();
      return heard;
    })
    .toContain(`bob ${first}`);
});

it("views are shared: a filter is asked once for all principals of one view, and by no call", async () => {
  const { rules, connect } = await start();
  const clients = [await connect.modern("bob"), await connect.modern("eve")] as unknown as Client[];
  await listed(clients[0]!);
  const { asked } = rules;
  expect(asked).toBeGreaterThan(0);
  for (const client of clients) {
    await listed(client);
    for (let n = 0; n < 5; n++) await client.callTool({ name: "one_add" });
    await client.close();
  }
  expect(rules.asked).toBe(asked);
});

it("who is known to no filter, or to one that fails, sees nothing", async () => {
  const { rules, connect, post } = await start();
  const bob = (await connect.modern("bob")) as unknown as Client;
  rules.hidden.delete("bob");
  expect((await bob.listTools()).tools).toEqual([]);
  expect(await use(bob, "one tool one_add")).toContain("Unknown tool");
  expect((await post("bob", "/one/one_add")).status).toBe(404);
  expect((await post("eve", "/one/one_add")).status).toBe(200);
  await bob.close();
});

it("inside the process a call in somebody's name reaches what they see", async () => {
  const { rules, gateway } = await start();
  rules.hidden.set("bob", new Set(["one tool one_add", "one resource x://a/one"]));
  const principal = { id: "bob", kind: "user", roles: new Set<Role>() } as const;
  const call = (method: "tools/call" | "resources/read", name: string) =>
    gateway.call({ server: "one", method, name, principal });
  await expect(call("tools/call", "one_add")).rejects.toMatchObject({ code: "not_found" });
  await expect(call("resources/read", "x://a/one")).rejects.toMatchObject({ code: "not_found" });
  expect((await call("tools/call", "one_sub")).isError).toBe(false);
});

it("gating keeps reserved tools to a role, on every face", async () => {
  const { gateway, url } = await setupGateway({
    plugins: [house("one"), openapi, [gating, { reserved: { "one/one_*d*": "operator" } }]],
    config: { auth: AUTH },
    client: false,
  });
  const at = gateway.endpoints[0]!.url;
  for (const connect of [connectClient, connectModernClient]) {
    const [ann, bob] = [
      (await connect(at, { headers: bearer("ann") })) as Client,
      (await connect(at, { headers: bearer("bob") })) as Client,
    ];
    const names = async (client: Client) =>
      (await client.listTools()).tools.map(({ name }) => name);
    expect(await names(ann)).toEqual(["one_add", "one_sub", "one_mul"]);
    expect(await names(bob)).toEqual(["one_sub", "one_mul"]);
    expect(await use(ann, "one tool one_add")).toBe("works");
    expect(await use(bob, "one tool one_add")).toContain("Unknown tool");
    await ann.close();
    await bob.close();
  }
  const status = async (who: Person) => {
    const headers = { ...bearer(who), "content-type": "application/json" };
    return (await fetch(`${url}/one/one_add`, { method: "POST", headers, body: "{}" })).status;
  };
  expect(await status("bob")).toBe(404);
  expect(await status("ann")).toBe(200);
});
